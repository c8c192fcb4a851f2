# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of `lab report`, from made-up figures."""
from report import plots


def test_a_sweep_of_percentages():
    """gnuplot takes a % in a label for a format."""
    points = {label: {"goodput_bps": {"median": 1e7, "min": 9e6, "max": 11e6}} for label in ("loss=0.01%", "loss=1% profile=x")}
    svg = plots.over_points({"bpf_bbr": points})
    assert ">loss=0.01%<" in svg and ">loss=1% profile=x<" in svg
