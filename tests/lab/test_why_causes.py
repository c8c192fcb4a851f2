# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon why in the lab: what the study makes of its answers, and the causes that it makes on two kernels."""
import json

import pytest

from studies import why

RUN = why.Run("bpf_bbr", 1, "6.12")


def said(**shares):
    shares = {**dict.fromkeys(["application", "path", "queue", "policer", "cpu", "probe_rtt", "losses"], 0), **shares}
    return {"cause": max(shares, key=shares.get), "shares": shares}


def test_answers_are_read_from_the_console():
    console = "\n".join(["@@WHY path", json.dumps(said(path=1)), "noise", "@@WHY losses", json.dumps(said(losses=0.6, path=0.4)), "@@ALL"])
    answers = why.answers_of(RUN, console)
    assert [(a.made, a.cause, a.is_right) for a in answers] == [("path", "path", True), ("losses", "losses", True)]
    with pytest.raises(AssertionError):
        why.answers_of(RUN, console.removesuffix("@@ALL"))


@pytest.mark.parametrize("made, shares, cause, is_right, alarms", [
    ("path", {"queue": 0.7, "path": 0.3}, "queue", True, []),  # BBR's own
    ("queue", {"queue": 0.4, "path": 0.6}, "path", False, []),
    ("idle", {"application": 1}, "application", True, []),
    ("probe_rtt", {"probe_rtt": 0.3, "path": 0.7}, "probe_rtt", True, []),
    ("probe_rtt", {"probe_rtt": 0.1, "path": 0.9}, "path", False, []),
    ("losses", {"losses": 0.9, "policer": 0.1}, "losses", True, ["policer"]),
    ("losses", {"losses": 0.3, "path": 0.7}, "losses", True, []),
    ("policer", {"policer": 0.9, "cpu": 0.1}, "policer", True, ["cpu"]),
])
def test_what_counts_as_right(made, shares, cause, is_right, alarms):
    answer = why.Answer(RUN, made, said(**shares))
    assert (answer.cause, answer.is_right, answer.false_alarms) == (cause, is_right, alarms)


def test_losses_limit_all_others_all_the_time():
    answer = why.Answer(why.Run("cubic", 1, "6.12"), "losses", said(losses=0.3, path=0.7))
    assert (answer.cause, answer.is_right) == ("path", False)


def test_a_matrix():
    answers = [why.Answer(RUN, "path", said(path=1)), why.Answer(RUN, "path", said(queue=1)), why.Answer(RUN, "losses", said(path=1))]
    text = why.text(answers)
    assert "| path | 1 | 1 |" in text and "| losses | 1 |  |" in text
    assert "2 of 3 right (66.7 %), 2 by the largest share alone; 0 with" in text


@pytest.mark.parametrize("key", ["6.1", "6.12"])
def test_causes_on_a_kernel(key):
    answers = why.execute(why.Run("bpf_bbr", 1, key))
    assert len({a.made for a in answers}) >= 12
    assert not [(a.made, a.said) for a in answers if not a.is_right or a.false_alarms]
