# SPDX-License-Identifier: GPL-2.0-only
"""
The kernel's own bbr, watched from outside, and its connections beside those of instances. bbrmon must print what
ss(8) prints for the same socket.
"""
import contextlib
import itertools
import json
import re
import socket
import threading
import time

import pytest

from bpfmap import Map
from stream import check_accounts, endless, tuple_of, tuples, wait_for_ends
import system
from system import maps_held_by, wait_until
from tool import NOTHING, Monitor
from transfer import MB, Transfer, close, connect, finish, listen, new_socket, set_cc

pytestmark = pytest.mark.machine_alone  # it watches all instances

UNKNOWN = ("profile", "profile_index", "params_gen", "delivery_rate_bps", "app_limited", "losses", "acked",
           "prior_inflight")
numbers = itertools.count(1000)


def has_subscribed(pid):
    """True if a slot's bit is set in the watch map that bbrmon has made for the kernel's bbr: the last step of subscribing."""
    names = system.maps()
    try:
        held = maps_held_by(pid)
    except FileNotFoundError:  # bbrmon is busy opening and closing files
        return False
    for map_id in held:
        if names.get(map_id) == ".data.watch":
            with Map.of(map_id) as watch:
                if any(watch[bytes(4)][:8]):
                    return True
    return False


@pytest.fixture
def watch(bbrmon, tmp_path):
    """Starts `bbrmon stream -j --name bbr` and returns when it is subscribed."""
    with contextlib.ExitStack() as stack:
        def start(*args, name="bbr", **kwargs):
            monitor = Monitor(bbrmon, tmp_path, *(("--name", name) if name else ()), *args, number=next(numbers),
                              **kwargs)
            stack.callback(monitor.kill)
            monitor.wait_for(lambda m: has_subscribed(m.process.pid), "bbrmon subscribes")
            return monitor
        yield start


def push(sender, receiver, size):
    """Sends data one way. Unlike a Transfer, it does not end the connection."""
    thread = threading.Thread(target=sender.sendall, args=(bytes(size),))
    thread.start()
    while size:
        size -= len(receiver.recv(min(size, MB)))
    thread.join()


def flow(ns, address="127.0.0.1", cc="bbr", size=4 * MB):
    """Both ends of a connection over which data went one way."""
    ends = connect(ns, listen(ns, address), cc=cc)
    push(*ends, size)
    return ends


def snapshot(bbrmon, *args):
    return [json.loads(line) for line in bbrmon("snapshot", "-j", *args).out.splitlines()]


def of_sock(found, sock):
    (one,) = [c for c in found if tuples([c]) == {tuple_of(sock)}]
    return one


def ss(ns, sock):
    """What ss prints about a socket's congestion control, as one line."""
    out = ns.run("ss", "-tiH", "sport", "=", f":{sock.getsockname()[1]}",
                 "dport", "=", f":{sock.getpeername()[1]}").stdout
    return " ".join(out.split())


def state_of(text):
    return re.search(r"bbr:\([^)]*\)", text).group()


def is_idle(ns, sock):
    first = ss(ns, sock)
    return "unacked:" not in first and "notsent:" not in first


def test_a_snapshot_has_what_ss_has(bbrmon, ns):
    for address in "127.0.0.1", "::1":
        sender, _ = flow(ns, address)
        wait_until(lambda: is_idle(ns, sender), "all is acknowledged")
        of_ss = ss(ns, sender)
        text = bbrmon("snapshot", "-N", ns.name, "sport", "=", f":{sender.getsockname()[1]}").out
        assert state_of(text) == state_of(of_ss)
        state = of_sock(snapshot(bbrmon, "-N", ns.name), sender)
        assert state["instance"] == "bbr" and state["netns"] == ns.inode and state["event"] == "state"
        assert f" cwnd:{state['cwnd']} " in of_ss and f" bytes_acked:{state['bytes_acked']} " in of_ss
        assert f" mss:{state['mss_bytes']} " in of_ss
        srtt_ms = float(re.search(r" rtt:([\d.]+)/", of_ss).group(1))  # after the slash is the variance
        assert abs(srtt_ms - state["srtt_us"] / 1000) < 0.001
        assert state["min_rtt_us"] <= state["rtt_us"] and state["rounds"] > 0
        assert {key: state[key] for key in UNKNOWN} == dict.fromkeys(UNKNOWN)


def test_the_stream_has_what_ss_has(watch, ns):
    """An ACK's event has the state before that ACK: here that of an idle connection."""
    sender, receiver = flow(ns)
    wait_until(lambda: is_idle(ns, sender), "all is acknowledged")
    watching = watch("--every", "ack", json_lines=False)
    of_ss = ss(ns, sender)
    sender.sendall(b"x")
    assert receiver.recv(1)
    (line, *_) = wait_until(lambda: [x for x in (watching.poll(), watching.lines)[1]
                                     if f":{sender.getsockname()[1]} > " in x], "the ACK")
    assert f" bbr 127.0.0.1:{sender.getsockname()[1]} > " in line and " ack bbr:(" in line
    assert state_of(line) == state_of(of_ss)


def of_netns(monitor, ns):
    return [e for e in monitor.poll() if e["netns"] == ns.inode]


def test_acks_are_accounted_for(watch, ns):
    """With a ring that is large enough and one that is not. All other connections count as well."""
    large, small = watch("--every", "ack"), watch("--every", "ack", "--ring", "4k")
    ends = [connect(ns, listen(ns, address), cc="bbr") for address in ("127.0.0.1", "::1")]
    transfers = [Transfer(*pair, 8 * MB) for pair in ends]
    for transfer in transfers:
        transfer.finish()
    large.wait_for(lambda m: len([e for e in of_netns(m, ns) if e["event"] == "end"]) >= 2, "both ends")
    for watching in large, small:
        summary = watching.stop()
        check_accounts(watching, summary)
        assert summary["acks"] > 0
    assert {e["conn"] for e in of_netns(large, ns)} and {e["instance"] for e in large.events} == {"bbr"}
    for key in UNKNOWN:
        assert {e[key] for e in large.events} == {None}, key


def test_rounds_and_intervals(watch, ns):
    rounds, acks, slow = watch("--every", "round"), watch("--every", "ack"), watch("--every", "20ms")
    for port in range(2):
        flow(ns, size=16 * MB)
    for watching in rounds, acks, slow:
        watching.wait_for(lambda m: of_netns(m, ns), "events")
        watching.stop()
    per_conn = {}
    for e in of_netns(acks, ns):
        if e["event"] == "ack":
            per_conn.setdefault(tuple(tuples([e])), []).append(e)
    for events in per_conn.values():
        changes = [b for a, b in zip(events, events[1:]) if a["rounds"] != b["rounds"]]
        assert changes == [e for e in events[1:] if e["round_start"]]
    assert all(e["round_start"] for e in rounds.of("ack"))
    assert 0 < len(of_netns(rounds, ns)) < len(of_netns(acks, ns))
    by_conn = {}
    for e in slow.of("ack"):
        by_conn.setdefault(e["conn"], []).append(e["time_ns"])
    assert all(b - a >= 20_000_000 for times in by_conn.values() for a, b in zip(times, times[1:]))


def test_modes_and_recovery_over_a_bottleneck(watch, new_path):
    path = new_path(limit="30k")
    watching = watch("--every", "round")
    sender, receiver = connect(path.sender, listen(path.receiver, path.v4), cc="bbr")
    Transfer(sender, receiver, 5 * MB).finish()
    watching.wait_for(lambda m: [e for e in of_netns(m, path.sender) if e["event"] == "end"], "its end")
    summary = watching.stop()
    events = of_netns(watching, path.sender)
    assert path.dropped() > 0
    assert events[0]["event"] == "start" and events[-1]["event"] == "end"
    mode = "STARTUP"
    for e in events:
        if e["event"] == "mode":
            assert e["from"] == mode != e["to"] == e["mode"] and e["reason"] is None
            mode = e["to"]
        assert e["mode"] == mode
    assert mode in ("PROBE_BW", "PROBE_RTT")
    steps = [e for e in events if e["event"] == "recovery"]
    assert "recovery" in [e["to"] for e in steps]  # not always first: if the machine stands still, a timeout is
    assert all("recovery" in (e["from"], e["to"]) or "loss" in (e["from"], e["to"]) for e in steps)
    assert summary["events"]["recovery"] >= len(steps)


def timeouts(ns):
    words = ns.run("nstat", "-asz", "TcpExtTCPTimeouts").stdout.split()
    return int(words[words.index("TcpExtTCPTimeouts") + 1])


def test_timeouts_are_events(watch, link):
    """
    Nothing gets through until three timeouts were seen. The program may miss a look, which no counter includes
    (docs/internals/bpf.md): so there may have been more timeouts than events, but not fewer. test_matrix.py has the exact
    count, on kernels that miss none.
    """
    client, server = link.ends
    watching = watch("--every", "transition")
    sender, receiver = connect(client, listen(server, link.v4[1]), cc="bbr")
    push(sender, receiver, MB)
    server.ip("link", "set", link.names[1], "down")
    down_ns = time.monotonic_ns()  # before, veth may deliver in another order, from two CPUs: a recovery without a timeout
    sender.sendall(b"x" * 1000)
    watching.wait_for(lambda m: len([e for e in of_netns(m, client) if e["event"] == "rto"]) >= 3, "timeouts")
    server.ip("link", "set", link.names[1], "up")
    assert receiver.recv(1000)
    close(sender)
    close(receiver)
    watching.wait_for(lambda m: [e for e in of_netns(m, client) if e["event"] == "end"], "its end")
    watching.stop()
    events = of_netns(watching, client)
    assert len([e for e in events if e["event"] == "rto"]) <= timeouts(client)
    assert "loss" in [e["to"] for e in events if e["event"] == "recovery" and e["time_ns"] > down_ns]


def test_a_start_is_not_invented(watch, ns):
    ns.default_congestion_control("reno")
    sender, receiver = flow(ns)
    watching = watch("--every", "ack")
    Transfer(sender, receiver, MB).finish()
    connecting, accepted = connect(ns, listen(ns, cc="bbr"), cc="reno")
    where = tuple_of(accepted)
    switched = connect(ns, listen(ns), cc="reno")
    set_cc(switched[0], "bbr")
    Transfer(*switched, MB).finish()
    close(accepted, connecting)
    watching.wait_for(lambda m: len([e for e in of_netns(m, ns) if e["event"] == "end"]) >= 3, "ends")
    watching.stop()
    starts = [e for e in of_netns(watching, ns) if e["event"] == "start"]
    assert tuples(starts) == {where}, starts


def test_filters_hold_for_it(watch, link):
    client, server = link.ends
    watching = watch("--every", "ack", "--remote", f"{link.v6[1]}/128")
    for address in link.v4[1], link.v6[1]:
        sender, receiver = connect(client, listen(server, address), cc="bbr")
        where = tuple_of(sender)
        Transfer(sender, receiver, MB).finish()
    wait_for_ends(watching, 1)
    check_accounts(watching, watching.stop())
    assert tuples(watching.events) == {where}


def test_beside_ten_instances(bbrmon, load, watch, link):
    """Each connection is reported under its own instance, in its own namespace."""
    client, server = link.ends
    server.default_congestion_control("reno")
    names = [*(load() for _ in range(10)), "bbr"]
    watching = watch("--every", "ack", name=None)
    listener, found = listen(server, link.v6[1]), {}
    for name in names:
        sender, receiver = connect(client, listener, cc=name)
        push(sender, receiver, MB)
        found[tuple_of(sender)] = name
    for args in ("-N", client.name), ():
        seen = [c for c in snapshot(bbrmon, *args) if c["netns"] == client.inode]
        assert {tuple(*tuples([c])): c["instance"] for c in seen} == found
        assert {c["profile"] for c in seen if c["instance"] != "bbr"} == {"default"}
    watching.wait_for(lambda m: len({e["instance"] for e in of_netns(m, client)}) == len(names), "all of them")
    watching.stop()
    assert {tuple(*tuples([e])): e["instance"] for e in of_netns(watching, client)} == found


def test_who_lives_on_in_connections(bbrmon, bbrctl, load, ns):
    """Connections of an unloaded instance, and of both the old and the new code of an upgraded one."""
    gone, upgraded = load(), load()
    before = [flow(ns, cc=name) for name in (gone, upgraded)]
    bbrctl("unload", "--name", gone)
    bbrctl("upgrade", "--name", upgraded)
    after = flow(ns, cc=upgraded)
    assert gone not in system.registered()
    found = snapshot(bbrmon, "-N", ns.name)
    for (sock, _), name in zip([*before, after], (gone, upgraded, upgraded)):
        state = of_sock(found, sock)
        assert state["instance"] == name and state["mode"] in ("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT")
        assert state["bw_bps"] > 0 and state["profile"] == "default"
    close(*(sock for pair in [*before, after] for sock in pair))
    wait_until(lambda: not snapshot(bbrmon, "-N", ns.name), "the connections end")


def test_who_has_no_state_yet_is_not_shown(bbrmon, load, link):
    """Listeners, and a connection that nobody answers."""
    client, server = link.ends
    name = load()
    listen(server, link.v4[1], cc=name)
    listen(server, link.v4[1], cc="bbr")
    server.ip("link", "set", link.names[1], "down")
    waiting = []
    for cc in name, "bbr":
        sock = new_socket(client, socket.AF_INET)
        waiting.append(sock)
        sock.setblocking(False)
        set_cc(sock, cc)
        sock.connect_ex((link.v4[1], 1))
    assert len(client.run("ss", "-tinH", "state", "syn-sent").stdout.split(link.v4[1])) == 1 + len(waiting)
    for end in client, server:
        assert not snapshot(bbrmon, "-N", end.name)


def test_killed_it_leaves_nothing(watch, ns):
    running = endless(ns, "bbr")
    watching = watch("--every", "ack")
    held = maps_held_by(watching.process.pid)
    watching.wait_for(lambda m: of_netns(m, ns), "events")
    watching.process.kill()
    watching.process.wait()
    wait_until(lambda: not any(system.map_exists(i) for i in held), "its maps are freed")
    finish(running)


def test_only_on_request(bbrmon, load, monitor, ns):
    name = load()
    watching = monitor(name, "--every", "ack")
    flow(ns)
    flow(ns, cc=name)
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    watching.stop()
    assert {e["instance"] for e in watching.events} == {name}
    assert bbrmon("stream", "--name", "bbr2", status=NOTHING).err
