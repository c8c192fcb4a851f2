# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon stream in hard cases: full rings, no free slot, stops, other clocks, and objects that go away meanwhile."""
import collections
import json
import os
import pathlib
import pty
import signal
import socket
import subprocess
import threading
import time

import pytest

from busy import busy_connections
from stream import check_accounts, endless, go_on_watching, is_in_order, stop_past_its_lease, wait_for_ends
from system import map_exists, maps_held_by, maps_of_program, run, wait_until
from tool import DONE, REFUSED, Tool, sanitizer_environment, status_of
from transfer import MB, Transfer, accept, advance, connect, finish, listen, new_socket, reset, send_verified, set_cc

pytestmark = pytest.mark.machine_alone  # it watches all instances

ROOT = pathlib.Path(__file__).resolve().parents[3]
NEXT = ROOT / "build/next_version.bpf.o"
PLACES = 8
LEASE_S = 3


def by_kind(summary):
    """Number of events of each kind, seen or dropped."""
    return {kind: n + summary["drops"][kind] for kind, n in summary["events"].items() if kind != "total"}


def guardian_of(pid):
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/comm").read_text() == "bbrmon-guard\n":
            return int(child)
    raise AssertionError("no guardian")


class SlowReader:
    """Reads bbrmon's output a little at a time, so that bbrmon waits for its reader and not for events."""

    def __init__(self, bbrmon, *args):
        self.process = bbrmon.start("stream", "-j", *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.hurry = threading.Event()
        self.parts = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while part := os.read(self.process.stdout.fileno(), 4096):
            self.parts.append(part)
            self.hurry.wait(0.01)

    def stop(self):
        """Returns the records. The last one is the summary."""
        self.process.send_signal(signal.SIGINT)
        self.hurry.set()
        self.thread.join()
        err = self.process.stderr.read()
        assert self.process.wait(60) == DONE, err
        assert b"Sanitizer" not in err and b"runtime error" not in err, err
        return [json.loads(line) for line in b"".join(self.parts).splitlines()]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.mark.parametrize("ring", ["4k", "64k"])
def test_a_full_ring_is_accounted_for_by_kind(plain_bbrmon, bbrctl, load, monitor, ns, ring):
    """For each kind, the events that it saw and dropped add up to what another monitor saw."""
    name = load()
    # Some thousand ACKs; the ring and the buffers on the way to the reader hold five hundred.
    ns.ip("link", "set", "lo", "mtu", "1500", "gso_max_segs", "4")
    slow = SlowReader(plain_bbrmon, "--name", name, "--every", "ack", "--ring", ring)
    try:
        wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "it subscribes")
        whole = monitor(name, "--every", "ack", "--ring", "64m", tool_to_run=plain_bbrmon)
        for i in range(30):
            send_verified(ns, name, 2 * MB, seed=i)
        wait_for_ends(whole, 30)
        assert status_of(bbrctl, name)["users"] == 0
        *events, last = slow.stop()
    finally:
        slow.close()
    summary, reference = last["summary"], whole.stop()
    assert reference["drops"]["total"] == 0 and summary["unwatched_ms"] == 0
    assert summary["drops"]["ack"] > 0, "the ring was never full"
    assert by_kind(summary) == by_kind(reference)
    assert summary["seq"] == reference["seq"] == summary["events"]["total"] + summary["drops"]["total"]
    assert summary["acks"] == reference["acks"] == summary["events"]["ack"] + summary["drops"]["ack"]
    assert dict(collections.Counter(e["event"] for e in events)) == {
        kind: n for kind, n in summary["events"].items() if n and kind != "total"}
    assert is_in_order(events) and max(e["seq"] for e in events) < summary["seq"]
    seen = {(e["time_ns"], e["event"], e["conn"]) for e in whole.events}
    assert all((e["time_ns"], e["event"], e["conn"]) in seen for e in events)


def by_connection(events):
    """The events of each connection in order, without their numbers: each ring may order events of several CPUs differently."""
    found = {}
    for e in events:
        found.setdefault(e["conn"], []).append({k: v for k, v in e.items() if k != "seq"})
    return found


def test_ten_at_once(plain_bbrmon, bbrctl, load, monitor, ns):
    """Eight monitors see the same events to the last one. Others are refused, with the reason and the remedy."""
    name = load()
    eight = [monitor(name, "--every", "ack", "--ring", "64m", tool_to_run=plain_bbrmon) for _ in range(PLACES)]
    running = endless(ns, name, 3)
    for _ in range(2):
        err = plain_bbrmon("stream", "--name", name, status=REFUSED).err
        assert f"{name}: all {PLACES} monitor slots are in use" in err and "end another bbrmon" in err
    advance(running)
    finish(running)
    for watching in eight:
        wait_for_ends(watching, 3)
    summaries = [watching.stop() for watching in eight]
    for watching, summary in zip(eight, summaries):
        check_accounts(watching, summary)
        assert summary["drops"]["total"] == 0
    streams = [by_connection(watching.events) for watching in eight]
    assert all(stream == streams[0] for stream in streams) and len(streams[0]) == 3
    assert len({summary["acks"] for summary in summaries}) == 1
    assert status_of(bbrctl, name)["monitors"] == 0


def test_stopped_while_another_takes_its_place(bbrctl, bbrmon, load, monitor, ns):
    """A stop longer than the lease, with all slots taken: the ninth monitor gets the slot, and the stopped one says so."""
    name = load()
    running = endless(ns, name)
    stopped, *others = [monitor(name, "--every", "ack") for _ in range(PLACES)]
    stopped.wait_for(lambda m: m.of("ack"), "ACKs")
    stopped.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == PLACES - 1, "its lease runs out")
    ninth = monitor(name, "--every", "ack")
    ninth.wait_for(lambda m: m.of("ack"), "ACKs for the ninth")
    stopped.process.send_signal(signal.SIGCONT)
    wait_until(lambda: "monitor slots are in use" in stopped.errors(), "it says that its place is taken")
    ninth.process.send_signal(signal.SIGINT)
    check_accounts(ninth, ninth.wait())
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == PLACES, "it has a place again")
    seen = len(stopped.of("ack"))
    stopped.wait_for(lambda m: len(m.of("ack")) > seen, "ACKs for it again")
    finish(running)
    summary = stopped.stop()
    assert summary["unwatched_ms"] > 0
    assert summary["events"]["total"] == len(stopped.events)
    assert summary["seq"] == summary["events"]["total"] + summary["drops"]["total"]
    for watching in others:
        check_accounts(watching, watching.stop())


def time_namespace(bbrmon, seconds):
    return Tool(bbrmon.path, ["unshare", "--time", "--monotonic", str(seconds)])


@pytest.mark.parametrize("ahead", [False, True], ids=["behind", "ahead"])
def test_in_a_time_namespace(bbrctl, bbrmon, load, monitor, ns, ahead):
    """The namespace's clock differs from the kernel's. Leases and times follow the kernel's all the same."""
    name = load()
    began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    # No clock may be negative, and it was 0 at boot: so it goes back by half of its value.
    seconds = 1_000_000 if ahead else -(began // 2 // 10 ** 9)
    assert abs(seconds) > 2 * LEASE_S
    watching = monitor(name, "--every", "ack", tool_to_run=time_namespace(bbrmon, seconds))
    running = endless(ns, name)
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    stop_past_its_lease(bbrctl, name, watching)
    go_on_watching(bbrctl, name, watching)
    finish(running)
    wait_for_ends(watching, 2)
    summary = watching.stop()
    assert summary["acks"] == len(watching.of("ack")) + summary["drops"]["ack"]
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert all(began < e["time_ns"] < now for e in watching.events)
    assert 0 < summary["watched_ms"] < (now - began) / 1e6


def test_times_in_text_are_from_its_start_in_a_time_namespace_too(bbrmon, load, monitor, ns):
    name = load()
    watching = monitor(name, json_lines=False, tool_to_run=time_namespace(bbrmon, 1_000_000))
    send_verified(ns, name)
    watching.wait_for(lambda m: any(" end " in line for line in m.lines), "the connection's end")
    watching.stop()
    assert all(0 <= float(line.split()[0]) < 1000 for line in watching.lines)


@pytest.mark.parametrize("bound", [True, False])
def test_an_aborted_connection(load, monitor, link, bound):
    """When the connection ends, the stack has cleared its ports and counts. Its last event still has them."""
    name = load()
    client, server = link.ends
    listener = listen(server, link.v4[1])
    watching = monitor(name, "--every", "ack", "--rport", listener.getsockname()[1])
    sock = new_socket(client, socket.AF_INET)
    set_cc(sock, name)
    if bound:
        sock.bind((link.v4[0], 0))
    sock.connect(listener.getsockname())
    where = (*sock.getsockname(), *sock.getpeername())
    peer = accept(listener)
    Transfer(sock, peer, MB).finish(keep_open=True)
    reset(sock)
    peer.close()
    wait_for_ends(watching, 1)
    check_accounts(watching, watching.stop())
    assert {(e["local"], e["lport"], e["remote"], e["rport"]) for e in watching.events} == {where}
    end, last = watching.events[-1], watching.of("ack")[-1]
    assert end["event"] == "end" and end["bytes_sent"] - end["bytes_retrans"] == MB
    assert all(end[key] == last[key] for key in ("delivered", "lost", "cwnd", "srtt_us", "rounds", "mode"))
    assert end["rtt_us"] is None and end["delivery_rate_bps"] is None and end["acked"] is None


def test_the_same_tuple_again(load, monitor, link):
    """Connections of one 4-tuple are distinct: each has its own id, start and end."""
    name, times = load(), 4
    client, server = link.ends
    listener = listen(server, link.v4[1])
    watching = monitor(name, "--every", "ack")
    for i in range(times):
        sock = new_socket(client, socket.AF_INET)
        set_cc(sock, name)
        sock.bind((link.v4[0], 40000))
        sock.connect(listener.getsockname())
        peer = accept(listener)
        Transfer(sock, peer, (i + 1) * MB).finish(keep_open=True)
        reset(sock)
        peer.close()
        wait_for_ends(watching, i + 1)
    check_accounts(watching, watching.stop())
    assert {(e["local"], e["lport"], e["remote"], e["rport"]) for e in watching.events} == {
        (link.v4[0], 40000, *listener.getsockname())}
    by_conn = collections.defaultdict(list)
    for e in watching.events:
        by_conn[e["conn"]].append(e)
    assert len(by_conn) == times
    for i, events in enumerate(by_conn.values()):
        kinds = [e["event"] for e in events]
        assert kinds[0] == "start" and kinds[-1] == "end"
        assert kinds.count("start") == kinds.count("end") == 1
        assert events[-1]["bytes_sent"] - events[-1]["bytes_retrans"] == (i + 1) * MB
        assert events[0]["bytes_acked"] < 2  # nothing, or the SYN


def maps_of(bbrctl, name):
    return set(maps_of_program(status_of(bbrctl, name)["prog_id"]).values())


def lets_go_of(watching, ids):
    watching.wait_for(lambda m: not maps_held_by(m.process.pid) & ids, "bbrmon lets go of the old instance")
    wait_until(lambda: not any(map(map_exists, ids)), "the old instance is freed")


def test_it_lets_go_of_an_instance_that_is_gone(bbrctl, load, monitor, ns):
    """Unloaded while a connection is open: it is watched to its end, then bbrmon holds nothing of the instance."""
    name, other = load(), load()
    watching = monitor(name, "--name", other, "--every", "ack")
    old = maps_of(bbrctl, name)
    sender, receiver = connect(ns, listen(ns), cc=name)
    running = Transfer(sender, receiver, gap=0.005)
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    bbrctl("unload", "--name", name)
    seen = len(watching.of("ack"))
    watching.wait_for(lambda m: len(m.of("ack")) > seen, "ACKs after the unload")
    assert maps_held_by(watching.process.pid) & old
    finish([running])
    wait_for_ends(watching, 1)
    lets_go_of(watching, old)
    check_accounts(watching, watching.stop())


def test_upgraded_while_it_watches(bbrctl, load, monitor, ns):
    """Events of old and new code come under the one name, and bbrmon releases the old code."""
    name = load()
    watching = monitor(name, "--every", "ack")
    old = maps_of(bbrctl, name)
    listener = listen(ns)
    before = connect(ns, listener, cc=name)
    running = Transfer(*before, gap=0.005)
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    bbrctl("upgrade", "--name", name, "--object", NEXT)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "bbrmon follows to the new code")
    after = connect(ns, listener, cc=name)
    Transfer(*after, MB).finish()
    seen = len(watching.of("ack"))
    watching.wait_for(lambda m: len(m.of("ack")) > seen, "ACKs of the old code")
    finish([running])
    wait_for_ends(watching, 2)
    lets_go_of(watching, old)
    summary = watching.stop()
    assert summary["acks"] == len(watching.of("ack")) + summary["drops"]["ack"]
    assert summary["seq"] == summary["events"]["total"] + summary["drops"]["total"]
    assert summary["connections"] == 2 == summary["events"]["start"] == summary["events"]["end"]
    assert {e["instance"] for e in watching.events} == {name}


def test_a_namespace_that_goes_away(load, monitor, new_ns):
    """A namespace goes away with a connection in it, whose end is still seen."""
    name, ns = load(), new_ns()
    inode = ns.inode
    watching = monitor(name, "--every", "ack")
    script = ("import socket, time; l = socket.create_server(('127.0.0.1', 0)); s = socket.socket();"
              f"s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'{name}'); s.connect(l.getsockname());"
              "p = l.accept()[0]\nwhile True: s.sendall(b'x' * 10000); p.recv(10000); time.sleep(0.005)")
    process = ns.popen("python3", "-c", script)
    try:
        watching.wait_for(lambda m: m.of("ack"), "ACKs")
        run("ip", "netns", "del", ns.name)
        seen = len(watching.of("ack"))
        watching.wait_for(lambda m: len(m.of("ack")) > seen, "ACKs without the namespace's name")
    finally:
        process.kill()
        process.wait()
        run("ip", "netns", "add", ns.name)  # for the fixture to delete
    wait_for_ends(watching, 1)
    summary = watching.stop()
    check_accounts(watching, summary)
    assert {e["netns"] for e in watching.events} == {inode}


def lines_of(path):
    return path.read_text().splitlines()


@pytest.mark.parametrize("ignored", [False, True], ids=["", "nohup"])
def test_the_terminal_is_closed(bbrctl, bbrmon, load, ns, tmp_path, ignored):
    """bbrmon ends in order: the file that it wrote is complete. With nohup it continues."""
    name, out = load(), tmp_path / "out"
    pid, terminal = pty.fork()
    if not pid:
        if ignored:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        fd = os.open(out, os.O_WRONLY | os.O_CREAT)
        os.dup2(fd, 1)
        os.execve(bbrmon.path, [bbrmon.path, "stream", "-j", "--name", name, "--every", "ack"],
                  sanitizer_environment())
    try:
        wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "it subscribes")
        send_verified(ns, name)
        wait_until(lambda: out.stat().st_size, "events")
        os.close(terminal)
        if ignored:
            send_verified(ns, name)
            wait_until(lambda: sum('"end"' in line for line in lines_of(out)) == 2, "the second connection's end")
            os.kill(pid, signal.SIGINT)
        _, status = os.waitpid(pid, 0)
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == DONE
    records = [json.loads(line) for line in lines_of(out)]
    assert records[-1]["summary"]["events"]["total"] == len(records) - 1 > 0
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 0, "its place is free")


def test_on_a_terminal_that_is_closed(bbrctl, bbrmon, load, ns):
    """bbrmon can no longer write: neither a slot nor a process of it stays."""
    name = load()
    pid, terminal = pty.fork()
    if not pid:
        os.execve(bbrmon.path, [bbrmon.path, "stream", "--name", name, "--every", "ack"], sanitizer_environment())
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "it subscribes")
    guardian = guardian_of(pid)
    running = endless(ns, name)
    assert os.read(terminal, 1000)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) in (DONE, REFUSED)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 0, "its place is free")
    wait_until(lambda: not os.path.exists(f"/proc/{guardian}"), "its guardian ends")
    advance(running)
    finish(running)


def test_killed_with_its_guardian(bbrctl, load, monitor, ns):
    """The lease frees the slot. The ring stays until another monitor takes that slot."""
    name = load()
    running = endless(ns, name)
    watching = monitor(name, "--every", "ack")
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    (ring,) = maps_held_by(watching.process.pid) - maps_of(bbrctl, name)
    os.kill(guardian_of(watching.process.pid), signal.SIGKILL)
    watching.process.kill()
    watching.process.wait()
    advance(running)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 0, "the lease runs out")
    assert map_exists(ring)
    another = monitor(name, "--every", "ack")
    another.wait_for(lambda m: m.of("ack"), "ACKs, for the next monitor")
    wait_until(lambda: not map_exists(ring), "the ring of the killed one is freed")
    check_accounts(another, another.stop())
    finish(running)


def test_without_its_guardian(bbrctl, load, monitor, ns):
    """Without its guardian bbrmon continues, and ends in order."""
    name = load()
    watching = monitor(name, "--every", "ack")
    os.kill(guardian_of(watching.process.pid), signal.SIGKILL)
    send_verified(ns, name)
    wait_for_ends(watching, 1)
    check_accounts(watching, watching.stop())
    assert status_of(bbrctl, name)["monitors"] == 0


def test_no_round_of_many_busy_connections_is_dropped(plain_bbrmon, load, monitor, link):
    """200 connections, each with a round trip for every second packet: no round is missing."""
    name, count, rounds = load("max_pacing_rate=300kbit"), 200, 50
    watching = monitor(name, "--every", "round", tool_to_run=plain_bbrmon)
    with busy_connections(link, name, count):
        watching.wait_for(lambda m: len(m.of("start")) == count and len(m.of("ack")) > count * rounds, "rounds of all")
    wait_for_ends(watching, count)
    summary = watching.stop()
    assert summary["drops"]["total"] == 0 and summary["seq"] == len(watching.events)
    assert summary["connections"] == summary["events"]["start"] == summary["events"]["end"] == count
    by_conn = collections.defaultdict(list)
    for e in watching.of("ack"):
        by_conn[e["conn"]].append(e["rounds"])
    assert len(by_conn) == count
    assert all(seen == [*range(seen[0], seen[0] + len(seen))] for seen in by_conn.values())
