# SPDX-License-Identifier: GPL-2.0-only
"""The lab as a tool: scenario files, figures, command line, being stopped."""
import dataclasses
import json
import math
import operator
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import threading
import time
from xml.etree import ElementTree

import pytest

import claims
from claims import suite
from claims.results import Results
from cost import compilers
from report import plots
from tool import data_of
from runs import compare, experiment, metrics, pool, scenario, tables
from studies import matrix, power
from vm import emulator, guest, kernels
from vm.kernels import LabError

LAB = pathlib.Path(__file__).parents[2] / "lab/lab"
SMALL = """
title = "small"
duration = "2s"
measure_from = "500ms"
stream = "round"
[link]
rate = "5mbit"
queue = 50
[path]
delay = "20ms"
"""


@pytest.fixture
def small(tmp_path):
    def write(extra=""):
        file = tmp_path / "small.toml"
        file.write_text(SMALL + extra)
        return str(file)
    return write


def lab(*words):
    return subprocess.run([LAB, *words], capture_output=True, text=True, check=False,
                          timeout=600)


# Scenario files


def test_units(small):
    (point,) = scenario.load(small(), [("policer.burst", "64k"), ("path.loss", "0.1%")]).points()
    assert point["duration"] == 2000000 and point["link.rate"] == 5000000
    assert point["path.delay"] == 20000 and point["policer.burst"] == 65536
    assert point["path.loss"] == pytest.approx(0.001)


@pytest.mark.parametrize("extra, settings, words", [
    ("", [("link.speed", "1mbit")], "link.speed: no such key; there are title"),
    ("", [("link.rate", "10")], "link.rate: '10' is not a rate such as 10mbit"),
    ("", [("path.delay", "fast")], "path.delay: 'fast' is not a time such as 40ms"),
    ("", [("path.loss", "0.1")], "path.loss: '0.1' is not a share such as 1%"),
    ("", [("link.queue", "0")], "link.queue: '0' is not a whole number"),
    ("", [("measure_from", "2s")], "measure_from: is not before the end"),
    ("", [("cc", "")], "is not a list of congestion controls"),
    ("[[flow]]\nrate = '1mbit'\n", [], "flow.rate: no such key; a flow has start"),
    ("[[flow]]\npattern = ['send']\n", [], "flow 0: pattern: 'send' is not a step"),
    ("[[flow]]\nstart = '3s'\n", [], "flow 0: start: is not before the end"),
    ("[[change]]\nlink.rate = '1mbit'\n", [], "change: at, the time of the change, is missing"),
    ("[[change]]\nat = '1s'\nlink.ecn = '1ms'\n", [], "change.link.ecn: cannot change"),
    ("", [("path.mtu", "68")], "path.mtu: '68' is not from 88 to 65535"),
    ("", [("sender.qdisc", "htb")], "sender.qdisc: 'htb' is none of fq, fq_codel, none"),
    ("[[flow]]\npattern = ['cc:a b']\n", [], "flow 0: pattern: 'a b' is not a name"),
    ("[sweep]\n'link.queue' = 5\n", [], "sweep.link.queue: is not a list"),
    ("[sweep]\n'link.queue' = [5, 'x']\n", [], "link.queue: 'x' is not a whole number"),
    ("x = ", [], "Invalid value"),
])
def test_a_bad_scenario_is_refused_with_a_reason(small, extra, settings, words):
    with pytest.raises(LabError) as error:
        scenario.load(small(extra), settings)
    assert words in str(error.value) and "scenario small: " in str(error.value)


def test_a_sweep_has_every_combination(small):
    found = scenario.load(small("[sweep]\n'link.queue' = [5, 50]\n'path.loss' = ['0%', '1%']\n"))
    assert [point.label for point in found.points()] == [
        "queue=5 loss=0%", "queue=5 loss=1%", "queue=50 loss=0%", "queue=50 loss=1%"]
    fixed = scenario.load(small("[sweep]\n'link.queue' = [5, 50]\n"), [("link.queue", "7")])
    assert [point["link.queue"] for point in fixed.points()] == [7]


def test_parameters_of_bpf_bbr_are_run_with_it_only(small):
    found = scenario.load(small("[sweep]\n'bpf_bbr.cwnd_gain' = ['default', '3']\n"))
    runs = list(suite.runs_of(found, ["bpf_bbr", "bbr"], "6.12", 1))
    assert [(run.point.params, run.cc) for run in runs] == [
        ({}, "bpf_bbr"), ({}, "bbr"), ({"bpf_bbr": {"cwnd_gain": "3"}}, "bpf_bbr")]


def test_all_scenarios_can_be_read():
    assert len(scenario.all_names()) >= 20
    for name in scenario.all_names():
        assert scenario.load(name).title


def test_a_name_belongs_to_one_scenario():
    names = [name for file in scenario.FOLDER.glob("*.toml") for name in scenario.family(file)]
    assert sorted(names) == sorted(scenario.all_names())


def test_the_list_of_keys_is_complete():
    text = (scenario.FOLDER / "README.md").read_text()
    for key in (*scenario.KEYS, *scenario.FLOW_KEYS, *scenario.STEPS):
        assert f"`{key}`" in text or f"`{key}:" in text, key


# Figures


def test_jain():
    assert metrics.jain([5, 5, 5]) == pytest.approx(1)
    assert metrics.jain([1, 0, 0, 0]) == pytest.approx(0.25)
    assert metrics.jain([0, 0]) is None


def test_percentile():
    assert metrics.percentile([3, 1, 2], 50) == 2
    assert metrics.percentile(range(1, 101), 95) == 95
    assert metrics.percentile([7], 95) == 7
    assert metrics.percentile([], 50) is None


def test_probe_rtt_times():
    changes = [(1, 0, 1), (2, 0, 2), (5, 0, 3), (7, 0, 2), (9, 0, 3)]
    assert metrics.probe_rtt_times(changes, 20) == [[5, 7], [9, 20]]
    assert metrics.probe_rtt_times([], 20) == []


def test_a_recording_that_lost_something_is_refused():
    with pytest.raises(LabError, match="lost 3 ACKs"):
        metrics.read_recording('["end",10,3]\n')
    with pytest.raises(LabError, match="cut off"):
        metrics.read_recording('["mode",1,0,1]\n')


def test_a_difference_has_a_probability_and_an_interval():
    same = compare.difference([100, 101, 99, 100, 102, 98], [101, 99, 100, 100, 98, 102])
    assert same.ratio == pytest.approx(1) and same.low < 1 < same.high and same.probability > 0.5
    assert same.verdict(0.02) == "same"
    other = compare.difference([110, 111, 109, 110, 112, 108], [101, 99, 100, 100, 98, 102])
    assert other.ratio == pytest.approx(1.1) and other.low > 1.05 and other.probability < 0.05
    assert other.verdict(0.02) == "differs" and other.verdict(0.2) == "same"
    assert other.verdict(0.105) == "unknown"


def test_too_few_seeds_are_no_verdict():
    """Retransmits of fig8: near 650, 1300 or 1900 in each run."""
    found = compare.difference([650, 1900, 1300], [1300, 650, 650])
    assert found.probability > 0.05 and found.verdict(0.1) == "unknown" and found.visible > 1
    assert compare.difference([1], [2]) is None
    assert compare.difference([0, 0], [0, 0]).verdict(0.02) == "same"
    assert compare.difference([5, 5], [0, 0]) is None


def test_the_same_thing_is_rarely_called_different():
    """Of samples of one distribution, 5 % are, within what chance allows in 200 comparisons."""
    source = random.Random(1)
    draws = ([[source.gauss(100, 10) for _ in range(8)] for _ in range(2)] for _ in range(200))
    assert 3 <= sum(compare.difference(*two).probability < 0.05 for two in draws) <= 20


PAIRS = [1340, 903, 687, 1958, 533, 1263], [1341, 902, 690, 1960, 533, 1262]  # retransmits: six seeds of two runs each


def test_runs_of_the_same_seeds_are_compared_as_pairs():
    """What differs between seeds is in both of a pair, so much less of a difference would be seen."""
    pairs, apart = (compare.difference(*PAIRS, paired=paired) for paired in (True, False))
    assert pairs.means.ratio == apart.ratio
    assert apart.verdict(0.1) == "unknown" and apart.visible > 0.5
    assert pairs.verdict(0.1) == "same" and pairs.visible < 0.01
    more = compare.difference([value * 1.2 for value in PAIRS[0]], PAIRS[1], paired=True)
    assert more.probability < 0.05 and more.verdict(0.1) == "differs"


# Scores of depression of nine patients before and after a drug (Hollander and Wolfe, example 3.1).
DEPRESSION = [a - b for a, b in (
    (1.83, 0.878), (0.50, 0.647), (1.62, 0.598), (2.48, 2.05), (1.68, 1.06), (1.88, 1.29), (1.55, 1.06),
    (3.06, 3.14), (1.30, 1.29))]


def test_signed_ranks_of_a_known_example():
    """The ranks' sum is 40 of 45, p 0.0391, the estimate 0.46, and its interval 0.010 to 0.786."""
    ranks = compare.signed_ranks(DEPRESSION)
    assert sum(rank for rank in ranks if rank > 0) == 40 and sum(map(abs, ranks)) == 45
    (probability,), limit = compare.by_random_signs(ranks)
    assert probability == pytest.approx(0.0391, abs=0.01) and 1.8 < limit < 2.1
    averages, beyond = compare.averages(DEPRESSION), compare.beyond(9)
    assert statistics.median(averages) == pytest.approx(0.46)
    assert (averages[beyond], averages[-1 - beyond]) == pytest.approx((0.010, 0.786))


def test_the_interval_of_signed_ranks_is_that_of_the_tables():
    """The critical values of Wilcoxon's test, two-sided, 5 %."""
    values = {5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 15: 25, 20: 52, 25: 89}
    assert {count: compare.beyond(count) for count in values} == values


def test_equal_pairs_have_a_rank_but_no_sign():
    assert compare.signed_ranks([0, -1, 0, 3, 1, -2]) == [0, -3.5, 0, 6, 3.5, -5]
    assert compare.by_random_signs([0, 0, 0]) == ([1], 0)


def test_of_six_pairs_all_must_differ_alike():
    assert compare.difference([11, 12, 13, 14, 15, 16], [10] * 6, paired=True).probability < 0.05
    assert compare.difference([11, 12, 13, 14, 15, 9], [10] * 6, paired=True).probability > 0.05


def seeds_with_losses(source, count, equal=0.55, factor=1.0):
    """Retransmits like those of fig8: this share of the pairs is nearly equal, and each third of
    these to the digit. The others part at some packet."""
    def ratio():
        if source.random() < equal:
            return source.choice((1, 1.002, 0.998))
        return math.exp(source.gauss(0, 0.6))
    kernels = [round(source.choice((650, 1300, 1900)) * source.uniform(0.8, 1.2))
               for _ in range(count)]
    return [round(value * factor * ratio()) for value in kernels], kernels


def chances(ours, kernels):
    """(p of the ranks, p of the means)"""
    ranks = compare.signed_ranks(compare.log_ratios(ours, kernels))
    return compare.by_random_signs(ranks, list(map(operator.sub, ours, kernels)))[0]


@pytest.mark.parametrize("equal", [0.55, 0.9])
def test_pairs_that_part_are_rarely_called_different(equal):
    """Of pairs of one thing 5 % are, by ranks and means together, within what chance allows in 200
    comparisons; fewer if most are equal to the digit."""
    source = random.Random(1)
    found = sum(min(chances(*seeds_with_losses(source, 12, equal))) < 0.05 for _ in range(200))
    assert (3 if equal < 0.9 else 0) <= found <= 20


def test_signed_ranks_see_more_than_means():
    """Of 60 pairs with 6 % more, signed ranks see two of three, and means not half."""
    source = random.Random(2)
    found = [chances(*seeds_with_losses(source, 60, factor=1.06)) for _ in range(60)]
    by_ranks, by_means = (sum(row[n] < 0.05 for row in found) for n in range(2))
    assert by_ranks >= 36 and by_means <= 30


def test_what_a_comparison_sees_it_does_see():
    source = random.Random(3)
    visible = compare.difference(*seeds_with_losses(source, 40), paired=True).visible
    assert 0.1 < visible < 0.4
    found = [chances(*seeds_with_losses(source, 40, factor=1 + visible))[0] for _ in range(40)]
    assert sum(each < 0.05 for each in found) >= 34


def test_equal_pairs_do_not_hide_those_that_differ():
    """The typical one of 40 pairs is equal. If the ten others all differ alike, the means say so.
    If they are far apart in both directions, too little is seen to say same."""
    kernels = [1000 + n for n in range(40)]
    more = [*kernels[:30], *(value * 1.5 for value in kernels[30:])]
    found = compare.difference(more, kernels, paired=True)
    assert found.ratio == found.low == 1
    assert found.only_means_differ(0.1) and found.verdict(0.1) == "differs"
    assert found.means.ratio == pytest.approx(1.125, abs=0.002) and found.means.probability < 0.05
    words, differs = tables.verdict_of("retransmits", found)
    assert words.startswith("retransmits 1.000 [1.000..") and differs
    assert " differs (means 1.127 [1." in words
    apart = [*kernels[:30], *(value * (2 if value % 2 else 0.5) for value in kernels[30:])]
    found = compare.difference(apart, kernels, paired=True)
    assert found.probability > 0.5 and found.ratio == 1 and not found.only_means_differ(0.1)
    assert found.low == found.high == 1 and found.visible > 0.2 and found.verdict(0.1) == "unknown"


def test_a_pair_that_parts_does_not_move_the_typical_one():
    kernels = [1000 + n for n in range(12)]
    found = compare.difference([*kernels[:11], 10 * kernels[11]], kernels, paired=True)
    assert found.ratio == 1 and found.means.ratio > 1.7 and found.probability == 1


def test_pairs_without_retransmits():
    none = [0] * 6
    assert compare.difference(none, none, paired=True).verdict(0.1) == "same"
    some = compare.difference([3] * 6, none, paired=True)
    assert some.means is None and some.verdict(0.1) == "differs"
    one = compare.difference([0] * 9 + [1], [0] * 10, paired=True)
    assert one.ratio == 1 and one.probability == 1 and one.verdict(0.1) == "unknown"
    one = compare.difference([0] * 39 + [1], [0] * 40, paired=True)
    assert one.ratio == one.high == 1 and one.probability == 1 and one.verdict(0.1) == "same"
    assert compare.difference([0, 0], [0, 0], paired=True).verdict(0.1) == "same"
    assert compare.difference([5, 5], [0, 0], paired=True) is None


def test_pairs_of_the_same_thing_are_rarely_called_different():
    source = random.Random(1)
    found = 0
    for _ in range(200):
        seeds = [source.gauss(1000, 300) for _ in range(8)]
        ours, its = ([seed + source.gauss(0, 10) for seed in seeds] for _ in range(2))
        found += min(chances(ours, its)) < 0.05
    assert 3 <= found <= 20


def test_power_of_pairs(monkeypatch):
    """More pairs see more, more than the means, and a difference of few pairs is seen the least."""
    source = random.Random(5)
    ours, its = seeds_with_losses(source, 60, 0.75)
    figures = {cc: {key: {"values": values, "seeds": list(range(60))} for key in compare.TOLERANCE}
               for cc, values in (("bpf_bbr", ours), ("bbr", its))}
    found = [{"scenario": "fig8", "point": "", "cc": cc, "figures": figures[cc]} for cc in figures]
    (point, key, pairs), *others = power.pairs_of(found)
    assert (point, key, len(others)) == ("fig8", "goodput_bps", 2) and pairs == list(zip(ours, its))
    monkeypatch.setattr(power, "DRAWS", 60)
    rows = power.rows(key, pairs)
    few, _, many = ([float(cell.rstrip(" %-") or 300) for cell in row[3:]] for row in rows)
    assert few[0] <= 13 and many[0] <= 13  # of 60 draws no more than 8 have a p below 0.05
    assert few[1] > many[1] and many[1] < many[2] / 2 and many[3] > many[1]


@pytest.mark.parametrize("text, words", [
    ("x", "is not what lab run"), ("7", "is not what lab run"), ('[{"scenario": "a"}]', "is not what lab run"),
    ('[{"scenario": "a", "point": "", "cc": "bbr", "figures": {}}]', "is not what lab run"), ("[]", "has no pairs")])
def test_power_of_anything_else(tmp_path, text, words):
    (tmp_path / "file").write_text(text)
    done = lab("power", tmp_path / "file")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and words in done.stderr


def test_five_pairs_alone_do_not_make_a_difference():
    """If all five differ alike, chance does that in 2 of 32."""
    assert compare.difference([11, 21, 31, 41, 51], [10, 20, 30, 40, 50], paired=True).probability > 0.05


def test_seeds_can_begin_anywhere():
    runs = suite.runs_of(scenario.load("fig5"), ["bpf_bbr", "bbr"], "6.12", 3, first=11)
    assert [run.seed for run in runs] == [11, 12, 13, 11, 12, 13]


def test_pairs_are_of_one_seed():
    ours, its = ({key: {"values": values, "seeds": seeds} for key in compare.TOLERANCE}
                 for values, seeds in (([5, 100, 200], [9, 1, 2]), ([200, 100, 7], [2, 1, 3])))
    found = compare.against(ours, its)["goodput_bps"]
    assert found.ratio == 1 and found.visible == 0  # of seeds 1 and 2
    other = {key: {"values": [100, 101, 99], "seeds": [4, 5, 6]} for key in compare.TOLERANCE}
    assert compare.against(ours, other)["goodput_bps"].ratio == pytest.approx(305 / 300)


def samples(*goodputs):
    """What over_seeds() returns for runs with these rates."""
    return {key: {"values": list(goodputs), "seeds": list(range(len(goodputs)))} for key in compare.TOLERANCE}


def test_many_seeds_are_compared_with_themselves():
    """A difference between the halves is chance, and does not count as one of the algorithm."""
    halves = samples(*[100, 101] * 5, *[200, 201] * 5)
    (ours, differs), (itself, counts) = tables.verdict_lines({("", "bpf_bbr"): halves, ("", "bbr"): halves})
    assert ours.startswith("bpf_bbr / bbr: goodput_bps 1.000") and not differs
    assert itself.startswith("bbr / itself, later seeds / earlier ones: goodput_bps 1.995 ") and " differs" in itself
    assert not counts
    few = samples(*range(100, 119))
    assert len(list(tables.verdict_lines({("", "bpf_bbr"): few, ("", "bbr"): few}))) == 1


def test_what_compilers_make_of_it_as_text():
    figures = {"mean": 290.3, "median": 270.5, "ratio": 0.817, "ratio_median": 0.807}
    header, row = compilers.table({19: {name: figures for name in compilers.OBJECTS}}).splitlines()
    assert header.split()[:4] == ["CLANG", "bpf_bbr", "mean", "bpf_bbr"]
    assert row.split() == ["19", *["290.3", "270.5", "0.817", "0.807"] * 2]


def test_a_compiler_that_fails_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(compilers, "_command", lambda version: "false")
    with pytest.raises(LabError, match="clang 16 does not compile it:\n.*Error 1"):
        compilers.objects(16, tmp_path)


# The documents' claims


class Imagined(Results):
    """Runs of any point of a scenario, all alike: a rate, and shares for two flows."""

    def __init__(self, found, rate):
        super().__init__(found.points(), self.imagine)
        self.rate = rate

    def imagine(self, label, cc):
        assert label in self.points, f"{label!r} is no point: {', '.join(self.points)}"
        point = self.points[label]
        assert cc in point["cc"]
        until = point["duration"]
        flow = {"share": 0.5, "rtt_us": {"median": 1000, "p95": 2000}, "retransmits": 10, "probe_rtt_us": [[2e6, 2.2e6]],
                "goodput_bps": self.rate / 2, "acked_bytes": int(self.rate / 2 * until / 8e6)}
        rows = [[t, n, 1, 1000, 1000, 1000, 1000, 1000, 10, 10, 0, 0, int(self.rate / 2 * t / 8e6), 1, 1, 0]
                for t in range(0, until, 100_000) for n in (0, 1)]
        return [{"flows": [flow, flow], "jain": 1.0, "goodput_bps": self.rate, "received_bytes": 10 ** 6, "seed": 1, "cc": cc,
                 "window_us": [0, until], "series": {"flow": rows}}]


@pytest.mark.parametrize("fails, holds, words, expected", [
    ("", True, "holds", True), ("", False, "FAILS", False),
    ("the path is another one", False, "FAILS, as known", True),
    ("the path is another one", True, "holds, although it is known to fail", False)])
def test_a_claim_that_is_known_to_fail_is_no_error_but_one_that_holds_again_is(fails, holds, words, expected):
    def check(_results):
        """what a document says"""
    claims.claim("none", fails)(check)
    try:
        assert claims.verdict(check, holds) == (words, expected)
    finally:
        del claims.CHECKS["none"]


@pytest.mark.parametrize("name", suite.names("long"))
def test_claims_ask_for_points_that_are_there(name):
    """They also report what they measured, whether the claim holds or not."""
    for check in claims.CHECKS.get(name, []):
        for rate in (1e3, 1e9):
            holds, words = check(Imagined(scenario.load(name), rate))
            assert holds in (True, False) and re.search(r"\d|none", words), check.__name__


# The guest's commands


def test_all_values_are_in_the_script(small):
    text = """
[policer]
rate = "2mbit"
[receiver]
buffer = "1M"
[[flow]]
pattern = ["send:500ms", "pause:100ms", "rate:1mbit:200ms", "bytes:10k"]
max_rate = "3mbit"
delay = "30ms"
[[flow]]
udp = "1mbit"
start = "1s"
[[change]]
at = "1s"
link.rate = "1mbit"
"""
    settings = [("path.loss", "1%"), ("path.loss_burst", "4"), ("path.jitter", "2ms"),
                ("path.ack_aggregation", "10ms"), ("path.ack_loss", "5%"), ("path.reorder", "2%")]
    (point,) = scenario.load(small(text), settings).points()
    run = experiment.Run(point, "bpf_bbr", 1, "6.12")
    script = experiment.prepare(run) + experiment.script(run)
    for words in ("make_path 1500 1 fq wan", "tune 1048576 0", "netem rate 5000000bit limit 50",
                  "reorder 2%", "loss gemodel 0.252525% 25%", "delay 20000us 2000us",
                  "loss random 5%", "slot 10000us 10000us", "delay 30000us", "sport 5201",
                  "police rate 2000000bit burst 65536", "at 1000 tc -n rtr qdisc change",
                  "send:500 pause:100 rate:1000:200 bytes:10240", "-m 3000", "-u rate:1000:1000"):
        assert words in script, words


def test_a_rate_beyond_the_guest_is_reported(small):
    def lines(*settings):
        return [*experiment.warnings(scenario.load(small(), settings).points())]
    assert not lines(("link.rate", "423mbit")) and not lines(("link.rate", "2gbit"), ("path.mtu", "9000"))
    assert not lines(("link.rate", "1gbit"), ("path.gso", "44"))
    (line,) = lines(("link.rate", "424mbit"))
    assert "35007 packets a second" in line and "path.mtu" in line


def test_a_guest_passes_the_packets_below_the_warning(small):
    """Those of 9000 bytes, of which it passes fewest, on a link that is faster than its CPU."""
    (point,) = scenario.load(small(), [("link.rate", "5gbit"), ("link.queue", "1000"), ("path.mtu", "9000"),
                                       ("path.delay", "5ms"), ("duration", "1s")]).points()
    result = experiment.execute(experiment.Run(point, "bbr", 1, "6.12"))
    assert experiment.MOST_PACKETS < result["goodput_bps"] / 8 / 8948 < experiment.packets_per_second(point)


@pytest.mark.parametrize("delay, is_large", [("64ms", False), ("65ms", True)])
def test_tcp_has_memory_for_a_large_bdp(small, delay, is_large):
    (point,) = scenario.load(small(), [("link.rate", "1gbit"), ("path.delay", delay)]).points()
    assert ("net.ipv4.tcp_mem" in experiment.script(experiment.Run(point, "bpf_bbr", 1, "6.12"))) == is_large


def test_values_of_the_hosts_are_in_the_script(small):
    text = """
[[flow]]
cc = "reno"
pattern = ["cc:cubic", "bytes:1k", "cc:compared"]
repeat = 2
mss = 500
[[flow]]
connections = 3
[[change]]
at = "1s"
path.ack_loss = "100%"
"""
    settings = [("path.mtu", "576"), ("path.gso", "4"), ("sender.qdisc", "none"),
                ("sender.cwnd_clamp", "7"), ("sysctl.tcp_dsack", "0"), ("uptime", "297s")]
    (point,) = scenario.load(small(text), settings).points()
    run = experiment.Run(point, "bbr", 1, "6.12")
    script = experiment.prepare(run) + experiment.script(run)
    for words in ("make_path 576 4 none", "net.ipv4.tcp_dsack=0", "clamp_cwnd 7",
                  "wait_for_uptime 297", "-C reno -M 500 cc:cubic bytes:1024 cc:bbr cc:cubic",
                  "-C bbr -n 3", "delay 20000us loss random 100%"):
        assert words in script, words
    assert "tcp_bbr" in experiment.modules(run)


def _row_maxima(result, name, flow=0):
    column = result["series"]["columns"]["flow"].index(name)
    return max(row[column] for row in result["series"]["flow"] if row[1] == flow)


def test_the_hosts_on_a_real_path(small):
    """A route's clamp, a small MTU, a smaller MSS, the wrap of jiffies, a change to another cc."""
    text = """
[[flow]]
cc = "cubic"
mss = 400
pattern = ["send:1s", "cc:compared", "send:1s"]
[[flow]]
connections = 20
pattern = ["bytes:3k", "pause:1ms"]
"""
    settings = [("path.mtu", "576"), ("path.gso", "8"), ("sender.qdisc", "none"),
                ("sender.cwnd_clamp", "9"), ("uptime", "299s")]
    (point,) = scenario.load(small(text), settings).points()
    result = experiment.execute(experiment.Run(point, "bbr", 1, "6.12"))
    assert _row_maxima(result, "cwnd") == 9
    assert result["wrong_bytes"] == 0
    # Nine segments of 400 bytes less their timestamps, every 20 ms.
    assert result["flows"][0]["goodput_bps"] == pytest.approx(9 * 388 * 8 / 0.02, rel=0.15)


def test_every_impairment_on_a_real_path(small):
    """tc accepts all of them, and a flow gets through."""
    text = """
[policer]
rate = "4mbit"
[[flow]]
[[flow]]
delay = "30ms"
[[flow]]
udp = "500kbit"
[[change]]
at = "1s"
link.rate = "4mbit"
path.delay = "25ms"
path.loss = "2%"
"""
    settings = [("path.loss", "1%"), ("path.loss_burst", "2"), ("path.jitter", "2ms"),
                ("path.ack_aggregation", "5ms"), ("path.ack_loss", "1%"), ("path.reorder", "1%")]
    (point,) = scenario.load(small(text), settings).points()
    result = experiment.execute(experiment.Run(point, "bpf_bbr", 1, "6.12"))
    assert [flow["flow"] for flow in result["flows"]] == [0, 1]
    assert all(flow["goodput_bps"] > 50000 for flow in result["flows"])
    assert result["wrong_bytes"] == 0 and result["link"]["lost"] > 0


def test_ecn_marks_and_does_not_drop(small):
    (point,) = scenario.load(small(), [("link.ecn", "5ms"), ("link.queue", "500")]).points()
    result = experiment.execute(experiment.Run(point, "cubic", 1, "6.12"))
    (flow,) = result["flows"]
    assert flow["retransmits"] == 0 and result["link"]["drops"] == 0
    assert flow["rtt_us"]["median"] < 40000  # without the marks it is some 400 ms


@pytest.mark.parametrize("cc", ["bpf_bbr3_ecn", "dctcp"])
def test_who_negotiates_ecn_finds_a_receiver_that_does_so_too(small, cc):
    settings = [("link.rate", "20mbit"), ("link.ecn", "1ms"), ("link.queue", "500"), ("path.delay", "1ms"), ("measure_from", "1s")]
    (point,) = scenario.load(small(), settings).points()
    (flow,) = experiment.execute(experiment.Run(point, cc, 1, "6.12"))["flows"]
    assert flow["rtt_us"]["median"] < 5000 and not flow["retransmits"]  # without the marks it is over 40 ms


def test_each_flow_has_a_receiver_of_its_own(small):
    """A flow that negotiates ECN beside one that does not: only its own receiver has its congestion control."""
    (point,) = scenario.load(small("[[flow]]\ncc = 'cubic'\n[[flow]]\n[[flow]]\ncc = 'dctcp'\n")).points()
    assert "\nserve 3 '' bpf_bbr3_ecn dctcp ||" in experiment.script(experiment.Run(point, "bpf_bbr3_ecn", 1, "6.12"))
    assert "\nserve 3 '' '' dctcp ||" in experiment.script(experiment.Run(point, "reno", 1, "6.12"))
    (point,) = scenario.load(small("[[flow]]\ncc = 'cubic'\n[[flow]]\n")).points()
    assert "\nserve 2 ||" in experiment.script(experiment.Run(point, "reno", 1, "6.12"))


# Like with like


def test_every_run_of_a_comparison_has_the_same_programs(small):
    """A program that watches one algorithm watches the others as well: on one CPU it takes its time from the flow."""
    found = scenario.load(small())
    ccs = ["bpf_bbr", "cubic", "bbr"]
    runs = [dataclasses.replace(run, recorded=True) for run in suite.runs_of(found, ccs, "6.12", 1)]
    results = {}
    pool.execute_all(runs[:2], lambda run, result: results.setdefault(run.cc, result))
    assert results["bpf_bbr"]["processes"] == results["cubic"]["processes"]
    assert results["cubic"]["processes"].count("bbrmon") == 2
    scripts = {experiment.script(run).replace(f"-C {run.cc} ", "-C X ") for run in runs}
    assert len(scripts) == len({experiment.prepare(run) for run in runs}) == len({tuple(experiment.modules(run)) for run in runs}) == 1


def test_an_object_of_ones_own(small, tmp_path):
    """bpftool registers it under its own name; our parameters do not reach it."""
    shutil.copy(experiment.BUILD / "toy" / "bpf_toy.bpf.o", tmp_path / "mine.bpf.o")
    done = lab("run", small(), "--set", "path.delay=100ms", "--cc", f"{tmp_path}/mine.bpf.o,bpf_bbr3", "-j")
    assert done.returncode == 0, done.stderr
    toy, bbr3 = json.loads(done.stdout)
    assert toy["cc"].endswith("/mine.bpf.o") and bbr3["cc"] == "bpf_bbr3"
    # The toy's window is ten packets, whatever the path does; each adds its own time at the bottleneck to the RTT.
    assert toy["figures"]["goodput_bps"]["median"] == pytest.approx(10 * 1448 * 8 / 0.103, rel=0.05)
    assert bbr3["figures"]["goodput_bps"]["median"] > 2 * toy["figures"]["goodput_bps"]["median"]
    done = lab("run", small(), "--cc", f"{experiment.BUILD}/bbr3_estimates.bpf.o,bpf_bbr3", "-j")
    assert done.returncode == 0, done.stderr
    estimates, bbr3 = (answer["figures"]["goodput_bps"]["median"] for answer in json.loads(done.stdout))
    assert estimates == pytest.approx(bbr3, rel=0.05)  # this kernel knows no flights, so both estimate them
    done = lab("run", small(), "--cc", f"{tmp_path}/other.bpf.o")
    assert done.returncode == 2 and "other.bpf.o' is not there" in done.stderr


@pytest.mark.parametrize("cc", ["bpf_bbr", "bpf_bbr3"])
def test_the_recorder_knows_each_ones_mode(small, cc):
    """The modes that it reads at each ACK are those that bbrmon reports, a PROBE_RTT among them."""
    file = scenario.load(small(), [("duration", "12s"), ("path.loss", "0.5%"), ("link.rate", "2mbit")])
    (point,) = file.points()
    result = experiment.execute(experiment.Run(point, cc, 1, "6.12"))
    told = [line["mode"] for line in result["bbrmon"] if "mode" in line]
    told = [mode for mode, before in zip(told, [None, *told]) if mode != before]
    modes = ["STARTUP", *(metrics.MODES[mode] for _, _, mode in result["series"]["mode"])]
    assert "PROBE_RTT" in told and modes == told
    assert len(result["flows"][0]["probe_rtt_us"]) == told.count("PROBE_RTT")


# The same again, and being stopped


def test_the_same_run_is_the_same_bytes(small):
    (point,) = scenario.load(small(), [("path.loss", "1%")]).points()
    one, two = (json.dumps(experiment.execute(experiment.Run(point, "bpf_bbr", 1, "6.12"), fresh=True))
                for _ in range(2))
    other = json.dumps(experiment.execute(experiment.Run(point, "bpf_bbr", 2, "6.12")))
    assert one == two != other


def _leftovers(folder):
    """Guests whose files are in a folder, and these files."""
    guests = subprocess.run(["pgrep", "-f", f"qemu-system.*{folder}"], capture_output=True, text=True,
                            check=False).stdout.split()
    return guests, list(folder.glob("bbr-lab-*"))


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_the_middle_it_leaves_nothing(small, sig, tmp_path):
    with subprocess.Popen([LAB, "run", small(), "--set", "duration=600s", "--seeds", "4"],
                          env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE,
                          text=True, process_group=0) as process:
        try:
            deadline = time.monotonic() + 60
            while not _leftovers(tmp_path)[0] and time.monotonic() < deadline:
                time.sleep(0.1)
            assert _leftovers(tmp_path)[0], "no guest came up"
            process.send_signal(sig)
            _, text = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130 and "lab: stopped" in text
    assert _leftovers(tmp_path) == ([], [])


def test_a_signal_that_does_not_wake_it_stops_it_too(small):
    """Python may look for signals just before it begins to wait. Here another thread takes the signal, so that the wait goes on."""
    (point,) = scenario.load(small()).points()

    def execute(_run, _at, _fresh):
        time.sleep(0.5)  # until then the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        assert emulator._cancelled.wait(60)

    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            pool.execute_all([experiment.Run(point, "cubic", 1, "6.12")], execute=execute)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_job_shows_how_much_of_it_is_done(small, capsys):
    runs = list(suite.runs_of(scenario.load(small()), ["cubic"], "6.12", 3))

    def execute(run, on_time, _fresh):
        if run.seed > 1:  # the first is from the cache
            on_time(1.0)

    pool.execute_all(runs, jobs=1, execute=execute)
    second, third, end = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"lab: 2/3 small cubic seed 2: 2 s of virtual time, \d+:\d\d left", second)
    assert third == "lab: 3/3 small cubic seed 3: 2 s of virtual time, 0:00 left"
    assert re.fullmatch(r"lab: 3 runs in \d+:\d\d, 1 of them from the cache", end)


def test_a_job_without_a_cache_shows_it_too(small, capsys):
    runs = list(suite.runs_of(scenario.load(small()), ["cubic"], "6.12", 2))
    pool.execute_all(runs, jobs=1, execute=pool.uncached(lambda run: run.seed))
    first, second, end = capsys.readouterr().err.splitlines()
    assert "1/2 small cubic seed 1:" in first and "2/2 small cubic seed 2:" in second and end.endswith("0 of them from the cache")


def test_what_a_job_would_do(small):
    """lab all -n counts, and runs nothing."""
    found = scenario.load(small())
    first, second, *_ = suite.runs_of(found, ["cubic"], "6.12", 2)
    experiment.execute(first)
    never = dataclasses.replace(second, seed=random.getrandbits(60))
    assert list(experiment.cached([first, never])) == [first]
    done = lab("all", "-n", small("[sweep]\n'link.rate' = ['1mbit', '2mbit', '3mbit']\n"), "--seeds", "2")
    assert done.returncode == 0 and not done.stderr
    runs = 3 * 4 * 2  # points, congestion controls, seeds
    assert re.fullmatch(rf"{runs} runs of {runs * 2} simulated seconds; 0 of them, of 0 s, are in the cache\n", done.stdout)
    done = lab("all", "--dry-run", small(), "--seeds", "1", "--fresh")
    assert done.stdout == "4 runs of 8 simulated seconds; 0 of them, of 0 s, are in the cache\n"


# The command line


def _typed(words, text, timeout_s=180):
    """Runs the lab on its own terminal, and types a text when the first prompt appears."""
    ours, its = pty.openpty()
    with subprocess.Popen([LAB, *words], stdin=its, stdout=its, stderr=its,
                          start_new_session=True) as process:
        os.close(its)
        shown, typed, deadline = b"", False, time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                try:
                    shown += os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
            if not typed and b"# " in shown.partition(b"Leave with exit.")[2]:
                os.write(ours, text.encode())
                typed = True
        if process.poll() is None and time.monotonic() >= deadline:
            process.kill()
    os.close(ours)
    return process.returncode, shown.decode(errors="replace")


def test_shell_is_a_shell_beside_a_path():
    status, shown = _typed(["shell", "fig5"],
                           "tc -n rtr qdisc show dev r1\rbbrctl status\rexit\r")
    assert status == 0, shown
    assert "rate 10Mbit" in shown and "limit 300" in shown
    assert "bpf_bbr" in shown.partition("MAP-ID")[2]


def test_run_prints_figures_and_writes_files(small, tmp_path):
    out = tmp_path / "out"
    done = lab("run", small(), "--cc", "bpf_bbr,bbr", "--seeds", "2", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "bpf_bbr / bbr: goodput_bps" in done.stdout
    files = sorted(file.name for file in out.iterdir())
    assert files == ["small-bbr-seed1.json", "small-bbr-seed2.json",
                     "small-bpf_bbr-seed1.json", "small-bpf_bbr-seed2.json"]
    result = json.loads((out / files[2]).read_text())
    assert set(result["inputs"]) == {"all", "kernel", "initramfs", "qemu"}
    assert result["series"]["flow"] and result["series"]["queue"]
    assert [event for event in result["bbrmon"] if event.get("event") == "ack"]
    again = lab("run", small(), "--cc", "bpf_bbr,bbr", "--seeds", "2", "-j")
    assert "4 of them from the cache" in again.stderr
    groups = json.loads(again.stdout)
    assert [group["cc"] for group in groups] == ["bpf_bbr", "bbr"]
    assert groups[0]["runs"][0]["inputs"] == result["inputs"]

    done = lab("report", str(out))
    assert done.returncode == 0 and done.stdout == f"{out}/report.html\n", done.stderr
    page = (out / "report.html").read_text()
    assert "4 runs on Linux 6.12" in page and "bpf_bbr / bbr: goodput_bps" in page
    pictures = [ElementTree.fromstring(svg) for svg in re.findall("<svg.*?</svg>", page, re.DOTALL)]
    assert len(pictures) == 2  # over time, each seed
    texts = ["".join(text.itertext()).strip() for text in pictures[0].iter("{http://www.w3.org/2000/svg}text")]
    assert {"bpf_bbr", "bbr", "goodput, Mbit/s", "RTT, ms", "inflight, packets"} <= set(texts)


def _run_of(name, cc, seed, goodput):
    """A run as --out writes it, in which nothing happened but this goodput."""
    flow = {"goodput_bps": goodput, "rtt_us": {"min": 1, "median": 2, "p95": 3, "max": 4, "acks": 5},
            "retransmits": 0, "share": 1.0}
    return {"scenario": name, "title": "a <title>", "source": "", "says": "", "point": "", "cc": cc, "seed": seed,
            "release": "6.12", "window_us": [0, 1000000], "flows": [flow], "goodput_bps": goodput, "jain": 1.0,
            "link": {"queue_packets": None, "drops": 0, "lost": 0, "policer_drops": 0},
            "series": {"flow": [[n * 10000, 0, 1, 1, 1, 1, 1, 1, 10, 10, 0, 0, n * 1000, 1, 1, 0] for n in range(100)]}}


def test_a_report_says_which_claims_were_not_measured(tmp_path):
    for seed in (1, 2):
        (tmp_path / f"fig5-{seed}.json").write_text(json.dumps(_run_of("fig5", "bpf_bbr", seed, 9000000)))
    assert lab("report", str(tmp_path), "-o", str(tmp_path / "page.html")).returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert page.count("<b>not measured</b>") == 2 and "no run of cubic" in page
    assert "a &lt;title&gt;" in page


def test_a_picture_of_a_sweep_of_percentages():
    """gnuplot takes a % in a label for a format."""
    points = {label: {"goodput_bps": {"median": 1e7, "min": 9e6, "max": 11e6}} for label in ("loss=0.01%", "loss=1% profile=x")}
    svg = plots.over_points({"bpf_bbr": points})
    assert ">loss=0.01%<" in svg and ">loss=1% profile=x<" in svg


def test_a_report_of_no_runs_is_an_error(tmp_path):
    done = lab("report", str(tmp_path))
    assert done.returncode == 1 and "has no runs: " in done.stderr and len(done.stderr.splitlines()) == 1
    (tmp_path / "cut.json").write_text('{"scenario": "fig5", ')
    done = lab("report", str(tmp_path))
    assert done.returncode == 1 and "cut.json is not the JSON of a run" in done.stderr


def test_run_makes_reports(small, tmp_path):
    """bbrmon records in the guest what it streams there, and the page shows the same."""
    folder, out = tmp_path / "report", tmp_path / "out"
    done = lab("run", small(), "--cc", "bpf_bbr,cubic", "--report", str(folder), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in folder.iterdir()) == ["small-bpf_bbr-seed1.html",
                                                              "small-bpf_bbr-seed1.rec"]
    lines = subprocess.run([experiment.BUILD / "bbrmon", "stream", "-j", "--read",
                            folder / "small-bpf_bbr-seed1.rec"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    *recorded, last = map(json.loads, lines)
    assert last["summary"]["drops"]["total"] == 0
    *streamed, _ = json.loads((out / "small-bpf_bbr-seed1.json").read_text())["bbrmon"]
    own = {"seq", "conn"}
    assert [{k: v for k, v in e.items() if k not in own} for e in recorded
            if e["event"] != "ack" or e["round_start"]] == \
        [{k: v for k, v in e.items() if k not in own} for e in streamed]
    (flow,) = data_of((folder / "small-bpf_bbr-seed1.html").read_text())["flows"]
    assert flow["bytes_acked"] == recorded[-1]["bytes_acked"] - recorded[0]["bytes_acked"] > 0
    assert flow["events"] == len(recorded)


def test_errors_are_one_line():
    done = lab("run", "fig99")
    assert done.returncode == 1
    assert done.stderr == "lab: fig99: no such scenario; `lab list` lists them\n"
    done = lab("run", "fig5", "--kernel", f"{kernels.find('6.12').image}:")
    assert done.returncode == 1 and "comes without its modules" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_cache_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").touch()
    done = subprocess.run([LAB, "run", "fig4"], capture_output=True, text=True, check=False,
                          env={**os.environ, "BBR_LAB_CACHE": str(tmp_path / "file" / "cache")})
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("lab: the cache cannot be used: ") and "BBR_LAB_CACHE=FOLDER" in last


def test_who_reads_may_have_read_enough():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([LAB, "list"], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_list_and_kernels():
    rows = json.loads(lab("list", "-j").stdout)
    assert {"fig2", "toonk"} <= {row["name"] for row in rows}
    keys = [row["key"] for row in json.loads(lab("kernels", "-j").stdout)]
    assert keys == list(kernels.PACKAGES)


@pytest.mark.parametrize("file, line, last", [("README.md", "| Debian's {} |", ", "), ("docs/internals/tests.md", "- **Debian's {}**", " and ")])
def test_the_documents_list_the_kernels_of_the_table(file, line, last):
    """To mend it, write the line that is missing. Other documents name kernels only where they show results."""
    text = (LAB.parents[1] / file).read_text()
    listed = []
    for tested in (kernels.CHECK, kernels.MATRIX, kernels.ARM64, kernels.REFUSED):
        names = [key.partition("+")[0] for key in kernels.keys(tested) if tested == kernels.ARM64 or "+" not in key]
        words = last.join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        listed.append(line.format(words + (" for arm64" if tested == kernels.ARM64 else "")))
    assert [one for one in listed if one not in text] == []
    loopback = [key for key in kernels.keys(kernels.CHECK, kernels.MATRIX) if not kernels.TABLE[key].modules]
    assert f"{loopback[0]} to {loopback[-1]}" in text


def test_the_matrix_tests_what_the_table_says():
    """Each kernel once, and 6.12 also with newer tools; keys of one's own as they are."""
    assert set(matrix.keys([kernels.CHECK])) == {*kernels.keys(kernels.CHECK), "6.12+debian13"}
    every = matrix.keys([kernels.CHECK, kernels.MATRIX, kernels.FLAVOUR, kernels.ARM64])
    assert len(every) == len(set(every)) and set(every) == {*kernels.TABLE, "6.12+debian13"} - {*kernels.keys(kernels.REFUSED)}
    assert matrix.keys(["6.12", "image:modules"]) == ["6.12", "image:modules"]


def test_a_kernel_of_ones_own_that_is_not_there(small, tmp_path):
    (tmp_path / "bzImage").touch()
    for key, missing in ((f"{tmp_path}/none:{tmp_path}", f"no file {tmp_path}/none"),
                         (f"{tmp_path}/bzImage:{tmp_path}/none", f"no folder {tmp_path}/none")):
        done = lab("run", small(), "--kernel", key, "--cc", "bbr")
        assert done.returncode == 1 and missing in done.stderr and "Traceback" not in done.stderr


def test_a_parameter_that_bbrctl_refuses_is_reported(small):
    (point,) = scenario.load(small(), [("bpf_bbr.no_such", "1")]).points()
    with pytest.raises(LabError, match="no_such"):
        experiment.execute(experiment.Run(point, "bpf_bbr", 1, "6.12"))


def test_an_unknown_congestion_control_is_reported(small):
    (point,) = scenario.load(small()).points()
    with pytest.raises(LabError, match="nothere"):
        experiment.execute(experiment.Run(point, "nothere", 1, "6.12"))


def test_the_pool_passes_errors_on(small):
    """And what comes later is not cancelled."""
    (point,) = scenario.load(small()).points()
    with pytest.raises(LabError):
        pool.execute_all([experiment.Run(point, "nothere", 1, "6.12")])
    assert experiment.execute(experiment.Run(point, "reno", 1, "6.12"), fresh=True)["goodput_bps"]
