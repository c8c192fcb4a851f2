# SPDX-License-Identifier: GPL-2.0-only
"""
Studies of the lab, each with what it makes of a guest's output and a sample of its runs: peers that lie (`lab peers` has 1,000
seeds), return values of programs (`lab returns`), recordings of Google's version 3 (`lab whole`, whose runs take minutes), and
causes that `bbrmon why` finds (`lab why`).
"""
import json
import pathlib

import pytest

from runs import metrics
from studies import peers, returns, whole, why

# ---- peers: does a connection to a peer that lied recover as soon as with the kernel's bbr?

PEER_GOOD = {"errno": 0, "bytes": peers.BYTES, "wrong_packets": 0, "least_cwnd_packets": 1, "least_pacing_bytes_per_s": 1, "us": 1, "waited_us": 0}


def peers_connections(**times):
    return [{**PEER_GOOD, "cc": cc, "seed": seed, "us": us} for cc, values in times.items() for seed, us in enumerate(values)]


@pytest.mark.parametrize("fault", [{"errno": 104}, {"bytes": peers.BYTES - 1}, {"wrong_packets": 1}, {"least_cwnd_packets": 0},
                                   {"least_pacing_bytes_per_s": 0}])
def test_what_counts_as_a_fault(fault):
    assert peers.faults([PEER_GOOD]) == [] and peers.faults([PEER_GOOD, PEER_GOOD | fault]) == [PEER_GOOD | fault]


@pytest.mark.parametrize("factor, found", [(1, []), (1.02, ["bpf_bbr"]), (0.5, [])])
def test_slower_than_the_kernels(factor, found):
    """Of pairs, so a delay of 2 % shows beside times that differ much."""
    times = [10 ** 6 * (1 + seed % 17) for seed in range(60)]
    ours = {cc: times for cc in peers.CCS} | {"bpf_bbr": [us * factor for us in times]}
    assert peers.slower(peers_connections(**ours)) == found


def test_peers_as_a_table():
    text = peers.table({"6.12": (peers_connections(**{cc: [10 ** 6, 2 * 10 ** 6, 70 * 10 ** 6] for cc in peers.CCS}), ["WARNING: x"])})
    head, *rows = [line.split() for line in text.splitlines()]
    assert len(rows) == len(peers.CCS) and rows[0][:5] == ["6.12", "bpf_bbr", "3", "3", "2"]
    assert rows[0][-4:] == ["1.00", "1.000", "0", "1"] and rows[-1][-2:] == ["0", "1"], head


@pytest.mark.parametrize("key", peers.KERNELS)
def test_a_sample_of_peers(key):
    found, warnings = peers.execute(peers.Run(key, 1, 3))
    assert warnings == [] and peers.faults(found) == []
    # The lies are believed: the RTT that they make is of seconds, and ECN is on.
    assert any(c["at_switch"]["rto_us"] > 4_000_000 for c in found) and all(c["at_switch"]["ecn"] for c in found)


# ---- returns: does a kernel skip programs of congestion controls? None of ours does; one that is made to is found out.

NONE = {"calls": 5, "nested": 1, "stale": 0, "word": 0}
KERNEL_ADDRESS = {"calls": 5, "nested": 0, "stale": 2, "word": 0x81104110}


BURST = {"calls": 0, "nested": 0, "stale": 3, "word": 8}  # of min_tso_segs, what the stack sent


def returns_console(*counts):
    lines = ["noise", "@@BYTES bpf_bbr 2e+06", f"@@RETURNS {json.dumps(counts)}", f"@@STACK {json.dumps([*counts[:3], BURST, *counts[4:]])}"]
    return "\n".join([*lines, "@@WARNING WARNING: CPU: 0"])


def test_what_a_guest_of_returns_printed():
    found = returns.read(returns_console(NONE, KERNEL_ADDRESS, NONE, NONE, NONE, KERNEL_ADDRESS))
    assert list(found.counts) == list(returns.OPS) and found.stale == 7
    assert (found.bytes, found.warnings) == ({"bpf_bbr": 2000000}, ["WARNING: CPU: 0"])
    text = returns.text({returns.Run("6.12", seconds=8): found})
    assert "undo_cwnd             5 calls,      0 of them on top of another,     2 wrong values (the last 0x81104110)" in text
    assert "min_tso_segs          5 calls,      1 of them on top of another,     3 wrong values (the last 0x8)" in text
    assert "Mbit/s: bpf_bbr 2.0" in text and text.endswith("  WARNING: CPU: 0")


@pytest.mark.parametrize("skip", [False, True])
def test_returns_of_a_kernel(skip):
    """
    One call in 16 is skipped: in 4 s each of eight seeds showed 13 to 18 wrong values. Every flow goes on: in 4 s not all have
    got through yet, in 7 s the five of bpf_bbr3 have 220 to 880 kB (six seeds).
    """
    found = returns.execute(returns.Run("6.12", seconds=7, skip=skip))
    assert all(found.counts[op]["calls"] > 50 for op in returns.OPS if op != "undo_cwnd")
    assert (found.stale > 0) == skip
    assert found.bytes["bpf_bbr3"] > 50000
    assert found.bytes.get("bpf_bbr", 0) + found.bytes.get("other", 0) > 50000  # they migrate from one to the other


# ---- whole: what is read from a recording of Google's version 3, and a second of a run

RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "oracle/recordings"


def test_the_rate_of_a_recording():
    found = whole.read(RECORDINGS / "reorder.v3r.zst")
    assert (found.name, found.duration_s) == ("reorder", 5.0)
    assert found.goodput == pytest.approx(16.79, abs=0.01)


@pytest.mark.parametrize("name", ["ecn", "switch", "tail-loss"])
def test_not_of_the_same_kind(name):
    """Marks, another congestion control in the middle of a flow, flows that pause."""
    assert whole.read(RECORDINGS / f"{name}.v3r.zst") is None


def test_the_same_path_with_ours():
    text = whole.script(whole.Run(whole.read(RECORDINGS / "reorder.v3r.zst"), 1, "6.12"))
    lines = text.splitlines()
    assert "load --algorithm bbr3 --name bpf_bbr3" in lines and "flow_to 0 -s 0 -C bpf_bbr3 send:5000" in lines
    at = lines.index("serve 1") + 1
    assert lines[at:at + 2] == ["load_recorder", "record 0 5000 1000"] and lines[-1] == "collect"
    assert not [line for line in lines if "-C bbr " in line]


BESIDE_CUBIC = ("make_path 1500 1 fq ", "tune 67108864 0 ", "tc -n rtr qdisc add dev r1 root handle 1: netem rate 10000000bit limit 100",
                "tc -n rcv qdisc add dev c0 root handle 1: netem limit 1000000 delay 10000us", "serve 2",
                "flow_to 0 -s 0 -C bbr send:1000", "flow_to 1 -s 500 -C cubic send:500")


def row(t_us, flow, acked_bytes):
    values = {"t_us": t_us, "flow": flow, "acked_bytes": acked_bytes}
    return ["flow", *(values.get(name, 0) for name in metrics.FLOW_COLUMNS)]


def test_the_rate_of_ours_is_that_of_its_last_acks():
    rows = [row(990_000, 0, 1_000_000), row(1_002_000, 0, 1_100_000), row(1_003_000, 1, 400_000), ["end", 9, 0]]
    text = "\n".join(map(json.dumps, rows))
    recording = whole.Recording("", BESIDE_CUBIC, 1.0, 0)
    assert whole.goodput(recording, text) == pytest.approx(8.8)
    assert whole.goodput(whole.Recording("", (*BESIDE_CUBIC, "flow_to 2 -s 0 -C bbr send:1000"), 1.0, 0), text) == pytest.approx(8.8)


def test_a_second_of_a_run():
    """Beside CUBIC, which does not count, on a link of 10 Mbit/s."""
    found = whole.execute(whole.Run(whole.Recording("", BESIDE_CUBIC, 1.0, 0), 1, "6.12"))
    assert 5 < found < 9.5


def test_whole_as_a_table():
    recording = whole.Recording("loss-1", (), 6.0, 15.4)
    assert "| loss-1 | 15.40 | 15.50 | 15.20 | 15.90 | yes |" in whole.table({recording: [15.2, 15.5, 15.9]})
    assert whole.table({recording: [15.5, 15.9]}).endswith("| no |")


# ---- why: what bbrmon why says of causes that a guest made

WHY_RUN = why.Run("bpf_bbr", 1, "6.12")


def why_says(**shares):
    shares = {**dict.fromkeys(["application", "path", "queue", "policer", "cpu", "probe_rtt", "losses"], 0), **shares}
    return {"cause": max(shares, key=shares.get), "shares": shares}


def test_answers_of_why_are_read():
    console = "\n".join(["@@WHY path", json.dumps(why_says(path=1)), "noise", "@@WHY losses", json.dumps(why_says(losses=0.6, path=0.4)), "@@ALL"])
    answers = why.answers_of(WHY_RUN, console)
    assert [(a.made, a.cause, a.is_right) for a in answers] == [("path", "path", True), ("losses", "losses", True)]
    with pytest.raises(AssertionError):
        why.answers_of(WHY_RUN, console.removesuffix("@@ALL"))


@pytest.mark.parametrize("made, shares, cause, is_right, alarms", [
    ("path", {"queue": 0.7, "path": 0.3}, "queue", True, []),  # BBR's own
    ("queue", {"queue": 0.4, "path": 0.6}, "path", False, []),
    ("idle", {"application": 1}, "application", True, []),
    ("probe_rtt", {"probe_rtt": 0.3, "path": 0.7}, "probe_rtt", True, []),
    ("probe_rtt", {"probe_rtt": 0.1, "path": 0.9}, "path", False, []),
    ("losses", {"losses": 0.9, "policer": 0.1}, "losses", True, ["policer"]),
    ("losses", {"losses": 0.3, "path": 0.7}, "losses", True, []),
    ("policer", {"policer": 0.9, "cpu": 0.1}, "policer", True, ["cpu"]),
])
def test_what_counts_as_right(made, shares, cause, is_right, alarms):
    answer = why.Answer(WHY_RUN, made, why_says(**shares))
    assert (answer.cause, answer.is_right, answer.false_alarms) == (cause, is_right, alarms)


def test_losses_limit_all_others_all_the_time():
    answer = why.Answer(why.Run("cubic", 1, "6.12"), "losses", why_says(losses=0.3, path=0.7))
    assert (answer.cause, answer.is_right) == ("path", False)


def test_why_as_a_matrix():
    answers = [why.Answer(WHY_RUN, "path", why_says(path=1)), why.Answer(WHY_RUN, "path", why_says(queue=1)), why.Answer(WHY_RUN, "losses", why_says(path=1))]
    text = why.text(answers)
    assert "| path | 1 | 1 |" in text and "| losses | 1 |  |" in text
    assert "2 of 3 right (66.7 %), 2 by the largest share alone; 0 with" in text


@pytest.mark.parametrize("key", ["6.1", "6.12"])
def test_causes_of_why_on_a_kernel(key):
    answers = why.execute(why.Run("bpf_bbr", 1, key))
    assert len({a.made for a in answers}) >= 12
    assert not [(a.made, a.said) for a in answers if not a.is_right or a.false_alarms]
