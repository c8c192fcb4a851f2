# SPDX-License-Identifier: GPL-2.0-only
"""BBRv3: Google's own figures, and the criteria of other people's tests (nsperf, transperf). Most of these criteria are words;
a number in a claim that they do not give is from the design, or from a comparison with version 1."""
from claims import claim
from claims.results import PAYLOAD, goodput, mbit, median_of, ms, resent_share

V3, V1 = "bpf_bbr3", "bpf_bbr"


def _share(results, cc, label):
    return median_of(results.of(cc, label), lambda r: r["flows"][0]["share"])


def _rtt(results, cc, label=""):
    return median_of(results.of(cc, label), lambda r: max(flow["rtt_us"]["median"] for flow in r["flows"]))


@claim("bbr3-loss")
def goodput_is_as_googles(results):
    """the median is within 1 % of Google's 92.0 Mbit/s without loss, and at 1 % and 2 % loss within what Google's had in
    three runs, 75.9 to 78.0 and 46.8 to 65.2"""
    rates = [goodput(results, V3, f"loss={loss}") / 1e6 for loss in ("0%", "1%", "2%")]
    holds = abs(rates[0] / 92.0 - 1) < 0.01 and 75.9 <= rates[1] <= 78.0 and 46.8 <= rates[2] <= 65.2
    return holds, ", ".join(f"{rate:.1f}" for rate in rates) + " Mbit/s"


@claim("bbr3-cubic")
def cubic_is_left_more_than_by_version_1(results):
    """beside CUBIC version 3 takes less than version 1 in a buffer of 1 BDP or less"""
    shares = [(_share(results, V3, f"queue={queue}"), _share(results, V1, f"queue={queue}")) for queue in (5, 50)]
    return all(v3 < v1 for v3, v1 in shares), ", ".join(f"{100 * v3:.0f} and {100 * v1:.0f} %" for v3, v1 in shares)


@claim("bbr3-shallow")
def few_are_resent_in_a_shallow_buffer(results):
    """in a buffer of 0.02 BDP version 3 resends less than the 2 % of its design, and less than half of version 1"""
    v3, v1 = resent_share(results, V3), resent_share(results, V1)
    return v3 < min(0.02, v1 / 2), f"{100 * v3:.2f} and {100 * v1:.2f} %"


@claim("bbr3-bufferbloat")
def a_large_buffer_does_not_fill(results):
    """with 10 and 100 BDP of buffer the median RTT is under three times the path's"""
    rtts = [_rtt(results, V3, f"queue={queue}") for queue in (248, 2480)]
    return max(rtts) < 3 * 30000, ", ".join(map(ms, rtts))


@claim("bbr3-four", fails="each BBR flow keeps at least four packets, and four share a BDP of 33; version 1 resends 14 %, and CUBIC over 1 % as well")
def four_flows_score_as_transperf_wants(results):
    """four flows use 80 % of the link, resend at most 1 % and have a fairness (Jain) of 70 %"""
    runs = results.of(V3)
    used = goodput(results, V3) / results.capacity()
    fair = median_of(runs, lambda r: r["jain"])
    resent = resent_share(results, V3)
    return used >= 0.8 and resent <= 0.01 and fair >= 0.7, \
        f"{100 * used:.0f} %, {100 * resent:.2f} %, {100 * fair:.0f} %"


@claim("bbr3-random-loss")
def loss_up_to_a_hundredth_costs_less_than_half(results):
    """at up to 1 % loss the goodput is over half of the link"""
    rates = [goodput(results, V3, f"loss={loss}") for loss in ("0.01%", "0.1%", "1%")]
    return min(rates) > 0.5 * 20e6 * PAYLOAD, ", ".join(map(mbit, rates))


@claim("bbr3-ecn")
def the_queue_stays_at_the_mark(results):
    """with marks after 242 us four flows resend nothing, and their p95 RTT is under twice the path's and the mark's"""
    runs = results.of("bpf_bbr3_ecn")
    p95 = median_of(runs, lambda r: max(flow["rtt_us"]["p95"] for flow in r["flows"]))
    resent = median_of(runs, lambda r: sum(flow["retransmits"] for flow in r["flows"]))
    return resent == 0 and p95 < 2 * 1242, f"{resent} resent, {ms(p95)}"
