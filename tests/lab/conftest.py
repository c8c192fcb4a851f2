# SPDX-License-Identifier: GPL-2.0-only
"""Lets the tests read the lab's output with helpers of the tests of the running kernel."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "native"))
