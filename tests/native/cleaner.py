# SPDX-License-Identifier: GPL-2.0-only
"""
A second process that removes what the tests made if their process is killed. It reads a pipe whose other end only the tests hold
open, so it notices even SIGKILL. Failed tests clean up by themselves.

It removes what has their prefix in its name, or the mark in its environment. An object that registers itself under a name of
its own (bpf_bbr, with bpftool) stays: it may be somebody else's.
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
    """Start this before the first process that has the mark."""

    def __init__(self, bbrctl):
        command = [sys.executable, SELF, system.PREFIX, bbrctl, "had-bpffs" if system.has_bpffs() else "had-none"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def dismiss(self):
        self.process.communicate(ALL_DONE)


def is_of(prefix, name):
    """True for a name of these tests, and not of tests whose process id only begins with the same digits."""
    return name.startswith(prefix) and not name[len(prefix):][:1].isdigit()


def cgroups(prefix):
    return [path for path in system.cgroup_mount().rglob(f"{prefix}*") if path.is_dir() and is_of(prefix, path.name)]


def namespaces(prefix):
    return [name for name in system.namespaces() if is_of(prefix, name)]


def instances(prefix):
    return [name for name in system.registered() if is_of(prefix, name)]


def processes(prefix):
    """Processes of the tests. Leaves out the cleaner of `make demo`, which needs a moment."""
    for pid in system.processes(prefix):
        with contextlib.suppress(OSError):
            if b"--clean-after" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                yield pid


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return True


def no_process_is_left(prefix):
    return not [pid for pid in processes(prefix) if kill(pid)]


def stop_experiments(prefix, bbrctl):
    for running in json.loads(system.run(bbrctl, "-j", "experiment", "list", check=False).stdout or "[]"):
        if any(is_of(prefix, part) for part in pathlib.Path(running["cgroup"]).parts):
            system.run(bbrctl, "experiment", "stop", running["name"], check=False)


def remove_cgroups(prefix):
    """Removes nested cgroups before their parents."""
    for top in cgroups(prefix):
        for path in sorted([top, *filter(pathlib.Path.is_dir, top.rglob("*"))], reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir()


def clean(prefix, bbrctl, had_bpffs):
    system.wait_until(lambda: no_process_is_left(prefix), "all processes end")
    stop_experiments(prefix, bbrctl)
    remove_cgroups(prefix)
    for name in namespaces(prefix):
        system.run("ip", "netns", "del", name, check=False)
    for name in instances(prefix):
        system.run(bbrctl, "unload", "--name", name, check=False)
    if not had_bpffs:
        system.unmount_bpffs()


def main():
    prefix, bbrctl, bpffs = sys.argv[1:]
    if sys.stdin.buffer.read() != ALL_DONE:
        clean(prefix, bbrctl, bpffs == "had-bpffs")


if __name__ == "__main__":
    main()
