# SPDX-License-Identifier: GPL-2.0-only
"""The oracle's scenarios and the driver that records them."""
import json
import pathlib
import subprocess

import recording
import scenario

HERE = pathlib.Path(__file__).resolve().parent
TWO_POINTS = """
title = "two points"
duration = "1s"
[link]
rate = "5mbit"
queue = 50
[path]
delay = "20ms"
[[flow]]
count = 2
[sweep]
"path.loss" = ["0%", "2%"]
"""


def oracle(*words):
    return subprocess.run([HERE / "oracle", *words], capture_output=True, text=True, check=False,
                          timeout=600)


def test_all_scenarios_can_be_recorded():
    """Those of the lab, too; and no name is that of another."""
    assert len(recording.names()) >= 30
    assert not set(recording.names()) & set(scenario.all_names())
    for name in [*recording.names(), *scenario.all_names()]:
        runs = list(recording.runs_of(recording.load(name), "6.12", seeds=2))
        assert runs, name
        for run in runs:
            assert "tcp_bbr" in recording.modules(run)
            assert recording.script(run).count("end_point\n") >= len(run.points)


def test_only_parameters_of_bpf_bbr_make_no_other_recording():
    for name in recording.names():
        found = recording.load(name)
        recorded = sum(len(run.points) for run in recording.runs_of(found, "6.12", seeds=1))
        assert recorded == len(list(found.points())), name
    (run,) = recording.runs_of(recording.load("acks"), "6.12", seeds=1)
    assert len(run.points) == 1


def test_points_share_a_guest_and_the_recording_is_complete(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(TWO_POINTS)
    done = oracle("replay", str(file), "--kernels", "6.12", "-j")
    assert done.returncode == 0, done.stdout + done.stderr
    (facts,) = json.loads(done.stdout)
    assert facts["points"] == ["loss=0%", "loss=2%"] and facts["different"] == 0
    assert facts["calls"]["init"] == 4
    assert facts["recorded"] == facts["called"] == sum(facts["calls"].values())
    again = oracle("record", str(file), "--kernels", "6.12", "-j")
    assert "1 of them from the cache" in again.stderr
    assert json.loads(again.stdout)[0]["file"] == facts["file"]


def test_a_kernel_without_modules_is_told():
    done = oracle("record", "fig4", "--kernels", "7.0")
    assert done.returncode == 1 and "has no modules" in done.stderr
