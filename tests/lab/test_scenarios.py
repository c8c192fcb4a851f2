# SPDX-License-Identifier: GPL-2.0-only
"""The quick experiments of the documents: the documents' claims hold, and bpf_bbr performs as the kernel's
bbr does. `make lab` and `make lab-long` run more experiments, over several seeds."""
import functools

import pytest

import claims
from claims import suite
from claims.results import BBRS
from runs import compare, pool, scenario

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
