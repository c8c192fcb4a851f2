#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The cost of `bbrmon export` with many connections. Run it as root:

    tests/native/cost/export_cost.py [CONNECTIONS [RUNS]]
"""
import argparse
import contextlib
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from crowd import Crowd
from exporter import OPENMETRICS, Exporter, Samples, Usage, classic
from netns import Link, Namespace
from snapshot_cost import ROOT, Cost, median
from system import run
from tool import Tool

LATER = 20  # scrapes of one exporter after its first
IDLE_S = 20


class Scrape:
    """The cost of one scrape, as Prometheus does it."""

    def __init__(self, exporter, name):
        before, began = Usage(exporter.process.pid), time.monotonic()
        text = exporter.text(OPENMETRICS)
        self.wall = time.monotonic() - began
        after = Usage(exporter.process.pid)
        self.cpu, self.rss, self.most = after.cpu - before.cpu, after.rss, after.most
        self.bytes = len(text)
        samples = Samples(text)
        self.connections = int(samples.sum("bbr_connections", bbr_instance=name))
        assert samples.sum("bbrmon_reading_complete") == 1


def use(exporter, name):
    """The first scrape, the later ones, and the idle cost in CPU seconds a second."""
    first = Scrape(exporter, name)
    later = []
    for _ in range(LATER):
        time.sleep(1.1)  # bbrmon reads the connections once a second at most
        later.append(Scrape(exporter, name))
    before = Usage(exporter.process.pid)
    time.sleep(IDLE_S)
    return first, later, (Usage(exporter.process.pid).cpu - before.cpu) / IDLE_S


def once(bbrmon, out, name):
    """The cost of `export --once`, and how many connections it reports."""
    cost = Cost([bbrmon, "export", "--once", "--name", name], out)
    text = pathlib.Path(out).read_text()
    cost.bytes = len(text)
    cost.connections = int(sum(s.value for f in classic(text) for s in f.samples
                               if s.name == "bbr_connections" and s.labels["bbr_instance"] == name))
    return cost


def row(what, of, peak_kb):
    told = ", ".join(sorted({str(one.connections) for one in of}))
    return (f"| {what} | {median(of, 'wall'):.2f} | {max(one.wall for one in of):.2f} | {median(of, 'cpu'):.2f} | "
            f"{median(of, 'bytes') / 1000:.1f} | {peak_kb / 1000:.1f} | {told} |")


def measure(bbrmon, name, directory, runs):
    firsts, all_later, idle, onces = [], [], [], []
    for i in range(runs):
        exporter = Exporter(bbrmon, pathlib.Path(directory), "--name", name, number=i)
        try:
            first, later, idling = use(exporter, name)
            exporter.stop()
        finally:
            exporter.kill()
        firsts.append(first)
        all_later.append(later)
        idle.append(idling)
        onces.append(once(bbrmon.path, os.path.join(directory, "once"), name))
    yield "| scrape | wall, s | slowest | CPU, s | answer, kB | peak RSS, MB | connections told |"
    yield "|---|---|---|---|---|---|---|"
    lasts = [of[-1] for of in all_later]
    yield row("the first", firsts, median(firsts, "most"))
    yield row("later ones", [scrape for of in all_later for scrape in of], median(lasts, "most"))
    yield row("`--once`", onces, median(onces, "rss"))
    yield f"\nCPU while nobody asks: {100 * statistics.median(idle):.1f} %"
    yield f"RSS after the first scrape, kB:    {[f.rss for f in firsts]}"
    yield f"RSS after the {LATER} later ones, kB: {[last.rss for last in lasts]}"


def main(n, runs):
    name = f"bbrt{os.getpid()}_x"
    bbrctl, bbrmon = ROOT / "build/bbrctl", Tool(ROOT / "build/bbrmon")
    run(bbrctl, "load", "--name", name)
    with contextlib.ExitStack() as stack:
        stack.callback(run, bbrctl, "unload", "--name", name)
        namespaces = []
        for _ in range(2):
            namespaces.append(Namespace())
            stack.callback(namespaces[-1].delete)
        namespaces[0].run("sysctl", "-q", "-w", "net.ipv4.ip_local_port_range=1024 65535")
        namespaces[1].default_congestion_control("reno")  # the other ends are read as well, and do not use BBR
        stack.callback(Crowd(Link(*namespaces), n, [name]).close)
        with tempfile.TemporaryDirectory() as directory:
            print(f"{n} connections of bpf_bbr; medians of {runs} exporters, each scraped {1 + LATER} times\n")
            print("\n".join(measure(bbrmon, name, directory, runs)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=100000, help="connections")
    parser.add_argument("runs", nargs="?", type=int, default=5)
    main(**vars(parser.parse_args()))
