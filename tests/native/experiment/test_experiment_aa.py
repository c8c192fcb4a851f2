# SPDX-License-Identifier: GPL-2.0-only
"""
A/A: experiments with the same congestion control in both arms, all at once on real traffic. They should call 5 % of their
comparisons different. BBR_AA_EXPERIMENTS asks for more than `make check` has time for: docs/ab-tests.md has 50.
"""
import os
import random
import threading

from experiments import arms, whole_transfer
from system import wait_until
from test_canary import Sink

EXPERIMENTS = int(os.environ.get("BBR_AA_EXPERIMENTS", 8))
CONNECTIONS = 300  # of each experiment
THREADS = 8


def transfers(ns, todo, errors):
    try:
        with ns.entered():
            while True:
                try:
                    address, size = todo.pop()
                except IndexError:
                    return
                whole_transfer(address, size)
    except OSError as error:
        errors.append(error)


def test_the_same_in_both_arms(bbrmon, experiments, new_path, cgroup, tmp_path):
    path, rng = new_path(rate="100mbit", limit="60k"), random.Random(1)
    sinks = [Sink(path.receiver, path.v4) for _ in range(EXPERIMENTS)]
    names = [experiments.start(cgroup, *arms(a="cubic", b="cubic"), "--dport", sink.address[1], "--keep", 1024)
             for sink in sinks]
    todo = [(sink.address, min(int(3000 * rng.paretovariate(1.1)), 2_000_000)) for sink in sinks
            for _ in range(CONNECTIONS)]
    rng.shuffle(todo)
    errors = []
    with cgroup.entered():
        threads = [threading.Thread(target=transfers, args=(path.sender, todo, errors)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for sink in sinks:
        sink.close()
    assert not errors
    compared = different = 0
    for name in names:
        wait_until(lambda: sum(arm["ended"] for arm in bbrmon.json("experiment", name)["arms"]) == CONNECTIONS, "all ended")
        answer = bbrmon("experiment", name, "-j", "-w", tmp_path / f"{name}.csv").json()
        shown = [m for m in answer["metrics"] if m["size"] == "all" and m["low"] is not None]
        compared += len(shown)
        different += sum(m["verdict"] is not None for m in shown)
    print(f"{different} of {compared} are called different ({100 * different / compared:.1f} %), {EXPERIMENTS} experiments")
    assert compared > 5 * EXPERIMENTS
    # The metrics of an experiment depend on each other: the limit is 7 % for 50 experiments; few experiments vary by chance.
    assert different <= (0.07 if EXPERIMENTS >= 50 else 0.2) * compared
