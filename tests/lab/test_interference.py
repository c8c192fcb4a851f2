# SPDX-License-Identifier: GPL-2.0-only
"""What `lab interference` makes of bbrmon's answers. The runs themselves take minutes: docs/experiment.md has their figures."""
import interference


def answer(control, treated, low=None, high=None):
    def arm(value):
        return {"value": value, "connections": 0 if value is None else 100}
    line = {"metric": "goodput_p50", "size": "all", "title": "goodput, p50", "control": arm(control), "treated": arm(treated),
            "difference": None if None in (control, treated) else treated - control, "low": low, "high": high}
    return {"metrics": [{**line, "size": "1m", "low": -1}, line]}


ANSWERS = {"everybody in the first": answer(1e6, 1e6), "everybody in the second": answer(1.1e6, 1.1e6),
           "ab, 5 %": answer(1e6, 3e6, 1.8e6, 2.2e6), "ab, 50 %": answer(1e6, 2e6),
           "switchback": answer(1e6, 1.08e6, 0.02e6, 0.14e6)}


def test_the_truth_is_of_everybody():
    first, second, difference = interference.truth(ANSWERS, "goodput_p50")
    assert (first, second, round(difference)) == (1e6, 1.1e6, 100000)


def test_an_interval_has_the_truth_or_not():
    found = {row[0]: row[4:] for row in interference.rows(ANSWERS, "goodput_p50", 1e6)}
    assert found["ab, 5 %"][1] is False and found["switchback"][1] is True
    assert found["ab, 50 %"] == (None, None)


def test_as_a_table():
    text = interference.table(ANSWERS)
    assert "| ab, 5 % | 1 | 3 | +2 | +1.8 to +2.2 | no |" in text
    assert "| ab, 50 % | 1 | 2 | +1 | none |  |" in text
