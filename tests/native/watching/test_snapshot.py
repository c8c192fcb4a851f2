# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon snapshot against ss, /proc and the sockets themselves."""
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import threading

import pytest

import ss
from crowd import Crowd
from system import run, wait_until
from tool import DONE, NOTHING, REFUSED, SANITIZER, USAGE, sanitizer_environment, status_of
from transfer import MB, abort, accept, connect, listen, new_socket, send_verified

pytestmark = pytest.mark.machine_alone  # it watches all instances

ROOT = pathlib.Path(__file__).resolve().parents[3]
SO_COOKIE, SO_MARK = 57, 36
STATE = {"ESTAB": 1, "FIN-WAIT-2": 5, "CLOSE-WAIT": 8}


@pytest.fixture
def snapshot(bbrmon):
    """The objects of `bbrmon snapshot -j` with these arguments."""
    def take(*args, **kwargs):
        return [json.loads(line) for line in bbrmon("snapshot", "-j", *args, **kwargs).out.splitlines()]
    return take


def ends_of(record):
    return record["local"], record["lport"], record["remote"], record["rport"]


def by_ends(records):
    found = {ends_of(r): r for r in records}
    assert len(found) == len(records), "a connection came twice"
    return found


def ends_of_socket(sock):
    local, remote = sock.getsockname(), sock.getpeername()
    return (local[0].removeprefix("::ffff:"), local[1], remote[0].removeprefix("::ffff:"), remote[1])


def own_of(records, sock):
    return by_ends(records)[ends_of_socket(sock)]


def pair(ns, cc, size=0, family=None, address="127.0.0.1", to=None, accepted_cc="cubic", options=()):
    """An idle connection whose first end uses cc and has sent size bytes."""
    listener = listen(ns, address, cc=accepted_cc)
    sock = new_socket(ns, family or (socket.AF_INET6 if ":" in (to or address) else socket.AF_INET))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    for level, name, value in options:
        sock.setsockopt(level, name, value)
    sock.connect((to or address, listener.getsockname()[1]))
    accepted = accept(listener)
    block = bytes(100000)
    for at in range(0, size, len(block)):
        part = block[:size - at]
        sock.sendall(part)
        left = len(part)
        while left:
            left -= len(accepted.recv(left))
    # The last ACK may be delayed.
    wait_until(lambda: tcp_info(sock)["unacked"] == 0, "all is acknowledged")
    return sock, accepted


def pass_on(sock, peer, size):
    """Sends so many bytes while the other end reads."""
    sender = threading.Thread(target=sock.sendall, args=(bytes(size),), daemon=True)
    sender.start()
    while size:
        size -= len(peer.recv(size))
    sender.join()
    wait_until(lambda: tcp_info(sock)["unacked"] == 0, "all is acknowledged")


def tcp_info(sock):
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    words = struct.unpack_from("=8B24I", raw)
    names = ("rto ato snd_mss rcv_mss unacked sacked lost retrans fackets last_data_sent last_ack_sent "
             "last_data_recv last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering "
             "rcv_rtt rcv_space total_retrans").split()
    return {"state": words[0], "ca_state": words[1], **dict(zip(names, words[8:]))}


def check_against_ss(record, line):
    """Compares all that both show."""
    assert record["state"] == line.state
    assert record["recv_q_bytes"] == line.recv_q and record["send_q_bytes"] == line.send_q
    assert record["cwnd"] == line.number("cwnd")
    assert record["mss_bytes"] == line.number("mss")
    assert record["bytes_sent"] == line.number("bytes_sent")
    assert record["bytes_acked"] == line.number("bytes_acked")
    assert record["bytes_retrans"] == line.number("bytes_retrans")
    assert f"{record['retrans_out']}/{record['total_retrans']}" == (line.value("retrans") or "0/0")
    assert f"{record['busy_us'] // 1000}ms" == (line.value("busy") or "0ms")
    assert record["delivered"] == line.number("delivered")
    assert record["inflight"] == line.number("unacked")
    assert record["uid"] == line.number("uid")
    assert record["inode"] == line.number("ino")
    assert record["cookie"] == int(line.value("sk"), 16)
    # ss prints the smoothed RTT in milliseconds, with three decimals.
    assert abs(record["srtt_us"] - float(line.value("rtt").partition("/")[0]) * 1000) < 1
    assert record["min_rtt_us"] is not None
    pacing = line.after("pacing_rate")
    assert (record["pacing_rate_bps"] or None) == (pacing or None)


@pytest.mark.parametrize("size", [0, 1000, 3 * MB])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_the_kernels_bbr_is_as_ss_has_it(snapshot, ns, address, size):
    sock, _ = pair(ns, "bbr", size, address=address)
    record, line = own_of(snapshot("--netns", ns.name), sock), ss.sockets(ns)[ends_of_socket(sock)]
    check_against_ss(record, line)
    bw, mrtt, pacing_gain, cwnd_gain = line.bbr()
    assert abs(record["bw_bps"] - bw) <= 8  # ss rounds to bytes
    assert record["min_rtt_us"] == round(mrtt * 1000)
    # ss prints six digits.
    assert record["pacing_gain"] == pytest.approx(pacing_gain, abs=1e-5)
    assert record["cwnd_gain"] == pytest.approx(cwnd_gain, abs=1e-5)
    assert record["instance"] == "bbr" and record["profile"] is None and record["profile_index"] is None


@pytest.mark.parametrize("size", [0, 1000, 3 * MB])
def test_ours_is_as_ss_and_the_stream_have_it(snapshot, load, monitor, ns, size):
    name = load()
    watching = monitor(name, "--every", "ack")
    sock, _ = pair(ns, name, size)
    record, line = own_of(snapshot("--netns", ns.name), sock), ss.sockets(ns)[ends_of_socket(sock)]
    check_against_ss(record, line)
    assert record["instance"] == name and record["profile"] == "default" and record["event"] == "state"
    assert record["conn"] is None and record["seq"] is None and record["params_gen"] is None
    if not size:
        return
    watching.wait_for(lambda m: any(e["bytes_acked"] == record["bytes_acked"] for e in m.of("ack")), "the last ACK")
    last = watching.of("ack")[-1]
    # A snapshot has the keys of an event, and the values of the last one except those of the ACK itself.
    of_ack = {"time_ns", "event", "conn", "seq", "params_gen", "rtt_us", "delivery_rate_bps", "app_limited",
              "losses", "acked", "prior_inflight"}
    assert {k: v for k, v in last.items() if k not in of_ack} == {k: record[k] for k in last if k not in of_ack}
    assert [k for k in record if k in last] == list(last)


def test_a_subflow_of_mptcp_is_named_as_ss_names_it(snapshot, bbrmon, ns, shared):
    """And what is none has null; --sort brings the subflows of a connection together."""
    listener = new_socket(ns, socket.AF_INET, socket.IPPROTO_MPTCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    sock = new_socket(ns, socket.AF_INET, socket.IPPROTO_MPTCP)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, shared.encode())
    sock.connect(listener.getsockname())
    accepted = accept(listener)
    pass_on(sock, accepted, 1000)
    plain, _ = pair(ns, shared, 1000)
    records = snapshot("--netns", ns.name, "--name", shared, "--sort", "mptcp_token")
    record, of_plain = records
    assert ends_of(record) == ends_of_socket(sock) and ends_of(of_plain) == ends_of_socket(plain)
    ids = re.search(r"tcp-ulp-mptcp .*token:[0-9a-f]+\(id:(\d+)\)/([0-9a-f]+)\(id:(\d+)\)", ss.sockets(ns)[ends_of(record)].line)
    assert record["mptcp_token"] == int(ids[2], 16) != 0
    assert (record["mptcp_remote_id"], record["mptcp_local_id"]) == (int(ids[1]), int(ids[3]))
    assert [of_plain[key] for key in ("mptcp_token", "mptcp_local_id", "mptcp_remote_id")] == [None] * 3
    assert record["sockmap"] is of_plain["sockmap"] is False
    assert f" mptcp:{ids[2]}(id:0/0) instance:{shared}" in bbrmon("snapshot", "-O", "-H", "--netns", ns.name).out


def test_retransmits_as_ss_has_them(snapshot, bbrmon, shared, new_path):
    """After a transfer through a short queue, which loses packets."""
    path = new_path(limit="20k")
    sock, peer = connect(path.sender, listen(path.receiver, path.v4), cc=shared)
    pass_on(sock, peer, 2 * MB)
    record, line = own_of(snapshot("--netns", path.sender.name), sock), ss.sockets(path.sender)[ends_of_socket(sock)]
    assert path.dropped() and record["total_retrans"]
    check_against_ss(record, line)
    text = bbrmon("snapshot", "-O", "-H", "--netns", path.sender.name).out
    assert f" retrans:{line.value('retrans')} busy:{line.value('busy')} " in text


def test_limits_as_ss_has_them(snapshot, bbrmon, shared, new_path):
    """After a small window has limited it."""
    path = new_path()
    listener = listen(path.receiver, path.v4)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 5000)
    sock = new_socket(path.sender, socket.AF_INET)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, shared.encode())
    sock.connect(listener.getsockname())
    pass_on(sock, accept(listener), 200_000)
    record, line = own_of(snapshot("--netns", path.sender.name), sock), ss.sockets(path.sender)[ends_of_socket(sock)]
    check_against_ss(record, line)
    shown = line.value("rwnd_limited")
    assert shown and shown.startswith(f"{record['rwnd_limited_us'] // 1000}ms(")
    assert f" rwnd_limited:{shown}" in bbrmon("snapshot", "-O", "-H", "--netns", path.sender.name).out


def test_what_the_socket_itself_says(snapshot, shared, ns, cgroups):
    name = shared
    cgroups.make("inner")
    with cgroups.entered("inner"):
        sock, accepted = pair(ns, name, 5000, options=[(socket.SOL_SOCKET, SO_MARK, 0x1234),
                                                       (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")])
        accepted.sendall(b"x" * 777)
        wait_until(lambda: sock.recv(1000, socket.MSG_PEEK) == b"x" * 777, "it is in the queue")
        record = own_of(snapshot("--netns", ns.name, "--cgroup", "--processes"), sock)
        idle = own_of(snapshot("--netns", ns.name), sock)
    info = tcp_info(sock)
    assert record["cookie"] == struct.unpack("=Q", sock.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8))[0]
    assert record["mark"] == 0x1234 and record["bound_ifindex"] == 1
    assert record["inode"] == os.fstat(sock.fileno()).st_ino
    assert record["uid"] == os.fstat(sock.fileno()).st_uid
    assert record["state"] == "ESTAB" and info["state"] == STATE["ESTAB"]
    assert record["recv_q_bytes"] == 777 and record["send_q_bytes"] == 0
    assert record["cgroup_id"] == cgroups.id("inner")
    assert record["cgroup"] == cgroups.path("inner")
    assert {"pid": os.getpid(), "fd": sock.fileno()}.items() <= record["processes"][0].items()
    with open("/proc/self/comm") as f:
        assert record["processes"][0]["name"] == f.read().rstrip("\n")
    assert len(record["processes"]) == 1
    assert record["cwnd"] == info["snd_cwnd"] and record["ssthresh"] == info["snd_ssthresh"]
    assert record["netns"] == ns.inode and record["family"] == "inet"
    assert "processes" not in idle and "cgroup" not in idle


def test_a_socket_that_two_processes_have(snapshot, ns):
    sock, _ = pair(ns, "bbr")
    other = subprocess.Popen(["sleep", "60"], pass_fds=[sock.fileno()])
    try:
        owners = own_of(snapshot("--netns", ns.name, "-p"), sock)["processes"]
        assert [(o["pid"], o["fd"]) for o in owners] == sorted((pid, sock.fileno()) for pid in (os.getpid(), other.pid))
        assert {o["name"] for o in owners if o["pid"] == other.pid} == {"sleep"}
    finally:
        other.kill()
        other.wait()


def test_states_of_tcp(snapshot, ns):
    closing, accepted = pair(ns, "bbr", accepted_cc="bbr")
    closing.shutdown(socket.SHUT_WR)
    wait_until(lambda: tcp_info(closing)["state"] == STATE["FIN-WAIT-2"], "the FIN is acknowledged")
    found = by_ends(snapshot("--netns", ns.name))
    assert found[ends_of_socket(closing)]["state"] == "FIN-WAIT-2"
    assert found[ends_of_socket(accepted)]["state"] == "CLOSE-WAIT"
    assert [r["state"] for r in snapshot("--netns", ns.name, "state", "fin-wait-2")] == ["FIN-WAIT-2"]
    assert [r["state"] for r in snapshot("--netns", ns.name, "exclude", "fin-wait-2")] == ["CLOSE-WAIT"]


def test_a_mapped_address(bbrmon, snapshot, ns):
    """JSON has a mapped address as IPv4; the text has it as ss shows it."""
    sock, _ = pair(ns, "bbr", family=socket.AF_INET6, to="::ffff:127.0.0.1")
    record = own_of(snapshot("--netns", ns.name), sock)
    assert (record["local"], record["remote"], record["family"]) == ("127.0.0.1", "127.0.0.1", "inet6")
    assert "[::ffff:127.0.0.1]" in bbrmon("snapshot", "--netns", ns.name).out


def test_every_namespace_or_one(snapshot, bbrmon, shared, new_ns):
    name, spaces = shared, [new_ns(), new_ns()]
    socks = [pair(ns, name)[0] for ns in spaces]
    for ns, sock in zip(spaces, socks):
        assert [ends_of(r) for r in snapshot("--netns", ns.name, "--name", name)] == [ends_of_socket(sock)]
    everywhere = snapshot("--name", name)
    assert sorted(r["netns"] for r in everywhere) == sorted(ns.inode for ns in spaces)
    text = bbrmon("snapshot", "--name", name).out
    assert all(f" netns:{ns.inode}" in text for ns in spaces)
    assert "netns:" not in bbrmon("snapshot", "--netns", spaces[0].name).out
    inside = bbrmon("snapshot", "--name", name, prefix=spaces[0].command())
    assert f"netns:{spaces[1].inode}" in inside.out and f"netns:{spaces[0].inode}" not in inside.out
    refused = bbrmon("snapshot", "--netns", "bbrt_nowhere", status=USAGE)
    assert "bbrt_nowhere" in refused.err and not refused.out


def test_instances_by_name_also_after_they_were_unloaded(bbrctl, snapshot, bbrmon, load, ns):
    one, two = load(), load()
    socks = {name: pair(ns, name)[0] for name in (one, two, "bbr")}
    for name, sock in socks.items():
        assert [ends_of(r) for r in snapshot("--netns", ns.name, "--name", name)] == [ends_of_socket(sock)]
    both = snapshot("--netns", ns.name, "--name", one, "--name", "bbr")
    assert {r["instance"] for r in both} == {one, "bbr"}
    bbrctl("unload", "--name", one)
    assert [r["instance"] for r in snapshot("--netns", ns.name, "--name", one)] == [one]
    bbrctl("load", "--name", one)
    pair(ns, one)
    assert [r["instance"] for r in snapshot("--netns", ns.name, "--name", one)] == [one, one]
    assert "is loaded" in bbrmon("snapshot", "--name", "bbrt_none", status=NOTHING).err
    assert not snapshot("--netns", ns.name, "--name", two, "dport", "=", ":1")


def test_profiles(bbrctl, snapshot, load, ns):
    name = load()
    bbrctl("profile", "add", "bulk", "bw_win=20", "--name", name)
    bbrctl("rule", "add", "--name", name, "--dst", "127.0.0.3/32", "--profile", "bulk")
    pair(ns, name)
    special, _ = pair(ns, name, address="127.0.0.3")
    assert own_of(snapshot("--netns", ns.name), special)["profile"] == "bulk"
    assert [ends_of(r) for r in snapshot("--netns", ns.name, "profile", "bulk")] == [ends_of_socket(special)]
    assert [r["profile"] for r in snapshot("--netns", ns.name, "--sort", "profile")] == ["bulk", "default"]


def test_text(bbrmon, shared, ns):
    name = shared
    sock, _ = pair(ns, name, 1000)
    port, to = sock.getsockname()[1], sock.getpeername()[1]
    header, columns, state = bbrmon("snapshot", "--netns", ns.name).out.splitlines()
    assert header.split() == ["State", "Recv-Q", "Send-Q", "Local", "Address:Port", "Peer", "Address:Port"]
    assert columns.split() == ["ESTAB", "0", "0", f"127.0.0.1:{port}", f"127.0.0.1:{to}"]
    assert header.index("Recv-Q") == columns.index("0 ") and len(header) == len(columns)
    assert state.startswith("\t bbr:(bw:") and f" instance:{name} profile:default" in state
    one, = bbrmon("snapshot", "-O", "-H", "-p", "--cgroup", "--netns", ns.name).out.splitlines()
    assert one.split()[:5] == columns.split()
    assert f',pid={os.getpid()},fd={sock.fileno()})) bbr:(bw:' in one and " cgroup:/" in one


@pytest.fixture
def mixed(shared, ns):
    """Some connections that differ in the keys to sort by."""
    names = [shared, "bbr"]
    return [pair(ns, names[i % 2], size, address=address)[0]
            for i, (size, address) in enumerate([(0, "127.0.0.1"), (3 * MB, "::1"), (500, "127.0.0.2"), (MB, "127.0.0.1"),
                                                 (500, "127.0.0.1"), (0, "::1"), (40000, "127.0.0.5")])]


# Names that stand for numbers are sorted by these numbers.
ORDERS = {"mode": ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"], "policer": ["off", "sampling", "detected"],
          "ca_state": ["open", "disorder", "cwr", "recovery", "loss"], "state": list(STATE), "family": ["inet", "inet6"]}


def sort_value(record, key):
    value = record[key]
    if key in ("local", "remote"):
        mapped = value if ":" in value else f"::ffff:{value}"
        return socket.inet_pton(socket.AF_INET6, mapped)
    return ORDERS[key].index(value) if key in ORDERS else value


def test_every_key_sorts(snapshot, ns, mixed):
    """Each key sorts both ways. Unknown values come last; equal ones keep their order."""
    # Nothing happens on these connections, so their order and all values stay the same.
    plain = [r for r in snapshot("--netns", ns.name)]
    assert len(plain) == len(mixed)
    at = {ends_of(r): i for i, r in enumerate(plain)}
    distinct = 0
    for key in plain[0]:
        if key == "time_ns":
            continue
        for descending in False, True:
            known = [r for r in plain if r[key] is not None]
            expected = sorted(known, key=lambda r: sort_value(r, key), reverse=descending)
            if descending:  # Python's reverse keeps the order of equal ones, too
                assert expected == sorted(known, key=lambda r: sort_value(r, key), reverse=True)
            expected += [r for r in plain if r[key] is None]
            found = snapshot("--netns", ns.name, "--sort", f"-{key}" if descending else key)
            assert [at[ends_of(r)] for r in found] == [at[ends_of(r)] for r in expected], key
        distinct += len({str(r[key]) for r in plain}) > 1
    assert distinct > 20, "these connections are too much alike to tell one order from another"


def test_several_sort_keys(snapshot, ns, mixed):
    plain = snapshot("--netns", ns.name)
    found = snapshot("--netns", ns.name, "--sort", "instance,-bytes_sent,lport")
    assert found and [ends_of(r) for r in found] == [ends_of(r) for r in sorted(
        plain, key=lambda r: (r["instance"], -r["bytes_sent"], r["lport"]))]
    back = snapshot("--netns", ns.name, "--sort", "instance,-bytes_sent,lport", "--reverse")
    assert [ends_of(r) for r in back] == [ends_of(r) for r in reversed(found)]
    columns = snapshot("--netns", ns.name, "--sort", "peer,recv-q,send-q,lport")
    assert [ends_of(r) for r in columns] == [ends_of(r) for r in snapshot(
        "--netns", ns.name, "--sort", "remote,recv_q_bytes,send_q_bytes,lport")]


def test_summary(bbrmon, snapshot, ns, mixed):
    totals = {}
    for r in snapshot("--netns", ns.name):
        line = totals.setdefault((r["instance"], r["profile"], r["mode"]), dict.fromkeys(
            ("connections", "bw_bps", "inflight", "bytes_sent", "bytes_acked", "bytes_retrans"), 0))
        line["connections"] += 1
        for key in set(line) - {"connections"}:
            line[key] += r[key]
    found = {(r.pop("instance"), r.pop("profile"), r.pop("mode")): r
             for r in snapshot("--netns", ns.name, "--summary")}
    assert found == totals
    header, *lines = bbrmon("snapshot", "-s", "--netns", ns.name).out.splitlines()
    assert header.startswith("Instance ")
    assert sum(int(line.split()[3]) for line in lines) == len(mixed)


def sums(records):
    keys = ("bw_bps", "inflight", "bytes_sent", "bytes_acked", "bytes_retrans", "busy_us", "rwnd_limited_us",
            "sndbuf_limited_us")
    return {"connections": len(records), **{key: sum(r[key] for r in records) for key in keys}}


def test_groups(bbrmon, snapshot, ns, mixed, cgroups):
    """Totals by cgroup, process, prefix and namespace: the largest by themselves, the rest as one."""
    with cgroups.entered(""):
        mixed.append(pair(ns, "bbr", 2 * MB, address="127.0.9.9")[0])
    plain = snapshot("--netns", ns.name, "-p", "--cgroup")
    by = {"cgroup": lambda r: r["cgroup"],
          "process": lambda r: f"{r['processes'][0]['name']}[{r['processes'][0]['pid']}]",
          "prefix": lambda r: "::/64" if ":" in r["remote"] else r["remote"].rpartition(".")[0] + ".0/24",
          "netns": lambda r: ns.name}
    for what, label in by.items():
        members = {}
        for r in plain:
            members.setdefault(label(r), []).append(r)
        found = snapshot("--netns", ns.name, "--by", what)
        assert found == [{"by": what, what: g[what], "others": None, **sums(members[g[what]])} for g in found]
        assert {g[what] for g in found} == set(members)
        assert [g["bw_bps"] for g in found] == sorted((g["bw_bps"] for g in found), reverse=True)
    assert {"::/64", "127.0.0.0/24", "127.0.9.0/24"} == {g["prefix"] for g in snapshot("--netns", ns.name, "--by", "prefix")}
    one, rest = snapshot("--netns", ns.name, "--by", "prefix", "--largest", "1", "--sort", "-bytes_sent")
    assert one["prefix"] == "::/64" and (rest["prefix"], rest["others"]) == (None, 2)
    assert rest == {"by": "prefix", "prefix": None, "others": 2, **sums([r for r in plain if ":" not in r["remote"]])}
    last, _ = snapshot("--netns", ns.name, "--by", "prefix", "--largest", "1", "--sort", "-bytes_sent", "--reverse")
    assert last["prefix"] == "127.0.0.0/24"
    header, *lines = bbrmon("snapshot", "--by", "prefix", "--netns", ns.name).out.splitlines()
    assert header.split()[-1] == "Prefix" and len(header) <= 80 and len(lines) == 3
    assert sum(int(line.split()[0]) for line in lines) == len(mixed)


WRONG = {
    "dst 10.0.0.0/33 and dport = :443": (4, "0 to 32"),
    "dst": (3, "missing"),
    "dst [::1": (4, "]"),
    "dst [::1]/8": (4, "followed"),
    "dst host.example": (4, "address"),
    "dport = :http2x": (8, "not a port"),
    "dport 65536": (6, "not a port"),
    "fwmark = x": (9, "a mark is"),
    "fwmark = 1/": (9, "a mark is"),
    "name > x": (5, "has no order"),
    "name " + 16 * "a": (5, "too long"),
    "mode PROBE": (5, "not a mode"),
    "state nonsense": (6, "not a state"),
    "cgroup /bbrt_nowhere": (7, "no such cgroup"),
    "dev bbrt_none": (4, "no network device"),
    "( sport = :1": (0, "not closed"),
    "sport = :1 )": (11, "closes nothing"),
    "sport = :1 or": (13, "is missing"),
    "sport = :1 state established": (11, "not a condition"),
    "wrong = 1": (0, "not a condition"),
    "( " * 40 + "sport = :1" + " )" * 40: (None, "too deep"),
    " and ".join(["sport = :1"] * 200): (None, "too long"),
    "dst 10.0.0.1\x07": (None, "unprintable"),
}


@pytest.mark.parametrize("expression", WRONG)
def test_a_wrong_filter_says_where_and_what_to_do(bbrmon, expression):
    column, why = WRONG[expression]
    for words in [expression], expression.split(" "):
        result = bbrmon("snapshot", *words, status=USAGE)
        first, *rest = result.err.splitlines()
        assert why in first and rest and not result.out
        if column is not None:
            shown = next(i for i, line in enumerate(rest) if line.strip() == "^")
            assert rest[shown].index("^") - 2 == column and rest[shown - 1] == f"  {expression}"
            assert rest[shown + 1].strip()


@pytest.mark.parametrize("expression, names", [("mode PROBE", ["DRAIN", "PROBE_BW", "PROBE_RTT", "STARTUP"]),
                                               ("ca_state = x", ["cwr", "disorder", "loss", "open", "recovery"])])
def test_each_possible_name_is_shown_once(bbrmon, expression, names):
    shown = bbrmon("snapshot", *expression.split(), status=USAGE).err.splitlines()[-1].strip().split(", ")
    assert sorted(shown) == names


@pytest.mark.parametrize("args", [["-s", "--by", "netns"], ["--sort", "nothing"], ["--sort", ""], ["--sort", ",".join(["cwnd"] * 17)], ["--at", "1s"],
                                  ["--reverse"], ["-s", "--sort", "cwnd"], ["-r", "/dev/null", "-p"],
                                  ["-r", "/dev/null", "--netns", "x"], ["-r", "/dev/null", "--cgroup"],
                                  ["-r", "/dev/null", "fwmark", "1"], ["-r", "/dev/null", "state", "established"]])
def test_what_does_not_go_together(bbrmon, args):
    result = bbrmon("snapshot", *args, status=USAGE)
    assert not result.out and len(result.err.splitlines()) >= (1 if len(args[-1]) > 50 else 2)


def test_missing_privileges_are_reported(plain_bbrmon):
    result = plain_bbrmon("snapshot", status=REFUSED, prefix=["setpriv", "--bounding-set=-sys_admin"])
    assert "CAP_SYS_ADMIN" in result.err and not result.out


def test_nothing_there(bbrmon, snapshot, ns):
    assert snapshot("--netns", ns.name) == []
    assert len(bbrmon("snapshot", "--netns", ns.name).out.splitlines()) == 1
    assert not bbrmon("snapshot", "-H", "--netns", ns.name).out
    # Neither a listener nor a connection that is not yet established has state.
    listen(ns, cc="bbr")
    assert snapshot("--netns", ns.name) == []


def test_the_reader_goes_away(bbrmon, ns, mixed):
    for args in [], ["-j"], ["--sort", "cwnd"]:
        process = bbrmon.start("snapshot", *args, "--netns", ns.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait(30) == DONE
        process.stderr.close()


def test_a_full_disk(bbrmon, ns, mixed):
    with open("/dev/full", "w") as full:
        done = subprocess.run([bbrmon.path, "snapshot", "--netns", ns.name], stdout=full, stderr=subprocess.PIPE,
                              text=True, env=sanitizer_environment(), timeout=60)
    assert done.returncode == REFUSED and "cannot write: No space left on device" in done.stderr


def test_while_connections_come_and_go(bbrmon, shared, ns, many_files):
    """Each snapshot has every lasting connection once, and nothing torn or invented."""
    name = shared
    stay = {ends_of_socket(pair(ns, name)[0]) for _ in range(20)}
    listener, ending, errors = listen(ns, cc=name, backlog=256), threading.Event(), []

    def come_and_go():
        try:
            while not ending.is_set():
                batch = [connect(ns, listener, cc=name) for _ in range(50)]
                for ends in batch:
                    abort(ends[0])
                    for sock in ends:
                        sock.close()
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for i in range(30):
            out = bbrmon("snapshot", "-j", "--netns", ns.name, *(["--sort", "cookie"] if i % 2 else [])).out
            records = [json.loads(line) for line in out.splitlines()]
            cookies = [r["cookie"] for r in records]
            assert len(set(cookies)) == len(cookies)
            assert stay <= {ends_of(r) for r in records}
            assert {r["instance"] for r in records} == {name}
    finally:
        ending.set()
        thread.join()
    assert not errors


def test_the_end_of_a_recording(bbrctl, bbrmon, load, tmp_path, ns):
    """Open connections are shown as their last event had them; ended ones are not shown."""
    name, path = load(), tmp_path / "recording"
    recording = bbrmon.start("record", "-o", path, "--every", "ack", "--name", name, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "bbrmon subscribes")
        send_verified(ns, name)
        live, _ = pair(ns, name, MB)
        send_verified(ns, name, MB, seed=3)
        taken = json.loads(bbrmon("snapshot", "-j", "--netns", ns.name).out)
    finally:
        recording.terminate()
        _, errors = recording.communicate(timeout=60)
    assert recording.returncode == DONE and not SANITIZER.search(errors), errors
    record, = [json.loads(line) for line in bbrmon("snapshot", "-j", "-r", path).out.splitlines()]
    assert ends_of(record) == ends_of_socket(live) == ends_of(taken)
    only_live = {"time_ns", "conn", "rtt_us", "delivery_rate_bps", "app_limited", "losses", "acked", "prior_inflight",
                 "state", "recv_q_bytes", "send_q_bytes", "cookie", "cgroup_id", "uid", "inode", "mark", "bound_ifindex",
                 "busy_us", "rwnd_limited_us", "sndbuf_limited_us", "retrans_out", "total_retrans", "mptcp_token",
                 "mptcp_local_id", "mptcp_remote_id", "sockmap"}
    assert list(record) == list(taken)
    assert {k: v for k, v in record.items() if k not in only_live} == {
        k: v for k, v in taken.items() if k not in only_live}
    assert record["conn"] and record["cookie"] is None and record["state"] is None
    assert not bbrmon("snapshot", "-j", "-r", path, "sport", "=", ":1").out
    first = json.loads(bbrmon("snapshot", "-j", "-r", path, "--at", "1ns").out)
    assert first["bytes_acked"] < record["bytes_acked"] and first["time_ns"] < record["time_ns"]
    assert bbrmon("snapshot", "-j", "-r", path, "--sort", "cwnd").out == bbrmon("snapshot", "-j", "-r", path, "--at", "1000s").out
    both = [json.loads(line) for line in bbrmon("snapshot", "-j", "-r", path, "--name", name, "--summary").out.splitlines()]
    assert [(line["instance"], line["connections"]) for line in both] == [(name, 1)]


def test_many(plain_bbrmon, shared, link, tmp_path):
    """5,000 connections: each once, the same as in ss, within 256 kB of the memory that an empty snapshot takes."""
    name, n = shared, 5000
    client, out = link.ends[0], tmp_path / "out"

    def peak_kb(*options):
        command = [plain_bbrmon.path, "snapshot", *options, "--netns", "/proc/self/ns/net"]
        return int(run(ROOT / "build/measure", out, *client.command(*command)).stdout.split()[3])

    most = peak_kb() + 256
    crowd = Crowd(link, n, ["bbr", name])
    try:
        assert peak_kb() < most
        assert len(out.read_text().splitlines()) == 1 + 2 * n
        assert peak_kb("-j") < most
        with open(out) as f:
            records = [json.loads(line) for line in f]
        assert len(records) == n
        assert set(by_ends(records)) == ss.ends(client)
        assert len({r["cookie"] for r in records}) == n
        names = [r["instance"] for r in records]
        assert names.count("bbr") == names.count(name) == n / 2
        assert {r["bytes_acked"] for r in records} == {4001}
    finally:
        crowd.close()
