# SPDX-License-Identifier: GPL-2.0-only
"""Control groups of the tests, and sockets whose connections are made in them."""
import contextlib
import itertools
import os
import socket

from system import PREFIX, cgroup_mount, wait_until

numbers = itertools.count()


class Cgroup:
    """A cgroup; delete() must be called."""

    def __init__(self, parent=None):
        self.path = (parent.path if parent else cgroup_mount()) / f"{PREFIX}-{next(numbers)}"
        self.path.mkdir()

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
        with open("/proc/self/cgroup") as f:
            back = next(line for line in f if line.startswith("0::"))[4:].strip()
        (self.path / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (cgroup_mount() / back / "cgroup.procs").write_text(str(os.getpid()))


def default_of(ns):
    """The congestion control of a socket of the namespace if nobody chooses one."""
    with ns.entered(), socket.socket() as sock:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
