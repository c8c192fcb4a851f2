# SPDX-License-Identifier: GPL-2.0-only
"""BBRv3 by the criteria of quiche's bbr2_simulator_test.cc. That test looks into the sender. Here, from outside, the highest rate
of a second stands for the sender's estimate of the bandwidth, and retransmits stand for its losses."""
from claims import claim
from claims.results import acked_rate, median_of, of_column, rows_between

V3 = "bpf_bbr3"
SEGMENT = 1448
SECOND = 1_000_000
PATH_US = 64000
MB = 1 << 20  # as the pattern of a flow counts


def _flows(results, label=""):
    """The first flow of each seed."""
    return [result["flows"][0] for result in results.of(V3, label)]


def _resent(results, label=""):
    return median_of(_flows(results, label), lambda flow: flow["retransmits"])


def _srtt_us(results):
    """The highest smoothed RTT of a run: the median over the runs."""
    return median_of(results, lambda result: max(of_column(rows_between(result, 0, result["window_us"][1]), "srtt_us")))


def _best_rate(results, label, begin_s, end_s):
    """The highest rate of a second, as a share of the bottleneck's."""
    def best(result):
        return max(acked_rate(result, at * SECOND, (at + 1) * SECOND) for at in range(begin_s, end_s))
    return median_of(results.of(V3, label), best) / results.capacity(label)


def _least_acked(results, label=""):
    """The fewest bytes that any flow of any seed had ACKed. (Its FIN may count as one byte more.)"""
    return min(flow["acked_bytes"] for result in results.of(V3, label) for flow in result["flows"])


@claim("quiche-transfer")
def nothing_is_lost_in_two_bdps(results):
    """in a buffer of 2 BDP nothing is resent, all of 12 MB arrive in 30 s, and the smoothed RTT stays under three times the
    path's (quiche: about twice, at the end)"""
    label = "queue=42"
    resent, srtt = _resent(results, label), _srtt_us(results.of(V3, label))
    return resent == 0 and srtt < 3 * PATH_US and _least_acked(results, label) >= 12 * MB, \
        f"{resent} resent, {srtt / 1000:.0f} ms"


@claim("quiche-transfer")
def half_a_bdp_carries_the_rate(results):
    """in a buffer of 0.5 BDP one second's rate from 10 to 20 s is within 2 % of the link's, and at most 5 % is resent"""
    label = "queue=11"
    rate = _best_rate(results, label, 10, 20)
    resent = _resent(results, label) * SEGMENT / (12 * MB)
    return rate > 0.98 and resent <= 0.05, f"{100 * rate:.1f} %, {100 * resent:.2f} % resent"


@claim("quiche-aggregation", fails="bursts of two round trips overflow the queue with four of five seeds; Google's own resends up to 4 packets, too")
def acks_in_bursts_lose_nothing(results):
    """with ACKs once in two round trips nothing is resent, and the smoothed RTT stays under five times the path's"""
    resent, srtt = _resent(results), _srtt_us(results.of(V3))
    return resent == 0 and srtt < 5 * PATH_US, f"{resent} resent, {srtt / 1000:.0f} ms"


@claim("quiche-decrease", fails="the queue is 12.8 s long, and each PROBE_RTT discards the lower bounds before a round ends; so does Google's own")
def a_link_that_gets_slow_delivers(results):
    """in the first 10 s one second's rate is within 10 % of the link's, and 20 MB have arrived in 800 s"""
    rate = _best_rate(results, "", 2, 10)
    acked = _least_acked(results)
    return rate > 0.9 and acked >= 20 * MB, f"{100 * rate:.1f} %, {acked / MB:.1f} MB"


@claim("quiche-increase")
def a_link_that_gets_fast_is_used(results):
    """10 MB have arrived 50 s after the link got 100 times as fast, and in one second of the first 10 of these the rate
    is within 2 % of the link's"""
    rate = _best_rate(results, "", 15, 25) / 100
    acked = _least_acked(results)
    return rate > 0.98 and acked >= 10 * MB, f"{100 * rate:.1f} %, {acked / MB:.1f} MB"


@claim("quiche-policer")
def a_policer_lets_three_megabytes_through(results):
    """behind a policer 3 MB have arrived in 30 s, and at most 30 % are resent"""
    resent = _resent(results) * SEGMENT / (3 * MB)
    acked = _least_acked(results)
    return acked >= 3 * MB and resent <= 0.3, f"{acked / MB:.1f} MB, {100 * resent:.1f} % resent"


def _both_arrive(mb):
    def check(results):
        """both flows have arrived in three times what one alone would take"""
        acked = _least_acked(results)
        return acked >= mb * MB, f"the slower one has {acked / MB:.1f} of {mb} MB"
    return check


for _other, _mb in (("itself", 10), ("bbr1", 10), ("reno", 50), ("cubic", 50)):
    _check = _both_arrive(_mb)
    _check.__name__ = f"both_arrive_beside_{_other}"
    claim(f"quiche-beside-{_other}")(_check)
