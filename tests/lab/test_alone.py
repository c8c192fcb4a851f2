# SPDX-License-Identifier: GPL-2.0-only
"""The lab without the rest of the project: what `make install-lab` installs."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SCENARIO = """
title = "alone"
duration = "1s"
sample = "50ms"

[link]
rate = "10mbit"
queue = 100

[path]
delay = "20ms"
"""


@pytest.fixture(scope="module", name="alone")
def _alone(tmp_path_factory):
    """The installed lab, and a folder with a scenario and an object of somebody else."""
    folder = tmp_path_factory.mktemp("alone")
    make = ["make", "-s", "-C", ROOT, f"DESTDIR={folder}", "PREFIX=/usr"]
    subprocess.run([*make, "install-lab"], check=True, stdin=subprocess.DEVNULL)
    (folder / "mine.toml").write_text(SCENARIO)
    (folder / "mine.bpf.o").write_bytes((ROOT / "build/bpf_bbr.bpf.o").read_bytes())
    yield folder
    subprocess.run([*make, "uninstall-lab"], check=True, stdin=subprocess.DEVNULL)
    assert not [file for file in (folder / "usr").rglob("*") if file.is_file() or file.is_symlink()]


def lab(folder, *args):
    return subprocess.run([folder / "usr/bin/bbr-lab", *args], cwd=folder, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def test_it_compares_the_kernels_and_an_object(alone):
    assert not list(alone.rglob("bbrctl")) and not list(alone.rglob("bbrmon"))
    done = lab(alone, "run", "mine.toml", "--cc", "cubic,reno,mine.bpf.o", "--seeds", "1", "-j", "--out", "runs")
    assert done.returncode == 0, done.stderr
    found = {pathlib.Path(one["cc"]).name: one["figures"] for one in json.loads(done.stdout)}
    assert set(found) == {"cubic", "reno", "mine.bpf.o"}
    assert all(figures["goodput_bps"]["median"] > 1e6 for figures in found.values())
    done = lab(alone, "report", "runs")
    assert done.returncode == 0, done.stderr
    assert "mine.bpf.o" in (alone / "runs/report.html").read_text()


def test_what_is_not_there_is_named(alone):
    done = lab(alone, "run", "fig5")
    assert done.returncode == 1
    assert done.stderr == "lab: bpf_bbr is not built: make tests. Or name others with --cc, such as cubic,bbr,FILE.bpf.o\n"
    done = lab(alone, "matrix", "6.12")
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "lab: the matrix is a test of the project, which this lab has been installed without\n"
