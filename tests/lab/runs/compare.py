# SPDX-License-Identifier: GPL-2.0-only
"""Summarises several seeds of one thing: median and spread; and decides whether bpf_bbr is the kernel's bbr."""
import dataclasses
import math
import random
import statistics

# The difference that counts as the same, as a share of the kernel's own figure: goodput, RTT, retransmits.
TOLERANCE = {"goodput_bps": 0.02, "rtt_us": 0.05, "retransmits": 0.10}
RESAMPLES = 2000


def _of_flows(result, *keys):
    """The median of a figure over the flows; None if no flow has it."""
    values = []
    for flow in result["flows"]:
        for key in keys:
            flow = flow and flow[key]
        if flow is not None:
            values.append(flow)
    return statistics.median(values) if values else None


def figures(result):
    """The scalars of one run that are compared and printed."""
    queue = result["link"]["queue_packets"] or {}
    return {
        "goodput_bps": result["goodput_bps"],
        "rtt_min_us": _of_flows(result, "rtt_us", "min"),
        "rtt_us": _of_flows(result, "rtt_us", "median"),
        "rtt_p95_us": _of_flows(result, "rtt_us", "p95"),
        "rtt_max_us": _of_flows(result, "rtt_us", "max"),
        "retransmits": sum(flow["retransmits"] for flow in result["flows"]),
        "queue_packets": queue.get("mean"),
        "drops": result["link"]["drops"],
        "lost": result["link"]["lost"],
        "policer_drops": result["link"]["policer_drops"],
        "jain": result["jain"],
        "probe_rtts": sum(len(flow.get("probe_rtt_us", [])) for flow in result["flows"]),
    }


def over_seeds(results):
    """Figure -> its median, min, max and all values over the runs that have it, and these runs' seeds."""
    return summary({result["seed"]: figures(result) for result in results})


def summary(by_seed):
    """Like over_seeds(), from the figures() of each run: seed -> figures."""
    found = {}
    for key in next(iter(by_seed.values())):
        seeds = [seed for seed, row in by_seed.items() if row[key] is not None]
        values = [by_seed[seed][key] for seed in seeds]
        found[key] = {"median": statistics.median(values), "min": min(values),
                      "max": max(values), "values": values, "seeds": seeds} if values else None
    return found


@dataclasses.dataclass
class Difference:
    """The difference between the means of two samples, ours and the kernel's, as ratios to the kernel's mean. Runs of one seed
    have the same random losses and the same first phase, so most of what differs between seeds is in both of them: a
    comparison of pairs sees much less of it."""
    ratio: float
    low: float  # the 95 % interval of the ratio, from RESAMPLES samples with replacement
    high: float
    probability: float  # of such a difference between samples of one thing, by a permutation test (_probability())
    visible: float  # a difference of this share would have been seen in 95 of 100 such comparisons

    def verdict(self, tolerance):
        """Returns same, differs, or unknown if there are too few seeds to tell."""
        if self.low >= 1 - tolerance and self.high <= 1 + tolerance:
            return "same"
        if self.probability < 0.05 and abs(self.ratio - 1) > tolerance:
            return "differs"
        return "unknown"


def difference(ours, kernels, paired=False):
    """The Difference between two samples of a figure, with a value for each seed; paired: of the same seeds in the same order.
    None if the kernel's mean is 0 and ours is not, or if a sample has fewer than two values."""
    if min(len(ours), len(kernels)) < 2:
        return None
    base, gap = statistics.mean(kernels), statistics.mean(ours) - statistics.mean(kernels)
    if not base:
        return None if gap else Difference(1.0, 1.0, 1.0, 1.0, 0.0)
    random_ = random.Random(0)  # the same samples give the same figures
    resample, error = (_of_pairs if paired else _of_samples)(ours, kernels)
    ratios = sorted(its / (kernels_ or base) for its, kernels_ in (resample(random_) for _ in range(RESAMPLES)))
    return Difference(1 + gap / base, ratios[RESAMPLES * 25 // 1000], ratios[-RESAMPLES * 25 // 1000],
                      _probability(random_, ours, kernels, gap, paired), (1.96 + 1.645) * error / base)


def _of_samples(ours, kernels):
    """(a function that returns the two means of a resample, the standard error of the difference of the means)"""
    def resample(random_):
        return [statistics.fmean(random_.choices(values, k=len(values))) for values in (ours, kernels)]
    return resample, math.sqrt(statistics.variance(ours) / len(ours) + statistics.variance(kernels) / len(kernels))


def _of_pairs(ours, kernels):
    """The same, if the values are pairs."""
    pairs = list(zip(ours, kernels))

    def resample(random_):
        return [statistics.fmean(values) for values in zip(*random_.choices(pairs, k=len(pairs)))]
    return resample, math.sqrt(statistics.variance(a - b for a, b in pairs) / len(pairs))


ENOUGH_PAIRS = 6  # of fewer, even if all differ alike, chance does that in more than 5 of 100: 2 of 32


def _probability(random_, ours, kernels, gap, paired):
    """The share of random splits of all values that have at least this gap between their means. Of pairs a split has one of
    each, if they are enough."""
    values, found = [*ours, *kernels], 1
    if paired and len(ours) >= ENOUGH_PAIRS:
        gaps = [a - b for a, b in zip(ours, kernels)]
        for _ in range(RESAMPLES):
            found += abs(statistics.fmean(random_.choice((-1, 1)) * each for each in gaps)) >= abs(gap) - 1e-9
        return found / (RESAMPLES + 1)
    for _ in range(RESAMPLES):
        random_.shuffle(values)
        found += abs(statistics.fmean(values[:len(ours)]) - statistics.fmean(values[len(ours):])) >= abs(gap) - 1e-9
    return found / (RESAMPLES + 1)


def against(ours, kernels):
    """Figure of TOLERANCE -> Difference between the values over seeds, as over_seeds() returns them. If both have runs of the
    same seeds, these are compared as pairs."""
    found = {}
    for key in TOLERANCE:
        if not ours[key] or not kernels[key]:
            continue
        mine, its = (dict(zip(entry[key]["seeds"], entry[key]["values"])) for entry in (ours, kernels))
        both = [seed for seed in mine if seed in its]
        if len(both) > 1:
            found[key] = difference([mine[seed] for seed in both], [its[seed] for seed in both], paired=True)
        else:
            found[key] = difference(ours[key]["values"], kernels[key]["values"])
    return found


def seeds_of(found):
    """The number of runs that over_seeds() had."""
    return len(found["goodput_bps"]["values"])


def halves(found):
    """The later and the earlier half of the seeds of over_seeds(), as two samples of one thing."""
    middle = seeds_of(found) // 2
    return [{key: entry and {of: entry[of][part] for of in ("values", "seeds")} for key, entry in found.items()}
            for part in (slice(middle, None), slice(middle))]
