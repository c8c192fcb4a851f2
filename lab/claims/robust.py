# SPDX-License-Identifier: GPL-2.0-only
"""arXiv 2601.05665 (2BRobust): BBR in a virtual machine that gets a share of a CPU."""
from claims import claim
from claims.results import goodputs, words_of

OURS, OTHERS = ("bpf_bbr", "bpf_bbr3"), ("bbr", "cubic")
COLLAPSE, ENOUGH = 0.25, 0.8  # shares of the link


@claim("robust")
def at_a_third_of_a_cpu_bbr_collapses(results):
    """with 35 % of a CPU each BBR has less than a quarter of the link, and CUBIC at least 80 %"""
    found, carried = goodputs(results, OURS + OTHERS, "cpu=35%"), results.capacity("cpu=35%")
    return max(found[cc] for cc in (*OURS, "bbr")) < COLLAPSE * carried and found["cubic"] >= ENOUGH * carried, words_of(found)


@claim("robust-gain")
def with_cpu_gain_it_does_not(results):
    """with 35 % of a CPU and cpu_gain each version has at least 80 % of the link, as CUBIC has"""
    found = goodputs(results, OURS, "cpu=35%")
    return min(found.values()) >= ENOUGH * results.capacity("cpu=35%"), words_of(found)
