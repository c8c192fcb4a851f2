# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with several runs, and clocks that were set between them: the times that verbs show."""
import json
import resource

import pytest

import recording_file as made
from tool import NOTHING, data_of

NS = 10 ** 9
DAY_NS = 86400 * NS
EPOCH_NS = 10 ** 18
BOOTS = b"A" * 16, b"B" * 16
MS = 10 ** 6


def run_of(begin_ns, conn):
    """Events of one second of a connection."""
    return [made.event(begin_ns + i * NS // 10, made.ACK, conn=conn, flags=made.SAMPLE, rtt_us=100, bytes_acked=i * 1000,
                       bytes_sent=i * 1000) for i in range(11)]


@pytest.fixture
def report(bbrmon):
    def make(file, *args):
        return data_of(bbrmon("report", "-o", "-", *args, file).out)
    return make


def times(data):
    """First and last event of each flow, by connection, in milliseconds since the first event of all."""
    return {f["conn"]: (f["start_us"] / 1000, f["end_us"] / 1000) for f in data["flows"]}


@pytest.mark.parametrize("set_by_ns, expected_ms", [
    (-DAY_NS, 10_000), (-5 * MS, 10_000), (0, 10_000),  # set back, or corrected a little: the time that really passed
    (3600 * NS, 3_610_000),  # set forward, or the machine slept
], ids=["back", "corrected", "not set", "forward"])
def test_runs_of_one_boot(report, bbrmon, tmp_path, set_by_ns, expected_ms):
    file = tmp_path / "two.rec"
    made.write(file, run_of(50 * NS, 1), run=1, epoch_ns=EPOCH_NS, boot_id=BOOTS[0])
    made.write(file, run_of(60 * NS, 2), run=2, epoch_ns=EPOCH_NS + set_by_ns, boot_id=BOOTS[0])
    data = report(file)
    assert times(data) == {1: (0, 1000), 2: (expected_ms, expected_ms + 1000)}
    assert [f["events"] for f in data["flows"]] == [11, 11]
    assert sum(data["recording"]["unwatched_us"]) == pytest.approx((expected_ms - 1000) * 1000, abs=1000)
    assert times(report(file, "--to", "5s")) == {1: (0, 1000)}
    assert times(report(file, "--from", "5s")) == {2: (0, 1000)}

    def conns(at):
        return [json.loads(line)["conn"] for line in bbrmon("snapshot", "-j", "-r", file, "--at", at).out.splitlines()]
    assert conns("5s") == [1] and conns("3611s") == [2]


def test_another_boot_with_a_clock_behind(report, tmp_path):
    """A machine without a clock of its own: only the time of day tells how its boots lie, and no event is left out."""
    file = tmp_path / "two.rec"
    made.write(file, run_of(50 * NS, 1), run=1, epoch_ns=EPOCH_NS, boot_id=BOOTS[0])
    made.write(file, run_of(60 * NS, 2), run=2, epoch_ns=EPOCH_NS - 100 * NS, boot_id=BOOTS[1])
    data = report(file)
    assert times(data) == {2: (0, 1000), 1: (90_000, 91_000)}
    assert [f["events"] for f in data["flows"]] == [11, 11]


@pytest.mark.parametrize("begin_ns", [5 * NS, 7200 * NS], ids=["earlier", "later"])
def test_times_and_durations_of_another_boot(bbrmon, tmp_path, begin_ns):
    """Its clock began at 0 again. An hour passed between the two runs, whatever both clocks show."""
    file, copy = tmp_path / "two.rec", tmp_path / "copy.rec"
    made.write(file, run_of(3600 * NS, 1), run=1, epoch_ns=EPOCH_NS, boot_id=BOOTS[0])
    made.write(file, run_of(begin_ns, 2), run=2, epoch_ns=EPOCH_NS + 7200 * NS - begin_ns, boot_id=BOOTS[1])
    lines = bbrmon("stream", "--read", file).out.splitlines()
    assert [line.split()[0] for line in (lines[0], lines[10], lines[11], lines[21])] == [
        "0.000000", "1.000000", "3600.000000", "3601.000000"]

    def conns(*args):
        found = [json.loads(line).get("conn") for line in bbrmon("stream", "-j", "--read", *args).out.splitlines()[:-1]]
        return found.count(1), found.count(2)
    assert conns(file, "--duration", "500ms") == (5, 0)
    assert conns(file, "--duration", "100s") == (11, 0)
    assert conns(file, "--duration", "3600500ms") == (11, 5)
    bbrmon("record", "--read", file, "--duration", "100s", "-o", copy)
    assert conns(copy) == (11, 0)


def test_a_first_event_that_is_not_the_earliest(report, tmp_path):
    """Events of several CPUs may be a little out of order."""
    late, early = run_of(50 * NS + 1, 1), run_of(50 * NS, 2)
    made.write(tmp_path / "one.rec", [event for pair in zip(late, early) for event in pair])
    data = report(tmp_path / "one.rec")
    assert [f["events"] for f in data["flows"]] == [11, 11]
    assert times(data) == {1: (0, 1000), 2: (0, 1000)}


def test_a_clock_that_is_set_within_a_run(bbrmon, report, tmp_path):
    """Each chunk has another time of day, but the run has only one."""
    file = tmp_path / "one.rec"
    events = run_of(50 * NS, 1)
    for i, epoch_ns in enumerate([EPOCH_NS, EPOCH_NS - DAY_NS, EPOCH_NS + DAY_NS]):
        made.write(file, events[4 * i:4 * i + 4], run=1, epoch_ns=epoch_ns, boot_id=BOOTS[0])
    assert times(report(file)) == {1: (0, 1000)}
    for i, event in enumerate(events):
        found = json.loads(bbrmon("snapshot", "-j", "-r", file, "--at", f"{100 * i + 1}ms").out)
        assert found["bytes_acked"] == event["bytes_acked"]


def test_many_runs_take_time_in_proportion(bbrmon, tmp_path):
    """A crafted recording has a run in each chunk: four times as many must not cost why sixteen times as much."""
    def cost(runs):
        file = tmp_path / f"{runs}.rec"
        for i in range(1, runs + 1):
            made.write(file, [made.event(i * NS, made.ACK, conn=i, flags=made.SAMPLE, rtt_us=100)], run=i, boot_id=BOOTS[0])
        return min(reading(file) for _ in range(3))

    def reading(file):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        bbrmon("why", "--read", file, status=NOTHING)  # no connection has two events
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Together they are exact; how the kernel divides them is a guess by its ticks.
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert cost(8000) < 8 * cost(2000)
