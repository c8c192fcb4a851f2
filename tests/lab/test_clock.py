# SPDX-License-Identifier: GPL-2.0-only
"""
The time of day is set while a connection runs and bbrmon watches: back by 26 hours, later forward by 51. This may change
nothing that bbrmon shows, except the time of day itself. clock.sh runs in the guest.

A machine that was suspended finds that all of its clocks have gone on by an hour: no connection is hurt, and each monitor and each
watcher of an experiment says for how long nobody watched.
"""
import contextlib
import csv
import functools
import json
import pathlib
import re
import subprocess

import pytest

import recording_format as fmt
from tool import data_of
from runs import experiment
from studies import matrix
from vm import guest, kernels
from vm.debugger import Debugger
from vm.initramfs import BUILD

CLOCK = pathlib.Path(__file__).with_name("clock.sh")
SECOND = 10**9
DAY_S = 86400
BACK_S, FORWARD_S = -26 * 3600, 51 * 3600
LINK_BPS = 4_000_000 * 1448 / 1514  # of payload
FULL_RTT_NS = 160 * 10**6  # 40 ms, and 50 packets at 4 Mbit/s
BY_ITSELF_S = {"stream": 12, "text": 5, "record": 12, "rotated": 13, "top": 11, "top.json": 11}
START_AND_END_S = 1.5  # programs are loaded, and the kernel waits for grace periods
ROTATE_S = 2
POLL_S = 0.5  # bbrmon record checks the clocks at least this often
FLOW_S = 9
UPTIME_S = 0.02  # precision of a mark: /proc/uptime has hundredths of a second


class Run:
    """The files that the guest left."""

    def __init__(self, folder, files):
        self.folder = folder
        for name, data in files.items():
            (folder / name).write_bytes(data)
        self.marks = {name: (float(uptime), float(wall))
                      for name, uptime, wall in map(str.split, self.text("marks").splitlines())}
        lines = [json.loads(line) for line in self.text("stream").splitlines()]
        self.summary = lines.pop()["summary"]
        self.events = lines

    def text(self, name):
        return (self.folder / name).read_text()

    def uptime(self, name):
        return self.marks[name][0]

    def offset(self, name):
        """The time of day less the uptime, at a mark."""
        uptime, wall = self.marks[name]
        return wall - uptime

    def read(self, *args):
        """What a verb prints for a recording."""
        done = subprocess.run([BUILD / "bbrmon", *args], capture_output=True, text=True, check=True)
        assert not done.stderr, done.stderr
        return done.stdout

    def read_events(self, file):
        *events, _ = map(json.loads, self.read("stream", "-j", "--read", file).splitlines())
        return events

    def rotated(self):
        """The files, oldest first."""
        found = self.folder.glob("rotating*")
        return sorted(found, key=lambda path: -int(path.suffix[1:] or 0))

    def state_at(self, after_ns):
        """The last event that is at most after_ns later than the first one."""
        return [e for e in self.events if e["time_ns"] <= self.events[0]["time_ns"] + after_ns][-1]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    kernel = kernels.find("6.12")
    script = "".join(part.read_text() for part in (experiment.PATH, CLOCK))
    image = guest.initramfs(kernel, script, modules=matrix.MODULES, programs=[*matrix.TOOLS, BUILD / "flow"])
    result = guest.run(kernel, image)
    assert result.status == 0, result.console
    for name in BY_ITSELF_S:
        assert f"{name} status 0" in result.console, result.console
    return Run(tmp_path_factory.mktemp("clock"), experiment.unpack(result.data))


def test_the_clock_was_set_while_the_connection_ran(run):
    assert run.offset("back") - run.offset("before-back") == pytest.approx(BACK_S, abs=2)
    assert run.offset("forward") - run.offset("before-forward") == pytest.approx(FORWARD_S, abs=2)
    first, last = (run.events[i]["time_ns"] / SECOND for i in (0, -1))
    assert first + 2 < run.uptime("back") < run.uptime("forward") - 2 < last - 4
    (end,) = matrix.ends(run.text("flow"))
    assert end["wrong_bytes"] == 0 and end["received_bytes"] == end["sent_bytes"] > 4_000_000


def test_every_event_comes_in_its_order(run):
    assert [e["seq"] for e in run.events] == list(range(len(run.events)))
    times = [e["time_ns"] for e in run.events]
    assert times == sorted(times)
    assert max(b - a for a, b in zip(times, times[1:])) < FULL_RTT_NS
    assert run.summary["events"]["total"] == len(run.events) == run.summary["seq"]
    assert run.summary["events"]["ack"] == run.summary["acks"] > 1000
    assert run.summary["drops"]["total"] == 0


def test_text_has_the_time_since_the_start(run):
    """Its monitor ends while the clock is a day behind."""
    times = [float(line.split()[0]) for line in run.text("text").splitlines()]
    assert len(times) > 50 and times == sorted(times)
    assert 0 < times[0] and 4.5 < times[-1] <= 5.1


def test_the_lease_is_kept(run):
    summaries = {"stream": run.summary, **{name: json.loads(run.text(name))["summary"] for name in ("record", "rotated")}}
    for name, summary in summaries.items():
        assert summary["unwatched_ms"] == 0
        assert BY_ITSELF_S[name] <= summary["watched_ms"] / 1000 < BY_ITSELF_S[name] + START_AND_END_S
    assert "not watched" not in run.text("text.err")


def test_each_ends_at_its_time(run):
    for name, seconds in BY_ITSELF_S.items():
        took = run.uptime(f"{name}-ends") - run.uptime(f"{name}-begins")
        assert seconds <= took < seconds + START_AND_END_S, name


def test_the_recording_has_the_same_events(run):
    assert run.read_events(run.folder / "recording") == run.events


def test_each_chunk_has_the_time_of_day(run):
    """A chunk ends when the clock is set: the next one has another offset."""
    heads = [head for head, _, _ in fmt.chunks((run.folder / "recording").read_bytes()) if head.events]
    offsets = [run.offset(name) for name in ("before-back", "back", "forward")]
    times = [0, run.uptime("back"), run.uptime("forward"), float("inf")]
    seen = []
    for head in heads:
        (which,) = [i for i in range(3) if abs(head.epoch_ns / SECOND - offsets[i]) < UPTIME_S]
        assert times[which] - UPTIME_S < head.first_ns / SECOND
        assert head.last_ns / SECOND < times[which + 1] + POLL_S
        seen.append(which)
    assert seen == sorted(seen) and set(seen) == {0, 1, 2}


def test_files_are_rotated_in_time(run):
    files = run.rotated()
    summary = json.loads(run.text("rotated"))["summary"]
    assert len(files) == summary["files"] == BY_ITSELF_S["rotated"] // ROTATE_S + 1
    (run.folder / "whole").write_bytes(b"".join(path.read_bytes() for path in files))
    shown = [e for e in run.events if e["event"] != "ack" or e["round_start"]]
    found = run.read_events(run.folder / "whole")
    assert [{**e, "seq": None} for e in found] == [{**e, "seq": None} for e in shown]
    spans = [[e["time_ns"] for e in run.read_events(path)] for path in files]
    firsts = [span[0] / SECOND for span in spans if span][1:]  # at the start of the first file nothing happened
    assert len(firsts) > 3
    for a, b in zip(firsts, firsts[1:]):
        assert b - a == pytest.approx(ROTATE_S, abs=POLL_S)


def test_top_has_no_strange_values(run):
    rows = [json.loads(line) for line in run.text("top.json").splitlines()]
    running = [row for row in rows if not row["ended"]]
    assert len(running) > 15
    assert {row["conn"] for row in rows} == {run.events[0]["conn"]}
    for before, row in zip(running, running[1:]):
        assert row["time_ns"] - before["time_ns"] == pytest.approx(SECOND / 2, abs=SECOND / 5)
    for row in running[2:]:  # after STARTUP
        assert row["rate_bps"] == pytest.approx(LINK_BPS, rel=0.1)
        assert row["mode"] == "PROBE_BW" and 0 <= row["mode_ms"] < FLOW_S * 1000
        assert row["srtt_us"] * 1000 < FULL_RTT_NS
    steps = [row["mode_ms"] - before["mode_ms"] for before, row in zip(running[3:], running[4:])]
    assert all(step == pytest.approx(500, abs=200) for step in steps)
    assert all(row["mode_ms"] < FLOW_S * 1000 for row in rows if row["ended"])


def test_tops_header_has_the_time_of_day(run):
    headers = [line.split() for line in run.text("top").splitlines() if line.startswith("bbrmon top")]
    assert len(headers) == 22
    clock = [sum(int(n) * unit for n, unit in zip(h[2].split(":"), (3600, 60, 1))) for h in headers]
    steps = [(b - a) % DAY_S for a, b in zip(clock, clock[1:])]
    jumps = [step for step in steps if step > 1]
    assert jumps == [pytest.approx(set_s % DAY_S, abs=1) for set_s in (BACK_S, FORWARD_S)]


def test_tops_line_grows_by_one_a_second(run):
    """It has a column for each second of the connection; none is empty or has another height."""
    lines = [line.partition("4026")[2].partition(" ")[2].strip() for line in run.text("top").splitlines()
             if line.startswith("lab_bbr ")]
    lengths = [len(line) for line in lines]
    assert lengths == sorted(lengths) and FLOW_S <= lengths[-1] <= FLOW_S + 1
    assert all(b - a <= 1 for a, b in zip(lengths, lengths[1:]))
    assert set(lines[-1][1:-1]) == {"#"}


def test_the_report_is_of_one_clock(run):
    """Its times are those of the events; its time of day is that of the first one."""
    data = data_of(run.read("report", "-o", "-", run.folder / "recording"))
    first, last = (run.events[i]["time_ns"] for i in (0, -1))
    recording = data["recording"]
    assert recording["start_ms"] / 1000 == pytest.approx(first / SECOND + run.offset("before-back"), abs=UPTIME_S)
    assert recording["duration_us"] == pytest.approx((last - first) / 1000, abs=1)
    assert recording["drops_total"] == recording["unwatched_ms"] == sum(recording["unwatched_us"]) == 0
    (flow,) = data["flows"]
    assert flow["events"] == len(run.events) and flow["start_us"] == 0
    assert sum(flow["mode_us"]) == pytest.approx(flow["end_us"], abs=4)
    assert flow["mean_bps"] == pytest.approx(LINK_BPS, rel=0.05)
    expected = [(e["time_ns"] - first) // 1000 for e in run.events]
    steps = data["series"][0]["time_us"]
    assert [sum(steps[:i + 1]) for i in range(len(steps))] == pytest.approx(expected, abs=1)
    seconds = len(data["total_bps"]) * recording["interval_ns"] / SECOND
    rates = data["total_bps"][int(len(data["total_bps"]) / seconds):-1]
    assert min(rates) > 0 and max(rates) < 2 * LINK_BPS


@pytest.mark.parametrize("after_s", [1, 4, 7])  # before the clock is set, then behind, and ahead
def test_a_snapshot_of_the_recording(run, after_s):
    expected = run.state_at(after_s * SECOND)
    (found,) = map(json.loads, run.read("snapshot", "-j", "--read", run.folder / "recording",
                                        "--at", f"{after_s}s").splitlines())
    for key in ("conn", "mode", "bw_bps", "rounds", "bytes_acked", "srtt_us", "cwnd"):
        assert found[key] == expected[key], key


# ---- more than an hour passes at once

HOUR_S = 3600
LEASE_S, CANARY_LEASE_S, LOOK_S = 3, 30, 10
BLOCK_S = 2
BBRS = ("lab_bbr", "lab_v3", "bbr")
PAUSED_BYTES = 3_000_000
TCP_RTO_MAX_S = 120
HERE = """
grep -wE 'tk_core|shadow_timekeeper|__x64_sys_sync' /proc/kallsyms
bpftool btf dump file /sys/kernel/btf/vmlinux | awk "/^\\[/ { found = /STRUCT 'timekeeper'/ } found"
"""
SUSPENDED = f"""
make_path 1500 1 fq
tc -n rtr qdisc add dev r1 root netem rate 4mbit limit 50
tc -n rcv qdisc add dev c0 root netem delay 40ms limit 10000
bbrctl load --name lab_bbr >/dev/null
bbrctl load --algorithm bbr3 --name lab_v3 >/dev/null
bbrctl experiment start canary --all-netns --dport 5001 --design canary --arm old=lab_bbr --arm new=lab_v3 --guard 'retransmitted < 1.5x'
bbrctl experiment start blocks --netns snd --dport 5000 --design switchback --block {BLOCK_S}s --washout 0s --arm one=cubic --arm two=bbr
bbrctl experiment watch canary >/tmp/watched 2>&1 &
bbrmon stream -j --every round >/tmp/stream 2>/tmp/stream.err &
stream=$!
bbrmon record -o /tmp/recording 2>/tmp/record.err &
record=$!
sleep 1
flows=()
for cc in lab_bbr lab_v3 bbr cubic; do
	port=$((5001 + ${{#flows[@]}}))
	ip netns exec rcv flow -l $port >/dev/null &
	sleep 0.05
	ip netns exec snd flow -c 10.0.2.1 -p $port -C $cc bytes:{PAUSED_BYTES} >/tmp/$cc 2>&1 && cut -d' ' -f1 /proc/uptime >/tmp/$cc.done &
	flows+=($!)
done
ip netns exec rcv flow -l 5000 >/dev/null &
sleep 0.05
ip netns exec snd flow -c 10.0.2.1 -p 5000 bytes:{PAUSED_BYTES} >/dev/null &
flows+=($!)
sleep 5
echo "before $(cat /proc/uptime) $EPOCHSECONDS"
sync # here
echo "after $(cat /proc/uptime) $EPOCHSECONDS"
wait "${{flows[@]}}"
sleep 11 # the watcher looks each ten seconds
bbrctl experiment status canary
bbrmon experiment blocks --write /tmp/blocks >/dev/null
sed 's/^/file: /' /tmp/blocks
bbrctl -j status
kill -INT $stream $record
wait $stream $record
for cc in lab_bbr lab_v3 bbr cubic; do
	echo "flow $cc $(cat /tmp/$cc.done) $(tail -1 /tmp/$cc)"
done
grep '"summary"' /tmp/stream
sed 's/^/stream: /' /tmp/stream.err
sed 's/^/record: /' /tmp/record.err
sed 's/^/watched: /' /tmp/watched
echo "== end of all"
dmesg
"""


@functools.cache
def places():
    """The addresses of what the kernel knows of the time, of a function that `sync` calls, and of the seconds in a struct timekeeper."""
    kernel = kernels.find("6.12")
    console = guest.run(kernel, guest.initramfs(kernel, HERE, programs=["bpftool"])).console
    addresses = {name: int(address, 16) for address, name in re.findall(r"^([0-9a-f]{16}) \S (\w+)$", console, re.MULTILINE)}
    members = {name: int(bits) // 8 for name, bits in re.findall(r"'(xtime_sec|raw_sec)' type_id=\d+ bits_offset=(\d+)", console)}
    assert len(addresses) == 3 and len(members) == 2, console
    return addresses, members


def skip_an_hour(debugger):
    """In both copies that the kernel has: all clocks are made of these at the next tick. (The emulator adds a day: while a guest is
    paused, it goes on to its next timer.)"""
    addresses, members = places()
    for keeper in (addresses["tk_core"] + 8, addresses["shadow_timekeeper"]):
        for member in members.values():
            seconds = int.from_bytes(debugger.read(keeper + member, 8), "little")
            debugger.write(keeper + member, (seconds + HOUR_S).to_bytes(8, "little"))


def skip_at_sync(path):
    with contextlib.closing(Debugger(path)) as debugger:
        debugger.run_until(places()[0]["__x64_sys_sync"], skip_an_hour)


@pytest.fixture(scope="module")
def suspended():
    kernel = kernels.find("6.12")
    places()
    image = guest.initramfs(kernel, experiment.PATH.read_text() + SUSPENDED, modules=matrix.MODULES, programs=[*matrix.TOOLS, BUILD / "flow"])
    result = guest.run(kernel, image, debug=skip_at_sync)
    assert result.status == 0 and "== end of all" in result.console, result.console
    return result.console


def skipped_s(console):
    before, after = (float(re.search(rf"^{when} ([0-9.]+) ", console, re.MULTILINE)[1]) for when in ("before", "after"))
    assert after - before > HOUR_S
    return after - before


def test_no_connection_is_hurt(suspended):
    """They go on at once, all but one in forty of BBR's: it and CUBIC wait for timeouts, which an RTT of more than an hour has raised
    to two minutes."""
    after = float(re.search(r"^after ([0-9.]+) ", suspended, re.MULTILINE)[1])
    took_s = {}
    for cc in (*BBRS, "cubic"):
        done, end = re.search(rf"^flow {cc} ([0-9.]+) (.*)$", suspended, re.MULTILINE).groups()
        end = json.loads(end)["end"]
        assert (end["cc"], end["received_bytes"], end["wrong_bytes"]) == (cc, PAUSED_BYTES, 0)
        took_s[cc] = float(done) - after
    of_bbr = sorted(took_s[cc] for cc in BBRS)
    assert of_bbr[1] < 30 and of_bbr[-1] < 30 + 3 * TCP_RTO_MAX_S, suspended
    # It does say (INFO) that RCU stood still for a day.
    assert [line for line in suspended.split("== end of all")[1].splitlines() if re.search(r"WARNING|BUG|Oops", line)] == []


def test_monitors_say_that_nobody_watched(suspended):
    summary = next(json.loads(line)["summary"] for line in suspended.splitlines() if line.startswith('{"summary"'))
    assert summary["unwatched_ms"] / 1000 == pytest.approx(skipped_s(suspended) - LEASE_S, abs=2)
    assert summary["drops"]["total"] == 0
    (seconds,) = re.findall(r"^record: +not watched +([0-9.]+)s: bbrmon or the machine was stopped", suspended, re.MULTILINE)
    assert float(seconds) == pytest.approx(skipped_s(suspended) - LEASE_S, abs=2)


def test_a_canary_says_that_nobody_watched(suspended):
    """And is at the step where it was, whose time has not gone on."""
    (seconds,) = re.findall(r"^watched: canary: not watched for (\d+) s after the lease: the machine or bbrctl stood still", suspended, re.MULTILINE)
    assert int(seconds) == pytest.approx(skipped_s(suspended) - CANARY_LEASE_S, abs=LOOK_S + 2)
    (lasted,) = re.findall(r"^  step 1 of 5: 1 %, for (\d+)s;", suspended, re.MULTILINE)
    assert int(lasted) < skipped_s(suspended) / 10


def test_the_parts_of_a_switchback_end_with_their_blocks(suspended):
    """Also the one in whose block the hour passed."""
    lines = re.findall("^file: ([^#].*)$", suspended, re.MULTILINE)
    rows = [{key: int(row[key]) for key in ("block", "begin_ns", "last_ns", "busy_us", "acked_bytes")} for row in csv.DictReader(lines)]
    blocks = [row["block"] for row in rows]
    assert max(b - a for a, b in zip(blocks, blocks[1:])) > HOUR_S / BLOCK_S - 30, lines
    for row in rows:
        assert row["last_ns"] <= (row["block"] + 1) * BLOCK_S * SECOND, row
        assert row["busy_us"] <= (row["last_ns"] - row["begin_ns"]) / 1000 + 20_000, row
