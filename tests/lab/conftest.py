# SPDX-License-Identifier: GPL-2.0-only
"""Lets the tests import the lab, and read its output with helpers of the tests of the running kernel."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "lab"), str(HERE.parent / "native")]
