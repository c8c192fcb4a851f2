# SPDX-License-Identifier: GPL-2.0-only
"""
What the lab leaves is read with what the tests of the running kernel have for that. Each process of pytest-xdist has a
core for its guests: see emulator.py for why.
"""
import os
import pathlib
import sys

import emulator

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "native"))

if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    cores = sorted(os.sched_getaffinity(0))
    emulator.default_core = cores[int(worker.removeprefix("gw")) % len(cores)]
