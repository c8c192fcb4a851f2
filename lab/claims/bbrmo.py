# SPDX-License-Identifier: GPL-2.0-only
"""Document 003, a variant of BBR (BBRMO), with two measures of BBR against CUBIC: the gain of goodput GpGain = (BBR -
CUBIC) / CUBIC, and the decrease of latency LatDec = (CUBIC - BBR) / CUBIC."""
import statistics

from claims import claim
from claims.results import BBRS, HEADERS, goodput, mbit, median_of
from runs.experiment import ETHERNET

SHALLOW, DEEP = 33, 3333  # packets of 3014 bytes: 100 KB and 10 MB


def _shares_of(rates):
    return " ".join(f"{100 * rate:.0f} %" for rate in rates)


def _resent(results, cc, label):
    """The share of all packets that were retransmitted."""
    segment = results.points[label]["path.mtu"] - HEADERS
    return median_of(results.of(cc, label), lambda r: r["flows"][0]["retransmits"] * segment / (r["received_bytes"] or 1))


def _label(delay, rate, queue):
    return f"delay={delay} rate={rate} queue={queue}"


DELAYS = ("5ms", "50ms", "200ms")
RATES = ("10mbit", "100mbit", "500mbit")
GRID = [(delay, rate) for delay in DELAYS for rate in RATES]


def _gain(results, delay, rate, queue):
    """GpGain of bpf_bbr over CUBIC."""
    label = _label(delay, rate, queue)
    return goodput(results, "bpf_bbr", label) / goodput(results, "cubic", label) - 1


def _decrease(results, delay, rate, queue):
    """LatDec of bpf_bbr against CUBIC, of the median RTT."""
    ours, cubic = (median_of(results.of(cc, _label(delay, rate, queue)), lambda r: r["flows"][0]["rtt_us"]["median"])
                   for cc in ("bpf_bbr", "cubic"))
    return (cubic - ours) / cubic


def _map_of(values):
    """The document draws heat maps; here a row of the map is an RTT, and its columns are the rates."""
    rows = ["{}: {}".format(delay, " ".join(f"{100 * values[delay, rate]:+.0f}" for rate in RATES)) for delay in DELAYS]
    return "; ".join(rows) + " %, at 10, 100, 500 Mbit/s"


@claim("gpgain",
       fails="only the bottleneck's queue drops packets on this path, so CUBIC, which goes down to 0.7 of its window, keeps most of the link")
def bbr_gains_on_long_fast_shallow_paths(results):
    """with 200 ms, 500 Mbit/s and a buffer of 100 KB BBR's goodput is 115 % above CUBIC's or more"""
    gains = {point: _gain(results, *point, SHALLOW) for point in GRID}
    return gains["200ms", "500mbit"] > 1.15, f"GpGain behind 100 KB: {_map_of(gains)}"


@claim("gpgain")
def cubic_gains_less_behind_deep_buffers(results):
    """behind 10 MB CUBIC's goodput may be the higher one, but by less than BBR's is behind 100 KB"""
    deep = {point: _gain(results, *point, DEEP) for point in GRID}
    ahead = max(1 / (1 + gain) - 1 for gain in deep.values())
    return ahead < max(_gain(results, *point, SHALLOW) for point in GRID), \
        f"GpGain behind 10 MB: {_map_of(deep)}; CUBIC is {100 * ahead:.0f} % above BBR at most"


@claim("gpgain",
       fails="CUBIC fills the link behind 100 KB also where the BDP is up to six times that; the start and PROBE_RTT cost BBR 1 to 5 % of 15 s")
def the_bdp_decides_who_has_more(results):
    """BBR has more goodput where the BDP is above the buffer, CUBIC where it is below (the decision tree)"""
    wrong = []
    for queue in (SHALLOW, DEEP):
        for delay, rate in GRID:
            point = results.points[_label(delay, rate, queue)]
            bdp = point["link.rate"] * point["path.delay"] / 8e6 / (point["path.mtu"] + ETHERNET)  # packets
            gain = _gain(results, delay, rate, queue)
            if (gain < -0.01 if bdp > queue else gain > 0.01):  # within 1 % neither has more
                wrong.append(f"{delay} {rate} {queue} packets ({100 * gain:+.0f} %)")
    return not wrong, f"not so at {len(wrong)} of {2 * len(GRID)} points" + ": " * bool(wrong) + ", ".join(wrong)


@claim("gpgain")
def bbr_has_less_latency_behind_deep_buffers(results):
    """behind 10 MB BBR's RTT is below CUBIC's at each bandwidth and RTT (LatDec above 0)"""
    decreases = {point: _decrease(results, *point, DEEP) for point in GRID}
    shallow = {point: _decrease(results, *point, SHALLOW) for point in GRID}
    return min(decreases.values()) > 0, \
        f"LatDec behind 10 MB: {_map_of(decreases)}; behind 100 KB: {_map_of(shallow)}"


@claim("gpgain",
       fails="BBR resends five times as much, not ten; behind 10 MB BBR's start overflows the buffer at 200 ms and 500 Mbit/s, and only there")
def shallow_buffers_cost_bbr_retransmits(results):
    """on average BBR resends some ten times as much as CUBIC behind 100 KB (10.1 % and 0.9 %), and less behind 10 MB (0.8 % and 1.3 %)"""
    shallow, deep = ([statistics.mean(_resent(results, cc, _label(*point, queue)) for point in GRID)
                      for cc in ("bpf_bbr", "cubic")] for queue in (SHALLOW, DEEP))
    return shallow[0] > 5 * shallow[1] and deep[0] < deep[1], \
        f"BBR {100 * shallow[0]:.2f} %, CUBIC {100 * shallow[1]:.2f} % behind 100 KB; " \
        f"BBR {100 * deep[0]:.2f} %, CUBIC {100 * deep[1]:.2f} % behind 10 MB"


FASTEST = "1gbit"
FASTEST_SHALLOW, FASTEST_DEEP = 11, 1110  # packets of 9014 bytes: 100 KB and 10 MB


def _row_of(values):
    """The fastest row of a heat map."""
    return ", ".join(f"{delay} {100 * value:+.0f} %" for delay, value in values.items())


@claim("gpgain-1000")
def bbr_gains_most_on_the_longest_fast_path(results):
    """at 1000 Mbit/s behind 100 KB BBR's goodput is above CUBIC's at 50 and 200 ms, and most at 200 ms"""
    gains = {delay: _gain(results, delay, FASTEST, FASTEST_SHALLOW) for delay in DELAYS}
    return 0 < gains["50ms"] < gains["200ms"], f"GpGain behind 100 KB: {_row_of(gains)}"


@claim("gpgain-1000")
def bbr_has_less_latency_at_1000_mbit_too(results):
    """at 1000 Mbit/s behind 10 MB BBR's RTT is below CUBIC's at each RTT (LatDec above 0)"""
    decreases = {delay: _decrease(results, delay, FASTEST, FASTEST_DEEP) for delay in DELAYS}
    gains = {delay: _gain(results, delay, FASTEST, FASTEST_DEEP) for delay in DELAYS}
    return min(decreases.values()) > 0, f"LatDec behind 10 MB: {_row_of(decreases)}; GpGain: {_row_of(gains)}"


GAINS = {"1.1": 9, "1.25": 20, "1.5": 33}  # gain of a probe -> percent of loss that such a probe makes up for
LOSSES = 5, 10, 15, 20, 25, 30, 40, 50


def _falls_at_the_cliff(results):
    words, holds = [], True
    for gain, cliff in GAINS.items():
        shares = {}
        for loss in LOSSES:
            label = f"probe_bw_gains={gain},0.75,1,1,1,1,1,1 loss={loss}%"
            shares[loss] = goodput(results, "bpf_bbr", label) / results.capacity(label) / (1 - loss / 100)
        below = [share for loss, share in shares.items() if loss <= cliff / 2]
        above = [share for loss, share in shares.items() if loss >= 1.5 * cliff]
        holds = holds and min(below, default=1) > 0.5 and max(above) < 0.25
        words.append(f"{gain}: {_shares_of(shares.values())}")
    return holds, "; ".join(words) + " of the link, at 5 to 50 %"


@claim("cliff",
       fails="with 1.1 some of the link is left at 20 %; with 1.5 BBR falls at 20 %, where it takes the losses for a policer")
def goodput_falls_at_the_loss_that_a_probe_makes_up_for(results):
    """goodput falls at the loss p = 1 - 1/gain of the gain that probes: half of that is endured, one and a half are not"""
    return _falls_at_the_cliff(results)


@claim("cliff-no-policer", fails="with 1.1 a quarter of the link is left at 15 %; with 1.25 and 1.5 goodput falls where it should")
def it_falls_there_without_the_rule_for_policers(results):
    """without the rule for policers as well: half of that loss is endured, one and a half are not"""
    return _falls_at_the_cliff(results)


JITTERS = "0ms", "2ms", "5ms", "10ms", "20ms", "30ms"


def _least_by_jitter(results):
    """The lower goodput of both BBRs, as a share of the link."""
    return [min(goodput(results, cc, f"jitter={jitter}") / results.capacity(f"jitter={jitter}") for cc in BBRS)
            for jitter in JITTERS]


@claim("jitter")
def jitter_makes_bbr_collapse(results):
    """once jitter makes cwnd smaller than what is really on the path, goodput collapses: to less than half, at some jitter"""
    rates = _least_by_jitter(results)
    return rates[-1] < 0.5 * rates[0], f"{_shares_of(rates)} of the link, at {', '.join(JITTERS)}"


@claim("jitter", fails="a window of two BDPs is enough until the jitter is near the RTT")
def a_little_jitter_is_enough(results):
    """it begins at 1.5 ms: with 2 ms goodput is below 90 % of that without jitter"""
    rates = _least_by_jitter(results)
    return rates[1] < 0.9 * rates[0], f"{_shares_of(rates[:2])} of the link, at {', '.join(JITTERS[:2])}"


BBRMO = "bbrmo pin_bw=12mbit pin_min_rtt=40ms"


def _three(results, path):
    """Goodput of CUBIC, BBR and BBRMO on a path."""
    usual = f"{path} profile=default"
    return [goodput(results, "cubic", usual), goodput(results, "bpf_bbr", usual),
            goodput(results, "bpf_bbr", f"{path} profile={BBRMO}")]


@claim("bbrmo", fails="nothing but the queue drops packets here, so CUBIC fills the link as well, and BBR lacks 2 % for PROBE_RTT")
def bbrmo_is_above_bbr_and_cubic(results):
    """on a path of 12 Mbit/s CUBIC has 8.5, BBR 9.2, BBRMO 12.2: BBRMO has the most, by at least 5 %"""
    rates = _three(results, "delay=40ms loss=0%")
    return rates[2] > 1.05 * max(rates[:2]), ", ".join(map(mbit, rates))


@claim("bbrmo")
def a_longer_path_than_pinned_costs_bbrmo_its_gain(results):
    """with 100 ms more than was pinned CUBIC has 3.7, BBR 4.7, BBRMO 3.8: BBRMO falls behind BBR"""
    rates = _three(results, "delay=140ms loss=0%")
    return rates[2] < rates[1], ", ".join(map(mbit, rates))


@claim("bbrmo", fails="the pinned values bound BBRMO's window, and BBR has ten times as much with one seed as with another")
def with_loss_besides_it_is_above_both(results):
    """with 100 ms more and 15 % loss CUBIC has 2.6, BBR 3.8, BBRMO 4.1: BBRMO has the most"""
    rates = _three(results, "delay=140ms loss=15%")
    return rates[2] > rates[1] > rates[0], ", ".join(map(mbit, rates))


@claim("fair-cc-buffer", fails="CUBIC has more of the deep buffer than that")
def the_buffer_decides_beside_cubic(results):
    """behind 10 KB BBR has over 90 % of the link, behind 10 MB CUBIC has about 80 %"""
    small, large = (median_of(results.both(f"queue={queue}"), lambda r: r["flows"][0]["share"]) for queue in (7, 6605))
    return small > 0.9 and 0.7 < 1 - large < 0.9, f"BBR {100 * small:.0f} %, CUBIC {100 * (1 - large):.0f} %"
