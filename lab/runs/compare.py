# SPDX-License-Identifier: GPL-2.0-only
"""Summarises several seeds of one thing: median and spread; and decides whether bpf_bbr is the kernel's bbr."""
import bisect
import dataclasses
import functools
import itertools
import math
import operator
import random
import statistics

# The difference that counts as the same, as a share of the kernel's own figure: goodput, RTT, retransmits.
TOLERANCE = {"goodput_bps": 0.02, "rtt_us": 0.05, "retransmits": 0.10}
RESAMPLES = 2000
PAIR_RESAMPLES = 400


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
    """The difference between the means of two samples, ours and the kernel's, as ratios to the
    kernel's mean."""
    ratio: float
    low: float  # the 95 % interval of the ratio, from RESAMPLES samples with replacement
    high: float
    probability: float  # of such a difference between samples of one thing
    visible: float  # a difference of this share would have been seen in 95 of 100 such comparisons

    def verdict(self, tolerance):
        """Returns same, differs, or unknown if there are too few seeds to tell."""
        if self.low >= 1 - tolerance and self.high <= 1 + tolerance:
            return "same"
        if self.probability < 0.05 and abs(self.ratio - 1) > tolerance:
            return "differs"
        return "unknown"

    def only_means_differ(self, tolerance):
        return False


@dataclasses.dataclass
class OfPairs(Difference):
    """The same of the typical pair, by Wilcoxon's signed ranks. Runs of one seed have the same
    random losses and the same first phase. So many pairs are nearly equal; others part at some
    packet. These make the means vary, and hardly move the typical pair. A difference that only few
    pairs have is in the means alone, so both are looked at."""
    means: Difference | None  # None if the kernel's mean is 0, and ours is not

    def verdict(self, tolerance):
        if self.only_means_differ(tolerance):
            return "differs"
        verdict = super().verdict(tolerance)
        # Equal pairs alone make the interval narrow. What the others would hide is in visible.
        return "unknown" if verdict == "same" and self.visible > tolerance else verdict

    def only_means_differ(self, tolerance):
        return super().verdict(tolerance) != "differs" and self.means is not None \
            and self.means.verdict(tolerance) == "differs"


ENOUGH_PAIRS = 6  # of fewer, even if all differ alike, chance does that in more than 5 of 100: 2 of 32


def difference(ours, kernels, paired=False):
    """The Difference between two samples of a figure, with a value for each seed; paired: of the same seeds in the same order.
    None if a sample has fewer than two values, or if it would be of means, the kernel's is 0, and
    ours is not."""
    if min(len(ours), len(kernels)) < 2:
        return None
    if paired and len(ours) >= ENOUGH_PAIRS:
        return _of_pairs(ours, kernels)
    return _of_means(ours, kernels, _pairs_of_means if paired else _means)


def _of_means(ours, kernels, sampler, probability=None):
    """The Difference of the means; with its probability if that is known from elsewhere."""
    base, gap = statistics.mean(kernels), statistics.mean(ours) - statistics.mean(kernels)
    if not base:
        return None if gap else Difference(1.0, 1.0, 1.0, 1.0, 0.0)
    random_ = random.Random(0)  # the same samples give the same figures
    resample, error = sampler(ours, kernels)
    ratios = sorted(its / (kernels_ or base) for its, kernels_ in (resample(random_) for _ in range(RESAMPLES)))
    return Difference(1 + gap / base, ratios[RESAMPLES * 25 // 1000], ratios[-RESAMPLES * 25 // 1000],
                      probability or _chance_of_split(random_, ours, kernels, gap),
                      (1.96 + 1.645) * error / base)


def _means(ours, kernels):
    """(a function that returns the two means of a resample, the standard error of the difference of the means)"""
    def resample(random_):
        return [statistics.fmean(random_.choices(values, k=len(values))) for values in (ours, kernels)]
    return resample, math.sqrt(statistics.variance(ours) / len(ours) + statistics.variance(kernels) / len(kernels))


def _pairs_of_means(ours, kernels):
    """The same, if the values are pairs."""
    pairs = list(zip(ours, kernels))

    def resample(random_):
        return [statistics.fmean(values) for values in zip(*random_.choices(pairs, k=len(pairs)))]
    return resample, math.sqrt(statistics.variance(a - b for a, b in pairs) / len(pairs))


def _chance_of_split(random_, ours, kernels, gap):
    """The share of random splits of all values that have at least this gap between their means."""
    values, found = [*ours, *kernels], 1
    for _ in range(RESAMPLES):
        random_.shuffle(values)
        found += abs(statistics.fmean(values[:len(ours)]) - statistics.fmean(values[len(ours):])) >= abs(gap) - 1e-9
    return found / (RESAMPLES + 1)


def log_ratios(ours, kernels):
    """Of each pair. 0 counts as a half: 0 and 0 are equal, and 0 is less than 1."""
    return [math.log(max(a, 0.5)) - math.log(max(b, 0.5)) for a, b in zip(ours, kernels)]


def signed_ranks(values):
    """The rank of each value by its size, with the sign of the value. Equal sizes share their
    ranks. A 0 takes a rank but has no sign (Pratt)."""
    sizes = sorted(map(abs, values))

    def rank(size):
        return (bisect.bisect_left(sizes, size) + bisect.bisect_right(sizes, size) + 1) / 2
    return [math.copysign(rank(abs(value)), value) if value else 0.0 for value in values]


def by_random_signs(*lists):
    """Each list has a score for each pair. If both of a pair are runs of one thing, each sign is as
    likely as the other. Returns for each list the share of random signs, the same for all lists,
    that give any of the lists a sum of this size; and the size that 5 % of them exceed. So the
    lists together have a share below 0.05 in 5 of 100 comparisons, not each of them. The unit of a
    size is the standard deviation over all signs."""
    random_, count = random.Random(0), len(lists[0])
    units = [math.hypot(*scores) or 1 for scores in lists]

    def sizes(signs):
        return [abs(sum(map(operator.mul, signs, scores))) / unit
                for scores, unit in zip(lists, units)]
    largest = sorted(max(sizes(random_.choices((-1, 1), k=count))) for _ in range(RESAMPLES))
    shares = [(1 + RESAMPLES - bisect.bisect_left(largest, size - 1e-9)) / (1 + RESAMPLES)
              for size in sizes([1] * count)]
    return shares, largest[RESAMPLES * 95 // 100]


def averages(values):
    """Of each two values, and each value itself; sorted. Hodges and Lehmann take their median."""
    return sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))


@functools.lru_cache
def beyond(count):
    """How many averages() of so many values are below the 95 % interval of their median, and as
    many above. As many are below 0 as the ranks of the negative values sum up to, and ways[n] of
    all choices of signs have the sum n. If values are equal, the interval has more than 95 %."""
    ways = [1]
    for rank in range(1, count + 1):
        ways = list(map(operator.add, ways + [0] * rank, [0] * rank + ways))
    return sum(below <= 0.025 * 2 ** count for below in itertools.accumulate(ways)) - 1


def _visible(values, limit):
    """The size that 95 of 100 comparisons of pairs like these would see, if all pairs had this
    difference: the sum of their signed ranks would be above the limit, so few averages below 0."""
    middle, count, random_ = statistics.median(averages(values)), len(values), random.Random(0)
    spread = math.hypot(*range(1, count + 1))
    below = max(0, math.ceil((count * (count + 1) / 2 - limit * spread) / 2 - 1e-9) - 1)

    def of_one_thing():
        return [random_.choice((-1, 1)) * (value - middle)
                for value in random_.choices(values, k=count)]
    lows = sorted(averages(of_one_thing())[below] for _ in range(PAIR_RESAMPLES))
    return max(0.0, -lows[PAIR_RESAMPLES * 5 // 100])


def _of_pairs(ours, kernels):
    values, gaps = log_ratios(ours, kernels), list(map(operator.sub, ours, kernels))
    (of_ranks, of_means), limit = by_random_signs(signed_ranks(values), gaps)
    found, outside = averages(values), beyond(len(values))
    logs = statistics.median(found), found[outside], found[-1 - outside]
    return OfPairs(*map(math.exp, logs), of_ranks, math.expm1(_visible(values, limit)),
                   _of_means(ours, kernels, _pairs_of_means, of_means))


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
