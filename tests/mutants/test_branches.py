# SPDX-License-Identifier: GPL-2.0-only
"""The unit tests take every branch of the algorithm both ways, and branches.py reports a gap."""
import pathlib
import subprocess
import sys

import pytest

import branches
import mutate

RECORDINGS = sorted((branches.REPO / "tests/oracle/recordings").glob("*.gz"))
REPLAY = branches.Program("replay", [*mutate.REPLAY, *mutate.REPLAY_LIBS],
                          ["-m", "0", *map(str, RECORDINGS)])
# Outcomes that no recording reaches: (file, code, outcome). docs/fidelity.md has the reasons.
NOT_RECORDED = {
    ("aggregation.h", "rs->acked_sacked", "false"),
    ("extra_acked.h", "acked >= PARAM(sk, ack_epoch_max)", "true"),
    ("inflight.h", "bdp <= BBR_BDP_MAX", "false"),
    ("kind.h", "!rs->losses", "false"),
    ("model.h", "rs->acked_sacked", "false"),
    ("policer.h", "t >= ~0u / USEC_PER_MSEC", "true"),
}
MINMAX = branches.Program("minmax", [branches.REPO / "tests" / "unit" / "bbr" / "test_minmax.c", "-lcmocka"], [])


@pytest.fixture(scope="module")
def by_minmax():
    return branches.measure([MINMAX])


def test_the_unit_tests_take_every_branch_both_ways():
    found = branches.report(branches.measure(branches.programs_of([])))
    assert not found["missing"], branches.table(found)
    assert found["total"]["outcomes"] > 200


def test_the_unit_tests_of_bbr3_do_as_well():
    found = branches.report(branches.measure(branches.programs_of([], branches.BBR3), branches.BBR3))
    assert not found["missing"], branches.table(found)
    assert found["total"]["outcomes"] > 400


def test_the_recordings_take_all_branches_that_a_kernel_comes_to():
    found = branches.report(branches.measure([REPLAY]), branches.NOT_MAINLINE)
    assert found["total"]["percent"] >= 97, branches.table(found)
    assert {(gap["file"], gap["code"], gap["never"]) for gap in found["missing"]} == NOT_RECORDED
    page = (branches.REPO / "docs/fidelity.md").read_text()
    assert all(code in page for _, code, _ in NOT_RECORDED)


def test_what_a_program_does_not_call_is_uncovered(by_minmax):
    found = branches.report(by_minmax)
    has_none = {"event.h", "params.h", "socket.h"}
    assert set(found["files"]) == {path.name for path in branches.BBR.headers} - has_none
    assert found["files"]["minmax.h"]["percent"] == 100
    assert found["files"]["startup.h"] == {"outcomes": 24, "covered": 0, "percent": 0}
    assert {(gap["never"], gap["code"]) for gap in found["missing"] if gap["file"] == "pacing.h"} \
        >= {("true", "!b->has_seen_rtt"), ("false", "IN(sk, srtt_us)")}


def test_what_mainline_cannot_be_is_left_out(by_minmax):
    everything = branches.report(by_minmax)["total"]["outcomes"]
    left_out = sum(len(branches.outcomes_left_out(branch, branches.NOT_MAINLINE)) for branch in by_minmax)
    found = branches.report(by_minmax, branches.NOT_MAINLINE)
    assert found["total"]["outcomes"] == everything - left_out


def test_what_is_left_out_must_be_there_and_uncovered(by_minmax):
    with pytest.raises(branches.CoverageError, match="no branch"):
        branches.report(by_minmax, {("minmax.h", "v > 7"): ("true",)})
    with pytest.raises(branches.CoverageError, match="no branch"):
        branches.report(by_minmax, {("minmax.h", "age > win", "minmax_reset"): ("true",)})
    with pytest.raises(branches.CoverageError, match="after all"):
        branches.report(by_minmax, {("minmax.h", "age > win"): ("true",)})
    with pytest.raises(branches.CoverageError, match="after all"):
        branches.report(by_minmax, {("minmax.h", "age > win", "minmax_running_max"): ("true",)})


def test_programs_of_the_command_line():
    assert branches.programs_of(["a", "/a.c", "-lz", "--", "x", "y", "+", "b", "/b.c"]) == [
        branches.Program("a", [pathlib.Path("/a.c"), "-lz"], ["x", "y"]),
        branches.Program("b", [pathlib.Path("/b.c")], [])]


def test_a_program_that_fails_is_an_error():
    script = branches.REPO / "tests" / "mutants" / "branches.py"
    result = subprocess.run([sys.executable, script, "a", "/nonexistent.c"], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 2 and "clang" in result.stderr
