# SPDX-License-Identifier: GPL-2.0-only
"""Does a kernel skip programs of congestion controls? None of ours does; one that is made to is found out."""
import json

import pytest

from studies import returns

NONE = {"calls": 5, "nested": 1, "stale": 0, "word": 0}
KERNEL_ADDRESS = {"calls": 5, "nested": 0, "stale": 2, "word": 0x81104110}


def console(*counts):
    lines = ["noise", "@@BYTES bpf_bbr 2e+06", f"@@RETURNS {json.dumps(counts)}", f"@@STACK {json.dumps([*counts[:5], NONE])}"]
    return "\n".join([*lines, "@@WARNING WARNING: CPU: 0"])


def test_what_a_guest_printed():
    found = returns.read(console(NONE, KERNEL_ADDRESS, NONE, NONE, NONE, KERNEL_ADDRESS))
    assert list(found.counts) == list(returns.OPS) and found.stale == 2
    assert (found.bytes, found.warnings) == ({"bpf_bbr": 2000000}, ["WARNING: CPU: 0"])
    text = returns.text({returns.Run("6.12", seconds=8): found})
    assert "undo_cwnd             5 calls,      0 of them on top of another,     2 wrong values (the last 0x81104110)" in text
    assert "Mbit/s: bpf_bbr 2.0" in text and text.endswith("  WARNING: CPU: 0")


@pytest.mark.parametrize("skip", [False, True])
def test_a_kernel(skip):
    """
    One call in 16 is skipped: in 4 s each of eight seeds showed 13 to 18 wrong values. Every flow goes on: in 4 s not all have
    got through yet, in 7 s the five of bpf_bbr3 have 220 to 880 kB (six seeds).
    """
    found = returns.execute(returns.Run("6.12", seconds=7, skip=skip))
    assert all(found.counts[op]["calls"] > 50 for op in returns.OPS if op != "undo_cwnd")
    assert (found.stale > 0) == skip
    assert found.bytes["bpf_bbr3"] > 50000
    assert found.bytes.get("bpf_bbr", 0) + found.bytes.get("other", 0) > 50000  # they migrate from one to the other
