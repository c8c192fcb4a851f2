# SPDX-License-Identifier: GPL-2.0-only
"""Experiments of the tests, and connections in their scope."""
import contextlib
import itertools
import math
import os
import socket
import threading

from transfer import abort, family_of, get_cc, set_cc

numbers = itertools.count()


def new_name():
    return f"e{os.getpid()}_{next(numbers)}"


def arms(**kwargs):
    return [word for label, cc in kwargs.items() for word in ("--arm", f"{label}={cc}")]


def only(label):
    """
    Options that give every connection of a test this arm. An arm has less than 100 %, and so one connection in 10,000 got another
    arm. With --by prefix the draw depends only on the seed: with this seed all addresses of the tests get this arm.
    """
    return "--share", f"{label}=99.99%", "--by", "prefix", "--seed", 1


class Experiments:
    """Starts experiments in cgroups of the test; close() stops those that still run."""

    def __init__(self, bbrctl):
        self.bbrctl = bbrctl
        self.names = []

    def start(self, cgroup, *args, **kwargs):
        name = new_name()
        self.names.append(name)
        self.bbrctl("experiment", "start", name, "--cgroup", cgroup.path, *args, **kwargs)
        return name

    def status(self, name):
        return self.bbrctl.json("experiment", "status", name)

    def counts(self, name):
        """Connections by the arm's label."""
        return {arm["label"]: arm["connections"] for arm in self.status(name)["arms"]}

    def running(self):
        return {e["name"] for e in self.bbrctl.json("experiment", "list")}

    def close(self):
        for name in self.running() & set(self.names):
            self.bbrctl("experiment", "stop", name)


class Server:
    """Accepts connections to an address of a namespace and closes them at once; its own sockets are in no experiment."""

    def __init__(self, ns, address="::"):
        with ns.entered():
            if family_of(address) == socket.AF_INET6:
                self.socket = socket.create_server((address, 0), family=socket.AF_INET6, backlog=4096,
                                                   dualstack_ipv6=True)
            else:
                self.socket = socket.create_server((address, 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                self.take(self.socket.accept()[0])

    def take(self, conn):
        conn.close()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


def short_connection(address, port, cc=None, mark=None):
    """Makes a connection from where this thread is, and resets it, to leave nothing behind. Returns its congestion control."""
    with socket.socket(family_of(address)) as sock:
        abort(sock)
        if cc:
            set_cc(sock, cc)
        if mark is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
        sock.connect((address, port))
        return get_cc(sock)


def whole_transfer(address, size):
    """Sends size bytes from where this thread is, and waits until the receiver has read them and closed."""
    with socket.create_connection(address) as sock:
        sock.settimeout(60)
        sock.sendall(bytes(size))
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)


def chance(counts, shares):
    """The chance of counts that are at least as far from the shares of two or three arms: the chi-squared test."""
    n, whole = sum(counts), sum(shares)
    chi2 = sum((count - n * share / whole) ** 2 / (n * share / whole) for count, share in zip(counts, shares))
    return math.erfc(math.sqrt(chi2 / 2)) if len(counts) == 2 else math.exp(-chi2 / 2)
