# SPDX-License-Identifier: GPL-2.0-only
"""What `lab whole` reads from a recording of Google's version 3, and a second of a run. Whole runs take minutes."""
import json
import pathlib

import pytest

from runs import metrics
from studies import whole

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


def test_as_a_table():
    recording = whole.Recording("loss-1", (), 6.0, 15.4)
    assert "| loss-1 | 15.40 | 15.50 | 15.20 | 15.90 | yes |" in whole.table({recording: [15.2, 15.5, 15.9]})
    assert whole.table({recording: [15.5, 15.9]}).endswith("| no |")
