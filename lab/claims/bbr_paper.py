# SPDX-License-Identifier: GPL-2.0-only
"""Document 002, the BBR paper."""
import statistics

from claims import claim
from runs import metrics
from claims.results import (BBRS, PAYLOAD, acked_rate, mbit, median_of, ms, of_column, rows_between, usual)


def probes(result):
    """The gain cycles of a steady flow, by its pacing rate: [start of 1.25, start of 0.75, end of 0.75]."""
    rate = usual(result, "pacing_bps")
    found, phase = [], 0
    for row in rows_between(result, *result["window_us"]):
        gain = metrics.column(row, "pacing_bps") / rate
        now = 1 if gain > 1.1 else -1 if gain < 0.9 else 0
        if now == 1 and phase != 1:
            found.append([row[0]])
        elif now != phase and found and len(found[-1]) < 3 and phase:
            found[-1].append(row[0])
        phase = now
    return [cycle for cycle in found if len(cycle) == 3]


@claim("fig2")
def cycle_is_visible_in_inflight_then_rtt(results):
    """each probe shows in inflight first, then in the RTT, and both fall back when it is drained"""
    count = 0
    for result in results.both():
        inflight, rtt = usual(result, "inflight"), usual(result, "rtt_us")
        for probe, _, end in probes(result)[1:-1]:
            around = rows_between(result, probe, end + 2 * result["rtprop_us"])
            most = max(around, key=lambda row: metrics.column(row, "inflight"))
            slowest = max(around, key=lambda row: metrics.column(row, "rtt_us"))
            if metrics.column(most, "inflight") < 1.1 * inflight or \
                    metrics.column(slowest, "rtt_us") < 1.1 * rtt or most[0] > slowest[0] or \
                    metrics.column(around[-1], "rtt_us") > 1.05 * rtt:
                return False, f"{result['cc']}: not so in the probe at {ms(probe)}"
            count += 1
    return count >= 16, f"in {count} probes"


@claim("fig2")
def rtt_rises_in_the_probe_only(results):
    """beyond a probe and the RTT after it, the RTT stays within 10 % of its median"""
    worst = 0.0
    for result in results.both():
        rtt = usual(result, "rtt_us")
        cycles = probes(result)
        for (_, _, end), (following, _, _) in zip(cycles, cycles[1:]):
            quiet = rows_between(result, end + 1.5 * rtt, following)
            worst = max([worst, *(r / rtt - 1 for r in of_column(quiet, "rtt_max_us"))])
    return worst <= 0.1, f"at most {worst * 100:.1f} % above"


@claim("fig3")
def new_bandwidth_is_used_within_three_cycles(results):
    """90 % of 20 Mbit/s is delivered within three gain cycles of 8 RTTs (and the RTT that it takes to see)"""
    slowest = 0
    for result in results.both():
        before = rows_between(result, 10e6, 20e6)
        rtt = statistics.median(of_column(before, "rtt_us"))
        limit = 20e6 + (3 * 8 + 1) * rtt
        end = 20.2e6
        while acked_rate(result, end - 200e3, end) < 0.9 * 20e6 * PAYLOAD:
            end += 10e3
            if end > limit + 200e3:
                return False, f"{result['cc']} seed {result['seed']}: not by {ms(limit - 20e6)}"
        slowest = max(slowest, end - 20e6)
    return True, f"after {ms(slowest)} at most, of {ms(limit - 20e6)}"


@claim("fig3")
def queue_of_the_drop_is_drained(results):
    """back at 10 Mbit/s the RTT is more than doubled at first, half of that is gone when the old maximum has left the filter (two seconds), and all, within 25 % of RTprop, after six"""
    def times_rtprop(result, begin, end, typical):
        rtts = of_column(rows_between(result, begin * 1e6, end * 1e6), "rtt_us")
        return typical(rtts) / result["rtprop_us"]

    up = [times_rtprop(r, 40, 42, max) for r in results.both()]
    half = [times_rtprop(r, 42, 43, statistics.median) for r in results.both()]
    after = max(times_rtprop(r, 46, 50, statistics.median) for r in results.both())
    return min(up) > 2 and all(h < u / 2 for u, h in zip(up, half)) and after < 1.25, \
        f"{min(up):.1f} to {max(up):.1f} times RTprop, then {max(half):.2f}, then {after:.2f} times"


def _acked_by(result, t_us):
    return metrics.value_at(result["series"]["flow"], t_us, "acked_bytes")


@claim("fig4")
def both_double_each_round(results):
    """BBR and CUBIC have twice as much acknowledged in the second RTT as in the first"""
    ratios = []
    for result in results.both() + results.of("cubic"):
        begin = result["series"]["flow"][0][0]
        first_round = _acked_by(result, begin + 25e3)
        ratios.append((_acked_by(result, begin + 75e3) - first_round) / first_round)
    return all(1.6 <= ratio <= 2.4 for ratio in ratios), \
        f"{min(ratios):.2f} to {max(ratios):.2f} times"


@claim("fig4")
def bbr_drains_and_cubic_fills(results):
    """BBR drains its start-up queue to under a tenth within the second; CUBIC's is larger at its end than BBR's ever"""
    left, peak = 0.0, 0
    for result in results.both():
        queue = [row[1] for row in result["series"]["queue"]]
        drained = [m[0] for m in result["series"]["mode"] if m[2] == 2]
        if not drained or not max(queue):
            return False, f"{result['cc']}: DRAIN did not end"
        low = min(row[1] for row in rows_between(result, drained[0] - 20e3, 1e6, "queue"))
        left, peak = max(left, low / max(queue)), max(peak, *queue)
    cubic = min(r["series"]["queue"][-1][1] for r in results.of("cubic"))
    return left < 0.1 and cubic > 0.75 * peak, \
        f"BBR {peak} packets at most, then {left * 100:.0f} % of it; CUBIC {cubic} at the end"


@claim("fig5")
def bbr_keeps_rtprop(results):
    """after the first second BBR's median RTT is within 25 % of RTprop"""
    worst = max(r["flows"][0]["rtt_us"]["median"] / r["rtprop_us"] for r in results.both())
    return worst <= 1.25, f"{worst:.2f} times RTprop"


@claim("fig5")
def cubic_keeps_a_queue(results):
    """after the first second CUBIC's median RTT is above three times RTprop, the buffer most often over 60 % full"""
    rtt = min(r["flows"][0]["rtt_us"]["median"] / r["rtprop_us"] for r in results.of("cubic"))
    queue = min(r["link"]["queue_packets"]["median"] for r in results.of("cubic"))
    limit = results.points[""]["link.queue"]
    return rtt > 3 and queue > 0.6 * limit, f"{rtt:.1f} times RTprop, {queue} of {limit} packets"


@claim("fig6")
def shares_become_equal(results):
    """five BBR flows fill the link, and their shares become equal: a median of Jain's index over 0.9"""
    fair = [r["jain"] for r in results.both()]
    rate = min(r["goodput_bps"] for r in results.both()) / results.capacity()
    return statistics.median(fair) > 0.9 and rate > 0.95, \
        f"Jain's index {statistics.median(fair):.3f} [{min(fair):.3f}..{max(fair):.3f}], " \
        f"{rate * 100:.0f} % of the link"


@claim("fig6")
def probe_rtt_is_synchronised(results):
    """flows that saw the queue vanish in the PROBE_RTT of another probe together ten seconds later: at least three of the five at a time"""
    most = []
    for result in results.both():
        spans = [span for flow in result["flows"] for span in flow["probe_rtt_us"]]
        most.append(max((sum(1 for a, b in spans if a <= t < b) for t, _ in spans), default=0))
    return statistics.median(most) >= 3, f"together: {', '.join(map(str, most))}"


@claim("fig8")
def bbr_lives_with_loss(results):
    """BBR delivers over 80 % of the link up to 1 % loss and over 70 % at 5 %"""
    words, holds = [], True
    for p, least in (("0.1%", 0.8), ("1%", 0.8), ("5%", 0.7)):
        rate = median_of(results.both(f"loss={p}"), lambda r: r["goodput_bps"]) / \
            results.capacity(f"loss={p}")
        holds = holds and rate > least
        words.append(f"{rate * 100:.0f} % of the link at {p}")
    return holds, ", ".join(words)


@claim("fig8")
def bbr_falls_steeply(results):
    """beyond 15 % loss BBR falls steeply: at 30 % to less than a fifth of what it has at 15 %"""
    low, high = (median_of(results.both(f"loss={p}"), lambda r: r["goodput_bps"])
                 for p in ("30%", "15%"))
    return low < high / 5, f"{mbit(high)} at 15 %, {mbit(low)} at 30 %"


@claim("fig8")
def cubic_dies_of_loss(results):
    """CUBIC has under 15 % of the link at 0.1 % loss and under 5 % at 1 %"""
    rates = [median_of(results.of("cubic", f"loss={p}"), lambda r: r["goodput_bps"]) /
             results.capacity(f"loss={p}") for p in ("0.1%", "1%")]
    return rates[0] < 0.15 and rates[1] < 0.05, \
        f"{rates[0] * 100:.1f} % at 0.1 %, {rates[1] * 100:.1f} % at 1 %"


def _median_rtt(runs):
    """The median over the runs of the flows' median RTT."""
    return median_of(runs, lambda r: statistics.median(flow["rtt_us"]["median"] for flow in r["flows"] if flow["rtt_us"]))


BUFFERS = 10, 30, 100, 300, 1000  # packets, of fig10


def _seconds(*times_us):
    return ", ".join(f"{t / 1e6:.1f} s" for t in times_us)


@claim("fig10")
def cubic_fills_any_buffer(results):
    """CUBIC's median RTT grows with the buffer, to 5 s and more, at both rates"""
    words = []
    for rate in ("128kbit", "1280kbit"):
        rtts = [_median_rtt(results.of("cubic", f"rate={rate} queue={queue}")) for queue in BUFFERS]
        words.append(f"{_seconds(*rtts)} at {rate}")
        if rtts != sorted(rtts) or rtts[-1] < 5e6:
            return False, words[-1]
    return True, "; ".join(words)


@claim("fig10")
def bbr_does_not_follow_the_buffer(results):
    """BBR's median RTT does not: at 1280 kbit/s it is the same at 100, 300 and 1000 packets, within 25 %"""
    rtts = [_median_rtt(results.of(cc, f"rate=1280kbit queue={queue}")) for cc in BBRS for queue in (100, 300, 1000)]
    return max(rtts) < 1.25 * min(rtts), _seconds(*rtts)


@claim("fig10", fails="eight least windows alone are a queue of 3 s, and RTTs of over 10 s outlive min_rtt's window, so no flow sees the path's 40 ms")
def bbr_keeps_the_queue_short_in_any_buffer(results):
    """at 128 kbit/s BBR's median RTT is the same for buffers of 10 to 1000 packets, within 25 %"""
    rtts = [_median_rtt(results.both(f"rate=128kbit queue={queue}")) for queue in BUFFERS]
    return max(rtts) < 1.25 * min(rtts), _seconds(*rtts) + f" at {', '.join(map(str, BUFFERS))} packets"


@claim("fig10")
def bbr_is_below_cubic(results):
    """at 128 kbit/s, where eight least windows of 4 packets alone take 3 s, BBR is still below CUBIC"""
    ours, cubic = ([_median_rtt(results.of(cc, "rate=128kbit queue=1000")) for cc in ccs] for ccs in (BBRS, ["cubic"]))
    return max(ours) < cubic[0], f"{_seconds(*ours)} against {_seconds(*cubic)}"


@claim("policer")
def settles_at_the_token_rate(results):
    """over 85 % of the token rate is delivered, at most 15 % of the packets are resent"""
    tokens = results.points[""]["policer.rate"] * PAYLOAD
    rate = min(r["goodput_bps"] for r in results.both()) / tokens
    resent = max(r["flows"][0]["retransmits"] * 1448 / (r["received_bytes"] or 1)
                 for r in results.both())
    return 0.85 < rate < 1.05 and resent < 0.15, \
        f"{rate * 100:.0f} % of the token rate, {resent * 100:.1f} % resent"


@claim("policer")
def policer_is_detected(results):
    """bpf_bbr comes to use the policer's rate (lt_bw), within 10 % of the token rate"""
    tokens = results.points[""]["policer.rate"] * PAYLOAD
    ratios = []
    for result in results.of("bpf_bbr"):
        used = [e["lt_bw_bps"] for e in result["bbrmon"] if e.get("policer") == "detected"]
        if not used:
            return False, f"seed {result['seed']}: not detected"
        ratios.append(statistics.median(used) / tokens)
    return all(0.9 < ratio < 1.1 for ratio in ratios), \
        f"lt_bw is {min(ratios):.2f} to {max(ratios):.2f} of it"


def _gains(cwnd_gain, extra):
    return f"cwnd_gain={cwnd_gain} extra_acked_gain={extra}"


@claim("acks")
def cwnd_gain_2_keeps_the_rate(results):
    """with cwnd_gain 2 BBR delivers over 90 % of the link"""
    label = _gains("default", "default")
    rate = min(r["goodput_bps"] for r in results.both(label)) / results.capacity(label)
    return rate > 0.9, f"{rate * 100:.0f} % of the link"


@claim("acks")
def cwnd_gain_1_stalls(results):
    """with cwnd_gain 1, and without the aggregation estimate that came later, it is under half of the link"""
    label = _gains("1", "0")
    rate = max(r["goodput_bps"] for r in results.of("bpf_bbr", label)) / results.capacity(label)
    return rate < 0.5, f"{rate * 100:.0f} % of the link"


@claim("idle")
def restarts_at_the_estimated_rate(results):
    """in the second after the pause over 90 % of the rate before it is delivered, counted from the first ACK"""
    worst = 9.0
    for result in results.both():
        first = next(row[0] for row in result["series"]["flow"] if row[0] > 10.5e6)
        worst = min(worst, acked_rate(result, first, first + 1e6) / acked_rate(result, 3e6, 6e6))
    return worst > 0.9, f"{worst * 100:.0f} % of it"


@claim("idle")
def no_burst_no_probe_rtt(results):
    """the restart makes no queue beyond that of a probe (25 packets; STARTUP's was over 60), and needs no PROBE_RTT"""
    queue = max(row[1] for r in results.both() for row in rows_between(r, 10.5e6, 13e6, "queue"))
    startup = min(max(row[1] for row in rows_between(r, 0, 1e6, "queue")) for r in results.both())
    probed = sum(len(flow["probe_rtt_us"]) for r in results.both() for flow in r["flows"])
    return queue <= 25 and startup > 60 and not probed, \
        f"{queue} packets, after {startup} in STARTUP; {probed} PROBE_RTTs"


@claim("b4")
def the_window_is_the_limit(results):
    """a receive buffer whose window is 8 MB caps BBR at 335 Mbit/s"""
    rates = [r["goodput_bps"] for r in results.both("buffer=20M")]
    return all(0.85 < rate / 335e6 < 1.1 for rate in rates), f"{mbit(min(rates))} to {mbit(max(rates))}"


@claim("b4")
def without_the_limit_bbr_is_far_above_cubic(results):
    """without that limit BBR has the link's 2 Gbit/s, CUBIC 15 Mbit/s: 133 times less, or at least two thirds of that"""
    bbr = median_of(results.both("buffer=256M"), lambda r: r["goodput_bps"])
    cubic = median_of(results.of("cubic", "buffer=256M"), lambda r: r["goodput_bps"])
    return bbr > 0.8 * results.capacity("buffer=256M") and bbr > 133 * 2 / 3 * cubic, \
        f"{mbit(bbr)} against {mbit(cubic)}: {bbr / cubic:.0f} times"
