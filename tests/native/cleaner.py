# SPDX-License-Identifier: GPL-2.0-only
"""
A second process that removes what the tests made if theirs is killed. It reads a pipe whose other end only the tests hold
open, so it notices even SIGKILL. Tests that fail clean up by themselves.

What it removes has PREFIX in its name, or the mark in its environment. An object that registers itself under a name of its own
(bpf_bbr, with bpftool) stays: that may be somebody else's.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import system

ALL_DONE = b"done"
SELF = pathlib.Path(__file__).resolve()


class Cleaner:
    """To be started before the first process that has the mark."""

    def __init__(self, bbrctl):
        command = [sys.executable, SELF, system.PREFIX, bbrctl, "had-bpffs" if system.has_bpffs() else "had-none"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def dismiss(self):
        self.process.communicate(ALL_DONE)


def marked():
    """`make demo` has a cleaner of its own, which needs a moment."""
    for pid in system.processes():
        with contextlib.suppress(OSError):
            if b"--clean-after" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                yield pid


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return True


def no_process_is_left():
    return not [pid for pid in marked() if kill(pid)]


def stop_experiments(bbrctl):
    for running in json.loads(system.run(bbrctl, "-j", "experiment", "list", check=False).stdout or "[]"):
        if system.PREFIX in running["cgroup"]:
            system.run(bbrctl, "experiment", "stop", running["name"], check=False)


def is_tests(name):
    """Of these tests, and not of some whose process id only begins alike."""
    return name.startswith(system.PREFIX) and not name[len(system.PREFIX):][:1].isdigit()


def remove_cgroups():
    """Those within others first."""
    for top in [path for path in system.cgroup_mount().rglob(f"{system.PREFIX}*") if path.is_dir() and is_tests(path.name)]:
        for path in sorted([top, *filter(pathlib.Path.is_dir, top.rglob("*"))], reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir()


def clean(bbrctl, had_bpffs):
    system.wait_until(no_process_is_left, "all processes end")
    stop_experiments(bbrctl)
    remove_cgroups()
    for name in filter(is_tests, system.namespaces()):
        system.run("ip", "netns", "del", name, check=False)
    for name in filter(is_tests, system.registered()):
        system.run(bbrctl, "unload", "--name", name, check=False)
    if not had_bpffs:
        system.unmount_bpffs()


def main():
    system.PREFIX = sys.argv[1]
    if sys.stdin.buffer.read() != ALL_DONE:
        clean(sys.argv[2], sys.argv[3] == "had-bpffs")


if __name__ == "__main__":
    main()
