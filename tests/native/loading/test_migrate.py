# SPDX-License-Identifier: GPL-2.0-only
"""
Live connections move to another congestion control and back. They leave an instance of the test's own, or move only in
a namespace of the test's own: nothing else can be touched.
"""
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from system import PREFIX, registered, run, struct_ops, wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, status_of
from transfer import MB, Transfer, advance, connect, finish, flows, get_cc, listen, new_socket, set_cc

COUNTS = "moved", "listeners_moved", "listeners_left", "failed"
KEYS = {"from", "to", "dry_run", "namespaces", "namespaces_unseen", "left_in_other_namespaces", *COUNTS, "errors", "unfinished",
        "subflows_moved"}


def migrate(bbrctl, *args, status=DONE, **kwargs):
    """In the namespaces of the tests, too."""
    where = [] if "--netns" in args else ["--all-netns"]
    return bbrctl("-j", "migrate", *args, *where, status=status, **kwargs).json()


def counts(answer):
    return tuple(answer[key] for key in COUNTS)


def many(ns, name, n, address="127.0.0.1"):
    """The clients of n connections, which use the name."""
    listener = listen(ns, address, backlog=n)
    return [connect(ns, listener, cc=name)[0] for _ in range(n)]


def used(sockets):
    return [get_cc(s) for s in sockets]


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("family", ["v4", "v6"])
def test_back_and_forth_during_a_transfer(bbrctl, load, link, family, end):
    """end: 0 moves the side that sends, 1 the side that receives."""
    name = load()
    there, here = link.ends
    listener = listen(here, getattr(link, family)[1], cc="cubic")
    set_cc(listener, name if end else "cubic")
    pair = connect(there, listener, cc="cubic" if end else name)
    transfer = Transfer(*pair, gap=0.001)
    advance([transfer])
    for _ in range(15):
        assert counts(migrate(bbrctl, "--from", name, "--to", "reno")) == (1, 0, end, 0)
        assert get_cc(pair[end]) == "reno" and get_cc(pair[not end]) == "cubic"
        advance([transfer])
        back = migrate(bbrctl, "--from", "reno", "--to", name, "--netns", link.ends[end].name)
        assert counts(back) == (1, 0, 0, 0) and back["namespaces"] == 1
        assert get_cc(pair[end]) == name
        advance([transfer])
    transfer.stop()
    transfer.finish()


def test_between_two_instances(bbrctl, load, ns):
    one, two = load(), load("cwnd_gain=3")
    running = flows(ns, one, 4)
    advance(running)
    for _ in range(10):
        assert migrate(bbrctl, "--from", one, "--to", two)["moved"] == 4
        assert (status_of(bbrctl, one)["users"], status_of(bbrctl, two)["users"]) == (0, 4)
        one, two = two, one
    advance(running)
    finish(running)


def test_figures_are_exact_with_many(bbrctl, load, ns, many_files):
    """More than twice what one read() of the iterator returns; each is counted once."""
    name = load()
    sockets = many(ns, name, 1500)
    seen = migrate(bbrctl, "-v", "--from", name, "--to", "reno", "--dry-run")["sockets"]
    ports = {s.getsockname()[1] for s in sockets}
    assert len(seen) == 1500 and {s["local_port"] for s in seen} == ports
    assert set(used(sockets)) == {name}
    assert migrate(bbrctl, "--from", name, "--to", "reno")["moved"] == 1500
    assert set(used(sockets)) == {"reno"}


def test_dry_run_changes_nothing(bbrctl, load, ns):
    name = load()
    sockets = many(ns, name, 3)
    listener = listen(ns, cc=name)
    answer = migrate(bbrctl, "--from", name, "--to", "reno", "--dry-run")
    assert counts(answer) == (3, 0, 1, 0) and answer["dry_run"] is True
    answer = migrate(bbrctl, "--from", name, "--to", "reno", "--dry-run", "--listeners")
    assert counts(answer) == (3, 1, 0, 0)
    assert used([*sockets, listener]) == [name] * 4
    assert "would move 3 connections" in bbrctl("migrate", "--all-netns", "--from", name, "--to", "reno", "--dry-run").out


def test_listeners(bbrctl, load, ns):
    name = load()
    listener = listen(ns, cc=name)
    only_left = "migrate", "--from", name, "--to", "reno", "--all-netns"
    assert counts(migrate(bbrctl, *only_left[1:], status=NOTHING)) == (0, 0, 1, 0)
    assert "1 listener left" in bbrctl(*only_left, status=NOTHING).out
    sender, accepted = connect(ns, listener, cc="cubic")
    assert get_cc(accepted) == name
    assert counts(migrate(bbrctl, *only_left[1:], "--listeners")) == (1, 1, 0, 0)
    assert used([listener, accepted, connect(ns, listener, cc="cubic")[1]]) == ["reno"] * 3
    Transfer(accepted, sender, MB).finish()


def test_filter_of_addresses_and_ports(bbrctl, load, link):
    name = load()
    here, there = link.ends
    listeners = {key: listen(there, getattr(link, key)[1]) for key in ("v4", "v6")}
    v4, v6 = (connect(here, listeners[key], cc=name)[0] for key in ("v4", "v6"))
    # An IPv4 connection of an IPv6 socket.
    mapped, _ = connect(here, listeners["v4"], f"::ffff:{link.v4[1]}", cc=name, family=socket.AF_INET6)
    marked, _ = connect(here, listeners["v4"], cc=name)
    marked.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 0x1234)
    every = {s.getsockname()[1]: what for what, s in
             {"v4": v4, "v6": v6, "mapped": mapped, "marked": marked}.items()}
    port = {key: str(listener.getsockname()[1]) for key, listener in listeners.items()}
    for wanted, *args in (
            ("v4 mapped marked", "--dst", "10.77.0.0/24"),
            ("v4 mapped marked", "--dst", link.v4[1]),
            ("v4 mapped marked", "--dst", "0.0.0.0/0"),
            ("v6", "--dst", "fd77::/48"),
            ("v6", "--dst", link.v6[1]),
            ("v4 v6 mapped marked", "--dst", "::/0"),
            ("", "--dst", link.v4[0]),
            ("v6", "--dport", port["v6"]),
            ("v4", "--sport", v4.getsockname()[1]),
            ("", "--dport", v4.getsockname()[1]),
            ("marked", "--mark", "0x1234"),
            ("marked", "--mark", "4660"),
            ("v4 v6 mapped", "--mark", "0"),
            ("", "--mark", "1"),
            ("mapped", "--dst", "10.0.0.0/8", "--sport", mapped.getsockname()[1]),
            ("", "--dst", "fd77::/48", "--dport", port["v4"])):
        found = migrate(bbrctl, "-v", "--from", name, "--to", "reno", "--dry-run", *args, status=None)
        assert {every[s["local_port"]] for s in found["sockets"]} == set(wanted.split()), args
    migrate(bbrctl, "--from", name, "--to", "reno", "--dst", "fd77::/48")
    assert used([v4, v6, mapped, marked]) == [name, "reno", name, name]


def test_a_listener_has_no_remote_end(bbrctl, load, ns):
    name = load()
    listener = listen(ns, cc=name)
    port = str(listener.getsockname()[1])
    go = "--from", name, "--to", "reno", "--listeners"
    for args in ("--dst", "0.0.0.0/0"), ("--dport", port):
        assert counts(migrate(bbrctl, *go, *args, status=NOTHING)) == (0, 0, 0, 0)
    assert counts(migrate(bbrctl, *go, "--sport", port)) == (0, 1, 0, 0)


@contextlib.contextmanager
def inside(cgroup):
    """Moves this process into the cgroup, and so the sockets that it makes."""
    with open("/proc/self/cgroup") as f:
        (own,) = (line.strip().removeprefix("0::") for line in f if line.startswith("0::"))
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        type(cgroup)(f"{mount_of_cgroup2()}/{own}/cgroup.procs").write_text(str(os.getpid()))


def mount_of_cgroup2():
    with open("/proc/self/mounts") as f:
        return next(line.split()[1] for line in f if line.split()[2] == "cgroup2")


@pytest.fixture
def cgroups(tmp_path):
    """Two cgroups, the second below the first."""
    outer = type(tmp_path)(mount_of_cgroup2()) / f"{PREFIX}.slice"
    inner = outer / "inner.service"
    inner.mkdir(parents=True)
    yield outer, inner
    for cgroup in inner, outer:
        wait_until(lambda c=cgroup: not (c / "cgroup.procs").read_text(), "the cgroup is empty")
        cgroup.rmdir()


def test_filter_of_cgroups(bbrctl, load, ns, cgroups):
    name = load()
    outer, inner = cgroups
    outside = many(ns, name, 1)
    with inside(outer):
        upper = many(ns, name, 2)
    with inside(inner):
        lower = many(ns, name, 3)
    go = "--from", name, "--to", "reno", "--cgroup"
    for path, n in ((outer, 5), (inner, 3), (f"{PREFIX}.slice", 5), (f"/{PREFIX}.slice/inner.service", 3)):
        assert migrate(bbrctl, *go, path, "--dry-run")["moved"] == n
    migrate(bbrctl, *go, inner)
    assert used(outside + upper + lower) == [name] * 3 + ["reno"] * 3
    for path in "nowhere.slice", "/tmp", "", outer / "cgroup.procs":
        assert "no such cgroup" in bbrctl("migrate", *go, path, status=USAGE).err


def test_several_namespaces(bbrctl, load, new_ns):
    name = load()
    spaces = [new_ns() for _ in range(3)]
    sockets = [many(ns, name, i + 1) for i, ns in enumerate(spaces)]
    one = migrate(bbrctl, "-v", "--from", name, "--to", "reno", "--netns", f"/run/netns/{spaces[1].name}")
    assert one["moved"] == 2 and {s["netns"] for s in one["sockets"]} == {spaces[1].inode}
    assert [set(used(some)) for some in sockets] == [{name}, {"reno"}, {name}]
    rest = migrate(bbrctl, "--from", name, "--to", "reno")
    assert rest["moved"] == 4 and rest["namespaces"] >= 3


def test_only_its_own_namespace_by_default(bbrctl, load, new_ns):
    """bbrctl runs in the first of three; it says what it leaves alone."""
    name = load()
    spaces = [new_ns() for _ in range(3)]
    sockets = [many(ns, name, i + 1) for i, ns in enumerate(spaces)]
    here = {"prefix": ["nsenter", f"--net=/run/netns/{spaces[0].name}"]}
    go = "migrate", "--from", name, "--to", "reno"
    would = bbrctl(*go, "--dry-run", **here).out
    assert would == f"would move 1 connection from {name} to reno, in this network namespace\n" \
                    "left alone: 5 connections in 2 other network namespaces (--all-netns)\n"
    assert bbrctl(*go, **here).out == would.replace("would move", "moved")
    assert [set(used(some)) for some in sockets] == [{"reno"}, {name}, {name}]
    none = bbrctl(*go, status=NOTHING, **here)
    assert none.out == "left alone: 5 connections in 2 other network namespaces (--all-netns)\n"
    assert f"no matching connection uses {name}" in none.err
    assert bbrctl("-j", *go, status=NOTHING, **here).json()["left_in_other_namespaces"] == 5
    assert bbrctl(*go, "--netns", spaces[1].name, **here).out == \
        f"moved 2 connections from {name} to reno, in network namespace {spaces[1].name}\n"
    assert bbrctl(*go, "--all-netns", **here).out == f"moved 3 connections from {name} to reno, in 1 network namespace\n"
    assert [set(used(some)) for some in sockets] == [{"reno"}] * 3


ALONE = """
import socket, sys
name = sys.argv[1]
listener = socket.create_server(("127.0.0.1", 0))
sock = socket.socket()
sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
sock.connect(listener.getsockname())
print("ready", flush=True)
sys.stdin.readline()
print(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\\0")[0].decode())
"""


def test_a_namespace_of_a_process_only(bbrctl, load):
    name = load()
    command = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
               sys.executable, "-c", ALONE, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert migrate(bbrctl, "--from", name, "--to", "reno")["moved"] == 1
        assert process.communicate("\n", timeout=60)[0] == "reno\n"


@contextlib.contextmanager
def thread_in(ns):
    """A thread of this process that stays in the namespace; its id."""
    inside_now, leave, ids = threading.Event(), threading.Event(), []

    def stay():
        with ns.entered():
            ids.append(threading.get_native_id())
            inside_now.set()
            leave.wait()
    thread = threading.Thread(target=stay)
    thread.start()
    inside_now.wait()
    try:
        yield ids[0]
    finally:
        leave.set()
        thread.join()


def test_a_namespace_of_a_thread_only(bbrctl, load, new_ns):
    """The namespace has no name in /run/netns any more, but one thread of many is still in it."""
    name, ns = load(), new_ns()
    sockets = many(ns, name, 2)
    with thread_in(ns) as thread:
        run("umount", "-l", f"/run/netns/{ns.name}")
        try:
            assert migrate(bbrctl, "--from", name, "--to", "reno")["moved"] == 2
        finally:
            run("mount", "--bind", f"/proc/{os.getpid()}/task/{thread}/ns/net", f"/run/netns/{ns.name}")
    assert set(used(sockets)) == {"reno"}


def test_from_what_is_unloaded_already(bbrctl, load, ns):
    """Sockets of an unloaded instance can still be moved; then the kernel frees it."""
    name = load()
    running = flows(ns, name, 3)
    advance(running)
    bbrctl("unload", "--name", name)
    assert name not in registered()
    assert migrate(bbrctl, "--from", name, "--to", "reno")["moved"] == 3
    wait_until(lambda: name not in struct_ops().values(), "the kernel frees the instance")
    advance(running)
    finish(running)


def test_all_states_are_moved(bbrctl, load, ns):
    """Not only established connections are moved: half closed ones, too, and one that still connects."""
    name = load()
    listener = listen(ns)
    closing, peer = connect(ns, listener, cc=name)
    closing.shutdown(socket.SHUT_WR)
    half_closed, other = connect(ns, listener, cc=name)
    other.shutdown(socket.SHUT_WR)
    full = listen(ns, backlog=0)
    connect(ns, listener)
    waiting = [socket_that_connects(ns, full, name) for _ in range(4)]
    found = migrate(bbrctl, "-v", "--from", name, "--to", "reno")
    assert {s["state"] for s in found["sockets"]} >= {"FIN_WAIT2", "CLOSE_WAIT", "SYN_SENT"}
    assert set(used([closing, half_closed, *waiting])) == {"reno"}
    Transfer(peer, closing, MB).finish()


def socket_that_connects(ns, listener, name):
    sock = new_socket(ns, socket.AF_INET)
    set_cc(sock, name)
    sock.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        sock.connect(listener.getsockname())
    return sock


@pytest.mark.parametrize("args", [
    [], ["--from", "reno"], ["--to", "reno"],
    ["--from", "reno", "--to", "reno", "--dry-run"],
    ["--from", "x", "--to", "there_is_none"],
    ["--from", "x", "--to", ""],
    ["--from", "", "--to", "reno"],
    ["--from", "a" * 16, "--to", "reno"],
    ["--from", "x", "--to", "a" * 300],
    ["--from", "x", "--to", "reno", "--dst", "10.0.0.0/33"],
    ["--from", "x", "--to", "reno", "--dst", "example.org"],
    ["--from", "x", "--to", "reno", "--dport", "0"],
    ["--from", "x", "--to", "reno", "--sport", "65536"],
    ["--from", "x", "--to", "reno", "--mark", "-1"],
    ["--from", "x", "--to", "reno", "--mark", "0x100000000"],
    ["--from", "x", "--to", "reno", "--netns", "there_is_none"],
    ["--from", "x", "--to", "reno", "--netns", "/proc/self/ns/net", "--all-netns"],
    ["--from", "x", "--to", "reno", "--netns", "/etc/passwd"],
    ["--from", "x", "--to", "reno", "--name", "x"],
    ["--from", "x", "--to", "reno", "y"],
])
def test_a_wrong_command_line(bbrctl, args):
    assert not bbrctl("migrate", *args, status=USAGE).out


def test_what_the_kernel_knows_is_the_remedy(bbrctl):
    err = bbrctl("migrate", "--from", "x", "--to", "there_is_none", status=USAGE).err
    assert all(name in err for name in registered())


def test_nothing_to_move(bbrctl, load):
    name = load()
    answer = bbrctl("-j", "migrate", "--from", name, "--to", "reno", status=NOTHING)
    assert name in answer.err and set(answer.json()) == KEYS and counts(answer.json()) == (0, 0, 0, 0)


def test_again_is_nothing_to_do(bbrctl, load, ns):
    name = load()
    sockets = many(ns, name, 2)
    out = bbrctl("migrate", "-v", "--all-netns", "--from", name, "--to", "reno").out
    assert f"moved 2 connections from {name} to reno" in out and str(sockets[0].getsockname()[1]) in out
    bbrctl("migrate", "--from", name, "--to", "reno", status=NOTHING)
    assert used(sockets) == ["reno"] * 2


@pytest.fixture
def immovable(bbrctl):
    """BPF may not move a socket to a congestion control of this name, whoever made it."""
    wait_until(lambda: "cdg" not in registered(), "the name is free")
    bbrctl("load", "--name", "cdg")
    yield "cdg"
    bbrctl("unload", "--name", "cdg")


def test_what_cannot_be_moved(bbrctl, load, ns, immovable):
    name = load()
    running = flows(ns, name, 2)
    answer = bbrctl("-j", "-v", "migrate", "--all-netns", "--from", name, "--to", immovable, status=REFUSED)
    assert "2 could not be moved" in answer.err
    found = answer.json()
    assert counts(found) == (0, 0, 0, 2)
    (error,) = found["errors"]
    assert error["count"] == 2 and error["errno"] == 524 and error["error"] in answer.err
    assert {(s["result"], s["errno"]) for s in found["sockets"]} == {("failed", 524)}
    assert {get_cc(t.sockets[0]) for t in running} == {name}

    refused = bbrctl("unload", "--name", name, "--migrate", immovable, status=REFUSED)
    assert "could not be moved" in refused.err and "not unloaded" in refused.err
    found = bbrctl("-j", "unload", "--name", name, "--migrate", immovable, status=REFUSED).json()
    assert found["unloaded"] is False and found["migrated"]["failed"] == 2
    assert name in registered()
    advance(running)
    finish(running)


def test_unload_moves_busy_connections_away(bbrctl, load, new_ns):
    name = load()
    spaces = [new_ns(), new_ns()]
    running = [t for ns in spaces for t in flows(ns, name, 4)]
    listener = listen(spaces[0], cc=name)
    advance(running)
    answer = bbrctl.json("unload", name, "--migrate", "cubic")
    assert answer["unloaded"] is True and answer["users"] == 0
    assert set(answer["migrated"]) == KEYS and counts(answer["migrated"]) == (8, 1, 0, 0)
    assert {get_cc(t.sockets[0]) for t in running} == {"cubic"} and get_cc(listener) == "cubic"
    # Nothing uses it any more.
    wait_until(lambda: name not in struct_ops().values(), "the kernel frees the instance")
    advance(running)
    finish(running)


def test_unload_with_nothing_to_move(bbrctl, load):
    name = load()
    assert f"{name}: unloaded\n" in bbrctl("unload", "--name", name, "--migrate", "cubic").out


@pytest.mark.parametrize("to", ["there_is_none", "", "a" * 100, None])
def test_unload_to_nowhere(bbrctl, load, to):
    name = load()
    bbrctl("unload", "--name", name, "--migrate", name if to is None else to, status=USAGE)
    assert name in registered()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_stopped_half_way(bbrctl, load, ns, many_files, number):
    """Stopped at any moment: no connection is harmed, and the next migrate finishes the work."""
    name = load()
    running = flows(ns, name, 2, gap=0.005)
    sockets = many(ns, name, 600)
    go = "migrate", "--all-netns", "--from", name, "--to", "reno"
    begin = time.monotonic()
    bbrctl(*go)
    longest = time.monotonic() - begin
    rng = random.Random(number)
    for i in range(10):
        migrate(bbrctl, "--from", "reno", "--to", name, "--netns", ns.name, status=None)
        process = bbrctl.start(*go, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(longest * (i + rng.random()) / 10)
        process.send_signal(number)
        assert process.wait(60) in (DONE, REFUSED, -number)
        assert set(used(sockets)) <= {name, "reno"}
        bbrctl(*go, status=None)
        assert set(used(sockets)) == {"reno"}
        advance(running)
    finish(running)


def test_several_at_once(bbrctl, load, ns, many_files):
    """Four at once do the same work: each socket is moved by one of them."""
    name = load()
    sockets = many(ns, name, 400)
    go = "-j", "migrate", "--all-netns", "--from", name, "--to", "reno"
    answers = [p.communicate(timeout=60)[0] for p in
               [bbrctl.start(*go, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(4)]]
    assert sum(json.loads(a)["moved"] for a in answers) == 400
    assert set(used(sockets)) == {"reno"}


def test_against_each_other(bbrctl, load, ns):
    """Moves in both directions at once, under traffic: all of them end."""
    one, two = load(), load()
    running = flows(ns, one, 6)
    ways = [(one, two), (two, one)] * 6
    started = [bbrctl.start("migrate", "--all-netns", "--from", a, "--to", b, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True) for a, b in ways]
    said = [p.communicate(timeout=120)[1] for p in started]
    assert {p.returncode for p in started} <= {DONE, NOTHING}, said
    advance(running)
    finish(running)


def test_connections_come_and_go_meanwhile(bbrctl, load, ns):
    """Connections that existed at the start are moved, whatever happens to the hash table."""
    name = load()
    old = many(ns, name, 50)
    listener = listen(ns, backlog=64)
    for _ in range(5):
        process = bbrctl.start("migrate", "--all-netns", "--from", name, "--to", "reno", stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        while process.poll() is None:
            for s in connect(ns, listener, cc=name):
                s.close()
        assert process.returncode in (DONE, REFUSED)
        assert set(used(old)) == {"reno"}
        migrate(bbrctl, "--from", "reno", "--to", name, "--netns", ns.name)
