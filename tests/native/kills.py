# SPDX-License-Identifier: GPL-2.0-only
"""bbrctl killed at moments that are spread over its run time, or before each of its system calls."""
import random
import re
import subprocess
import time

from tool import DONE, sanitizer_environment

TRIES = 20
ENVIRONMENT = {**sanitizer_environment(), "ASAN_OPTIONS": "detect_leaks=0:exitcode=99"}  # leaks are looked for with ptrace(2)


def start(bbrctl, *args):
    return bbrctl.start(*args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def duration_of(bbrctl, *args):
    """How long bbrctl takes for this on this machine now."""
    begin = time.monotonic()
    bbrctl(*args)
    return time.monotonic() - begin


def kill_after(bbrctl, delay, *args):
    process = start(bbrctl, *args)
    time.sleep(delay)
    process.kill()
    process.wait()


def delays(longest, seed):
    """Delays from zero to a little more than `longest`, evenly spread with some randomness."""
    rng = random.Random(seed)
    return [longest * 1.1 * (i + rng.random()) / TRIES for i in range(TRIES)]


class Traced:
    """A command that strace runs."""

    def __init__(self, tmp_path, *command):
        self.command = [str(word) for word in command]
        self.log = tmp_path / "calls"

    def run(self, *options):
        return subprocess.run(["strace", "-f", "-qq", "-o", self.log, *options, *self.command],
                              capture_output=True, text=True, timeout=60, env=ENVIRONMENT)

    def calls(self, which="all"):
        """The system calls that it makes when nothing goes wrong, by name, in their order; lines has what strace shows."""
        done = self.run("-e", f"trace={which}", "-e", "signal=none")
        assert done.returncode == DONE, done
        self.lines = re.findall(r"^\d+ +(\w+\(.*)", self.log.read_text(), re.M)
        return [line.partition("(")[0] for line in self.lines]

    def kill_at(self, calls, i):
        """Kills it before its i-th system call. Returns whether it came that far."""
        name = calls[i]
        which = calls[:i + 1].count(name)
        return self.run("-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={which}").returncode < 0

    def fail(self, number, error):
        return self.run("-e", "trace=bpf", "-e", f"inject=bpf:error={error}:when={number}")
