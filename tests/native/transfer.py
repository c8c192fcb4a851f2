# SPDX-License-Identifier: GPL-2.0-only
"""TCP connections whose bytes are checked: SHA-256 of what went in equals that of what came out."""
import hashlib
import random
import socket
import struct
import threading
import time

from system import wait_until

BLOCK = 256 * 1024
# Far more than any transfer here takes: these limits only prevent endless hangs.
STALLED = 90

MB = 1_000_000
BUSY_RATE = 25 * MB  # bytes a second: thousands of ACKs, and a tenth of the CPU time of an unlimited loopback
SO_MAX_PACING_RATE = 47

opened = []  # every socket of the running test, so that a failed test leaves no traffic behind


def new_socket(ns, family, protocol=0):
    with ns.entered():
        sock = socket.socket(family, socket.SOCK_STREAM, protocol)
    opened.append(sock)
    sock.settimeout(STALLED)
    return sock


def close(*sockets):
    for sock in sockets:
        try:
            sock.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits in recv() or send()
        except OSError:
            pass
        sock.close()


def abort(sock):
    """From now on, closing the socket resets its connection: nothing of it waits for the other end."""
    if sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reset(sock):
    """Ends a connection by a reset, without TIME_WAIT: the tuple is free at once."""
    abort(sock)
    sock.close()


def close_all():
    """
    Aborts all connections at the end of a test. Their namespaces have no name by now, so the first one that has no
    socket left is gone with its devices. A connection that was merely closed would then repeat its FIN for minutes,
    and hold the instance.
    """
    for sock in opened:
        abort(sock)
    close(*opened)
    opened.clear()


class Data:
    """Blocks of pseudo-random bytes, each with its number in front, so that no two are the same."""

    def __init__(self, seed):
        self.block = bytearray(random.Random(seed).randbytes(BLOCK))

    def numbered(self, number):
        struct.pack_into("!Q", self.block, 0, number)
        return memoryview(self.block)


def set_cc(sock, name):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


def get_cc(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()


def limit_rate(sock, rate=BUSY_RATE):
    """Makes the stack pace it, so BBR always has more to send. A Transfer's `gap` makes the application pause instead."""
    sock.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate)


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def listen(ns, address="127.0.0.1", port=0, cc=None, backlog=16):
    sock = new_socket(ns, family_of(address))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if cc:
        set_cc(sock, cc)
    sock.bind((address, port))
    sock.listen(backlog)
    return sock


def connect(ns, listener, address=None, cc=None, family=None):
    """Connects a new socket in ns to the listener; returns both ends."""
    address = address or listener.getsockname()[0]
    sock = new_socket(ns, family or family_of(address))
    if cc:
        set_cc(sock, cc)
    sock.connect((address, listener.getsockname()[1]))
    return sock, accept(listener)


def accept(listener):
    peer = listener.accept()[0]
    opened.append(peer)
    peer.settimeout(STALLED)
    return peer


class Transfer:
    """
    Sends bytes from one socket to another, in two threads: `size` of them, or as many as there is time for until
    stop(). `at` is {offset: function}, called by the sender when it gets there. `gap` is a pause after each block,
    for traffic that continues without using up a CPU.
    """

    def __init__(self, sender, receiver, size=None, seed=1, at=None, gap=0):
        self.sockets = sender, receiver
        self.size, self.gap, self.at = size, gap, dict(at or {})
        self.data = Data(seed)
        self.sent, self.received = 0, 0
        self.digests = [hashlib.sha256(), hashlib.sha256()]
        self.errors = []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._guard, args=(f,), daemon=True)
                        for f in (self._send, self._receive)]
        for thread in self.threads:
            thread.start()

    def _guard(self, function):
        try:
            function()
        except Exception as error:  # finish() reports it in the test's own thread
            self.errors.append(error)
            self.stopping.set()

    def _send(self):
        number = 0
        while not self.stopping.is_set() and (self.size is None or self.sent < self.size):
            for offset in [o for o in self.at if o <= self.sent]:
                self.at.pop(offset)()
            block = self.data.numbered(number)
            if self.size is not None:
                block = block[:self.size - self.sent]
            self.sockets[0].sendall(block)
            self.digests[0].update(block)
            self.sent += len(block)
            number += 1
            if self.gap:
                time.sleep(self.gap)
        self.sockets[0].shutdown(socket.SHUT_WR)

    def _receive(self):
        buffer = memoryview(bytearray(BLOCK))
        while n := self.sockets[1].recv_into(buffer):
            self.digests[1].update(buffer[:n])
            self.received += n

    def stop(self):
        self.stopping.set()

    def finish(self, timeout=STALLED, keep_open=False):
        """Waits for the last byte, and fails unless all bytes arrived as they were sent."""
        deadline = time.monotonic() + timeout
        for thread in self.threads:
            thread.join(max(0, deadline - time.monotonic()))
        stuck = any(thread.is_alive() for thread in self.threads)
        if not keep_open or stuck or self.errors:
            self.close()
        assert not self.errors, f"after {self.sent} bytes sent, {self.received} received: {self.errors}"
        assert not stuck, f"not done in {timeout} s: {self.sent} bytes sent, {self.received} received"
        assert self.size is None or self.sent == self.size
        assert self.received == self.sent
        assert self.digests[0].digest() == self.digests[1].digest(), "the bytes changed on their way"
        return self

    def close(self):
        self.stopping.set()
        close(*self.sockets)


def send_verified(ns, cc, size=MB, address="127.0.0.1", seed=1):
    """A whole connection over cc, checked: the smallest proof that cc works."""
    with listen(ns, address) as listener:
        sender, receiver = connect(ns, listener, cc=cc)
        assert get_cc(sender) == cc
        return Transfer(sender, receiver, size, seed).finish()


def flows(ns, name, n, gap=0.002, rate=None):
    """Transfers that continue until they are stopped."""
    listener = listen(ns, backlog=n)
    ends = [connect(ns, listener, cc=name) for _ in range(n)]
    for sender, _ in ends if rate else []:
        limit_rate(sender, rate)
    return [Transfer(*pair, seed=i, gap=gap) for i, pair in enumerate(ends)]


def advance(transfers):
    """Waits until every transfer has progressed."""
    before = [t.received for t in transfers]
    wait_until(lambda: all(t.received > b for t, b in zip(transfers, before)), "every transfer gets on")


def finish(transfers):
    for transfer in transfers:
        transfer.stop()
    for transfer in transfers:
        transfer.finish()
