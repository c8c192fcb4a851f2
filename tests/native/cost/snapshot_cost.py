#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The cost of `bbrmon snapshot`, compared with `ss -ti` on the same sockets. Run it as root:

    tests/native/cost/snapshot_cost.py [CONNECTIONS [RUNS]]
"""
import argparse
import contextlib
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from crowd import Crowd
from netns import Link, Namespace
from system import run

ROOT = pathlib.Path(__file__).resolve().parents[3]


MEASURE = ROOT / "build/measure"


class Cost:
    """The cost of one run of a command: seconds of wall clock and CPU time, peak memory in kilobytes."""

    def __init__(self, command, out):
        said = run(MEASURE, out, *command, timeout=300)
        self.wall, self.user, system, rss = map(float, said.stdout.split())
        self.cpu = self.user + system
        self.rss = int(rss)


def commands(ns, bbrmon):
    """The commands to compare, as they are typed. They run in the namespace and read no other."""
    inside = ["/usr/bin/nsenter", f"--net=/run/netns/{ns.name}"]
    own = "/proc/self/ns/net"
    return {
        "ss -ti": [*inside, "/usr/bin/ss", "-ti"],
        "ss -tin": [*inside, "/usr/bin/ss", "-tin"],
        "bbrmon snapshot": [*inside, bbrmon, "snapshot", "--netns", own],
        "bbrmon snapshot -j": [*inside, bbrmon, "snapshot", "-j", "--netns", own],
        "bbrmon snapshot --sort -bw_bps": [*inside, bbrmon, "snapshot", "--sort", "-bw_bps", "--netns", own],
    }


def measure(all_commands, out, runs):
    """name: [Cost] of alternating runs, with the order reversed each time."""
    costs = {name: [] for name in all_commands}
    for i in range(runs):
        order = list(all_commands)
        for name in order if i % 2 == 0 else reversed(order):
            costs[name].append(Cost(all_commands[name], out))
    return costs


def median(costs, what):
    return statistics.median(getattr(c, what) for c in costs)


def table(costs):
    base = costs["ss -ti"]
    yield "| command | wall, s | CPU, s | of it in user space | peak RSS, MB | wall x ss -ti | RSS x ss -ti |"
    yield "|---|---|---|---|---|---|---|"
    for name, of in costs.items():
        pairs = statistics.median(c.wall / b.wall for c, b in zip(of, base))
        yield (f"| `{name}` | {median(of, 'wall'):.2f} | {median(of, 'cpu'):.2f} | {median(of, 'user'):.2f} | "
               f"{median(of, 'rss') / 1000:.1f} | {pairs:.2f} | {median(of, 'rss') / median(base, 'rss'):.2f} |")


@contextlib.contextmanager
def crowd_of_two(n, names):
    """
    n connections between two namespaces, whose first ends use names(NAME) in turn and whose others use reno. NAME is an
    instance of bpf_bbr. Gives NAME and the namespaces.
    """
    name = f"bbrt{os.getpid()}_x"
    bbrctl = ROOT / "build/bbrctl"
    namespaces, crowd = [], None
    run(bbrctl, "load", "--name", name)
    try:
        for _ in range(2):
            namespaces.append(Namespace())
        namespaces[0].run("sysctl", "-q", "-w", "net.ipv4.ip_local_port_range=1024 65535")
        namespaces[1].default_congestion_control("reno")
        crowd = Crowd(Link(*namespaces), n, names(name))
        yield name, namespaces
    finally:
        if crowd:
            crowd.close()
        for ns in namespaces:
            ns.delete()
        run(bbrctl, "unload", "--name", name)


def main(n, runs):
    with crowd_of_two(n, lambda name: ["bbr", name]) as (_, namespaces), tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out")
        print(f"{n} connections, half bbr, half bpf_bbr; medians of {runs} alternating runs\n")
        print("\n".join(table(measure(commands(namespaces[0], ROOT / "build/bbrmon"), out, runs))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=100000, help="connections")
    parser.add_argument("runs", nargs="?", type=int, default=7)
    main(**vars(parser.parse_args()))
