#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
How fast `bbrmon top` is with many connections: when its first row appears, how long keys take, its memory. Run it as root:

    tests/native/cost/top_cost.py [CONNECTIONS [BBRMON...]]
"""
import argparse
import pathlib
import random
import sys

NATIVE = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(NATIVE), str(NATIVE / "watching")]

from snapshot_cost import ROOT, crowd_of_two
from terminal import RawTerminal

KEYS = 40


def measure(bbrmon, name):
    """The seconds until the first row, those of each key, sorted, and the peak memory in kilobytes."""
    rng = random.Random(1)
    top = RawTerminal(bbrmon, "top", "--name", name)
    try:
        first, _ = top.wait_for(b"10.77.")
        top.pass_time(3)
        keys = []
        for _ in range(KEYS):
            top.pass_time(rng.uniform(0, 0.4))
            keys.append(top.key(b"h", b"back"))
            top.pass_time(rng.uniform(0.1, 0.2))
            keys.append(top.key(b"h", b"enter"))
        return first, sorted(keys), top.peak_kb()
    finally:
        top.close()


def main(n, bbrmons):
    print(f"top with {n} connections, {2 * KEYS} keys\n")
    print("| bbrmon | first row, s | median key, s | slowest key, s | peak RSS, MB | of it a connection, kB |\n|---|---|---|---|---|---|")
    with crowd_of_two(n, lambda name: [name]) as (name, _):
        for bbrmon in bbrmons or [ROOT / "build/bbrmon"]:
            first, keys, peak = measure(bbrmon, name)
            print(f"| `{bbrmon}` | {first:.2f} | {keys[len(keys) // 2]:.2f} | {keys[-1]:.2f} | {peak / 1000:.0f} | {peak / n:.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", nargs="?", type=int, default=100000, help="connections")
    parser.add_argument("bbrmons", nargs="*", help="programs to compare")
    main(**vars(parser.parse_args()))
