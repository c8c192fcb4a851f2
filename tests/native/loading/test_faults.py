# SPDX-License-Identifier: GPL-2.0-only
"""
Everything that can go wrong goes wrong once: bbrctl is killed before each of its system calls, and each of its calls of
bpf(2) fails with each of three errors. strace does both. `make check` tries a sample, `make check-faults` all.
"""
import bisect
import collections
import os
import re
import signal
import subprocess

import pytest

import system
from system import maps_of_ours, pin, registered, run, wait_until
from tool import DONE, SANITIZER, Tool, sanitizer_environment

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

WHOLE = os.environ.get("BBR_FAULTS") == "all"
ERRORS = "ENOMEM", "EINTR", "EPERM"
ENVIRONMENT = {**sanitizer_environment(), "ASAN_OPTIONS": "detect_leaks=0:exitcode=99"}  # leaks are looked for with ptrace(2)


@pytest.fixture(autouse=True)
def no_time_limit(time_limit):
    if WHOLE:
        signal.alarm(0)


@pytest.fixture
def quick(build):
    """bbrctl without the sanitizers."""
    return Tool(build.parent / "bbrctl")


class Traced:
    """A command that strace runs."""

    def __init__(self, tmp_path, *command):
        self.command = [str(word) for word in command]
        self.log = tmp_path / "calls"

    def run(self, *options):
        return subprocess.run(["strace", "-f", "-qq", "-o", self.log, *options, *self.command],
                              capture_output=True, text=True, timeout=60, env=ENVIRONMENT)

    def calls(self, which="all"):
        """The system calls that it makes when nothing goes wrong, by name, in their order."""
        done = self.run("-e", f"trace={which}", "-e", "signal=none")
        assert done.returncode == DONE, done
        return re.findall(r"^\d+ +(\w+)\(", self.log.read_text(), re.M)

    def kill_at(self, calls, i):
        """Kills it before its i-th system call. Returns whether it came that far."""
        name = calls[i]
        which = calls[:i + 1].count(name)
        return self.run("-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={which}").returncode < 0

    def fail(self, number, error):
        return self.run("-e", "trace=bpf", "-e", f"inject=bpf:error={error}:when={number}")


def sample(n, size):
    """Numbers below n: all, or about as many as `size`, evenly spread."""
    return range(n) if WHOLE else range(n // size // 2, n, n // size or 1)


# ---- killed

TEXT = {"old": """
[default]
cwnd_gain = 2.5
[fast]
bw_win = 20
[both]
bw_win = 7
[rules]
rule = --dst 10.0.0.0/8 --dport 443 --profile fast
rule = --dport 7 --profile both
""", "new": """
[default]
cwnd_gain = 3
[quick]
bw_win = 22
[both]
bw_win = 8
[rules]
rule = --dst 10.0.0.0/8 --dport 443 --profile quick
rule = --dport 8 --profile both
rule = --dport 80 --profile default
"""}


def test_apply_killed_at_each_call(quick, free_name, tmp_path):
    """Profiles and rules of two instances: all of them old, or all of them new."""
    names, states, file = (free_name(), free_name()), {}, {}
    others = "".join(quick("save", "--name", i["name"]).out for i in quick.json("status"))
    for which in "old", "new":
        file[which] = tmp_path / which
        file[which].write_text("".join(f"[instance {name}]\n{TEXT[which]}" for name in names) + others)

    def state():
        return "".join(quick("save", "--name", name).out for name in names)

    for which in "new", "old":
        quick("apply", file[which])
        states[state()] = which
    applying = Traced(tmp_path, quick.path, "apply", file["new"])
    calls = applying.calls()
    quick("apply", file["old"])
    found = {}

    def kill_at(i):
        if i not in found:
            killed = applying.kill_at(calls, i)
            found[i] = states.get(state(), "a mixture")
            assert found[i] == "new" or killed, "it says that it is done"
            if found[i] != "old":
                quick("apply", file["old"])
        return found[i]

    first = bisect.bisect_left(range(len(calls)), True, key=lambda i: kill_at(i) != "old")
    last = bisect.bisect_left(range(len(calls)), True, lo=first, key=lambda i: kill_at(i) == "new")
    for i in (*sample(len(calls), 10), *(first + k for k in sample(last - first, 40))):
        kill_at(i)
    for i in range(max(first - 5, 0), min(last + 5, len(calls))) if last - first < 50 else []:
        kill_at(i)
    found = collections.Counter(found.values())
    print(f"killed before {found.total()} of {len(calls)} system calls:", dict(found))
    assert set(found) == {"old", "new"}, found
