# SPDX-License-Identifier: GPL-2.0-only
"""The inputs of BBR version 3 that a stock kernel does not have: how far estimates are from what Google's stack knew.

The sample includes the hard recordings: reordering, changes of the algorithm in mid-connection, and timeouts.
docs/fidelity.md has the figures for all recordings."""
import json
import subprocess

import pytest

from test_oracle import BUILD
from test_oracle_bbr3 import RECORDINGS

INPUTS = BUILD / "oracle/inputs"
HARD = {"reorder", "reneg-2", "switch", "undo"}
IN_ORDER = [path for path in RECORDINGS if path.name.partition(".")[0] not in HARD]


def inputs(*words):
    done = subprocess.run([INPUTS, "-j", *words], capture_output=True, text=True, timeout=300, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    return inputs(*RECORDINGS)


def differ(decision):
    return decision["missed"] + decision["wrong"]


def test_inflight_is_known_within_two_percent():
    tx = inputs(*IN_ORDER)["tx_in_flight"]
    assert tx["samples"] > 30_000
    assert tx["within_2_percent"] >= 99.8 and tx["exact_percent"] >= 99.8
    assert tx["p0.5"] == tx["p99.5"] == 0


def test_hard_paths_are_not_far_off(found):
    tx = found["tx_in_flight"]
    assert tx["samples"] > 45_000
    assert tx["within_2_percent"] >= 97
    assert found["lost"]["exact_percent"] >= 98 and found["lost"]["least"] >= -2


def test_decisions_are_googles(found):
    probing = found["too high while probing"]
    assert probing["asked"] > 15_000 and probing["yes"] > 3000
    assert differ(probing) <= 0.001 * probing["asked"]
    assert differ(found["too high"]) <= 0.001 * found["too high"]["asked"]
    assert found["a loss ends a probe"]["yes"] > 80 and not differ(found["a loss ends a probe"])


def test_inflight_hi_is_never_raised_too_far(found):
    raises = found["inflight_hi is raised"]
    assert raises["yes"] > 1000 and not raises["wrong"] and raises["missed"] <= 2
    assert found["inflight_hi by a loss"]["most"] <= 6


@pytest.mark.parametrize("what, least", [("acks_tlp", 20), ("tail loss", 10)])
def test_what_is_rebuilt_is_exact(found, what, least):
    assert found[what]["yes"] >= least and not differ(found[what])


def test_with_ecn_marks_are_exact_and_the_rest_is_the_same(found):
    ecn = inputs("-e", *RECORDINGS)
    assert ecn["is_ece"]["yes"] >= 10_000 and not differ(ecn["is_ece"])
    assert not differ(ecn["tail loss"]) and not ecn["inflight_hi is raised"]["wrong"]
    assert differ(ecn["too high while probing"]) <= 0.001 * ecn["too high while probing"]["asked"]
    assert ecn["tx_in_flight"]["samples"] == found["tx_in_flight"]["samples"]
    assert ecn["tx_in_flight"]["within_2_percent"] == pytest.approx(found["tx_in_flight"]["within_2_percent"], abs=0.1)


def test_without_memory_estimates_are_careful():
    rough = inputs("-w", *RECORDINGS)
    assert not rough["inflight_hi is raised"]["wrong"]
    assert rough["too high while probing"]["missed"] <= 0.1 * rough["too high while probing"]["yes"]
    assert not differ(rough["tail loss"]) and not differ(rough["acks_tlp"])
    assert not rough["is_ece"]["asked"]


def test_a_wrong_command_line_is_refused():
    for words in ([], ["-x"], ["-x", RECORDINGS[0]]):
        done = subprocess.run([INPUTS, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "usage" in done.stderr


def test_a_flight_that_is_not_needed_changes_nothing(found):
    """In a recovery most are not looked up. With ECN all are."""
    ignored = found["not needed, but raises"]
    assert ignored["asked"] > 10_000 and not ignored["yes"]
    assert found["tx_in_flight, needed"]["within_2_percent"] >= 99
    assert found["lost, needed"]["exact_percent"] >= 99.9 and found["lost, needed"]["least"] >= -2
    assert differ(found["needed while probing"]) <= 0.001 * found["needed while probing"]["asked"]
    assert not inputs("-e", *RECORDINGS)["not needed, but raises"]["asked"]


def test_the_stack_sends_bursts_no_shorter_than_googles(found):
    """Below 4 ms it is told their length. At 64 KB the stack's own limit is one packet longer."""
    for burst in (found["burst"], found["burst, RTT below 8 ms"]):
        assert burst["samples"] > 5_000 and burst["least"] == 0 and burst["most"] <= 1
    assert found["burst"]["exact_percent"] >= 90
