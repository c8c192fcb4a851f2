# SPDX-License-Identifier: GPL-2.0-only
"""Guests of all labs share the cores of the host evenly."""
import os
import pathlib
import subprocess
import sys

import pytest

from vm import cores
from vm.kernels import LabError

HOLD = "import sys; sys.path.insert(0, sys.argv[1]); from vm import cores; print(cores.take()[0], flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "FOLDER", tmp_path / "cores")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 2})
    return tmp_path


def test_spread_evenly():
    taken = [cores.take() for _ in range(5)]
    assert [core for core, _ in taken] == [2, 4, 2, 4, 2]
    for gone in (3, 1):
        taken[gone][1].close()
    assert [cores.take()[0], cores.take()[0]] == [4, 4]  # nobody holds them, so both get the first place


def test_a_place_is_free_again():
    _, place = cores.take()
    core, other = cores.take()
    assert core == 4
    place.close()
    core, again = cores.take()
    assert core == 2
    other.close()
    again.close()


def test_a_lab_that_is_killed_holds_nothing(cache):
    allowed = subprocess.check_output([sys.executable, "-c", "import os; print(min(os.sched_getaffinity(0)))"], text=True)
    env = {**os.environ, "BBR_LAB_CACHE": str(cache)}
    lab = pathlib.Path(cores.__file__).parents[1]

    def holder():
        process = subprocess.Popen([sys.executable, "-c", HOLD, lab], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return process, process.stdout.readline()
    for _ in range(2):
        process, core = holder()
        assert core == allowed
        process.kill()
        process.communicate()


def test_a_cache_that_cannot_be_used_is_reported(monkeypatch, cache):
    (cache / "file").touch()
    monkeypatch.setattr(cores, "FOLDER", cache / "file")
    with pytest.raises(LabError, match="BBR_LAB_CACHE"):
        cores.take()
