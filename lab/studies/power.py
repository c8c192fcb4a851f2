# SPDX-License-Identifier: GPL-2.0-only
"""
What would comparisons of pairs like these see? See docs/experiments.md. Draws pairs from those
that were run, with replacement, and swaps the two of each at random: these are pairs of one thing.
Then a difference is added to all, or to those that have parted.
"""
import json
import math
import operator
import random
import statistics

from runs import compare, tables
from vm.kernels import LabError

COUNTS = 20, 40, 60
DRAWS = 300
NEARLY = math.log(1.02)  # pairs within 2 % have not parted


def pairs_of(found):
    """Yields (point, figure, its pairs as (ours, the kernel's)), from what `lab run -j` prints."""
    groups = {}
    for entry in found:
        groups.setdefault((entry["scenario"], entry["point"]), {})[entry["cc"]] = entry["figures"]
    for (name, label), both in groups.items():
        for key in compare.TOLERANCE:
            ours, its = (dict(zip(both[cc][key]["seeds"], both[cc][key]["values"]))
                         for cc in ("bpf_bbr", "bbr"))
            pairs = [(ours[seed], its[seed]) for seed in ours if seed in its]
            yield f"{name} {label}".strip(), key, pairs


def of_one_thing(random_, pairs, count):
    return [random_.choice((pair, pair[::-1])) for pair in random_.choices(pairs, k=count)]


def _scores(pairs):
    ours, its = zip(*pairs)
    return compare.signed_ranks(compare.log_ratios(ours, its)), list(map(operator.sub, ours, its))


def _seen(pairs, limit):
    """By (the ranks, the means)?"""
    return [abs(sum(scores)) > limit * (math.hypot(*scores) or 1) for scores in _scores(pairs)]


def _parted(pair):
    return abs(compare.log_ratios(*zip(pair))[0]) > NEARLY


def seen_share(draws, which, limit, factor, of_parted=False):
    """The share of the draws in which this factor is seen, of all pairs or of those that have
    parted; by the ranks, the means, or any of both (None)."""
    def seen(pairs):
        both = _seen([(a * factor, b) if not of_parted or _parted((a, b)) else (a, b)
                      for a, b in pairs], limit)
        return any(both) if which is None else both[which]
    return statistics.mean(map(seen, draws))


def least_seen(draws, which, limit, of_parted=False):
    """The least difference that 95 % of the draws show; up to 300 %, else None."""
    low, high = 0.0, 3.0
    if seen_share(draws, which, limit, 1 + high, of_parted) < 0.95:
        return None
    while high - low > 0.01 * high and high > 0.0005:
        middle = (low + high) / 2
        if seen_share(draws, which, limit, 1 + middle, of_parted) >= 0.95:
            high = middle
        else:
            low = middle
    return high


def rows(key, pairs):
    """A row for each number of pairs."""
    random_ = random.Random(0)
    for count in COUNTS:
        draws = [of_one_thing(random_, pairs, count) for _ in range(DRAWS)]
        found = [compare.by_random_signs(*_scores(each)) for each in draws]
        limit = statistics.mean(limit for _, limit in found)
        false = statistics.mean(min(shares) < 0.05 for shares, _ in found)
        least = [least_seen(draws, *of) for of in ((0, limit), (1, 1.96), (None, limit, True))]
        yield [key, "", count, *(_percent(each) for each in (false, *least))]


def _percent(share):
    return "-" if share is None else f"{100 * share:.1f} %"


HEADER = ["FIGURE", "", "PAIRS", "FALSE", "SEEN", "BY MEANS", "IF PARTED"]


def read(file):
    """What pairs_of() yields of an open file."""
    try:
        found = list(pairs_of(json.load(file)))
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{file.name} is not what lab run --cc bpf_bbr,bbr -j prints") from error
    if not all(pairs for _, _, pairs in found) or not found:
        raise LabError(f"{file.name} has no pairs: runs of bpf_bbr and bbr with the same seeds")
    return found


def main(file):
    found = read(file)
    for point in dict.fromkeys(point for point, _, _ in found):
        print(point)
        lines = []
        for at, key, pairs in found:
            if at == point:
                near = sum(not _parted(pair) for pair in pairs)
                equal = sum(a == b for a, b in pairs)
                print(f"{key}: {len(pairs)} pairs, {near} within 2 %, {equal} of these equal")
                lines += rows(key, pairs)
        print(tables.align(HEADER, lines))
    return 0
