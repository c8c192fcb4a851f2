# SPDX-License-Identifier: GPL-2.0-only
"""
A peer that lies in its ACKs and then is honest (peer.c): does each connection deliver the next 2 MB, and as soon as with the
kernel's bbr? In a guest all congestion controls have the same seeds in turns: the same path, and at first the same lies.
"""
import dataclasses
import json
import re

from runs import compare, congestion_controls, metrics, pool, tables
from vm import guest, kernels
from vm.initramfs import BUILD

CCS = ("bpf_bbr", "bpf_bbr3", "bpf_bbr3_ecn", "bbr")
THE_KERNELS = "bbr"
KERNELS = kernels.keys(kernels.CHECK)
SEEDS, BATCH = 1000, 20  # seeds of a guest
BYTES, LIE_MS, LIMIT_MS = 2_000_000, 3000, 600_000
SOON_US = 60_000_000
PROGRAMS = [BUILD / "bbrctl", BUILD / "peer"]
PACKETS = 2 * BYTES // 1448  # of a connection
WARNING = re.compile(r"WARNING|BUG|Oops|refused|Call Trace")
SURE = 0.05 / ((len(CCS) - 1) * len(KERNELS))  # in one of twenty measurements chance makes one of the comparisons seem so
PERCENTILES = (10, 50, 90, 99)


@dataclasses.dataclass(frozen=True)
class Run:
    kernel: str
    first_seed: int
    seeds: int

    @property
    def duration_s(self):
        return 10 * self.seeds * len(CCS)

    @property
    def packets(self):
        return PACKETS * self.seeds * len(CCS)

    def __str__(self):
        return f"{self.kernel} seeds {self.first_seed} to {self.first_seed + self.seeds - 1}"


def _script(run):
    loads = [f"bbrctl load {' '.join(congestion_controls.load_options(cc))} --name {cc} >/dev/null || exit" for cc in CCS
             if cc != THE_KERNELS]
    return "\n".join([*loads, "sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_ecn=1",
                      f"for seed in $(seq {run.first_seed} {run.first_seed + run.seeds - 1}); do for cc in {' '.join(CCS)}; do",
                      f"peer t0 10.9.0.1 10.9.0.2 $cc $seed {BYTES} {LIE_MS} {LIMIT_MS} || exit", "done; done", "dmesg"])


def execute(run):
    """What peer.c printed for each connection, and the kernel's warnings."""
    kernel = kernels.find(run.kernel)
    result = guest.run(kernel, guest.initramfs(kernel, _script(run), modules=["tun", "tcp_bbr"], programs=PROGRAMS),
                       seed=run.first_seed, timeout_s=7200)
    found = [json.loads(line) for line in result.console.splitlines() if line.startswith("{")]
    assert result.status == 0 and len(found) == run.seeds * len(CCS), result.console[-2000:]
    return found, [line for line in result.console.splitlines() if WARNING.search(line)]


def measure(keys, seeds=SEEDS, jobs=None):
    """kernel -> (its connections, its warnings)."""
    found = {key: ([], []) for key in keys}
    runs = [Run(key, first, min(BATCH, seeds + 1 - first)) for key in keys for first in range(1, seeds + 1, BATCH)]

    def on_result(run, result):
        for whole, part in zip(found[run.kernel], result):
            whole.extend(part)
    pool.execute_all(runs, on_result, jobs, execute=pool.uncached(execute))
    return found


def faults(connections):
    """Those that failed: not all bytes delivered, another byte than was sent, a window or a rate of 0."""
    return [c for c in connections if c["errno"] or c["bytes"] < BYTES or c["wrong_packets"] or
            not c["least_cwnd_packets"] or not c["least_pacing_bytes_per_s"]]


def times_us(connections, cc):
    """Until the bytes were delivered, by seed."""
    return [c["us"] for c in sorted(connections, key=lambda c: c["seed"]) if c["cc"] == cc]


def against_kernels(connections, cc):
    """(the ratio of the medians of cc's times and the kernel bbr's, the probability that chance alone puts pairs so far apart)."""
    ours, kernels_ = times_us(connections, cc), times_us(connections, THE_KERNELS)
    ratios = compare.log_ratios(ours, kernels_)
    shares, _ = compare.by_random_signs(compare.signed_ranks(ratios), [a - b for a, b in zip(ours, kernels_)])
    return metrics.percentile(ours, 50) / metrics.percentile(kernels_, 50), min(shares)


def slower(connections):
    """The congestion controls that need longer than the kernel's bbr."""
    compared = {cc: against_kernels(connections, cc) for cc in CCS if cc != THE_KERNELS}
    return [cc for cc, (ratio, p) in compared.items() if ratio > 1 and p < SURE]


def table(found):
    """Of all kernels. WAITED is the sum of all pauses of more than a second, in which the sender's timers run; the rest of the time is
    what the congestion control needs."""
    rows = []
    for key, (connections, warnings) in found.items():
        for cc in CCS:
            its = [c for c in connections if c["cc"] == cc]
            times = times_us(connections, cc)
            ratio, p = against_kernels(connections, cc) if cc != THE_KERNELS else (1, None)
            rows.append([key, cc, len(its), sum(c["bytes"] >= BYTES for c in its), sum(us <= SOON_US for us in times),
                         *(f"{metrics.percentile(times, percent) / 1e6:.1f}" for percent in PERCENTILES), f"{max(times) / 1e6:.0f}",
                         *(f"{metrics.percentile(values, 99) / 1e6:.1f}" for values in
                           ([c["waited_us"] for c in its], [c["us"] - c["waited_us"] for c in its])),
                         "" if p is None else f"{ratio:.2f}", "" if p is None else f"{p:.3f}",
                         len(faults(its)), len(warnings)])
    head = ["KERNEL", "CC", "RUNS", "DELIVERED", "IN 60 S", *(f"{percent} %" for percent in PERCENTILES), "MAX S", "WAITED 99 %", "REST 99 %", "/ BBR", "P",
            "FAULTS", "WARNINGS"]
    return tables.align(head, rows)
