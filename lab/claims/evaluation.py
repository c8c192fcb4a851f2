# SPDX-License-Identifier: GPL-2.0-only
"""Document 001, an evaluation of BBR against CUBIC: efficiency, convergence, fairness. Its links have 1 Gbit/s."""
import statistics

from claims import claim
from claims.results import BBRS, acked_rate, goodput, mbit, median_of
from runs import metrics


def _rate(results, cc, label=""):
    """The median goodput over the seeds, as a share of what the link carries."""
    return goodput(results, cc, label) / results.capacity(label)


def _least(results, label=""):
    """The lower of both BBRs' medians."""
    return min(_rate(results, cc, label) for cc in BBRS)


def _percent(*shares):
    return ", ".join(f"{100 * share:.0f} %" for share in shares)


@claim("eff")
def bbr_fills_the_link_and_cubic_does_not(results):
    """BBR has 900 of 1000 Mbit/s, CUBIC, limited by its losses, 200"""
    bbr, cubic = _least(results), _rate(results, "cubic")
    return bbr > 0.85 and cubic < 0.4, f"{_percent(bbr)} of the link, CUBIC {_percent(cubic)}"


@claim("eff")
def bbr_dips_every_ten_seconds(results):
    """every 10 s BBR's rate dips: PROBE_RTT"""
    dips = []
    for result in results.both():
        for begin, end in result["flows"][0]["probe_rtt_us"]:
            if begin > 1e6 and end < result["window_us"][1]:
                dips.append(acked_rate(result, begin, end) / result["goodput_bps"])
    return bool(dips) and max(dips) < 0.5, f"{len(dips)} in all, with {_percent(*sorted({min(dips), max(dips)}))} " \
        "of the rate" if dips else "none"


DELAYS = ("10ms", "20ms", "50ms", "100ms")


@claim("eff-rtt")
def a_small_window_limits_bbr_at_a_long_rtt(results):
    """with a window of 1 MB BBR falls beyond an RTT of 20 ms"""
    rates = [_least(results, f"delay={delay} buffer=2M") for delay in DELAYS]
    return rates[2] < 0.6 * rates[0] and rates[3] < 0.6 * rates[2], f"{_percent(*rates)} at {', '.join(DELAYS)}"


@claim("eff-rtt")
def a_large_window_does_not(results):
    """with a window of 80 MB it stays over 900 of 1000 Mbit/s"""
    rates = [_least(results, f"delay={delay} buffer=160M") for delay in DELAYS]
    return min(rates) > 0.85, f"{_percent(*rates)} at {', '.join(DELAYS)}"


@claim("eff-rtt")
def cubic_is_bound_by_loss(results):
    """CUBIC, bound by loss, falls with the RTT, and a larger window hardly helps"""
    small, large = ([_rate(results, "cubic", f"delay={delay} buffer={buffer}") for delay in DELAYS]
                    for buffer in ("2M", "160M"))
    return large[3] < 0.5 * large[0] and large[0] < 1.3 * small[0], \
        f"{_percent(*small)} with 1 MB, {_percent(*large)} with 80 MB, at {', '.join(DELAYS)}"


@claim("eff-loss")
def loss_hardly_changes_bbr(results):
    """up to 0.1 % loss BBR hardly changes, at any RTT"""
    ratios = [_least(results, f"delay={delay} loss=0.1%") / _least(results, f"delay={delay} loss=0.01%")
              for delay in DELAYS[:3]]
    return min(ratios) > 0.9, f"{_percent(*ratios)} of the rate at 0.01 %"


@claim("eff-loss")
def cubic_dies_of_it(results):
    """CUBIC has near nothing of 1 Gbit/s at 0.1 %: below 10 %; its formula says 43, 21 and 9 Mbit/s at 10, 20, 50 ms"""
    labels = [f"delay={delay} loss=0.1%" for delay in DELAYS[:3]]
    rates = [_rate(results, "cubic", label) * results.capacity(label) for label in labels]
    bounds = 2 * 43e6, 2 * 21e6, 2 * 9e6  # not the link's 100 Mbit/s: CUBIC is limited by the loss
    return all(rate < bound for rate, bound in zip(rates, bounds)), ", ".join(map(mbit, rates))


def _converged(results, at, rate):
    """Seconds after `at` until the first half second whose goodput is within 15 % of what is left for the flow, `rate` bits
    per second; the slowest run of both BBRs. Never counts as 9 s."""
    slowest = 0.0
    for result in results.both():
        slowest = max(slowest, next((step / 20 for step in range(80)
                                     if abs(acked_rate(result, (at + step / 20) * 1e6, (at + step / 20 + 0.5) * 1e6) / rate - 1)
                                     < 0.15), 9))
    return slowest


def _seconds(times):
    return ", ".join(f"{time:.2f} s" for time in times)


@claim("conv-udp")
def yields_to_udp_within_two_seconds(results):
    """when UDP takes half of the link, and when it leaves, BBR has what is left within 2 s"""
    shares = []
    for result in results.both():
        shares.append((acked_rate(result, 7e6, 9e6) / results.capacity(),
                       acked_rate(result, 17e6, 19e6) / results.capacity()))
    beside, after = (min(share) for share in zip(*shares))
    times = [_converged(results, 5, results.capacity() / 2), _converged(results, 15, results.capacity())]
    return 0.35 < beside and max(share[0] for share in shares) < 0.6 and after > 0.85 and max(times) < 2, \
        f"{_percent(beside)} of the link beside UDP, {_percent(after)} after it; converged after {_seconds(times)}"


STEPS = ((5, 50e6), (10, 80e6), (15, 20e6), (20, 100e6))  # of conv-bw: (seconds, new rate)


@claim("conv-bw")
def follows_steps_within_a_second(results):
    """a second after each step of the bandwidth BBR delivers over 85 % of the new one"""
    payload = results.capacity() / results.points[""]["link.rate"]
    shares = [min(acked_rate(result, (at + 1) * 1e6, (at + 3) * 1e6) / (rate * payload) for result in results.both())
              for at, rate in STEPS]
    times = [_converged(results, at, rate * payload) for at, rate in STEPS]
    return min(shares) > 0.85 and max(times) < 1, f"{_percent(*shares)} of the new rate; converged after {_seconds(times)}"


def _between(result, flow, begin_us, end_us):
    """Bits per second that one flow had acknowledged between two times."""
    rows = [row for row in result["series"]["flow"] if row[1] == flow]
    return (metrics.value_at(rows, end_us, "acked_bytes") -
            metrics.value_at(rows, begin_us, "acked_bytes")) * 8e6 / (end_us - begin_us)


def _shares(results, begin_us, end_us):
    """The two flows' shares of what the link carries between these times; one pair for each run."""
    return [[_between(result, flow, begin_us, end_us) / results.capacity() for flow in (0, 1)] for result in results.both()]


def _are_equal(shares):
    ratio = statistics.median(max(pair) / min(pair) for pair in shares)
    return ratio < 1.25, f"the larger one is {ratio:.2f} times the other"


def _leave_a_quarter(shares):
    sums = [sum(pair) for pair in shares]
    return max(sums) < 0.85, f"{_percent(min(sums), max(sums))} of the link, least and most"


@claim("fair-together")
def two_flows_have_equal_shares(results):
    """two BBR flows that begin together have nearly the same rate"""
    return _are_equal(_shares(results, 5e6, 20e6))


@claim("fair-together", fails="the windows of both flows together are larger than the BDP")
def two_flows_leave_a_quarter_of_the_link(results):
    """two BBR flows do not fill the link: 750 of 1000 Mbit/s"""
    return _leave_a_quarter(_shares(results, 5e6, 20e6))


@claim("fair-later")
def a_later_flow_has_the_same_average(results):
    """two BBR flows of the same length, one 5 s later, have nearly the same average rate"""
    pairs = [(_between(result, 0, 0, 30e6), _between(result, 1, 5e6, 35e6)) for result in results.both()]
    return _are_equal(pairs)


@claim("fair-later", fails="the windows of both flows together are larger than the BDP")
def they_leave_a_quarter_of_the_link(results):
    """they do not fill the link together"""
    return _leave_a_quarter(_shares(results, 10e6, 30e6))


@claim("fair")
def the_short_flow_keeps_its_rate(results):
    """a flow of 10 s beside a long one has 400 of 1000 Mbit/s"""
    shares = [pair[1] for pair in _shares(results, 7e6, 15e6)]
    return statistics.median(shares) > 0.35, f"{_percent(min(shares), max(shares))} of the link, least and most"


@claim("fair-rtt",
       fails="the flow with the longer RTT has the larger BDP, so it keeps more packets in the queue that both share")
def the_shorter_rtt_has_more(results):
    """a flow with an RTT of 10 ms has twice as much as one with 20 ms"""
    ratios = {queue: median_of(results.both(f"queue={queue}"), lambda r: r["flows"][0]["share"] / r["flows"][1]["share"])
              for queue in (50, 500)}
    return all(1.4 < ratio < 3 for ratio in ratios.values()), \
        ", ".join(f"{ratio:.2f} times with a buffer of {queue} packets" for queue, ratio in ratios.items())


@claim("fair-rtt-more",
       fails="the flow with the longer RTT has the larger BDP, so it keeps more packets in the queue that both share")
def the_gap_grows_with_the_rtt(results):
    """the longer the RTT of the second flow, the less it has beside one of 10 ms"""
    words, holds = [], True
    for queue in (50, 500):
        shares = [median_of(results.both(f"delay={delay} queue={queue}"), lambda r: r["flows"][1]["share"])
                  for delay in ("20ms", "40ms", "80ms")]
        holds = holds and shares[0] > shares[1] > shares[2]
        words.append(f"{_percent(*shares)} at 20, 40, 80 ms with a buffer of {queue} packets")
    return holds, "; ".join(words)


@claim("fair-cc", fails="so it is in a buffer of half a BDP; CUBIC fills one of five BDPs, and BBR does not")
def bbr_takes_most_beside_cubic(results):
    """beside one CUBIC flow BBR has most of the link"""
    shares = {queue: median_of(results.both(f"queue={queue}"), lambda r: r["flows"][0]["share"]) for queue in (200, 2000)}
    return all(share > 0.5 for share in shares.values()), \
        ", ".join(f"{_percent(share)} with a buffer of {queue} packets" for queue, share in shares.items())


@claim("fair-cc-rtt",
       fails="the buffer of 200 packets is 2.4 BDPs at 10 ms, where CUBIC has half, and half a BDP or less from 50 ms on, where BBR wins")
def cubic_gains_with_the_rtt_and_stays_behind(results):
    """with a longer RTT the CUBIC flow has more, but stays behind BBR"""
    shares = [median_of(results.both(f"delay={delay}"), lambda r: r["flows"][1]["share"])
              for delay in ("10ms", "50ms", "100ms", "200ms")]
    return shares == sorted(shares) and shares[0] < shares[-1] < 0.5, \
        f"CUBIC has {_percent(*shares)} of the link at 10, 50, 100, 200 ms"
