# SPDX-License-Identifier: GPL-2.0-only
"""Parameters change while connections run: the instance's own connections follow, others do not."""
from transfer import BUSY_RATE, Transfer, connect, flows, listen


def settled(monitor):
    return any(e["mode"] == "PROBE_BW" for e in monitor.of("ack"))


def test_a_live_connection_follows(bbrctl, load, monitor, new_path):
    # No PROBE_RTT, so that both connections stay in PROBE_BW, where the gains are used.
    one, two = load("probe_rtt_duration=0s"), load("probe_rtt_duration=0s")
    path = new_path(rate="50mbit")
    watching = {name: monitor(name, "--every", "ack") for name in (one, two)}
    listener = listen(path.receiver, path.v4)
    running = [Transfer(*connect(path.sender, listener, cc=name)) for name in (one, two)]
    for name in one, two:
        watching[name].wait_for(settled, "PROBE_BW")
    assert {e["cwnd_gain"] for e in watching[one].of("ack") if e["mode"] == "PROBE_BW"} == {2}

    bbrctl("set", "--name", one, "cwnd_gain=3.5", "probe_bw_gains=1.5,0.5,1,1,1,1,1,1")
    watching[one].wait_for(lambda m: m.of("params"), "the connection's first ACK with the new parameters")
    changed = watching[one].of("params")[0]
    after = lambda m: [e for e in m.of("ack") if e["time_ns"] > changed["time_ns"]]  # noqa: E731
    for gain in 1.5, 0.5:
        watching[one].wait_for(lambda m: any(e["pacing_gain"] == gain for e in after(m)), f"pacing_gain {gain}")
    watching[one].wait_for(lambda m: after(m)[-1]["cwnd_gain"] == 3.5, "cwnd_gain 3.5")

    bbrctl("reset", "--name", one, "cwnd_gain", "probe_bw_gains")
    watching[one].wait_for(lambda m: len(m.of("params")) == 2, "the change back")
    watching[one].wait_for(lambda m: m.of("ack")[-1]["cwnd_gain"] == 2, "cwnd_gain 2 again")
    before = len(watching[two].of("ack"))
    watching[two].wait_for(lambda m: len(m.of("ack")) > before, "the other connection goes on")

    for transfer in running:
        transfer.stop()
    for transfer in running:
        transfer.finish()
    for name in one, two:
        watching[name].wait_for(lambda m: m.of("end"), "the end")
        watching[name].stop()
    assert len(watching[one].of("params")) == 2
    assert not watching[two].of("params")
    assert {e["cwnd_gain"] for e in watching[two].of("ack")} <= {2, 2.88671875}
    assert {e["pacing_gain"] for e in watching[two].of("ack")} <= {2.88671875, 0.34375, 1.25, 0.75, 1}
    assert {e["params_gen"] for e in watching[two].of("ack")} == {watching[two].events[0]["params_gen"]}


def both_gains(gain):
    return f"cwnd_gain={gain}", "probe_bw_gains=" + ",".join([str(gain)] * 8)


def test_no_ack_sees_half_of_a_change(bbrctl, load, monitor, ns):
    """Two parameters that always change together are always seen together: in PROBE_BW each ACK uses both."""
    name = load(*both_gains(1))
    watching = monitor(name, "--every", "ack")
    running = flows(ns, name, 2, gap=0, rate=BUSY_RATE)
    watching.wait_for(settled, "PROBE_BW")
    for i in range(20):
        bbrctl("set", "--name", name, *both_gains(1 + i % 5 / 4), status=None)
    for transfer in running:
        transfer.stop()
    for transfer in running:
        transfer.finish()
    watching.wait_for(lambda m: len(m.of("end")) == 2, "the ends")
    watching.stop()
    assert watching.of("params")
    seen = {(e["params_gen"], e["cwnd_gain"], e["pacing_gain"]) for e in watching.of("ack") if e["mode"] == "PROBE_BW"}
    generations = {generation for generation, _, _ in seen}
    assert len(generations) > 5 and len(seen) == len(generations), seen
    assert all(cwnd_gain == pacing_gain for _, cwnd_gain, pacing_gain in seen), seen
