# SPDX-License-Identifier: GPL-2.0-only
"""Parameters that mainline lacks: each on a real connection, whose state shows it and whose bytes arrive."""
import contextlib

import pytest

from transfer import MB, Transfer, connect, listen


def acks(monitor):
    return monitor.of("ack")


def sampled(monitor):
    """ACKs from the first one on that has a bandwidth."""
    return [e for e in acks(monitor) if e["bw_bps"]]


class Flow:
    """A transfer over a path, and a monitor of it."""

    def __init__(self, monitor, path, name):
        self.path, self.name = path, name
        self.watching = monitor(name, "--every", "ack")
        self.transfer = Transfer(*connect(path.sender, listen(path.receiver, path.v4), cc=name))

    def wait_for(self, condition, what):
        return self.watching.wait_for(condition, what)

    def after(self, time_ns):
        return [e for e in acks(self.watching) if e["time_ns"] > time_ns]

    def changed(self, bbrctl, name, *assignments):
        """Sets parameters. Returns the time from which on the connection has them."""
        before = len(self.watching.of("params"))
        bbrctl("set", "--name", name, *assignments)
        self.wait_for(lambda m: len(m.of("params")) > before, "the new parameters")
        return self.watching.of("params")[-1]["time_ns"]

    def link(self, state):
        router, device = self.path.bottleneck
        router.ip("link", "set", device, state)

    def finish(self):
        self.transfer.stop()
        self.transfer.finish()  # fails unless the bytes are those that were sent
        self.wait_for(lambda m: m.of("end"), "the end")
        self.watching.stop()
        return acks(self.watching)


@pytest.fixture
def run(bbrctl, load, monitor, new_path):
    """Starts a flow with some parameters, and ends it."""
    @contextlib.contextmanager
    def start(*assignments, algorithm="bbr", **kwargs):
        name = load(*assignments, algorithm=algorithm)
        flow = Flow(monitor, new_path(**kwargs), name)
        yield flow
        bbrctl("reset", "--name", name, status=None)  # or the rest of the socket's data would go as slowly as the test had it
        flow.finish()
    return start


def in_mode(mode, least):
    return lambda m: sum(e["mode"] == mode for e in acks(m)) >= least


def test_pinned_bandwidth(run, bbrctl):
    with run("pin_bw=8mbit", "probe_rtt_duration=0") as flow:
        flow.wait_for(in_mode("PROBE_BW", 1000), "a thousand ACKs")
        for e in sampled(flow.watching):
            assert e["bw_bps"] == pytest.approx(8e6, rel=0.001)
            assert e["mode"] != "STARTUP" and e["policer"] == "off"
            assert e["pacing_rate_bps"] <= 8e6 * 1.25
        flow.changed(bbrctl, flow.name, "pin_bw=0")
        flow.wait_for(lambda m: acks(m)[-1]["bw_bps"] > 15e6, "the path's bandwidth")
        now = flow.changed(bbrctl, flow.name, "pin_bw=4mbit")
        flow.wait_for(lambda m: len(flow.after(now)) > 100, "ACKs")
        assert {round(e["bw_bps"], -5) for e in flow.after(now)[1:]} == {4_000_000}
        now = flow.changed(bbrctl, flow.name, "pin_bw=100mbit")  # too much: the queue overflows, no more
        flow.wait_for(lambda m: len(flow.after(now)) > 1000, "ACKs")
        rounds = flow.after(now)[-1]["rounds"]
        now = flow.changed(bbrctl, flow.name, "pin_bw=0")
        # A host that stalls for a while lets ACKs come at once: a bandwidth that the filter keeps for ten rounds.
        flow.wait_for(lambda m: acks(m)[-1]["rounds"] > rounds + 30 and acks(m)[-1]["bw_bps"] < 50e6,
                      "the path's bandwidth after thirty rounds")


def test_pinned_min_rtt(run, bbrctl):
    with run("pin_min_rtt=30ms", "min_rtt_win=500ms") as flow:
        flow.wait_for(lambda m: len(acks(m)) > 3000, "three thousand ACKs")
        assert {e["min_rtt_us"] for e in acks(flow.watching)[1:]} == {30_000}
        assert not [e for e in flow.watching.of("mode") if e["to"] == "PROBE_RTT"]
        flow.changed(bbrctl, flow.name, "pin_min_rtt=0")
        flow.wait_for(lambda m: acks(m)[-1]["min_rtt_us"] != 30_000, "a measured min_rtt")
        flow.wait_for(lambda m: any(e["to"] == "PROBE_RTT" for e in m.of("mode")), "PROBE_RTT")


def test_min_rtt_pinned_in_probe_rtt(run, bbrctl):
    with run("min_rtt_win=100ms", "probe_rtt_duration=10s") as flow:
        flow.wait_for(in_mode("PROBE_RTT", 20), "PROBE_RTT")
        now = flow.changed(bbrctl, flow.name, "pin_min_rtt=5ms")
        flow.wait_for(lambda m: len(flow.after(now)) > 100, "ACKs")
        assert {e["mode"] for e in flow.after(now)} <= {"STARTUP", "DRAIN", "PROBE_BW"}
        assert flow.watching.of("mode")[-1]["time_ns"] >= now or flow.after(now)[0]["mode"] != "PROBE_RTT"
        assert flow.after(now)[-1]["cwnd"] > 4


def test_fixed_rate(run, bbrctl):
    with run("pacing_rate=6mbit") as flow:
        flow.wait_for(in_mode("PROBE_BW", 500), "five hundred ACKs")
        assert {e["pacing_rate_bps"] for e in acks(flow.watching)} == {6_000_000}
        first, last = acks(flow.watching)[100], acks(flow.watching)[-1]
        rate = (last["bytes_acked"] - first["bytes_acked"]) * 8e9 / (last["time_ns"] - first["time_ns"])
        assert 4e6 < rate < 6.1e6
        now = flow.changed(bbrctl, flow.name, "max_pacing_rate=3mbit")
        flow.wait_for(lambda m: len(flow.after(now)) > 50, "ACKs")
        assert {e["pacing_rate_bps"] for e in flow.after(now)} == {3_000_000}


def test_fixed_rate_above_the_path(run):
    """DRAIN cannot drain, but is left nevertheless."""
    with run("pacing_rate=40mbit", "pin_min_rtt=5ms") as flow:
        flow.wait_for(in_mode("PROBE_BW", 1000), "PROBE_BW")
        assert {e["pacing_rate_bps"] for e in acks(flow.watching)} == {40_000_000}


def test_bounds_of_the_rate(run):
    with run("min_pacing_rate=7mbit", "max_pacing_rate=9mbit", "min_rtt_win=500ms") as flow:
        flow.wait_for(in_mode("PROBE_RTT", 10), "PROBE_RTT")
        rates = {e["pacing_rate_bps"] for e in acks(flow.watching)}
        assert min(rates) >= 7_000_000 and max(rates) == 9_000_000


def test_upper_bound_of_the_rate_of_version_3(run, bbrctl):
    with run("max_pacing_rate=9mbit", algorithm="bbr3") as flow:
        flow.wait_for(in_mode("PROBE_BW", 200), "PROBE_BW")
        assert max(e["pacing_rate_bps"] for e in acks(flow.watching)) == 9_000_000
        now = flow.changed(bbrctl, flow.name, "max_pacing_rate=3mbit")
        flow.wait_for(lambda m: len(flow.after(now)) > 50, "ACKs")
        assert max(e["pacing_rate_bps"] for e in flow.after(now)) == 3_000_000


def test_bounds_of_the_window(run):
    with run("min_cwnd=30", "max_cwnd=40", "min_rtt_win=500ms", rate="30mbit", limit="20k") as flow:
        flow.wait_for(lambda m: [e for e in m.of("mode") if e["from"] == "PROBE_RTT"], "PROBE_RTT and its end")
        assert {e["cwnd"] for e in acks(flow.watching)} <= set(range(30, 41))


def test_small_window(run):
    with run("max_cwnd=1") as flow:
        flow.wait_for(lambda m: len(acks(m)) > 20, "ACKs")
        assert {e["cwnd"] for e in acks(flow.watching)} == {1}


def test_share_of_the_window_in_probe_rtt(run):
    # A window that is large enough for halving: its floor makes it so, because the path is short.
    with run("cwnd_min_target=40", "probe_rtt_cwnd_gain=0.5", "min_rtt_win=500ms") as flow:
        flow.wait_for(lambda m: [e for e in m.of("mode") if e["from"] == "PROBE_RTT"], "PROBE_RTT and its end")
        probing = [e for e in acks(flow.watching) if e["mode"] == "PROBE_RTT"]
        assert probing and all(e["cwnd"] <= e["prior_cwnd"] // 2 for e in probing)
        assert min(e["cwnd"] for e in probing) >= 20


def test_share_of_the_bdp_in_probe_rtt(run, bbrctl):
    with run("pin_bw=12mbit", "pin_min_rtt=100ms", "min_rtt_win=1s", "probe_rtt_bdp_gain=0.5") as flow:
        flow.wait_for(in_mode("PROBE_BW", 500), "PROBE_BW")
        # The pinned min_rtt lasts until PROBE_RTT, unless a lower one is seen: with a queue of 100 ms, none is.
        flow.changed(bbrctl, flow.name, "pin_min_rtt=0")
        flow.wait_for(in_mode("PROBE_RTT", 20), "PROBE_RTT")
        for e in acks(flow.watching):
            if e["mode"] == "PROBE_RTT":
                bdp = e["bw_bps"] / 8e6 * e["min_rtt_us"] / e["mss_bytes"]
                assert e["cwnd"] <= max(4, bdp / 2 + 1)


def test_fewer_phases(run):
    with run("cycle_len=2", "probe_rtt_duration=0") as flow:
        flow.wait_for(in_mode("PROBE_BW", 1000), "PROBE_BW")
        seen = {(e["cycle_idx"], e["pacing_gain"]) for e in acks(flow.watching)
                if e["mode"] == "PROBE_BW" and e["policer"] != "detected"}
        assert seen == {(0, 1.25), (1, 0.75)}


def test_drain_to_target(run):
    with run("drain_to_target=1", "pin_min_rtt=20ms") as flow:
        flow.wait_for(in_mode("PROBE_BW", 2000), "PROBE_BW")
        seen = {(e["cycle_idx"], e["pacing_gain"]) for e in acks(flow.watching)
                if e["mode"] == "PROBE_BW" and e["policer"] != "detected"}
        assert seen == {(0, 1.25), (1, 0.75), (2, 1)}


def test_first_window(load, monitor, link):
    for window in 32, 3:
        name = load(f"start_cwnd={window}")
        watching = monitor(name, "--every", "ack")
        transfer = Transfer(*connect(link.ends[0], listen(link.ends[1], link.v4[1]), cc=name), size=MB)
        transfer.finish()
        watching.wait_for(lambda m: m.of("end"), "the end")
        assert watching.of("start")[0]["cwnd"] == window
        watching.stop()


def test_ignored_losses(run):
    """A queue of a few packets."""
    with run("ignore_loss=1", rate="30mbit", limit="6k") as flow:
        flow.wait_for(lambda m: sum((e["losses"] or 0) > 0 for e in acks(m)) > 30, "losses")
        assert not [e for e in acks(flow.watching) if e["conservation"]]
        flow.wait_for(in_mode("PROBE_BW", 500), "PROBE_BW")
        for before, e in zip(acks(flow.watching), acks(flow.watching)[1:]):
            if e["mode"] == before["mode"] == "STARTUP":
                assert e["cwnd"] >= before["cwnd"]


def test_a_timeout_is_ignored(run):
    with run("ignore_loss=1", "cwnd_min_target=20") as flow:
        flow.wait_for(in_mode("PROBE_BW", 100), "PROBE_BW")
        flow.link("down")
        flow.wait_for(lambda m: m.of("rto"), "a retransmission timeout")
        flow.link("up")
        now = flow.watching.of("rto")[0]["time_ns"]
        flow.wait_for(lambda m: len(flow.after(now)) > 100, "ACKs over the path that is back")
        assert min(e["cwnd"] for e in flow.after(now) if e["acked"]) >= 20


def test_all_at_once_while_it_runs(run, bbrctl):
    with run() as flow:
        flow.wait_for(in_mode("PROBE_BW", 100), "PROBE_BW")
        now = flow.changed(bbrctl, flow.name, "pin_bw=10mbit", "pin_min_rtt=20ms", "min_cwnd=10", "max_cwnd=30",
                           "min_pacing_rate=9mbit", "max_pacing_rate=11mbit", "ignore_loss=1", "drain_to_target=1",
                           "cycle_len=4", "probe_rtt_bdp_gain=0.5", "probe_rtt_cwnd_gain=0.5", "start_cwnd=20")
        flow.wait_for(lambda m: len(flow.after(now)) > 500, "ACKs")
        for e in flow.after(now)[1:]:
            assert e["bw_bps"] == pytest.approx(10e6, rel=0.001) and e["min_rtt_us"] == 20_000
            assert 10 <= e["cwnd"] <= 30 and 9e6 <= e["pacing_rate_bps"] <= 11e6
        changes = len(flow.watching.of("params"))
        bbrctl("reset", "--name", flow.name)
        flow.wait_for(lambda m: len(m.of("params")) > changes, "mainline's parameters")
        flow.wait_for(lambda m: acks(m)[-1]["bw_bps"] > 15e6, "the path's bandwidth")


def test_a_rate_that_silences_connections_is_warned_of(bbrctl, load, free_name, tmp_path):
    """By each verb that sets one; JSON is on stdout alone."""
    name, warns = load(), "max_pacing_rate=1kbit: packets that are already scheduled at this rate"
    assert f"bbrctl: {name}: {warns}" in bbrctl("-j", "set", "--name", name, "max_pacing_rate=1kbit").err
    assert warns not in bbrctl("set", "--name", name, "cwnd_gain=3").err
    assert warns in bbrctl("profile", "add", "--name", name, "slow", "max_pacing_rate=1kbit").err
    assert warns in bbrctl("profile", "copy", "--name", name, "slow", "slower").err
    assert warns not in bbrctl("reset", "--name", name, "max_pacing_rate").err
    file = tmp_path / "slow.conf"
    file.write_text("[default]\nmax_pacing_rate = 1kbit\n")
    assert warns in bbrctl("apply", "--name", name, file).err
    assert warns not in bbrctl("apply", "--name", name, file).err
    other = free_name()
    assert warns in bbrctl("load", "--name", other, "--set", "max_pacing_rate=1kbit").err
    bbrctl("unload", "--name", other)
