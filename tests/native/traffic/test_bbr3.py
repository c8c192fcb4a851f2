# SPDX-License-Identifier: GPL-2.0-only
"""BBR version 3 on this kernel: by bpftool alone, by bbrctl, and beside version 1."""
import contextlib
import json
import pathlib
import signal
import subprocess

import pytest

from cgroups import Cgroup
from exporter import Exporter
from stream import check_accounts
from system import wait_until
from test_paths import end, flow
from tool import DONE, USAGE, data_of, status_of
from transfer import MB, advance, close, connect, finish, flows, get_cc, listen, send_verified

LARGER = pathlib.Path(__file__).resolve().parents[3] / "build/bbr3_larger.bpf.o"
NEXT_PHASE = {"UP": {"DOWN"}, "DOWN": {"CRUISE", "REFILL"}, "CRUISE": {"REFILL"}, "REFILL": {"UP"}}
ENTERED_BY = {"DOWN": {"drained", "probe_loss", "probe_ecn", "probe_inflight", "probe_full_bw"},
              "CRUISE": {"headroom", "probe_rtt_done"}, "UP": {"refilled"},
              "REFILL": {"probe_again", "waited", "waited_rounds", "marks_ceased"}}


def ends_of_probes(watching):
    return [e for e in watching.of("mode") if e["from"] == "PROBE_BW" and e["reason"] in ENTERED_BY["DOWN"]]


def test_registered_by_bpftool_it_carries_traffic(bpf_bbr3, bbrctl, ns):
    send_verified(ns, bpf_bbr3, 64 * MB)
    send_verified(ns, bpf_bbr3, 16 * MB, address="::1")
    assert status_of(bbrctl, bpf_bbr3)["algorithm"] == "bbr3"


def test_it_probes_in_phases(load, monitor, new_path):
    """STARTUP, DRAIN, then the phases of PROBE_BW in their order, with a reason for each."""
    path, name = new_path(limit="4m"), load(algorithm="bbr3")
    watching = monitor(name, "--every", "ack")
    transfer = flow(path, name, path.v4)
    watching.wait_for(ends_of_probes, "a probe and its end", 90)
    transfer.stop()
    transfer.finish()
    summary = end(watching)
    check_accounts(watching, summary)
    steps = [(e["from"], e["to"]) for e in watching.of("mode")]
    assert steps[:2] == [("STARTUP", "DRAIN"), ("DRAIN", "PROBE_BW")], steps
    assert all(e["reason"] for e in watching.of("mode"))
    assert {e["mode"] for e in watching.of("ack") if e["phase"]} == {"PROBE_BW"}
    without = {e["mode"] for e in watching.of("ack") if not e["phase"]}
    assert "STARTUP" in without and "PROBE_BW" not in without
    # A reason says which phase was entered; several phases may begin and end within one ACK.
    reasons = [e["reason"] for e in watching.of("mode")[1:] if e["to"] == "PROBE_BW"]
    phases = [next(phase for phase, by in ENTERED_BY.items() if reason in by) for reason in reasons]
    assert phases[0] == "DOWN" and "UP" in phases, reasons
    assert [e["to_phase"] for e in watching.of("mode")[1:] if e["to"] == "PROBE_BW"] == phases
    assert {e["from_phase"] for e in watching.of("mode") if e["reason"] == "refilled"} == {"REFILL"}
    for before, after, reason in zip(phases, phases[1:], reasons[1:]):
        assert after in NEXT_PHASE[before] or reason == "probe_rtt_done", reasons


def test_losses_are_a_bound(load, monitor, new_path):
    """A queue of a few packets: more loss than loss_thresh ends STARTUP or a probe and leaves bounds."""
    path, name = new_path(rate="30mbit", limit="6k"), load(algorithm="bbr3")
    watching = monitor(name, "--every", "ack")
    flow(path, name, path.v4, size=8 * MB).finish()
    summary = end(watching)
    check_accounts(watching, summary)
    last = watching.of("end")[0]
    assert last["lost"] > 0 and last["bytes_sent"] - last["bytes_retrans"] == 8 * MB
    assert [e for e in watching.of("ack") if e["inflight_hi"] or e["inflight_lo"]]


def test_beside_version_1(bbrctl, load, ns):
    """Each has its own parameters and its own names."""
    one, three = load(), load(algorithm="bbr3")
    bbrctl("set", "--name", one, "cwnd_gain=3")
    bbrctl("set", "--name", three, "loss_thresh=0.0625")
    for name in one, three:
        send_verified(ns, name)
        assert status_of(bbrctl, name)["params_changed"] == 1
    assert "loss_thresh" in bbrctl("set", "--name", one, "loss_thresh=0.0625", status=USAGE).err
    keys = {name: {p["key"] for p in bbrctl.json("show", "--name", name)["params"]} for name in (one, three)}
    assert "loss_thresh" in keys[three] - keys[one] and "lt_gain" in keys[one] - keys[three]


OWN = ("bw_hi_bps", "bw_lo_bps", "inflight_hi", "inflight_lo")
CURVES = {"rate": ["bw", "bw_hi", "bw_lo"], "rtt": ["min_rtt"], "inflight": ["inflight_hi", "inflight_lo"],
          "state": ["phase"]}


@pytest.fixture
def recorded(bbrctl, bbrmon, load, new_path, tmp_path):
    """A flow in PROBE_BW with losses: its instance, and a file with a recording of each of its ACKs."""
    path, name, file = new_path(limit="20k"), load(algorithm="bbr3"), tmp_path / "v3.rec"
    recorder = bbrmon.start("record", "--name", name, "--every", "ack", "-o", file, stderr=subprocess.DEVNULL)
    with contextlib.ExitStack() as stack:
        stack.callback(recorder.wait)
        stack.callback(recorder.kill)
        wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "bbrmon subscribes")
        transfer = flow(path, name, path.v4)

        def stop():
            transfer.stop()
            transfer.finish()
            wait_until(lambda: status_of(bbrctl, name)["users"] == 0, "the connection is closed")
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(30) == DONE
        yield name, file, stop


def test_connections_of_another_release_have_their_second_part(load, bbrmon, ns):
    """Its size differs; what both releases know is shown."""
    name = load(algorithm="bbr3", options=("--object", LARGER))
    transfers = flows(ns, name, 1)
    for _ in range(3):
        advance(transfers)
    (state,) = [json.loads(line) for line in bbrmon("snapshot", "-j", "--name", name).out.splitlines()]
    finish(transfers)
    assert state["second_part"] and state["rounds"] > 0 and state["pacing_gain"] > 0


def test_each_verb_shows_it(bbrmon, recorded, tmp_path):
    """Modes with phases, bounds and losses: of sockets, of events, and of a recording."""
    name, file, stop = recorded

    def state():
        lines = bbrmon("snapshot", "-j", "--name", name).out.splitlines()
        return json.loads(lines[0]) if lines else {"mode": None}
    wait_until(lambda: state()["mode"] == "PROBE_BW" and state()["inflight_hi"], "a bound")
    now = state()
    assert now["phase"] in NEXT_PHASE and now["second_part"] and now["rounds"] > 1 and now["bw_hi_bps"] > 1_000_000
    text = bbrmon("snapshot", "--name", name).out
    assert "PROBE_" in text and " bw_hi:" in text
    assert "PROBE_" in bbrmon("top", "--batch", "--name", name, "-n", "2", "-i", "200ms").out
    exporter = Exporter(bbrmon, tmp_path, "--name", name)
    try:
        exporter.wait_for(lambda s: s.sum("bbr_connections", bbr_instance=name) == 1, "the connection is counted")
    finally:
        exporter.kill()
    stop()

    events = [json.loads(line) for line in bbrmon("stream", "-j", "--read", file).out.splitlines()][:-1]
    assert [e for e in events if e["event"] == "mode" and e["reason"] in ENTERED_BY["DOWN"]]
    assert any(e["inflight_hi"] for e in events) and any(e["loss_in_round"] for e in events)
    rows = [json.loads(line) for line in bbrmon("top", "-j", "--read", file, "-i", "200ms").out.splitlines()]
    assert rows and all((row["phase"] is None) == (row["mode"] != "PROBE_BW") for row in rows)
    assert all(key in row for row in rows for key in OWN)
    bbrmon("report", file)
    page = data_of(file.with_name("v3.rec.html").read_text())
    curves = [(c["lane"], c["name"]) for c in page["curves"]["bbr3"]]
    for lane, names in CURVES.items():
        assert [n for where, n in curves if where == lane][-len(names):] == names
    (phases,) = [c for c in page["curves"]["bbr3"] if c["name"] == "phase"]
    assert phases["names"] == ["UP", "DOWN", "CRUISE", "REFILL"]


@pytest.fixture
def cgroup():
    made = Cgroup()
    yield made
    made.delete()


def test_profiles_rules_and_cgroups(bbrctl, load, ns, cgroup):
    """Profiles and rules are chosen for a connection of version 3 as for one of version 1."""
    name = load(algorithm="bbr3")
    bbrctl("profile", "add", "--name", name, "draft")
    bbrctl("rule", "add", "--name", name, "--dst", "127.0.0.0/8", "--profile", "draft")
    listener = listen(ns)
    ends = connect(ns, listener, cc=name)
    profiles = {p["profile"]: p for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}
    assert profiles["draft"]["connections"] == 1 and profiles["default"]["connections"] == 0
    shown = {p["key"]: p["value"] for p in bbrctl.json("show", "--name", name, "--profile", "draft")["params"]}
    assert shown["drain_gain"] == 0.5 and shown["cruise_above_hi"] == 1
    bbrctl("profile", "add", "--name", name, "wifi")
    shown = {p["key"]: p["value"] for p in bbrctl.json("show", "--name", name, "--profile", "wifi")["params"]}
    assert (shown["startup_cwnd_gain"], shown["cwnd_gain"], shown["drain_gain"]) == (4, 3, 0.344)
    close(*ends)
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name)
    with cgroup.entered():
        sender, _ = connect(ns, listener)
    assert get_cc(sender) == name
    bbrctl("detach", "--cgroup", cgroup.path, "--name", name)
