# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon record, and reading recordings back: complete, cut off, damaged, newer, too large for the disk."""
import collections
import datetime
import json
import os
import pathlib
import pty
import random
import re
import signal
import subprocess

import pytest

import recording_format as fmt
from stream import endless, is_in_order, wait_for_ends
from system import run, wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, data_of, sanitizer_environment, status_of
from transfer import MB, finish, send_verified

alone = pytest.mark.machine_alone  # it watches; the others read files

START, END, ACK, MODE = range(4)
KINDS = "start", "end", "ack", "mode", "recovery", "rto", "params"
ROUND_START = 1 << 1
MS = 1_000_000
EPOCH = 1_700_000_000 * 10**9
ROOT = pathlib.Path(__file__).resolve().parents[3]


def a_chunk(n=40, conns=3, first_ns=10**9, last=True, before=0, name="one", run=1, more=b"", **values):
    """A chunk with n events of some connections, and the number of events of each kind up to its end. `more`: see fmt.origin()."""
    encode, records, received = fmt.Encoder(), [fmt.origin(7, name, more=more)], [0, 0, before, 0]
    chance = random.Random(first_ns)
    for i in range(n):
        flags = ROUND_START if i % 3 == 0 else 0
        records.append(encode(first_ns + i * 5 * MS, 1 + i % conns, kind=ACK, family=2, mss=1448,
                              flags=flags, seq=before + i, rport=443, lport=40000 + i % conns,
                              bytes_acked=chance.getrandbits(40), rtt_us=chance.getrandbits(20),
                              **values, **{"raddr[2]": 0xffff, "raddr[3]": 0x0a000001 + i % conns}))
    received[ACK] += n
    kind = fmt.END if last else fmt.TOTALS
    records.append(fmt.totals_record(kind, before + n if last else 0, received, acks=before + n, watched_ns=MS))
    return fmt.chunk(fmt.Head(run=run, sampling=1, epoch_ns=EPOCH), records)


def three_chunks(n=40):
    return [a_chunk(n, first_ns=(1 + i) * 10**9, last=i == 2, before=i * n) for i in range(3)]


@pytest.fixture
def write(tmp_path):
    def to_file(data, name="some.rec"):
        path = tmp_path / name
        path.write_bytes(data)
        return path
    return to_file


def parse(lines):
    *events, last = map(json.loads, lines.splitlines())
    return events, last["summary"]


def read(bbrmon, path, *args, **kwargs):
    """Returns the events, the summary and the messages."""
    result = bbrmon("stream", "-j", "--read", path, *args, **kwargs)
    return *parse(result.out), result.err


def essence(events):
    """The part of an event that both readers return."""
    return [(e["time_ns"], e["conn"], e["seq"], e["instance"], e["bytes_acked"], e["rport"]) for e in events]


def by_conn(events):
    """The events of each connection, in order. The order between connections, and the numbers, differ between monitors."""
    found = collections.defaultdict(list)
    for e in events:
        found[e["conn"]].append({key: value for key, value in e.items() if key != "seq"})
    return found


@pytest.fixture
def start_record(bbrmon, bbrctl):
    """Starts `bbrmon record` on an instance, and returns when it is subscribed."""
    running = []

    def start(name, *args):
        before = status_of(bbrctl, name)["monitors"]
        process = bbrmon.start("record", "-j", "--name", name, *args, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        running.append(process)
        wait_until(lambda: status_of(bbrctl, name)["monitors"] > before, "bbrmon subscribes")
        return process
    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def interrupt(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == DONE, err
    return json.loads(out)["summary"]


@alone
@pytest.mark.parametrize("every", ["ack", "round", "20ms", "transition"])
def test_as_it_happened(bbrmon, bbrctl, load, monitor, start_record, ns, tmp_path, every):
    """bbrmon, and a reader by the format's description, read back what a stream printed at the same time."""
    name, path = load(), tmp_path / "a.rec"
    watching = monitor(name, "--every", every)
    process = start_record(name, "-o", path, "--every", every)
    for seed in range(3):
        send_verified(ns, name, 8 * MB, seed=seed)
    wait_for_ends(watching, 3)
    wait_until(lambda: status_of(bbrctl, name)["users"] == 0, "the connections are closed")
    summary, recorded = watching.stop(), interrupt(process)
    assert not summary["drops"]["total"] and not recorded["drops"]["total"]
    events, read_back, said = read(bbrmon, path)
    assert not re.search("cut off|damaged", said)
    assert by_conn(events) == by_conn(watching.events)
    assert sorted(e["seq"] for e in events) == list(range(len(events)))
    for key in "events", "drops", "acks", "seq", "connections":
        assert read_back[key] == summary[key], key
    assert recorded["acks"] == summary["acks"] and recorded["bytes"] == path.stat().st_size
    assert read_back["watched_ms"] == recorded["watched_ms"]
    assert essence(fmt.events(path.read_bytes())) == essence(events)
    assert fmt.totals(path.read_bytes())["end"]


@alone
def test_compact(bbrctl, load, start_record, ns, tmp_path):
    """A recording takes at most a fifth of its events' size, including all that is around them."""
    name = load()
    for every in "ack", "round":
        path = tmp_path / f"{every}.rec"
        process = start_record(name, "-o", path, "--every", every)
        for seed in range(2):
            send_verified(ns, name, 32 * MB, seed=seed)
        wait_until(lambda: status_of(bbrctl, name)["users"] == 0, "the connections are closed")
        n = interrupt(process)["events"]["total"]
        print(f"{every}: {n} events of {path.stat().st_size / n:.1f} bytes")
        assert path.stat().st_size < n * fmt.EVENT_SIZE / 5


def test_less_of_a_recording(bbrmon, write):
    """The filters and --every choose from a recording as they would have from the live events."""
    path = write(b"".join(three_chunks()))
    everything, _, _ = read(bbrmon, path)
    assert len(everything) == 120

    def shown(*args):
        events, summary, _ = read(bbrmon, path, *args)
        assert summary["events"]["total"] == summary["seq"] == len(events) + summary["not_shown"]
        return events

    assert shown("--every", "ack") == everything
    assert shown("--every", "round") == [e for e in everything if e["round_start"]]
    assert shown("--every", "transition") == []
    assert shown("--lport", "40001") == [e for e in everything if e["lport"] == 40001] != []
    assert shown("--rport", "443") == everything and shown("--rport", "444") == []
    assert shown("--remote", "10.0.0.2/31") == [e for e in everything if e["remote"] != "10.0.0.1"] != []
    assert shown("--local", "10.0.0.0/8") == [] and shown("--name", "other") == []
    assert shown("--name", "one") == everything
    assert shown("--count", "5") == everything[:5]
    assert shown("--duration", "1100ms") == [e for e in everything if e["time_ns"] < 2_100 * MS] != everything
    last, sampled = {}, []
    for e in everything:
        if e["time_ns"] - last.get(e["conn"], -10**12) >= 40 * MS:
            last[e["conn"]] = e["time_ns"]
            sampled.append(e)
    assert shown("--every", "40ms") == sampled


def test_more_than_was_recorded(bbrmon, write):
    path = write(fmt.chunk(fmt.Head(run=1, sampling=2), [fmt.origin(1, "one"), fmt.totals_record(fmt.END, 0, [])]))
    assert "fewer ACKs" not in bbrmon("stream", "--read", path, "--every", "ack").err
    encode = fmt.Encoder()
    path = write(fmt.chunk(fmt.Head(run=1, sampling=2), [
        fmt.origin(1, "one"), encode(1, 1, kind=ACK, family=2), fmt.totals_record(fmt.END, 1, [0, 0, 1])]))
    assert "fewer ACKs" in bbrmon("stream", "--read", path, "--every", "ack").err
    assert "fewer ACKs" not in bbrmon("stream", "--read", path, "--every", "round").err


def test_text_begins_at_the_first_event(bbrmon, write):
    lines = bbrmon("stream", "--read", write(a_chunk(3, first_ns=77 * 10**9))).out.splitlines()
    assert [line.split()[0] for line in lines] == ["0.000000", "0.005000", "0.010000"]


def test_profile_names_change(bbrmon, write):
    """Each event has the name that its profile had at the time."""
    encode, records = fmt.Encoder(), [fmt.origin(1, "one")]
    for i, names in enumerate([b"", b"default\0fast\0", b"default\0slow\0", b"default\0"]):
        records.append(fmt.record(fmt.PROFILES, fmt.varint(0) + names))
        records.append(encode(i, 1, kind=ACK, family=2, profile=1))
    path = write(fmt.chunk(fmt.Head(run=1, sampling=1), [*records, fmt.totals_record(fmt.END, 4, [0, 0, 4])]))
    names = [None, "fast", "slow", None]
    assert [e["profile"] for e in read(bbrmon, path)[0]] == names
    bbrmon("record", "--read", path, "-o", f"{path}.copy")
    assert [e["profile"] for e in read(bbrmon, f"{path}.copy")[0]] == names


def test_profile_names_of_instances(bbrmon, write):
    """A connection has the name of its instance's profile, also if others were recorded after its last event."""
    chunks = []
    for number, name in enumerate(("one", "two"), 1):
        encode = fmt.Encoder()
        chunks.append(fmt.chunk(fmt.Head(run=1, sampling=1), [
            fmt.origin(number, name), fmt.record(fmt.PROFILES, fmt.varint(0) + b"default\0of_" + name.encode() + b"\0"),
            encode(number, number, kind=ACK, family=2, profile=1), fmt.totals_record(fmt.TOTALS, 0, [0, 0, number])]))
    path = write(b"".join(chunks))
    for sort in ((), ("--sort", "instance")):
        lines = bbrmon("snapshot", "-j", "--read", path, *sort).out.splitlines()
        assert [(c["instance"], c["profile"]) for c in map(json.loads, lines)] == [("one", "of_one"), ("two", "of_two")]
    assert len(bbrmon("snapshot", "-j", "--read", path, "profile = of_one").out.splitlines()) == 1


def test_events_out_of_order(bbrmon, write):
    """Events stay in the order of the ring: those of several CPUs may be a little out of order."""
    encode, times = fmt.Encoder(), [50, 40, 60, 10, 2**61, 5]
    records = [encode(t, 1 + i % 2, kind=ACK, family=2) for i, t in enumerate(times)]
    path = write(fmt.chunk(fmt.Head(run=1, sampling=1),
                           [fmt.origin(1, "one"), *records, fmt.totals_record(fmt.END, 6, [0, 0, 6])]))
    assert [e["time_ns"] for e in read(bbrmon, path)[0]] == times
    bbrmon("record", "--read", path, "-o", f"{path}.copy")
    assert [e["time_ns"] for e in read(bbrmon, f"{path}.copy")[0]] == times


@alone
def test_clock_set_back(bbrmon, bbrctl, load, start_record, write, tmp_path, ns):
    """Each chunk has its own clock offset, which a copy keeps. A live recording has that of this machine."""
    epochs = [EPOCH, EPOCH - 3600 * 10**9, EPOCH + 10**9]
    chunks = [a_chunk(5, first_ns=(1 + i) * 10**9, last=i == 2, before=5 * i) for i in range(3)]
    data = b""
    for chunk, epoch in zip(chunks, epochs):
        data += fmt.Head(chunk, epoch_ns=epoch).pack() + chunk[fmt.HEAD.size:]
    path = write(data)
    events, _, said = read(bbrmon, path)
    assert len(events) == 15 and not said
    bbrmon("record", "--read", path, "-o", tmp_path / "copy")
    heads = [head for head, _, _ in fmt.chunks((tmp_path / "copy").read_bytes()) if head.events]
    assert [head.epoch_ns for head in heads] == epochs
    assert read(bbrmon, tmp_path / "copy")[0] == events

    name = load()
    process = start_record(name, "-o", tmp_path / "live")
    send_verified(ns, name)
    wait_until(lambda: status_of(bbrctl, name)["users"] == 0, "the connection is closed")
    interrupt(process)
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot_id = bytes.fromhex(f.read().strip().replace("-", ""))
    stat = (tmp_path / "live").stat()
    for head, _, _ in fmt.chunks((tmp_path / "live").read_bytes()):
        assert head.boot_id == boot_id
        if head.events:
            assert abs(head.last_ns + head.epoch_ns - stat.st_mtime_ns) < 60 * 10**9


def check_cut(bbrmon, path, data, n, expected):
    path.write_bytes(data[:n])
    events, summary, said = read(bbrmon, path)
    assert essence(events) == expected, n
    assert summary["events"]["total"] == len(expected), n
    assert f"cut off at byte {n}:" in said, said
    assert "damaged" not in said, said
    assert f" {len(expected)} of them events" in said or not expected and "none of them an event" in said, said


def test_the_summary_of_a_cut_recording(bbrmon, write, tmp_path):
    """It counts what is there, and says that there may have been more; a copy of it keeps that."""
    one, three = a_chunk(300), b"".join(three_chunks(300))
    summary = read(bbrmon, write(one))[1]
    assert summary["acks"] == 300 and not summary["cut_off"]
    for data in one[:len(one) * 2 // 3], three[:len(three) * 8 // 9]:
        path = write(data)
        events, summary, _ = read(bbrmon, path)
        spanned_ns = events[-1]["time_ns"] - events[0]["time_ns"]
        assert summary["cut_off"] and summary["acks"] == len(events) > 100
        assert summary["watched_ms"] == spanned_ns // 10 ** 6 > 0
        said = bbrmon("stream", "--read", path).err
        assert f"watched      at least {spanned_ns / 1e9:.3f}s" in said
        assert f"ACKs         at least {len(events)}\n" in said
        copy = tmp_path / "copy.rec"
        bbrmon("record", "--read", path, "-o", copy)
        assert read(bbrmon, copy)[1]["acks"] == len(events)


def test_a_run_that_was_cut_off_before_its_first_event(bbrmon, write):
    """It lasted for no time, and the last event is that of the run before, whose clock was another one."""
    whole, later = a_chunk(10, first_ns=3600 * 10**9), fmt.Encoder()
    cut = fmt.chunk(fmt.Head(run=2, sampling=1, epoch_ns=EPOCH + 86400 * 10**9, boot_id=b"2" * 16), [
        fmt.origin(7, "one"), later(5 * 10**9, 1, kind=ACK, family=2), fmt.totals_record(fmt.END, 1, [0, 0, 1])])
    before = read(bbrmon, write(whole))[1]["watched_ms"]
    events, summary, said = read(bbrmon, write(whole + cut[:len(cut) // 2]))
    assert len(events) == 10 and summary["cut_off"] and summary["watched_ms"] == before
    last = datetime.datetime.fromtimestamp((EPOCH + events[-1]["time_ns"]) // 10**9)
    assert f"the last one of {last:%F %T}" in said


def test_cut_at_every_byte(plain_bbrmon, bbrmon, write, tmp_path):
    """All whole records are read, also those of the cut chunk, and a message says that the recording is cut off."""
    data = b"".join(three_chunks(6))
    path = tmp_path / "cut"
    for n in range(len(data)):
        check_cut(plain_bbrmon, path, data, n, essence(fmt.events(data[:n])))
    for n in random.Random(1).sample(range(len(data)), 30):
        check_cut(bbrmon, path, data, n, essence(fmt.events(data[:n])))
    assert "cut off" not in read(bbrmon, write(data))[2]
    whole = read(bbrmon, write(data))[0]
    ends = {sum(map(len, three_chunks(6)[:i])) for i in range(3)}
    counts = {n: len(fmt.events(data[:n])) for n in range(len(data))}
    within = {c for n, c in counts.items() if n not in ends}
    assert len(within) > 6 and max(counts.values()) == len(whole), "no cut within a chunk gives a part of it"


def test_cut_at_any_byte_of_a_longer_one(plain_bbrmon, tmp_path):
    chunks = three_chunks(1500)
    data, path = b"".join(chunks), tmp_path / "cut"
    offsets = [sum(map(len, chunks[:i])) for i in range(3)]
    known = [essence(fmt.events(chunk)) for chunk in chunks]
    for n in random.Random(2).sample(range(len(data)), 40):
        i = max(i for i, offset in enumerate(offsets) if offset <= n)
        expected = sum(known[:i], []) + essence(fmt.events(chunks[i][:n - offsets[i]]))
        check_cut(plain_bbrmon, path, data, n, expected)


def test_from_a_pipe(bbrmon, plain_bbrmon, write):
    path = write(b"".join(three_chunks()))
    expected, summary, _ = read(bbrmon, path)
    for n in None, path.stat().st_size * 2 // 3, 3:
        command = f"head -c {n or 10**9} {path} | {bbrmon.path} record --read - -o - | {bbrmon.path} stream -j --read -"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True,
                              env=sanitizer_environment(), timeout=60)
        assert done.returncode == DONE, done.stderr
        events, _ = parse(done.stdout)
        whole = len(fmt.events(path.read_bytes()[:n]))
        assert events == expected[:whole]
        assert ("standard input: cut off at byte" in done.stderr) == bool(n)


@pytest.mark.parametrize("cut", [None, 1, 60, 100, 1500, -1])
def test_append(bbrmon, write, tmp_path, cut):
    """To a whole recording and to a cut one: all whole records of the old one are still read, then the new ones."""
    old, new = b"".join(three_chunks())[:cut], write(a_chunk(50, first_ns=5, name="two", run=2), "new.rec")
    expected = essence(fmt.events(old))
    path = write(old)
    result = bbrmon("record", "--read", new, "--append", "-o", path)
    assert ("was cut off at byte" in result.err) == (cut is not None)
    events, summary, said = read(bbrmon, path)
    assert essence(events) == expected + essence(fmt.events(new.read_bytes()))
    assert "damaged" not in said and "cut off" not in said
    # Both have connections 1 to 3, and an origin 7.
    assert summary["connections"] == 3 + len({e[1] for e in expected})
    assert summary["drops"]["total"] == 0 and summary["seq"] == len(events)
    assert [head.run for head, _, _ in fmt.chunks(path.read_bytes())][-1] == 2


def test_a_report_of_two_versions_of_an_algorithm(bbrmon, write, tmp_path):
    """Another version, which says more about each field, has appended to the file: the page has the curves of both."""
    path = write(a_chunk(conns=1, pacing_gain=256) +
                 a_chunk(conns=1, pacing_gain=256, first_ns=5, name="two", run=2, more=b"\1"))
    bbrmon("report", "-o", tmp_path / "page.html", path)
    data = data_of((tmp_path / "page.html").read_text())
    assert [(f["instance"], f["algorithm"]) for f in data["flows"]] == [("one", "made"), ("two", "made 2")]
    assert set(data["curves"]) == {"made", "made 2"}
    for flow, columns in zip(data["flows"], data["series"], strict=True):
        assert {curve["values"] for curve in data["curves"][flow["algorithm"]]} <= set(columns["values"])


def test_append_to_what_is_no_recording(bbrmon, write):
    new, other = write(a_chunk(), "new.rec"), write(b"precious\n", "other")
    assert "is not a recording" in bbrmon("record", "--read", new, "--append", "-o", other, status=USAGE).err
    assert other.read_bytes() == b"precious\n"
    major = bytearray(a_chunk())
    major[:fmt.HEAD.size] = fmt.Head(major, major=9).pack()
    other.write_bytes(major)
    assert "format 9" in bbrmon("record", "--read", new, "--append", "-o", other, status=USAGE).err
    assert other.read_bytes() == major


def test_append_after_damage(bbrmon, write):
    """Foreign bytes after the last chunk are skipped, not removed."""
    old, new = a_chunk(last=True), write(a_chunk(9, first_ns=7), "new.rec")
    path = write(old + b"what is this")
    bbrmon("record", "--read", new, "--append", "-o", path)
    events, _, said = read(bbrmon, path)
    assert len(events) == 49 and f"skipped 12 damaged bytes from byte {len(old)} on" in said


def test_rotation_by_size(bbrmon, plain_bbrmon, tmp_path, write):
    """Each file is whole and no larger than asked. The newest ones are kept, and a file that was there counts as one."""
    big = write(b"".join(a_chunk(2000, first_ns=(1 + i) * 10**9 * 20, last=i == 24, before=i * 2000)
                         for i in range(25)), "big.rec")
    everything, _, _ = read(plain_bbrmon, big)
    out = tmp_path / "out"
    summary = bbrmon("record", "-j", "--read", big, "-o", out, "--rotate-size", "256k").json()["summary"]
    n = summary["files"]
    names = [f"{out}.{i}" for i in range(n - 1, 0, -1)] + [out]
    assert n > 3 and sorted(map(str, names)) == sorted(map(str, tmp_path.glob("out*")))
    assert all(os.path.getsize(name) <= 256 << 10 for name in names)
    assert sum(map(os.path.getsize, names)) == summary["bytes"]
    found = []
    for name in names:
        events, own, said = read(plain_bbrmon, name)
        assert own["seq"] == own["events"]["total"] == len(events) > 0 and not re.search("cut|damaged", said)
        found += events
    assert found == everything
    together = b"".join(pathlib.Path(name).read_bytes() for name in names)
    events, own, said = read(plain_bbrmon, write(together, "together"))
    assert events == everything and own["seq"] == own["acks"] == len(events) and not said

    again = bbrmon("record", "-j", "--read", big, "-o", out, "--rotate-size", "256k", "--keep", "3").json()["summary"]
    assert again["files"] == n
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out", "out.1", "out.2"]
    kept = sum((read(plain_bbrmon, f"{out}{end}")[0] for end in (".2", ".1", "")), [])
    assert kept == everything[-len(kept):]
    bbrmon("record", "--read", write(a_chunk()), "-o", out, "--rotate-size", "256k", "--keep", "2")
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out", "out.1"]
    assert read(plain_bbrmon, f"{out}.1")[0] == everything[-len(read(plain_bbrmon, f"{out}.1")[0]):]


@alone
def test_rotation_by_time(bbrmon, load, start_record, monitor, ns, tmp_path):
    name, out = load(), tmp_path / "out"
    running = endless(ns, name)
    process = start_record(name, "-o", out, "--every", "ack", "--rotate-time", "300ms")
    wait_until(lambda: (tmp_path / "out.3").exists(), "the fourth file is begun")
    summary = interrupt(process)
    finish(running)
    events, acks = [], 0
    for name in [*(f"{out}.{i}" for i in range(summary["files"] - 1, 0, -1)), out]:
        more, own, said = read(bbrmon, name)
        assert own["seq"] == own["events"]["total"] + own["drops"]["total"] and not re.search("cut|damaged", said)
        events += more
        acks += own["acks"]
    assert len(events) == summary["events"]["total"] and acks == summary["acks"]
    assert is_in_order(events)


@alone
def test_killed(bbrmon, load, start_record, monitor, ns, tmp_path):
    """All that was written before the kill is read: all events up to some moment, and none of them is missing."""
    name, out = load(), tmp_path / "out"
    running = endless(ns, name)
    watching = monitor(name, "--every", "ack")
    process = start_record(name, "-o", out, "--every", "ack")
    chunks = wait_until(lambda: len(list(fmt.chunks(out.read_bytes()))) >= 2, "two chunks are written")
    process.kill()
    process.wait()
    finish(running)
    wait_for_ends(watching, 2)
    summary = watching.stop()
    assert chunks and not summary["drops"]["total"]
    events, _, said = read(bbrmon, out)
    assert "cut off at byte" in said and events
    watched = by_conn(watching.events)
    for conn, recorded in by_conn(events).items():
        first = watched[conn].index(recorded[0])
        assert recorded == watched[conn][first:first + len(recorded)]


@alone
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
def test_ended_is_an_orderly_end(load, start_record, tmp_path, sig):
    process = start_record(load(), "-o", tmp_path / "out")
    process.send_signal(sig)
    assert process.wait(60) == DONE and fmt.totals((tmp_path / "out").read_bytes())["end"]


def hang_up(process):
    """Sends SIGHUP. Returns when the process has taken the signal, or died of it."""
    process.send_signal(signal.SIGHUP)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    taken = re.compile(r"^ShdPnd:\s*\w*[02468ace]$", re.M)
    wait_until(lambda: process.poll() is not None or taken.search(status.read_text()), "it takes the hangup")


@pytest.mark.parametrize("command", [["stream", "-j"], ["top", "-j", "-i", "100ms"], ["record", "-o", "-"]],
                         ids=lambda command: command[0])
def test_hung_up_twice(bbrmon, write, command):
    """As by a terminal that is closed. bbrmon cannot end before the second signal: nobody reads its output."""
    process = bbrmon.start(*command, "--read", write(b"".join(three_chunks(3000))), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    waits_in = pathlib.Path(f"/proc/{process.pid}/wchan")
    wait_until(lambda: "pipe_write" in waits_in.read_text(), "it waits for its reader")
    hang_up(process)
    hang_up(process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == DONE, err
    if command[0] == "record":
        assert fmt.totals(out)["end"]
    else:
        records = [json.loads(line) for line in out.splitlines()]
        assert len(records) > 2 and ("summary" in records[-1] or command[0] == "top")


def test_disk_full(bbrmon, plain_bbrmon, tmp_path, write):
    """bbrmon prints one message, and what fitted can be read."""
    big = write(b"".join(three_chunks(3000)))
    script = ('mount -t tmpfs -o size=64k bbrt "$1" && { "$2" record --read "$3" -o "$1/out"; status=$?; ls "$1"; '
              '"$4" stream -j --read "$1/out" >"$5"; exit $status; }')
    (tmp_path / "disk").mkdir()
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", tmp_path / "disk", bbrmon.path, big,
                           plain_bbrmon.path, tmp_path / "json"],
                          capture_output=True, text=True, env=sanitizer_environment(), timeout=60)
    lines = done.stderr.splitlines()
    assert done.returncode == REFUSED and done.stdout == "out\n", done
    assert lines[0].endswith("No space left on device") and "cut off at byte 65536" in lines[1]
    events, _ = parse((tmp_path / "json").read_text())
    assert events and essence(events) == essence(fmt.events(big.read_bytes()))[:len(events)]


def test_what_cannot_be_written(bbrmon, tmp_path, write):
    source = write(a_chunk())
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("")
    before = sorted(tmp_path.iterdir())
    for path, why in [(tmp_path, "Is a directory"), (tmp_path / "no/x", "No such file"), ("/dev/full", "No space"),
                      (tmp_path / "fifo", "not a file"), (tmp_path / "file/x", "Not a directory")]:
        said = bbrmon("record", "--read", source, "-o", path, status=REFUSED).err
        assert why in said and said.count("bbrmon:") == 1, said
    assert sorted(tmp_path.iterdir()) == before
    said = bbrmon("record", "--read", source, "-o", source, status=USAGE).err
    assert "name the same file" in said and len(fmt.events(source.read_bytes())) == 40


def test_nobody_reads_our_pipe(bbrmon, write):
    reading, writing = os.pipe()
    os.close(reading)
    process = bbrmon.start("record", "--read", write(a_chunk()), "-o", "-", stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    _, err = process.communicate(timeout=60)
    assert process.returncode == REFUSED and b"cannot write standard output: Broken pipe" in err


def test_not_to_a_terminal(bbrmon, write):
    ours, terminal = pty.openpty()
    process = bbrmon.start("record", "--read", write(a_chunk()), "-o", "-", stdout=terminal, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=60)
    os.close(terminal)
    os.close(ours)
    assert process.returncode == REFUSED and b"it is a terminal" in err


@alone
def test_two_recorders_of_one_file(bbrmon, load, start_record, tmp_path):
    name = load()
    process = start_record(name, "-o", tmp_path / "out")
    said = bbrmon("record", "--name", name, "-o", tmp_path / "out", "--append", status=REFUSED).err
    assert "another bbrmon is writing to it" in said
    interrupt(process)


def test_of_a_later_version(bbrmon, write, tmp_path):
    """Longer heads, events and descriptions, unknown types of records and unknown kinds: the rest is read."""
    encode = fmt.Encoder()
    later = {"of a later version": 7}
    records = [fmt.origin(1, "one", more=b"of a field"), encode(1, 1, kind=ACK, family=2, more=b"12345678", **later),
               fmt.record(200, b"what is this"), encode(2, 1, kind=7, more=b"more"),
               encode(3, 2, kind=200), encode(4, 2, kind=ACK, mode=99), fmt.record(77),
               fmt.totals_record(fmt.END, 4, [1, 0, 2, 0, 0, 0, 0, 1])]
    path = write(fmt.chunk(fmt.Head(run=1, sampling=1, minor=9), records, more=b"a longer head"))
    events, summary, said = read(bbrmon, path)
    assert [e["event"] for e in events] == ["ack", "unknown", "unknown", "ack"] and not said
    assert summary["events"]["total"] == summary["seq"] == 4 and events[3]["mode"] == "unknown"
    bbrmon("record", "--read", path, "-o", tmp_path / "copy")
    assert read(bbrmon, tmp_path / "copy")[0] == events
    assert essence(fmt.events((tmp_path / "copy").read_bytes())) == essence(events)


def test_an_algorithm_that_only_the_file_knows(bbrmon, write):
    """The file's description is enough to show it: modes, phases and fields by their names, in their units."""
    encode = fmt.Encoder()
    records = [fmt.origin(1, "one"), encode(1, 1, kind=ACK, family=2, mode=1, phase=1, colour=1, weight_us=2500),
               encode(2, 1, kind=ACK, mode=0, colour=9), fmt.totals_record(fmt.END, 2, [0, 0, 2])]
    path = write(fmt.chunk(fmt.Head(run=1, sampling=1), records))
    events = read(bbrmon, path)[0]
    assert [(e["mode"], e["colour"], e["weight_us"]) for e in events] == [("GO", "green", 2500), ("WAIT", "unknown", 2500)]
    assert "later" not in events[0]  # carried and not shown
    assert "GO/down" in bbrmon("stream", "--read", path).out


@pytest.fixture
def of_two_algorithms(bbrmon, write):
    """A recording of which only the second chunk has the algorithm that no tool knows."""
    encode = fmt.Encoder()
    records = [fmt.origin(1, "one")]
    for conn in range(1, 5):
        records.append(encode(conn, conn, kind=MODE, mode=1, phase=conn % 2, colour=conn % 3, weight_us=2500 - conn,
                              lport=conn))
    made_up = fmt.chunk(fmt.Head(run=2, sampling=1), [*records, fmt.totals_record(fmt.END, 4, [0, 0, 0, 4])])
    known = (pathlib.Path(__file__).parent / "recordings/abi3.rec").read_bytes()
    return write(known + made_up)


def test_a_filter_of_what_only_the_file_knows(bbrmon, of_two_algorithms):
    """Fields, modes, phases and reasons by the names that the file's description has, wherever in the file it is."""
    path, made_up = of_two_algorithms, "name one and "
    ports = {"weight_us <= 2498": {2, 3, 4}, "weight_us > 2.498ms": {1}, "colour = GREEN": {1, 4}, "colour != green": {2, 3},
             "mode = go and not weight_us = 2499": {2, 3, 4}, "mode GO/down": {1, 3}, "mode = WAIT": set(),
             "reason bored": {1, 2, 3, 4}, "cwnd < 5 and colour red": {3}}
    for expression, expected in ports.items():
        events = read(bbrmon, path, made_up + expression)[0]
        assert {e["lport"] for e in events} == expected, expression
    for verb in ["snapshot", "-j"], ["top", "-j"]:
        rows = [json.loads(line) for line in bbrmon(*verb, "--read", path, "mode = GO and colour = green").out.splitlines()]
        assert {row["lport"] for row in rows} == {1, 4}
    rows = [json.loads(line) for line in bbrmon("top", "-j", "-r", path, "--filter", "weight_us > 2498").out.splitlines()]
    assert {row["lport"] for row in rows} == {1}


def test_an_order_by_what_only_the_file_knows(bbrmon, of_two_algorithms):
    rows = bbrmon("snapshot", "-j", "--read", of_two_algorithms, "--sort", "colour,-weight_us", "name one").out.splitlines()
    assert [json.loads(row)["lport"] for row in rows] == [3, 1, 4, 2]


@pytest.mark.parametrize("words, named", [
    (["weight > 1"], "weight_us"), (["colour = blue"], "  red, green\n"), (["mode = UP"], "PROBE_RTT, WAIT, GO\n"),
    (["mode = GO/left"], "GO/up, GO/down\n"), (["--sort", "weight"], "weight_us")])
def test_a_wrong_name_is_answered_with_what_the_file_knows(bbrmon, of_two_algorithms, words, named):
    result = bbrmon("snapshot", "--read", of_two_algorithms, *words, status=USAGE)
    assert named in result.err and not result.out and "damaged" not in result.err
    assert named not in bbrmon("snapshot", *words, status=USAGE).err


def test_a_pipe_is_read_only_once(bbrmon, of_two_algorithms):
    """Of a pipe only what bbrmon was compiled with can be named: it would be lost otherwise."""
    for expression, status in ("weight_us > 1", USAGE), ("cwnd > 1", DONE):
        with open(of_two_algorithms) as file:
            result = bbrmon("stream", "--read", "-", expression, stdin=file, status=status)
        assert bool(result.out) == (status == DONE) and ("not a condition" in result.err) == (status == USAGE)


@pytest.mark.parametrize("major", [1, 3])
def test_of_another_major(bbrmon, write, major):
    data = a_chunk()
    path = write(fmt.Head(data, major=major).pack() + data[fmt.HEAD.size:])
    result = bbrmon("stream", "--read", path, status=USAGE)
    assert f"has format {major}, this tool has format 2" in result.err and "use the version of bbrmon" in result.err
    path = write(data + path.read_bytes())
    result = bbrmon("stream", "--read", path, status=USAGE)
    assert len(result.out.splitlines()) == 40 and f"from byte {len(data)} on" in result.err


def test_damaged(bbrmon, write):
    """One chunk of three has a wrong byte, more bytes or fewer: the two others are read, and the loss is counted."""
    chunks = three_chunks()
    known = [essence(fmt.events(chunk)) for chunk in chunks]
    chance = random.Random(3)
    for i in range(60):
        hit = chance.randrange(3)
        bad, at = bytearray(chunks[hit]), chance.randrange(len(chunks[hit]))
        if i % 3 == 0:
            bad[at] ^= 1 << chance.randrange(8)
        elif i % 3 == 1:
            del bad[at:at + chance.randrange(1, 50)]
        else:
            bad[at:at] = chance.randbytes(chance.randrange(1, 50))
        data = b"".join(chunks[:hit]) + bytes(bad) + b"".join(chunks[hit + 1:])
        events, summary, said = read(bbrmon, write(data))
        others = sum(known[:hit] + known[hit + 1:], [])
        if len(essence(events)) == 120:  # bytes were inserted before a head, or after the last chunk
            assert i % 3 == 2
            continue
        if hit == 2:  # nothing says what the last chunk held; a part of it may look cut off
            assert essence(events)[:80] == others, i
        else:
            assert essence(events) == others and "damaged" in said, (i, said)
            assert summary["drops"]["unknown"] == 40 and summary["seq"] == 120, i
        assert re.search("damaged|cut off", said)


def test_names_are_fit_for_a_terminal(bbrmon, write):
    """An origin with an invalid name makes its chunk a damaged one. A profile's name ends before an invalid byte."""
    encode = fmt.Encoder()
    event = encode(1, 1, kind=ACK, family=2, profile=1)
    for name in "\033[31mred", "a b", "", "é":
        result = bbrmon("stream", "--read", write(fmt.chunk(fmt.Head(run=1), [fmt.origin(1, name), event])))
        assert not result.out and "damaged" in result.err
    names = fmt.record(fmt.PROFILES, fmt.varint(0) + b"default\0fa\033[31m\0")
    path = write(fmt.chunk(fmt.Head(run=1), [fmt.origin(1, "one"), names, event]))
    assert [e["profile"] for e in read(bbrmon, path)[0]] == ["fa"]


def test_connections_without_state(bbrmon, write, tmp_path):
    """Events of the stack before or after BBR had its state, which is not the same as no events, or none in a time."""
    encode, page = fmt.Encoder(), tmp_path / "page.html"
    records = [encode(10 ** 9 * i, 1 + i % 2, kind=ACK, family=2) for i in range(1, 5)]
    path = write(fmt.chunk(fmt.Head(run=1), [fmt.origin(1, "one"), *records]))
    assert "no event of its 2 connections has BBR's state" in bbrmon("report", path, "-o", page, status=NOTHING).err
    assert "no event has BBR's state" in bbrmon("why", "--read", path, status=NOTHING).err
    for part in ["--from", "9s"], ["--from", "100ms", "--to", "200ms"]:
        assert "no events in this time" in bbrmon("report", path, "-o", page, *part, status=NOTHING).err
        assert "no events in this time" in bbrmon("why", "--read", path, *part, status=NOTHING).err
    path = write(fmt.chunk(fmt.Head(run=1), [fmt.origin(1, "one"), fmt.Encoder()(1, 1, kind=ACK, family=2, pacing_gain=256)]))
    assert "no connection has two events" in bbrmon("why", "--read", path, status=NOTHING).err


def test_not_a_recording(bbrmon, write, tmp_path):
    for data in b"x", b"hello, world\n" * 1000, os.urandom(100_000), bytes(2 << 20):
        assert "is not a recording" in bbrmon("stream", "--read", write(data), status=USAGE).err
    assert "Is a directory" in bbrmon("stream", "--read", tmp_path, status=USAGE).err
    assert "No such file" in bbrmon("stream", "--read", tmp_path / "none", status=USAGE).err
    assert "is not a recording" in bbrmon("stream", "--read", "/dev/zero", status=USAGE).err
    assert read(bbrmon, write(b""))[1]["seq"] == 0


def test_at_the_speed_it_happened(bbrmon, write, tmp_path):
    """The second event is due an hour after the first. Until then bbrmon waits, and can be interrupted."""
    encode, hour = fmt.Encoder(), 3600 * 10**9
    records = [encode(t, 1, kind=ACK, family=2) for t in (10, 10 + hour)]
    path = write(fmt.chunk(fmt.Head(run=1, sampling=1),
                           [fmt.origin(1, "one"), *records, fmt.totals_record(fmt.END, 2, [0, 0, 2])]))
    assert len(read(bbrmon, path, "--speed", "0")[0]) == len(read(bbrmon, path)[0]) == 2
    assert len(read(bbrmon, path, "--speed", "1000000")[0]) == 2
    process = bbrmon.start("stream", "-j", "--read", path, "--speed", "1", stdout=subprocess.PIPE, text=True)
    try:
        assert json.loads(process.stdout.readline())["time_ns"] == 10
        process.send_signal(signal.SIGINT)
        assert json.loads(process.stdout.readline())["summary"]["events"]["total"] == 1
        assert process.wait(60) == DONE
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def come_and_go(conns):
    """A chunk of connections that start, send and end."""
    encode, records = fmt.Encoder(), [fmt.origin(1, "one")]
    for conn in range(1, conns + 1):
        for i, kind in enumerate([START, ACK, ACK, END]):
            records.append(encode(conn * 1000 + i, conn, kind=kind, family=2, bytes_acked=conn * i))
    return fmt.chunk(fmt.Head(run=1, sampling=1), records)


def most_memory(tool, *args):
    """The most memory that a run of the tool had, in kilobytes."""
    return int(run(ROOT / "build/measure", os.devnull, tool.path, *args).stdout.split()[3])


def test_memory_is_bounded(plain_bbrmon, write, tmp_path):
    """Two million events of half a million connections take as much memory as twelve thousand events."""
    one = come_and_go(1000)
    few, many = write(one * 3, "few"), write(one * 500, "many")
    for args in [], ["--every", "1ms"]:
        small = most_memory(plain_bbrmon, "record", "--read", few, "-o", tmp_path / "out", *args)
        large = most_memory(plain_bbrmon, "record", "--read", many, "-o", tmp_path / "out", *args)
        assert large < small + 2048, args
    assert plain_bbrmon("stream", "--read", tmp_path / "out", "--count", "1").out


def many_connections(chunks, each=4000):
    """
    Connections with two events each, whose RTTs are far apart. All but the first event of a chunk are coded as their
    difference from another one, so they are the same bytes in each chunk.
    """
    algorithm, rest, data = fmt.origin(1, "one"), None, b""
    for k in range(chunks):
        encode = fmt.Encoder()
        records = [encode(10 ** 9 + (k * 2 * each + i) * 1000, 1 + k * each + i // 2, kind=ACK, family=2, mss=1448, pacing_gain=256, cwnd=10,
                          rtt_us=(1, 0xfffffff0)[i % 2], bytes_acked=i % 2 * 1000, bytes_sent=i % 2 * 1000,
                          **{"raddr[2]": 0xffff, "raddr[3]": 0x0a000000 + (k * each + i // 2) * 256})
                   for i in range(1 if rest else 2 * each)]
        rest = rest or records[1:]
        data += fmt.chunk(fmt.Head(run=1, sampling=1), [algorithm, records[0], *rest])
    return data


# Bytes for each of the connections that it keeps, which take two bytes each of a recording.
BYTES_EACH = {"top": 1050, "top --by prefix": 1600, "snapshot": 550, "snapshot --by prefix": 900, "why": 1300,
              "why --by prefix": 2000, "export": 420, "export --by prefix": 550, "report": 1100}


@pytest.mark.parametrize("verb", BYTES_EACH)
def test_memory_for_many_connections(plain_bbrmon, write, tmp_path, verb):
    """More than any verb keeps."""
    few, many, kept = many_connections(1, 1), many_connections(50), 1 << 17
    assert len(many) < 1 << 20
    args = {"top": ["-b", "--speed", "0"], "report": ["-o", tmp_path / "page.html"]}.get(verb.split()[0], [])
    reading = [] if verb == "report" else ["--read"]
    small, large = (most_memory(plain_bbrmon, *verb.split(), *args, *reading, write(data)) for data in (few, many))
    assert (large - small) * 1024 < BYTES_EACH[verb] * kept


def test_connections_that_are_not_kept_are_counted(plain_bbrmon, write, tmp_path):
    path = write(many_connections(40))
    for args in ["top", "-bj", "-n", "1", "--speed", "0"], ["snapshot", "-s"], ["why", "--by", "netns"], ["export"]:
        assert "bbrmon: 57856 events are " in plain_bbrmon(*args, "--read", path).err, args
    assert f"bbrmon: {path}: 188928 events are left out" in plain_bbrmon("report", path, "-o", tmp_path / "page.html").err


@alone
def test_says_how_it_goes(bbrmon, load, ns):
    """On a terminal bbrmon rewrites one line, and the summary says what each event took."""
    name = load()
    ours, terminal = pty.openpty()
    running = endless(ns, name)
    process = bbrmon.start("record", "--name", name, "-o", "/dev/null", stderr=terminal)
    os.close(terminal)
    said = b""
    while said.count(b" dropped\r") < 2:
        said += os.read(ours, 1000)
    process.send_signal(signal.SIGINT)
    while b"per event" not in said:
        said += os.read(ours, 1000)
    assert process.wait(60) == DONE
    os.close(ours)
    finish(running)
    assert re.search(rb"\d+ events, \d+ bytes, \d+ dropped\r", said) and b"\r\n  events " in said


@pytest.mark.parametrize("args", [
    [], ["-o"], ["-o", "-", "--append"], ["-o", "-", "-j"], ["-o", "-", "--rotate-size", "1m"], ["-o", "x", "--keep", "2"],
    ["-o", "x", "--rotate-size", "1k"], ["-o", "x", "--rotate-size", "1x"], ["-o", "x", "--rotate-time", "5"],
    ["-o", "x", "--keep", "0", "--rotate-time", "5s"], ["-o", "x", "extra"], ["-o", "x", "--speed", "-1"],
    ["-o", "x", "--count", "0"],
])
def test_wrong_command_lines_are_a_usage_error(bbrmon, args, tmp_path):
    assert bbrmon("record", *args, status=USAGE, cwd=tmp_path).err and not list(tmp_path.iterdir())
