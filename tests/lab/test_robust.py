# SPDX-License-Identifier: GPL-2.0-only
"""A sender that gets a share of its CPU: the share is right, BBR collapses as the document says, and cpu_gain mends it."""
import functools
import statistics

import pytest

from claims import suite
from runs import pool, scenario

KERNEL = "6.12"
SEEDS = 8
MOST_OF_ALL = 0.7  # of what CUBIC gets with all of its CPU: of 24 seeds the median is 0.87, a third is at 0.78
LEAST = 0.8  # of CUBIC's goodput


@functools.cache
def goodput(name, cc, share):
    """The median: what a flow gets depends on where in a period of the CPU it starts, which the seed decides."""
    found = scenario.load(name, [("sender.cpu", share), ("duration", "3s")])
    runs = list(suite.runs_of(found, [cc], KERNEL, seeds=1 if share == "100%" else SEEDS))
    pool.execute_all(runs)
    results = list(suite.results(found, runs).of(cc))
    assert all(result["wrong_bytes"] == 0 for result in results)
    return statistics.median(result["goodput_bps"] for result in results)


def test_cubic_keeps_most():
    assert goodput("robust", "cubic", "35%") > MOST_OF_ALL * goodput("robust", "cubic", "100%")


@pytest.mark.parametrize("cc", ("bpf_bbr", "bpf_bbr3"))
def test_cpu_gain_mends_what_collapses(cc):
    assert goodput("robust", cc, "35%") < 0.25 * goodput("robust", "cubic", "35%")
    assert goodput("robust-gain", cc, "35%") > LEAST * goodput("robust", "cubic", "35%")
