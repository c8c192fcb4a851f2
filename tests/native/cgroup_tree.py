# SPDX-License-Identifier: GPL-2.0-only
"""A tree of cgroups for rules."""
import contextlib
import os

from system import PREFIX, cgroup_mount


def own():
    """The cgroup that this process is in."""
    with open("/proc/self/cgroup") as f:
        return next(line.rstrip("\n").split(":", 2)[2] for line in f if line.startswith("0::"))


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
