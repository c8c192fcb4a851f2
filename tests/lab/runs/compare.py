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
    """Figure -> its median, min, max and all values over the runs that have it."""
    return summary([figures(result) for result in results])


def summary(table):
    """Like over_seeds(), from the figures() of each run."""
    found = {}
    for key in table[0]:
        values = [row[key] for row in table if row[key] is not None]
        found[key] = {"median": statistics.median(values), "min": min(values),
                      "max": max(values), "values": values} if values else None
    return found


@dataclasses.dataclass
class Difference:
    """The difference between the means of two samples, ours and the kernel's, as ratios to the kernel's mean."""
    ratio: float
    low: float  # the 95 % interval of the ratio, from RESAMPLES samples with replacement
    high: float
    probability: float  # of such a difference between samples of one thing, by a permutation test
    visible: float  # a difference of this share would have been seen in 95 of 100 such comparisons

    def verdict(self, tolerance):
        """Returns same, differs, or unknown if there are too few seeds to tell."""
        if self.low >= 1 - tolerance and self.high <= 1 + tolerance:
            return "same"
        if self.probability < 0.05 and abs(self.ratio - 1) > tolerance:
            return "differs"
        return "unknown"


def difference(ours, kernels):
    """The Difference between two samples of a figure, with a value for each seed. None if the kernel's mean is 0 and ours is
    not, or if a sample has fewer than two values."""
    if min(len(ours), len(kernels)) < 2:
        return None
    base, gap = statistics.mean(kernels), statistics.mean(ours) - statistics.mean(kernels)
    if not base:
        return None if gap else Difference(1.0, 1.0, 1.0, 1.0, 0.0)
    random_ = random.Random(0)  # the same samples give the same figures
    ratios = sorted(_mean_of_resample(random_, ours) / (_mean_of_resample(random_, kernels) or base)
                    for _ in range(RESAMPLES))
    error = math.sqrt(statistics.variance(ours) / len(ours) + statistics.variance(kernels) / len(kernels))
    return Difference(1 + gap / base, ratios[RESAMPLES * 25 // 1000], ratios[-RESAMPLES * 25 // 1000],
                      _probability(random_, ours, kernels, gap), (1.96 + 1.645) * error / base)


def _mean_of_resample(random_, values):
    return statistics.fmean(random_.choices(values, k=len(values)))


def _probability(random_, ours, kernels, gap):
    """The share of random splits of all values that have at least this gap between their means."""
    values, found = [*ours, *kernels], 1
    for _ in range(RESAMPLES):
        random_.shuffle(values)
        found += abs(statistics.fmean(values[:len(ours)]) - statistics.fmean(values[len(ours):])) >= abs(gap) - 1e-9
    return found / (RESAMPLES + 1)


def against(ours, kernels):
    """Figure of TOLERANCE -> Difference between the values over seeds, as over_seeds() returns them."""
    return {key: difference(ours[key]["values"], kernels[key]["values"])
            for key in TOLERANCE if ours[key] and kernels[key]}


def seeds_of(found):
    """The number of runs that over_seeds() had."""
    return len(found["goodput_bps"]["values"])


def halves(found):
    """The later and the earlier half of the seeds of over_seeds(), as two samples of one thing."""
    middle = seeds_of(found) // 2
    return [{key: entry and {"values": entry["values"][part]} for key, entry in found.items()}
            for part in (slice(middle, None), slice(middle))]
