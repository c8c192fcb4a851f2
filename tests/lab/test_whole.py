# SPDX-License-Identifier: GPL-2.0-only
"""What `lab whole` reads from a recording of Google's version 3. The runs take minutes: docs/experiments.md has their figures."""
import pathlib

import pytest

import whole

RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "oracle/recordings"


def test_the_rate_of_a_recording():
    found = whole.read(RECORDINGS / "reorder.v3r.zst")
    assert (found.name, found.duration_s) == ("reorder", 5.0)
    assert found.goodput == pytest.approx(16.76, abs=0.01)


@pytest.mark.parametrize("name", ["ecn", "switch", "tail-loss"])
def test_not_of_the_same_kind(name):
    """Marks, another congestion control in the middle of a flow, flows that pause."""
    assert whole.read(RECORDINGS / f"{name}.v3r.zst") is None


def test_the_same_path_with_ours():
    text = whole.script(whole.Run(whole.read(RECORDINGS / "reorder.v3r.zst"), 1, "6.12"))
    lines = text.splitlines()
    assert "load --algorithm bbr3 --name bpf_bbr3" in lines and "flow_to 0 -s 0 -C bpf_bbr3 send:5000" in lines
    assert lines.index("record 0 5000 1000") == lines.index("serve 1") + 1 and lines[-1] == "collect"
    assert not [line for line in lines if "-C bbr " in line]


def test_as_a_table():
    recording = whole.Recording("loss-1", (), 6.0, 15.4)
    assert "| loss-1 | 15.40 | 15.50 | 15.20 | 15.90 | yes |" in whole.table({recording: [15.2, 15.5, 15.9]})
    assert whole.table({recording: [15.5, 15.9]}).endswith("| no |")
