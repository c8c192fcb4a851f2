# SPDX-License-Identifier: GPL-2.0-only
"""What `lab interference` makes of bbrmon's answers. The runs themselves take minutes: docs/experiment.md has their figures."""
import io
import json
import re
import tarfile

import pytest

import experiment
import guest
import interference
from kernels import LabError

PAIR = "CUBIC and bpf_bbr"


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


class Guests:
    """Instead of guests; those of a stopped lab fail."""

    def __init__(self):
        self.started, self.until = [], None

    def run(self, kernel, image, seed=1, **_):
        if self.until is not None and len(self.started) >= self.until:
            raise LabError("stopped")
        self.started.append(re.search(rb"OPTIONS='.*'", image)[0])
        with io.BytesIO() as out:
            with tarfile.open(fileobj=out, mode="w:gz") as archive:
                for name, text in (("./answer.json", json.dumps(answer(1e6, 2e6))), ("./outcomes.csv", "")):
                    member = tarfile.TarInfo(name)
                    member.size = len(text)
                    archive.addfile(member, io.BytesIO(text.encode()))
            return guest.Result("6.12", 0, "", out.getvalue(), guest.input_hash(kernel, image, seed))


def test_goes_on_where_it_was_stopped(monkeypatch, tmp_path):
    guests = Guests()
    monkeypatch.setattr(guest, "run", guests.run)
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    guests.until = 3
    with pytest.raises(LabError):
        interference.measure("6.12", [PAIR], jobs=1)
    guest.uncancel()
    guests.until = None
    found = interference.measure("6.12", [PAIR], jobs=1)
    assert len(guests.started) == len(set(guests.started)) == 6
    assert found[PAIR]["switchback"] == answer(1e6, 2e6)
    interference.measure("6.12", [PAIR], jobs=1)
    assert len(guests.started) == 6
    interference.measure("6.12", [PAIR], jobs=1, fresh=True)
    assert len(guests.started) == 12
