# SPDX-License-Identifier: GPL-2.0-only
"""Many connections at once over one instance."""
import hashlib
import selectors
import time

from system import wait_until
from tool import status_of
from transfer import Data, STALLED, connect, get_cc, listen

CONNECTIONS = 500
SIZE = 400_000


class Sending:
    """One end of a connection, which sends its own bytes as fast as the socket takes them."""

    def __init__(self, sock, seed):
        self.sock = sock
        data = Data(seed)
        self.bytes = bytes(data.numbered(0)) + bytes(data.numbered(1))[:SIZE - len(data.block)]
        self.offset = 0
        sock.setblocking(False)

    def go_on(self):
        self.offset += self.sock.send(memoryview(self.bytes)[self.offset:])
        return self.offset < SIZE

    def digest(self):
        return hashlib.sha256(self.bytes).hexdigest()


class Receiving:
    """The other end."""

    def __init__(self, sock):
        self.sock = sock
        self.hash = hashlib.sha256()
        self.received = 0
        sock.setblocking(False)

    def go_on(self):
        part = self.sock.recv(65536)
        self.hash.update(part)
        self.received += len(part)
        return bool(part) and self.received < SIZE

    def digest(self):
        return self.hash.hexdigest()


def run_all(ends):
    """Runs all ends until they are done, in one thread."""
    deadline = time.monotonic() + STALLED
    with selectors.DefaultSelector() as selector:
        for end in ends:
            events = selectors.EVENT_WRITE if isinstance(end, Sending) else selectors.EVENT_READ
            selector.register(end.sock, events, end)
        while selector.get_map():
            assert time.monotonic() < deadline, f"{len(selector.get_map())} of {len(ends)} ends are not done"
            for key, _ in selector.select(1):
                if not key.data.go_on():
                    selector.unregister(key.fileobj)


def test_five_hundred_connections_at_once(load, bbrctl, ns, many_files):
    name = load()
    listener = listen(ns, cc=name, backlog=CONNECTIONS)
    pairs = [connect(ns, listener, cc=name) for _ in range(CONNECTIONS)]
    sending = [Sending(sender, i) for i, (sender, _) in enumerate(pairs)]
    receiving = [Receiving(receiver) for _, receiver in pairs]
    run_all(sending + receiving)

    assert [s.digest() for s in sending] == [r.digest() for r in receiving]
    assert len({s.digest() for s in sending}) == CONNECTIONS
    assert {get_cc(sock) for pair in pairs for sock in pair} == {name}
    assert status_of(bbrctl, name)["users"] == 2 * CONNECTIONS + 1, "both ends, and the listener"
    for sock in [listener] + [sock for pair in pairs for sock in pair]:
        sock.close()
    wait_until(lambda: status_of(bbrctl, name)["users"] == 0, "the closed connections let go of the instance")
