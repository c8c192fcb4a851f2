# SPDX-License-Identifier: GPL-2.0-only
"""BBR version 3 on this kernel: by bpftool alone, by bbrctl, and beside version 1."""
from test_bbrmon import check_accounts
from test_paths import end, flow
from tool import USAGE, status_of
from transfer import MB, send_verified

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
    # A reason says which phase was entered; several phases may begin and end within one ACK.
    reasons = [e["reason"] for e in watching.of("mode")[1:] if e["to"] == "PROBE_BW"]
    phases = [next(phase for phase, by in ENTERED_BY.items() if reason in by) for reason in reasons]
    assert phases[0] == "DOWN" and "UP" in phases, reasons
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
