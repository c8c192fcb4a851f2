# SPDX-License-Identifier: GPL-2.0-only
"""The oracle's scenarios and the driver that records them."""
import json
import pathlib
import subprocess

import recording
from runs import scenario

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
    """Those of the lab, too; and all names are different."""
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
    """On the oldest and the newest kernel: recorded again, and replayed natively and as BPF."""
    file = tmp_path / "two.toml"
    file.write_text(TWO_POINTS)
    done = oracle("replay", str(file), "--kernels", "6.1,7.3", "--fresh", "-j")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert [facts["release"].partition("-")[0][:4] for facts in found] == ["6.1.", "7.3."]
    for facts in found:
        assert facts["points"] == ["loss=0%", "loss=2%"] and facts["different"] == 0
        assert facts["calls"]["init"] == 4 and facts["calls"]["cong_control"] > 500
        assert facts["recorded"] == facts["called"] == sum(facts["calls"].values())
    again = oracle("record", str(file), "--kernels", "6.1,7.3", "-j")
    assert "2 of them from the cache" in again.stderr
    assert [facts["file"] for facts in json.loads(again.stdout)] == [facts["file"] for facts in found]


def test_a_kernel_without_modules_is_reported():
    done = oracle("record", "fig4", "--kernels", "7.0")
    assert done.returncode == 1 and "has no modules" in done.stderr
