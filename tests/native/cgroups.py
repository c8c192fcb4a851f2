# SPDX-License-Identifier: GPL-2.0-only
"""Control groups of the tests, and sockets whose connections are made in them."""
import contextlib
import itertools
import os
import socket

from system import PREFIX, cgroup_mount, wait_until

numbers = itertools.count()


def own():
    """The cgroup that this process is in."""
    with open("/proc/self/cgroup") as f:
        return next(line.rstrip("\n").split(":", 2)[2] for line in f if line.startswith("0::"))


class Cgroup:
    """A cgroup; delete() must be called."""

    def __init__(self, parent=None):
        self.path = (parent.path if parent else cgroup_mount()) / f"{PREFIX}-{next(numbers)}"
        self.path.mkdir()

    @classmethod
    def of(cls, path):
        """The one with this path, whether it is there or not."""
        cgroup = cls.__new__(cls)
        cgroup.path = path
        return cgroup

    @property
    def relative(self):
        return str(self.path.relative_to(cgroup_mount()))

    def delete(self):
        # A process that has ended stays in it a little longer.
        def remove():
            try:
                self.path.rmdir()
            except OSError:
                return False
            return True
        wait_until(remove, f"{self.path} can be removed")

    @contextlib.contextmanager
    def entered(self):
        """This process is in the cgroup meanwhile. Sockets that it makes here belong to the cgroup for good."""
        back = own()[1:]
        (self.path / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (cgroup_mount() / back / "cgroup.procs").write_text(str(os.getpid()))


class Cgroups:
    """A tree of cgroups, all below one with the tests' prefix; names are paths below that one."""

    def __init__(self):
        self.mount, self.home = cgroup_mount(), own()
        self.top = f"{self.home.rstrip('/')}/{PREFIX}"
        self.made = []
        self.make("")

    def path(self, name):
        """The path as bbrctl takes and prints it."""
        return f"{self.top}/{name}".rstrip("/")

    def make(self, name):
        (self.mount / self.path(name)[1:]).mkdir()
        self.made.append(name)

    def remove(self, name):
        (self.mount / self.path(name)[1:]).rmdir()
        self.made.remove(name)

    def id(self, name):
        return os.stat(self.mount / self.path(name)[1:]).st_ino

    def _enter(self, path):
        (self.mount / path[1:] / "cgroup.procs").write_text(str(os.getpid()))

    @contextlib.contextmanager
    def entered(self, name):
        """Sockets that are made meanwhile belong to the cgroup. None: the cgroup that we were started in."""
        if name is None:
            yield
            return
        self._enter(self.path(name))
        try:
            yield
        finally:
            self._enter(self.home)

    def close(self):
        for name in reversed(self.made[:]):
            self.remove(name)


def default_of(ns):
    """The congestion control of a socket of the namespace if nobody chooses one."""
    with ns.entered(), socket.socket() as sock:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
