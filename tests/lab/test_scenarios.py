# SPDX-License-Identifier: GPL-2.0-only
"""The quick experiments of the documents: the documents' claims hold, and bpf_bbr performs as the kernel's
bbr does. `make lab` and `make lab-long` run more experiments, over several seeds."""
import dataclasses
import functools
import json
import statistics
import subprocess

import pytest

import claims
from claims import suite
from claims.results import BBRS
from runs import compare, experiment, pool, scenario

KERNEL = "6.12"
CCS = ["bpf_bbr", "bbr", "cubic"]
NAMES = suite.names("check")


@functools.cache
def results(name):
    found = scenario.load(name)
    runs = list(suite.runs_of(found, CCS, KERNEL, seeds=1))
    pool.execute_all(runs)
    return suite.results(found, runs)


@pytest.mark.parametrize("name, check", [(name, check) for name in NAMES
                                         for check in claims.CHECKS[name]],
                         ids=lambda value: getattr(value, "__name__", value))
def test_claim(name, check):
    holds, measured = check(results(name))
    assert holds, measured


@pytest.mark.parametrize("name", NAMES)
def test_same_goodput_as_the_kernels_bbr(name):
    found = results(name)
    for label, point in found.points.items():
        if point.params:
            continue
        ours, kernels = (compare.over_seeds(found.of(cc, label))["goodput_bps"]["median"] for cc in BBRS)
        assert ours == pytest.approx(kernels, rel=compare.TOLERANCE["goodput_bps"])


@pytest.mark.parametrize("name", NAMES)
def test_what_arrived_is_what_was_sent(name):
    found = results(name)
    for label in found.points:
        for result in found.of("bpf_bbr", label):
            assert result["wrong_bytes"] == 0 and result["received_bytes"] > 0


def test_a_documents_claims_and_scenarios_have_one_name():
    of_name = {name: file.stem for file in scenario.FOLDER.glob("*.toml") for name in scenario.family(file)}
    for name, checks in claims.CHECKS.items():
        assert {check.__module__ for check in checks} == {f"claims.{of_name[name]}"}, name


def test_every_scenario_of_the_literature_has_a_claim():
    of_our_own = {name for name in scenario.all_names() if name.startswith("profile-")}
    assert set(claims.CHECKS) == set(scenario.all_names()) - of_our_own


# ---- an application that sends in chunks: what is sent between two pauses shows that the pipe is full

CHUNKS = '''
title = "an application that sends chunks of two flights"
duration = "4s"
measure_from = "2s"
link.rate = "20mbit"
link.queue = 500
path.delay = "40ms"
flow = [{pattern = ["bytes:330K", "pause:300ms"], repeat = 100}]
'''


def test_before_6_4_chunks_leave_startup(tmp_path):
    """There BBR itself must know what it sent between two marks. As long as nothing counts, v3 stays in STARTUP, and its queue
    doubles the RTT (84 ms)."""
    file = tmp_path / "chunks.toml"
    file.write_text(CHUNKS)
    found = scenario.load(file)
    runs = list(suite.runs_of(found, ["bpf_bbr3"], "6.1", seeds=1))
    pool.execute_all(runs)
    assert compare.over_seeds(suite.results(found, runs).of("bpf_bbr3"))["rtt_us"]["median"] < 50_000


# ---- a sender that gets a share of its CPU: BBR collapses as the document says, and cpu_gain mends it

SHARE_SEEDS = 8
LEAST_OF_CUBIC = 0.7  # of what CUBIC gets with all of its CPU: of 24 seeds the median is 0.87, a third is at 0.78
LEAST_WITH_GAIN = 0.8  # of CUBIC's goodput


@functools.cache
def goodput(name, cc, share):
    """The median: what a flow gets depends on where in a period of the CPU it starts, which the seed decides."""
    found = scenario.load(name, [("sender.cpu", share), ("duration", "3s")])
    runs = list(suite.runs_of(found, [cc], KERNEL, seeds=1 if share == "100%" else SHARE_SEEDS))
    pool.execute_all(runs)
    results = list(suite.results(found, runs).of(cc))
    assert all(result["wrong_bytes"] == 0 for result in results)
    return statistics.median(result["goodput_bps"] for result in results)


def test_cubic_keeps_most():
    assert goodput("robust", "cubic", "35%") > LEAST_OF_CUBIC * goodput("robust", "cubic", "100%")


@pytest.mark.parametrize("cc", ("bpf_bbr", "bpf_bbr3"))
def test_cpu_gain_mends_what_collapses(cc):
    assert goodput("robust", cc, "35%") < 0.25 * goodput("robust", "cubic", "35%")
    assert goodput("robust-gain", cc, "35%") > LEAST_WITH_GAIN * goodput("robust", "cubic", "35%")


@pytest.mark.parametrize("cc", ("bpf_bbr", "bpf_bbr3"))
def test_a_shortage_of_cpu_is_shown(cc, tmp_path):
    """In events and as a metric; not on a sender that has all of its CPU."""
    recording = tmp_path / "recording"
    for share in ("35%", "100%"):
        found = scenario.load("robust-gain", [("sender.cpu", share), ("duration", "3s")])
        (run,) = suite.runs_of(found, [cc], KERNEL, seeds=1)
        recording.write_bytes(experiment.execute(dataclasses.replace(run, recorded=True))["recording"])
        events = [json.loads(line) for line in read("stream", "-j", recording)]
        behind = {event.get("behind") for event in events if event.get("event") == "ack"}
        (total,) = [float(line.split()[1]) for line in read("export", recording) if line.startswith("bbr_cpu_shortages_total{")]
        assert ("cpu" in behind, total > 0) == (share == "35%",) * 2, (share, behind, total)


def read(verb, *args):
    """The lines that bbrmon prints of a recording."""
    *options, file = args
    return subprocess.run([experiment.MONITOR, verb, *options, "--read", file], check=True, capture_output=True, text=True).stdout.splitlines()
