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


# Calls that change nothing but the process: what it has made or holds goes with it.
QUIET = re.compile(r"""(close|read|pread64|lseek|getdents64|(new)?fstatat|statx|f?stat|f?statfs|f?access(at2?)?|readlink(at)?|
    uname|sysinfo|getrandom|mmap|munmap|mremap|mprotect|madvise|brk|prlimit64|prctl|capget|capset|setns|arch_prctl|
    set_tid_address|set_robust_list|rseq|rt_sig\w+|fcntl|flock|clock_\w+|getpid|gettid|geteuid|ioctl)\(
    |openat\((?!.*O_(CREAT|TRUNC|TMPFILE))
    |bpf\(BPF_(\w+_GET_\w+|OBJ_GET|MAP_LOOKUP_ELEM|MAP_CREATE|MAP_FREEZE|PROG_LOAD|PROG_BIND_MAP|BTF_LOAD|ITER_CREATE),""", re.X)


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

    def calls_of_bpf(self):
        """
        The numbers of its calls of bpf(2) to let fail: of those with the same callers the first, the middle and the last.
        Such calls are alike, as the hundreds that look at each map of the machine. Sets lines as calls() does.
        """
        done = self.run("-k", "-e", "trace=bpf", "-e", "signal=none")
        assert done.returncode == DONE, done
        calls = re.findall(r"^\d+ +(bpf\(.*)\n((?: > .*\n)*)", self.log.read_text(), re.M)
        self.lines = [line for line, _ in calls]
        by_callers = {}
        for number, (line, callers) in enumerate(calls, 1):
            by_callers.setdefault((line.partition(",")[0], callers), []).append(number)
        return sorted({n[k] for n in by_callers.values() for k in (0, len(n) // 2, -1)})

    def places(self):
        """
        The calls to be killed before, after calls(): the first one, and each whose last one may have changed something.
        To read from a BPF iterator runs programs.
        """
        iterators = {line.rpartition(" = ")[2] for line in self.lines if line.startswith("bpf(BPF_ITER_CREATE")}
        is_quiet = [QUIET.match(line) and not (line.startswith("read(") and re.match(r"read\((\d+)", line)[1] in iterators)
                    for line in self.lines]
        return [i for i in range(len(self.lines)) if not i or not is_quiet[i - 1]]

    def kill_at(self, calls, i):
        """Kills it before its i-th system call. Returns whether it came that far."""
        name = calls[i]
        which = calls[:i + 1].count(name)
        return self.run("-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={which}").returncode < 0

    def fail(self, number, error):
        return self.run("-e", "trace=bpf", "-e", f"inject=bpf:error={error}:when={number}")
