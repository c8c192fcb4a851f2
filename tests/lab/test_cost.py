# SPDX-License-Identifier: GPL-2.0-only
"""What bpf_bbr costs must not grow unnoticed: counts of instructions, the same on any host. If the code
becomes cheaper, lower the limits.
"""
import json

import pytest

from cost import compilers, cost

SIZE = 10_000_000
CLANG = compilers.used()


def limit(newest, clang_18, older):
    """Up to clang 18 an ACK costs a tenth more, and up to 17 the check for monitors costs more: `lab compilers`."""
    return newest if CLANG >= 19 else clang_18 if CLANG == 18 else older


@pytest.fixture(scope="module")
def shapes():
    return cost.run("6.12", SIZE, ("bursts", "losses"))["shapes"]


@pytest.fixture(scope="module")
def figures(shapes):
    return shapes["bursts"]


@pytest.fixture(scope="module")
def turns(figures):
    """The figures of 16 transfers. Single ones vary with their mixes of ACKs: the mean of a callback by 0.6 %, the median by
    2 instructions, the whole by 0.4 % (standard deviations).
    """
    return figures["turns"]


def test_the_callback(figures, turns):
    assert figures["callback"]["bbr"]["calls"] > 300
    assert turns["bpf_bbr"]["ratio"] <= limit(0.85, 0.92, 0.95)
    assert turns["bpf_bbr"]["ratio_median"] <= limit(0.84, 0.93, 0.96)


def test_the_callback_with_losses(shapes):
    """Most ACKs of a path that loses one packet in a hundred come while a loss is being recovered."""
    turns = shapes["losses"]["turns"]["bpf_bbr"]
    assert turns["ratio"] <= limit(1.10, 1.13, 1.13)
    assert turns["ratio_median"] <= limit(1.15, 1.17, 1.17)


def test_the_callback_of_version_3(turns):
    assert turns["bpf_bbr3"]["mean"] <= 450
    assert turns["bpf_bbr3"]["median"] <= 1.4 * turns["bpf_bbr"]["median"]


def test_version_3_with_losses(shapes):
    """Half of the ACKs come in a recovery, and half of these take a fast path. A mean of 16 varies by 4 %."""
    assert shapes["losses"]["turns"]["bpf_bbr3"]["mean"] <= limit(545, 590, 590)


def test_version_3_in_long_transfers():
    """In bursts most ACKs come in DOWN there, which has a fast path of its own."""
    objects = {name: cost.BUILD / f"{name}.bpf.o" for name in ("bpf_bbr", "bpf_bbr3")}
    found = cost.compilers("6.12", {CLANG: objects}, 5 * SIZE, turns=1)[CLANG]
    assert found["bpf_bbr3"]["mean"] <= 450


def test_all_callbacks_with_their_trampolines(figures):
    """The sum is 2.5 times the kernel's, and depends on how often a transfer calls each."""
    callbacks = figures["all_callbacks"]["bpf_bbr"]
    assert callbacks["all"] <= 2.6 * callbacks["kernels_all"]
    # Two of min_tso_segs' are to see that cpu_gain is off.
    assert callbacks["min_tso_segs"]["instructions"] <= 24 and callbacks["sndbuf_expand"]["instructions"] <= 11
    # That of sndbuf_expand is a difference of medians of tcp_sndbuf_expand(), which goes several ways: the same programs gave 118 in
    # one transfer and 110 in another.
    assert all(105 < callbacks[name]["trampoline"] < 130 for name in cost.ALL_CALLBACKS), json.dumps(callbacks)


def test_all_callbacks_of_version_3_are_within_the_goal(shapes):
    """Against those of version 1, with their trampolines, called as often: the goal is 1.25 (docs/cost.md)."""
    ours = shapes["bursts"]["all_callbacks"]
    assert ours["bpf_bbr3"]["all"] <= 1.2 * ours["bpf_bbr"]["all"]
    assert ours["bpf_bbr3"]["min_tso_segs"]["instructions"] <= 37
    assert shapes["bursts"]["times_bpf_bbr"] <= 1.2 and shapes["losses"]["times_bpf_bbr"] <= 1.25


def span(mean, median, calls, interrupted=0):
    return {"mean": mean, "median": median, "calls": calls, "interrupted": interrupted}


def test_the_sum_of_all_callbacks_counts_each_call_with_its_trampoline():
    """With made-up spans, in each of which the instrument takes 100 instructions."""
    bbr = {"bbr_main": span(400, 380, 10), "bbr_min_tso_segs": span(111, 110, 35), "bbr_sndbuf_expand": span(104, 103, 10),
           cost.STEP: span(900, 890, 11), "tcp_tso_segs": span(155, 150, 20), "tcp_sndbuf_expand": span(141, 140, 10)}
    ours = {"cong_control": span(390, 370, 9, interrupted=1), "min_tso_segs": span(124, 122, 31),
            "sndbuf_expand": span(109, 108, 6), cost.STEP: span(1000, 980, 11), "tcp_tso_segs": span(270, 260, 30),
            "tcp_sndbuf_expand": span(244, 240, 4, interrupted=1)}
    found = cost.all_callbacks(bbr, ours, 100)
    assert [[*found[name].values()] for name in cost.ALL_CALLBACKS] == [
        [290, 110, 1, 300, 1], [22, 98, 3, 10, 2], [8, 95, 0.5, 3, 1]]
    assert found["all"] == 290 + 110 + 3 * (22 + 98) + 0.5 * (8 + 95)
    assert found["kernels_all"] == 300 + 2 * 10 + 3
    more = {name: found[name] | {"instructions": found[name]["instructions"] + 50, "calls": 99} for name in cost.ALL_CALLBACKS}
    assert cost.times_as_many(more, found) == round((found["all"] + 50 * (1 + 3 + 0.5)) / found["all"], 3)


def test_the_check_for_a_monitor(turns):
    """By the cheapest ACK, which is of one kind in every transfer: medians vary more, with the mixes of ACKs."""
    assert 0 < turns["bpf_bbr"]["least"] - turns["no_telemetry"]["least"] <= limit(7, 7, 9)


def test_a_whole_transfer(turns):
    """Seen 0.996 to 1.0025."""
    low, high = turns["bpf_bbr"]["interval_transfer"]
    assert low <= turns["bpf_bbr"]["ratio_transfer"] <= 1.005
    assert high < 1.02


def test_asking_does_not_show_in_a_whole_transfer(turns):
    """The means of 16 differ by 0.14 % anyway."""
    assert turns["bpf_bbr"]["instructions"] == pytest.approx(turns["no_telemetry"]["instructions"], rel=0.005)


def test_monitors_cost_more_the_more_they_see(figures):
    transfer = figures["transfer"]
    assert transfer["bpf_bbr"]["instructions"] < transfer["every_round"]["instructions"]
    assert transfer["every_round"]["instructions"] < transfer["every_ack"]["instructions"]


def test_as_text(figures):
    text = cost.table({"kernel": "6.12", "bytes": SIZE, "shapes": {"bursts": figures}})
    assert "bpf_bbr, nobody watching" in text and "every ack" in text and "all, with trampolines" in text


@pytest.fixture(scope="module")
def watched():
    return cost.watched("6.12", SIZE // 2, names=("transition_1", "ack_1", "ack_8", "kernel_ack"))["watched"]


# Means differ by 0.2 % from one measurement to the next; medians by 2 %, with the mixes of ACKs.


def test_an_ack_that_a_monitor_looks_at(watched):
    """Mean 418, and 285 if nobody watches."""
    assert watched["transition_1"]["mean"] <= limit(427, 475, 488)
    assert watched["transition_1"]["median"] <= limit(402, 452, 482)
    assert watched["transition_1"]["least"] <= limit(358, 431, 451)


def test_an_ack_that_is_reported(watched):
    """Mean 788 to 796, with eight monitors 3,986 to 4,001, by the transfer's size and the folder of the build: each gets all fields."""
    assert watched["ack_1"]["mean"] <= limit(805, 848, 865)
    assert watched["ack_1"]["median"] <= limit(708, 800, 820)
    assert watched["ack_8"]["mean"] <= limit(4060, 4110, 4120)
    assert watched["ack_8"]["median"] <= limit(3380, 3380, 3430)


def test_an_ack_of_the_kernels_bbr_that_is_reported(watched):
    """The 90th percentile is an ACK that is reported: 1262, and 1314 when a loop looked for the one monitor. Most segments
    are no such ACKs, and take 113.
    """
    assert watched["kernel_ack"]["p90"] <= limit(1280, 1295, 1305)
    assert watched["kernel_ack"]["median"] <= 120


@pytest.fixture(scope="module")
def rules():
    return cost.rules("6.12", SIZE, ("none", "16", "4096", "combinations"))


def test_the_start_of_a_connection_with_many_rules(rules):
    """
    Prefixes: each doubling adds a level of the trie, some 170 instructions. Without rules the start takes 332, 13 of them to look
    up what an experiment assigns, and 10 to see that the profile sets nothing beside the congestion control.
    """
    assert rules["none"]["start"] <= 337
    assert rules["16"]["start"] <= 2000
    assert rules["4096"]["start"] <= 2 * rules["16"]["start"]


@pytest.fixture(scope="module")
def experiment():
    return cost.experiment("6.12", SIZE)


def more(experiment, what):
    return {arm: experiment[arm][what] - experiment["none"][what] for arm in cost.ARMS[1:]}


def test_the_start_of_a_connection_in_an_experiment(experiment):
    """Everything that the stack does then, less what it does without one: 1,399, 1,796 and 1,976 instructions (docs/cost.md)."""
    found = more(experiment, "start")
    assert 800 < found["cubic"] <= 1450 and found["instance"] <= 1850 and found["profile"] <= 2000, found


def test_the_end_of_a_connection_in_an_experiment(experiment):
    """Over all changes of state: 1,302."""
    found = more(experiment, "states")
    assert 800 < min(found.values()) and max(found.values()) <= 1400, found


def test_the_start_of_a_connection_with_rules_of_all_combinations(rules):
    assert rules["combinations"]["start"] <= 9000


def test_rules_cost_an_ack_nothing(rules):
    """By the cheapest ACK: the mixes of ACKs differ, so means and medians do, too."""
    least = [figures["ack_least"] for figures in rules.values()]
    assert max(least) - min(least) <= 4
