# SPDX-License-Identifier: GPL-2.0-only
"""All ways in which a connection can come to use an instance, with checked bytes."""
import json
import pathlib
import socket
import subprocess
import sys

import pytest

from stream import check_accounts
from system import RunCounts, run
from tool import status_of
from transfer import MB, STALLED, Transfer, abort, accept, connect, get_cc, listen, send_verified, set_cc

SIZE = 32 * MB
NO_PRIVILEGES = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                 "--inh-caps=-all", "--no-new-privs"]


@pytest.fixture(params=["IPv4", "IPv6"])
def addresses(request, link):
    """The ends' addresses, of one family."""
    return link.v4 if request.param == "IPv4" else link.v6


def both_ways(one, two):
    """Sends bytes from either end to the other, at the same time."""
    transfers = Transfer(one, two, SIZE, seed=1), Transfer(two, one, SIZE, seed=2)
    for transfer in transfers:
        transfer.finish(keep_open=True)


def seen_by_ss(ns, sock):
    """The congestion control that ss(8) shows for a socket."""
    own, peer = sock.getsockname(), sock.getpeername()
    out = run(*ns.command("ss", "-tinHO", f"sport = :{own[1]}", "and", f"dport = :{peer[1]}")).stdout.split()
    return out[5]


def test_set_on_the_connecting_side(load, link, addresses):
    name = load()
    client, server = link.ends
    listener = listen(server, addresses[1])
    sender, receiver = connect(client, listener, cc=name)
    Transfer(sender, receiver, SIZE).finish(keep_open=True)
    assert get_cc(sender) == name and get_cc(receiver) != name
    assert seen_by_ss(client, sender) == name


def test_set_on_the_listener(load, link, addresses):
    name = load()
    client, server = link.ends
    listener = listen(server, addresses[1], cc=name)
    connecting, accepted = connect(client, listener)
    assert get_cc(accepted) == name and get_cc(connecting) != name
    Transfer(accepted, connecting, SIZE).finish(keep_open=True)
    assert seen_by_ss(server, accepted) == name


def test_set_on_an_established_connection(load, link, addresses):
    name = load()
    client, server = link.ends
    sender, receiver = connect(client, listen(server, addresses[1]))
    set_cc(sender, name)
    set_cc(receiver, name)
    both_ways(sender, receiver)
    assert get_cc(sender) == get_cc(receiver) == name


def test_default_of_the_namespace(load, link, addresses):
    name = load()
    client, server = link.ends
    client.default_congestion_control(name)
    server.default_congestion_control(name)
    sender, receiver = connect(client, listen(server, addresses[1]))
    assert get_cc(sender) == get_cc(receiver) == name
    Transfer(sender, receiver, SIZE).finish(keep_open=True)
    assert seen_by_ss(client, sender) == seen_by_ss(server, receiver) == name


def test_attribute_of_the_route(load, link, addresses):
    name = load()
    client, server = link.ends
    for ns, device, peer in zip(link.ends, link.names, reversed(addresses)):
        ns.ip("route", "add", peer, "dev", device, "congctl", name)
    sender, receiver = connect(client, listen(server, addresses[1]))
    assert get_cc(sender) == get_cc(receiver) == name
    Transfer(sender, receiver, SIZE).finish(keep_open=True)
    assert seen_by_ss(client, sender) == seen_by_ss(server, receiver) == name


def switch_in_the_middle(link, addresses, first, second):
    client, server = link.ends
    sender, receiver = connect(client, listen(server, addresses[1]), cc=first)
    used = []

    def switch():
        used.append(get_cc(sender))
        set_cc(sender, second)
        used.append(get_cc(sender))

    Transfer(sender, receiver, SIZE, at={SIZE // 2: switch}).finish(keep_open=True)
    assert used == [first, second] and get_cc(sender) == second


def test_switched_from_cubic_in_the_middle(load, link, addresses):
    switch_in_the_middle(link, addresses, "cubic", load())


def test_switched_to_reno_in_the_middle(load, link, addresses):
    switch_in_the_middle(link, addresses, load(), "reno")


def test_switched_to_the_kernels_bbr_and_back(load, link, addresses):
    name = load()
    client, server = link.ends
    sender, receiver = connect(client, listen(server, addresses[1]), cc=name)
    at = {SIZE * i // 8: lambda cc=cc: set_cc(sender, cc) for i, cc in enumerate(["bbr", name] * 4)}
    Transfer(sender, receiver, SIZE, at=at).finish(keep_open=True)
    assert get_cc(sender) == name


def test_switched_from_one_instance_to_another(load, link, addresses):
    switch_in_the_middle(link, addresses, load("cwnd_gain=3"), load())


def test_ipv4_over_an_ipv6_socket(load, link):
    name = load()
    client, server = link.ends
    listener = listen(server, link.v4[1])
    sender, receiver = connect(client, listener, f"::ffff:{link.v4[1]}", cc=name, family=socket.AF_INET6)
    Transfer(sender, receiver, SIZE).finish(keep_open=True)
    assert get_cc(sender) == name


def test_both_ends_of_a_loopback(load, ns):
    name = load()
    listener = listen(ns, cc=name)
    one, two = connect(ns, listener, cc=name)
    both_ways(one, two)
    assert get_cc(one) == get_cc(two) == name


def test_connection_to_itself(load, ns):
    """A TCP simultaneous open: no listener sends a SYN-ACK, and the states come in another order."""
    name = load()
    with listen(ns) as listener:
        port = listener.getsockname()[1]
    with ns.entered():
        sock = socket.socket()
    sock.settimeout(STALLED)
    with sock:
        set_cc(sock, name)
        sock.bind(("127.0.0.1", port))
        sock.connect(("127.0.0.1", port))
        sock.sendall(b"x" * 1000)
        assert sock.recv(1000, socket.MSG_WAITALL) == b"x" * 1000
        assert get_cc(sock) == name


def test_connection_that_is_refused_or_reset(load, ns):
    """Without a listener there is no init; after a reset there is no orderly end."""
    name = load()
    with listen(ns) as listener:
        port = listener.getsockname()[1]
    with ns.entered():
        sock = socket.socket()
    with sock:
        set_cc(sock, name)
        with pytest.raises(ConnectionRefusedError):
            sock.connect(("127.0.0.1", port))
    with listen(ns) as listener:
        sender, receiver = connect(ns, listener, cc=name)
        abort(sender)
        sender.sendall(b"x")
        sender.close()
        with pytest.raises(ConnectionResetError):
            while receiver.recv(1):
                pass
    send_verified(ns, name)


def test_fast_open(load, ns):
    """Data in the SYN, so init comes early."""
    name = load()
    ns.run("sysctl", "-q", "-w", "net.ipv4.tcp_fastopen=1027")
    listener = listen(ns, cc=name)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
    for _ in range(3):
        with ns.entered():
            sock = socket.socket()
        with sock:  # no timeout: that would make it non-blocking, and sendto() would not wait
            set_cc(sock, name)
            sock.sendto(b"hello", socket.MSG_FASTOPEN, listener.getsockname())
            receiver = accept(listener)
            assert receiver.recv(5, socket.MSG_WAITALL) == b"hello"
            assert get_cc(sock) == get_cc(receiver) == name
            Transfer(sock, receiver, MB).finish()


@pytest.mark.parametrize("loopback", ["127.0.0.1", "::1"])
def test_by_a_process_without_privileges(load, ns, loopback):
    name = load()
    source = pathlib.Path(__file__).with_name("peer.py").read_text()
    peer = [sys.executable, "-I", "-c", source]
    with ns.popen(*peer, "receive", stdout=subprocess.PIPE, text=True) as receiver:
        try:
            port = json.loads(receiver.stdout.readline())["port"]
            sent = json.loads(ns.run(*NO_PRIVILEGES, *peer, "send", loopback, port, name, SIZE).stdout)
            received = json.loads(receiver.communicate(timeout=STALLED)[0])
        finally:
            receiver.kill()
    assert (sent["uid"], sent["capabilities"], sent["cc"]) == (65534, 0, name)
    assert (received["bytes"], received["sha256"]) == (sent["bytes"], sent["sha256"])


BIG_SIZE = 2_000_000_000
LIMIT = 180  # seconds; only against hanging


def test_two_gigabytes_watched(bpf_bbr, bbrctl, monitor, plain_bbrmon, ns):
    """bpftool registers the instance, it transfers them, and bbrmon sees each of the ACKs."""
    peer = [sys.executable, "-I", "-c", pathlib.Path(__file__).with_name("peer.py").read_text()]
    prog_id = status_of(bbrctl, bpf_bbr)["prog_id"]
    with RunCounts() as runs:
        watching = monitor(bpf_bbr, "--every", "ack", tool_to_run=plain_bbrmon)
        before = runs.of(prog_id)
        with ns.popen(*peer, "receive", stdout=subprocess.PIPE, text=True) as receiver:
            try:
                port = json.loads(receiver.stdout.readline())["port"]
                sent = json.loads(ns.run(*peer, "send", "127.0.0.1", port, bpf_bbr, BIG_SIZE, timeout=LIMIT).stdout)
                received = json.loads(receiver.communicate(timeout=LIMIT)[0])
            finally:
                receiver.kill()
        watching.wait_for(lambda m: m.of("end"), "the connection's end")
        counted = runs.of(prog_id) - before
        summary = watching.stop()

    assert sent["cc"] == bpf_bbr
    assert (received["bytes"], received["sha256"]) == (sent["bytes"], sent["sha256"]) and sent["bytes"] == BIG_SIZE
    check_accounts(watching, summary)
    assert summary["connections"] == 1
    assert summary["acks"] == counted - 1, "the program runs once for each ACK, and once for that of the SYN"
