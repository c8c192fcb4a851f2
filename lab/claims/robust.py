# SPDX-License-Identifier: GPL-2.0-only
"""arXiv 2601.05665 (2BRobust): BBR in a virtual machine that gets a share of a CPU."""
from claims import claim
from claims.results import mbit, median_of

OURS, OTHERS = ("bpf_bbr", "bpf_bbr3"), ("bbr", "cubic")
COLLAPSE, ENOUGH = 0.25, 0.8  # shares of the link


def _rates(results, ccs, share):
    return {cc: median_of(results.of(cc, f"cpu={share}"), lambda r: r["goodput_bps"]) for cc in ccs}


def _words(rates):
    return ", ".join(f"{cc} {mbit(rate)}" for cc, rate in rates.items())


@claim("robust")
def at_a_third_of_a_cpu_bbr_collapses(results):
    """with 35 % of a CPU each BBR has less than a quarter of the link, and CUBIC at least 80 %"""
    found, carried = _rates(results, OURS + OTHERS, "35%"), results.capacity("cpu=35%")
    return max(found[cc] for cc in (*OURS, "bbr")) < COLLAPSE * carried and found["cubic"] >= ENOUGH * carried, _words(found)


@claim("robust-gain")
def with_cpu_gain_it_does_not(results):
    """with 35 % of a CPU and cpu_gain each version has at least 80 % of the link, as CUBIC has"""
    found = _rates(results, OURS, "35%")
    return min(found.values()) >= ENOUGH * results.capacity("cpu=35%"), _words(found)
