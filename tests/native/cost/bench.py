#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
What monitoring costs beside ss on the same sockets, what loading costs, and what a run of the lab costs, as one table. Times are CPU
seconds, the least of some alternating runs. Run it as root:

    tests/native/cost/bench.py [CONNECTIONS [RUNS]]
"""
import argparse
import contextlib
import os
import sys
import tempfile

import top_cost
from snapshot_cost import ROOT, Cost, crowd_of_two
from netns import Namespace
from system import run

sys.path.append(str(ROOT / "lab"))
from vm import guest, kernels  # pylint: disable=wrong-import-position

BBRCTL, BBRMON, LAB = ROOT / "build/bbrctl", ROOT / "build/bbrmon", ROOT / "lab/lab"
EMPTY = 200
LOADS = 2
APPLIED = 10
# In a guest, in its virtual time: on a host an apply of a whole file is not for a benchmark.
APPLY = f"""
for i in $(seq {APPLIED}); do printf '[instance bench_%d]\\nalgorithm = bbr\\n' $i; done >/tmp/file
begin=${{EPOCHREALTIME/./}}
for i in $(seq {APPLIED}); do bbrctl load --name bench_$i >/dev/null || exit; done
end=${{EPOCHREALTIME/./}}
for i in $(seq {APPLIED}); do bbrctl unload --name bench_$i >/dev/null || exit; done
again=${{EPOCHREALTIME/./}}
bbrctl apply /tmp/file >/dev/null || exit
echo $((${{EPOCHREALTIME/./}} - again)) $((end - begin))
"""
RECORDING = ROOT / "tests/native/watching/recordings/abi3.rec"
COPIES = 200  # of the recording, one after the other


def row(what, ours, peer="", limit="", unit="s"):
    ratio = f"{ours / peer:.2f}" if peer else ""
    print(f"| {what} | {ours:.3g} {unit} | {f'{peer:.3g} {unit}' if peer else ''} | {ratio} | {limit} |", flush=True)


def cpu(commands, out, runs):
    """The CPU seconds of each command, or of several together: the least of alternating runs."""
    return [min(times) for times in zip(*([sum(Cost(c, out).cpu for c in of) for of in commands] for _ in range(runs)))]


def inside(ns, *command):
    return ["/usr/bin/nsenter", f"--net=/run/netns/{ns.name}", *command]


def with_connections(n, runs, out):
    with crowd_of_two(n, lambda name: ["bbr", name]) as (name, (first, second)):
        shown = [inside(ns, "/usr/bin/ss", "-ti") for ns in (first, second)]
        one = [BBRMON, "snapshot", "--netns", first.name]
        ours, everywhere, peer, peers, once = cpu([[one], [[BBRMON, "snapshot"]], shown[:1], shown, [[BBRMON, "export", "--once"]]],
                                                  out, runs)
        row(f"snapshot of {n} sockets in one namespace, beside ss -ti", ours, peer, "0.5")
        row("snapshot of all namespaces (two, one of them without BBR), beside ss -ti in both", everywhere, peers, "0.6")
        row("export --once", once, peer)
        there = [BBRCTL, "migrate", "--netns", first.name, "--from", name, "--to", "reno"]
        back = [BBRCTL, "migrate", "--netns", first.name, "--from", "reno", "--to", name]
        (both,) = cpu([[there, back]], out, runs)
        row(f"migrate of {n // 2} connections", both / 2)
        first_row, keys, peak = top_cost.measure(BBRMON, name)
        row("top: its first row, wall", first_row, limit="0.5 s")
        row(f"top: the slowest of {len(keys)} keys, wall", keys[-1], limit="0.1 s")
        row(f"top: its memory, for each of {n // 2} connections", peak / n * 2, limit="1 kB", unit="kB")


def without_connections(runs, out):
    with contextlib.closing(Tidy()) as ns:
        ours, peer = cpu([[[BBRMON, "snapshot", "--netns", ns.name]], [inside(ns, "/usr/bin/ss", "-ti")]], out, runs)
        (before,) = cpu([[[BBRMON, "snapshot"]]], out, runs)
        with contextlib.ExitStack() as stack:
            for _ in range(EMPTY):
                stack.callback(Namespace().delete)
            (after,) = cpu([[[BBRMON, "snapshot"]]], out, runs)
    row("snapshot with no connections", ours, peer, "0.03 s")
    row("the same, of all namespaces", before)
    row("an empty network namespace more", 1000 * (after - before) / EMPTY, limit="0.1 ms", unit="ms")


class Tidy(Namespace):
    close = Namespace.delete


def loads(runs, out):
    name = f"bbrt{os.getpid()}"
    for algorithm, limit in ("bbr", ""), ("bbr3", "0.2 s"):
        times = []
        for _ in range(LOADS * runs):
            times.append(Cost([BBRCTL, "load", "--algorithm", algorithm, "--name", name], out).cpu)
            run(BBRCTL, "unload", "--name", name)
        row(f"a load of {algorithm}", min(times), limit=limit)
    kernel = kernels.find("6.12")
    result = guest.run(kernel, guest.initramfs(kernel, APPLY, programs=[BBRCTL]))
    applied, loaded = (int(us) / 1e6 for us in result.console.split())
    row(f"{APPLIED} instances by one apply, beside as many loads; in a guest of 6.12, its time", applied, loaded)


def runs_of_the_lab(runs, out):
    def one(cc, seconds):
        return [LAB, "run", "fig4", "--set", "link.rate=100mbit", "--set", f"duration={seconds}s", "--cc", cc, "--jobs", "1", "--fresh"]

    run(*one("bpf_bbr", 1), timeout=600)  # also makes the snapshot of the kernel
    ours, peer, longer, plan = cpu([[one("bpf_bbr", 1)], [one("bbr", 1)], [one("bpf_bbr", 3)], [[LAB, "all", "-n"]]], out, runs)
    row("lab: a run of 1 s, beside the kernel's bbr", ours, peer, "2.2 s")
    row("lab: a further simulated second (100 Mbit/s, 40 ms)", (longer - ours) / 2, limit="0.35 s")
    row("lab: all -n", plan, limit="1 s")


def recordings(runs, directory, out):
    def size(*options):
        lines = run(BBRMON, "stream", "-j", *options, "--read", RECORDING).stdout.splitlines(True)[:-1]
        return sum(map(len, lines)) / len(lines), len(lines)

    (whole, n), (changed, _) = size(), size("--changes")
    row("stream -j --changes, beside -j: an event", changed, whole, "200 bytes", unit="bytes")
    many = os.path.join(directory, "many.rec")
    with open(many, "wb") as f:
        f.write(RECORDING.read_bytes() * COPIES)
    (drawn,) = cpu([[[BBRMON, "report", "-o", "-", many]]], out, runs)
    row("report: an event", 1e6 * drawn / n / COPIES, limit="0.4 us", unit="us")


def main(n, runs):
    print("| what | ours | peer | ratio | limit |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out")
        without_connections(runs, out)
        recordings(runs, directory, out)
        loads(runs, out)
        runs_of_the_lab(runs, out)
        with_connections(n, runs, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=100000, help="connections")
    parser.add_argument("runs", nargs="?", type=int, default=5)
    main(**vars(parser.parse_args()))
