# SPDX-License-Identifier: GPL-2.0-only
"""What the shell sets on a socket when a connection begins: seen by getsockopt(), ss and how long an ACK takes."""
import fcntl
import socket
import struct
import termios
import time

import pytest

import ss
from transfer import MB, Transfer, accept, connect, get_cc, listen, new_socket, set_cc

TCP_NOTSENT_LOWAT = 25
ROUNDS = 20  # the kernel lowers a timeout by a quarter each round trip
ALGORITHMS = pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])


def lowat(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT)


def shown(ns, sock, key):
    (end,) = ss.sockets(ns, "sport", "=", str(sock.getsockname()[1])).values()
    return end.number(key)


def timeout_ms(ns, sock, peer, n=8):
    """The lowest of n: a busy host makes it longer for a while."""
    found = []
    for _ in range(n):
        for _ in range(ROUNDS):
            sock.sendall(b"x")
            assert peer.recv(1) == b"x"
            peer.sendall(b"y")
            assert sock.recv(1) == b"y"
        found.append(shown(ns, sock, "rto"))
    return min(found)


def ack_delay_ms(sock, peer, n=9):
    """How long the peer delays an ACK that carries no data: the shortest of n, as the host may be busy."""
    delays = []
    for _ in range(n):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        start = time.monotonic()
        sock.sendall(b"x")
        while struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]:
            assert time.monotonic() < start + 5
            time.sleep(0.0002)
        delays.append((time.monotonic() - start) * 1e3)
        assert peer.recv(1) == b"x"
    return min(delays)


def pair(ns, name, before=lambda sock: None):
    """Both ends use the name; before(socket) runs before the connection is made."""
    listener, sock = listen(ns, cc=name), new_socket(ns, socket.AF_INET)
    set_cc(sock, name)
    before(sock)
    before(listener)
    sock.connect(listener.getsockname())
    return sock, accept(listener)


@ALGORITHMS
def test_a_connection_begins_with_them(load, ns, algorithm):
    plain = load(algorithm=algorithm)
    sock, peer = pair(ns, plain)
    assert lowat(sock) == lowat(peer) == 0
    assert timeout_ms(ns, sock, peer) >= 200
    assert ack_delay_ms(sock, peer) > 30  # TCP_DELACK_MIN is 40 ms

    name = load("notsent_lowat=128k", "rto_min=30ms", "delack_max=10ms", "start_cwnd=32", algorithm=algorithm)
    sock, peer = pair(ns, name)
    assert shown(ns, sock, "cwnd") == 32
    assert lowat(sock) == lowat(peer) == 128 * 1024
    assert 30 <= timeout_ms(ns, sock, peer) < 60
    assert ack_delay_ms(sock, peer) < 25
    Transfer(sock, peer, MB).finish()


def test_what_the_kernel_refuses_is_the_least_that_it_takes(load, ns):
    """A timer below two ticks: two ticks, which are 2 to 20 ms."""
    sock, peer = pair(ns, load("rto_min=1ms", "delack_max=1ms"))
    assert timeout_ms(ns, sock, peer) < 40
    assert ack_delay_ms(sock, peer) < 25
    Transfer(sock, peer, MB).finish()


def test_what_the_application_has_set_stays(load, ns):
    def choose(sock):
        sock.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, 5000)

    sock, peer = pair(ns, load("notsent_lowat=1m"), choose)
    assert lowat(sock) == lowat(peer) == 5000
    Transfer(sock, peer, MB).finish()


def test_a_profile_has_its_own(bbrctl, load, ns):
    name, listener = load(), listen(ns)
    bbrctl("profile", "add", "--name", name, "near", "notsent_lowat=64k", "rto_min=20ms")
    bbrctl("rule", "add", "--name", name, "--dport", listener.getsockname()[1], "--profile", "near")
    sock, peer = connect(ns, listener, cc=name)
    assert lowat(sock) == 64 * 1024 and timeout_ms(ns, sock, peer) < 60
    other = pair(ns, name)
    assert lowat(other[0]) == 0 and timeout_ms(ns, *other) >= 200


def test_open_connections_keep_what_they_have(bbrctl, load, ns):
    """A later `set` is for connections to come."""
    name = load("notsent_lowat=64k")
    sock, peer = pair(ns, name)
    bbrctl("set", "--name", name, "notsent_lowat=1m", "rto_min=20ms")
    assert lowat(sock) == 64 * 1024 and timeout_ms(ns, sock, peer) >= 200
    assert lowat(pair(ns, name)[0]) == 1 << 20


@pytest.mark.parametrize("how", ["migrate", "setsockopt"])
def test_a_connection_that_moves(bbrctl, load, ns, how):
    """It gets what a new one would have, but for the first window; and it keeps that when it leaves."""
    def move(old, new):
        if how == "migrate":
            bbrctl("migrate", "--netns", ns.name, "--from", old, "--to", new)
        else:
            set_cc(sock, new)
        assert get_cc(sock) == new

    name = load("notsent_lowat=128k", "rto_min=30ms", "start_cwnd=500")
    sock, peer = pair(ns, "cubic")
    assert lowat(sock) == 0 and timeout_ms(ns, sock, peer) >= 200
    move("cubic", name)
    assert lowat(sock) == 128 * 1024 and timeout_ms(ns, sock, peer) < 60
    assert shown(ns, sock, "cwnd") < 500
    move(name, "cubic")
    assert lowat(sock) == 128 * 1024 and timeout_ms(ns, sock, peer) < 60
    move("cubic", load())
    assert lowat(sock) == 128 * 1024 and timeout_ms(ns, sock, peer) < 60
    Transfer(sock, peer, MB).finish()


def test_per_route_settings_that_are_no_parameters(bbrctl, blank):
    for key, why in ("init_rwnd", "the handshake announces"), ("window_clamp", "the kernel lifts it"):
        refused = bbrctl("set", "--name", blank, f"{key}=20", status=1)
        assert f"bbrctl: {key}=20: no parameter {key}: {why}" in refused.err
