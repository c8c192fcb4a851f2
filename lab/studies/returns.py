# SPDX-License-Identifier: GPL-2.0-only
"""
Does the kernel ever skip a program of a congestion control? What such a program returns is then a word that the stack happened to
hold. returns.sh makes the load, returns.bpf.c looks at what TCP got.
"""
import contextlib
import dataclasses
import functools
import json
import pathlib

from runs import pool
from runs.experiment import MODULES, PATH
from vm import guest, kernels
from vm.debugger import Debugger
from vm.initramfs import BUILD
from vm.kernels import LabError

HERE = pathlib.Path(__file__).parent
OBJECT = BUILD / "returns.bpf.o"
PROGRAMS = [BUILD / name for name in ("bbrctl", "bbrmon", "flow")] + ["bpftool"]
SECONDS = 10
GUEST_S = 7200  # of the host
OPS = ("ssthresh", "undo_cwnd", "sndbuf_expand", "min_tso_segs", "cong_control", "sockets")  # the order of returns.bpf.c

ENTER = "__bpf_prog_enter"  # the trampoline of a struct_ops program calls it first, and skips the program if it returns 0
ENTER_BYTES = 160
RUNS = bytes.fromhex("b801000000 5b")  # mov $1, %eax; pop %rbx: its end
SKIPS = bytes.fromhex("0f31 83e00f 5b")  # rdtsc; and $15, %eax; pop %rbx: 0 for one call in 16


@dataclasses.dataclass(frozen=True)
class Run:
    kernel: str  # key
    seed: int = 1
    seconds: int = SECONDS
    skip: bool = False  # the kernel is patched so that it skips one call in 16

    @property
    def duration_s(self):
        return self.seconds

    @property
    def packets(self):
        return self.seconds * 10000  # its CPU is busy all the time

    def __str__(self):
        return f"{self.kernel} seed {self.seed}{' skip' if self.skip else ''}"


@dataclasses.dataclass
class Found:
    counts: dict = dataclasses.field(default_factory=dict)  # op -> calls, nested, stale, word
    bytes: dict = dataclasses.field(default_factory=dict)  # congestion control -> what all its flows delivered
    warnings: list = dataclasses.field(default_factory=list)  # lines of the kernel's log

    @property
    def stale(self):
        return sum(counts["stale"] for counts in self.counts.values())


def read(console):
    found = Found()
    for line in console.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "@@RETURNS":
            found.counts = dict(zip(OPS, json.loads(rest)))
        elif kind == "@@STACK":
            seen = dict(zip(OPS, json.loads(rest)))
            found.counts["sockets"] = seen["sockets"]
            found.counts["min_tso_segs"] |= {key: seen["min_tso_segs"][key] for key in ("stale", "word")}
        elif kind == "@@BYTES":
            found.bytes[rest.split()[0]] = int(float(rest.split()[1]))
        elif kind == "@@WARNING":
            found.warnings.append(rest)
    return found


@functools.cache
def _enter(key):
    """The address of ENTER. The lab's kernels are always at the same addresses."""
    kernel = kernels.find(key)
    console = guest.run(kernel, guest.initramfs(kernel, f"grep -w {ENTER} /proc/kallsyms\n")).console
    return int(console.split()[0], 16)


def _skip(key):
    """A function that patches a kernel that has not started yet, so that it skips programs."""
    def debug(path):
        with contextlib.closing(Debugger(path)) as debugger:
            at = debugger.read(_enter(key), ENTER_BYTES).find(RUNS)
            if at < 0:
                raise ValueError(f"{ENTER} does not end in {RUNS.hex(' ')}")
            debugger.write(_enter(key) + at, SKIPS)
            debugger.leave()

    _enter(key)
    return debug


def execute(run):
    """Returns what a guest found. Nothing is cached."""
    kernel = kernels.find(run.kernel)
    script = f"SECONDS_LONG={run.seconds}\n" + "".join(part.read_text() for part in (PATH, HERE / "returns.sh"))
    image = guest.initramfs(kernel, script, modules=[*MODULES, "cls_bpf", "inet_diag", "tcp_diag", "tcp_bbr"], programs=PROGRAMS, files={"/returns.bpf.o": OBJECT})
    result = guest.run(kernel, image, seed=run.seed, timeout_s=GUEST_S, debug=_skip(run.kernel) if run.skip else None)
    found = read(result.console)
    if result.status or len(found.counts) < len(OPS):
        raise LabError(f"{run}: the run failed in the guest:\n{result.console[-3000:]}")
    return found


def measure(keys, seconds, seeds, skip, jobs=None):
    """Run -> what its guest found."""
    found = {}
    runs = [Run(key, seed, seconds, skip) for seed in range(1, 1 + seeds) for key in keys]
    pool.execute_all(runs, found.__setitem__, jobs, execute=pool.uncached(execute))
    return found


def text(found):
    lines = []
    for run, one in found.items():
        lines.append(f"{run}:")
        for op, c in one.counts.items():
            last = f" (the last {c['word']:#x})" if c["stale"] else ""
            lines.append(f"  {op:13} {c['calls']:9} calls, {c['nested']:6} of them on top of another, {c['stale']:5} wrong values{last}")
        lines += ["  Mbit/s: " + ", ".join(f"{cc} {8 * size / run.seconds / 1e6:.1f}" for cc, size in sorted(one.bytes.items())),
                  *(f"  {warning}" for warning in one.warnings)]
    return "\n".join(lines)
