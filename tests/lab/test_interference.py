# SPDX-License-Identifier: GPL-2.0-only
"""What `lab interference` makes of bbrmon's answers. The runs themselves take minutes: docs/ab-tests.md has their figures."""
import io
import pathlib
import re
import tarfile
import xml.etree.ElementTree as ElementTree

import pytest

from runs import experiment
from studies import interference
from vm import guest
from vm.kernels import LabError

PAIR = "CUBIC and bpf_bbr"
HEAD = "# format=1\nblock,continued,acked_bytes,busy_us\n"


def answer(control, treated, low=None, high=None):
    def arm(value):
        return {"value": value, "connections": 100}
    line = {"metric": "goodput_p50", "size": "all", "title": "goodput, p50", "control": arm(control), "treated": arm(treated),
            "difference": treated - control, "low": low, "high": high}
    return {"metrics": [{**line, "size": "1m", "low": -1}, line]}


def outcomes(*medians):
    """Three connections of each block that count, and others that do not: older than the washout's end, or never busy."""
    rows = []
    for block, median in enumerate(medians):
        rows += [(block, 0, median * 0.1, 1), (block, 0, median, 2), (block, 0, median * 7, 1), (block, 1, 9e6, 1), (block, 0, 9e6, 0)]
    return HEAD + "".join(f"{block},{continued},{int(rate * 1e6 / 8 * seconds)},{int(seconds * 1e6)}\n"
                          for block, continued, rate, seconds in rows)


def result(text="", **kwargs):
    return {"outcomes": text, "answer": kwargs.get("answer")}


RUNS = {"everybody in the first": [result(outcomes(1, 1.2, 0.8, 1, 1, 1)), result(outcomes(1, 1, 1.2, 0.8, 1, 1))],
        "everybody in the second": [result(outcomes(1.1, 1.1, 1.1, 1, 1.2, 1.1)), result(outcomes(1.1, 1.1, 1.1, 1.2, 1, 1.1))],
        "ab, 5 %": [result(answer=answer(1e6, 3e6, 1.8e6, 2.2e6))], "ab, 50 %": [result(answer=answer(1e6, 2e6))],
        "switchback": [result(answer=answer(1e6, 1.08e6, 0.02e6, 0.14e6))]}


def test_the_truth_is_of_everybody_by_blocks():
    assert interference.block_medians(RUNS["everybody in the first"][0]["outcomes"]) == pytest.approx([1, 1.2, 0.8, 1, 1, 1])
    true = interference.truth(RUNS)
    assert (true.control, true.treated, true.difference) == pytest.approx((1, 1.1, 0.1))
    # Welch: variances 0.16 / 11 and 0.04 / 11 of twelve blocks each, 16.18 degrees of freedom, whose quantile is 2.118
    assert true.interval == pytest.approx((0.1 - 0.08244, 0.1 + 0.08244), abs=2e-4)


@pytest.mark.parametrize("freedom, quantile", [(4, 2.776), (10, 2.228), (30, 2.042), (1000, 1.962)])
def test_students_quantile(freedom, quantile):
    assert interference.student(freedom) == pytest.approx(quantile, rel=0.003)


def test_bbrmon_answers_from_the_outcomes():
    recorded = pathlib.Path(__file__).parents[1] / "unit/experiment/recorded_connections.csv"
    found = interference.answer(recorded.read_bytes())
    assert found["design"] == "ab" and [line for line in found["metrics"] if line["metric"] == interference.METRIC]


def test_an_interval_has_the_truth_or_not():
    true, few, half, switchback = interference.findings(RUNS)
    assert few.has(true.difference) is False and switchback.has(true.difference) is True
    assert half.interval is None and half.has(true.difference) is None


def test_as_a_table():
    text = interference.table(PAIR, RUNS)
    assert "| cubic | bpf_bbr |" in text
    assert "| everybody: the truth | 1.00 | 1.10 | +0.10 | +0.02 to +0.18 |  |" in text
    assert "| ab, 5 % | 1.00 | 3.00 | +2.00 | +1.80 to +2.20 | no |" in text
    assert "| ab, 50 % | 1.00 | 2.00 | +1.00 | none |  |" in text
    assert "| switchback | 1.00 | 1.08 | +0.08 | +0.02 to +0.14 | yes |" in text


def test_as_a_picture():
    svg = interference.picture({PAIR: RUNS})
    texts = {"".join(text.itertext()).strip() for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}
    assert {"bpf_bbr against cubic", "everybody: the truth", "ab, 5 %", "ab, 50 %", "switchback"} <= texts
    drawn = svg.partition("gnuplot_plot_1a")[2]  # after the axes
    dots = [(float(x), float(y)) for x, y in re.findall(r"<use .*translate\(([\d.]+),([\d.]+)\) scale\([1-9]", drawn)]
    (true, top), (first, _) = dots[:2]
    pixels = (first - true) / 1.9  # of a Mbit/s
    assert pixels > 50
    # The truth, 5 %, 50 %, switchback, from top to bottom; each is at its value.
    assert [x for x, _ in dots] == pytest.approx([true + (value - 0.1) * pixels for value in (0.1, 2, 1, 0.08)], abs=0.1)
    heights = [y for _, y in dots]
    assert heights == sorted(set(heights)) and top == heights[0]
    # A bar for each that has an interval; the truth's is a band, too.
    bars = {float(y): (float(low), float(high)) for low, y, high in re.findall(r"M([\d.]+),([\d.]+) L([\d.]+),\2\s", drawn)}
    intervals = {heights[0]: (0.1 - 0.08244, 0.1 + 0.08244), heights[1]: (1.8, 2.2), heights[3]: (0.02, 0.14)}
    for height, interval in intervals.items():
        assert bars.pop(height) == pytest.approx([true + (value - 0.1) * pixels for value in interval], abs=0.1)
    assert heights[2] not in bars
    (band,) = re.findall(r"<polygon .*points = '([^']*)'", svg)
    edges = sorted({float(point.split(",")[0]) for point in band.split()})
    assert edges == pytest.approx([true + side * 0.08244 * pixels for side in (-1, 1)], abs=0.1)


class Guests:
    """Takes the place of guests. From the number `until` on they fail, as in a lab that is stopped."""

    def __init__(self):
        self.started, self.until = [], None

    def run(self, kernel, image, seed=1, **_):
        if self.until is not None and len(self.started) >= self.until:
            raise LabError("stopped")
        self.started.append(re.search(rb"OPTIONS='.*'", image.own)[0])
        with io.BytesIO() as out:
            with tarfile.open(fileobj=out, mode="w:gz") as archive:
                text = outcomes(seed, 1, 1, 1, 1, 1).encode()
                member = tarfile.TarInfo("./outcomes.csv")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
            return guest.Result("6.12", 0, "", out.getvalue(), guest.input_hash(kernel, image, seed))


def test_goes_on_where_it_was_stopped(monkeypatch, tmp_path):
    guests = Guests()
    monkeypatch.setattr(guest, "run", guests.run)
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    monkeypatch.setattr(interference, "answer", lambda outcomes: answer(1e6, 2e6))
    guests.until = 3
    with pytest.raises(LabError):
        interference.measure("6.12", [PAIR], jobs=1, seeds=2)
    guests.until = None
    found = interference.measure("6.12", [PAIR], jobs=1, seeds=2)
    # Each run once: two seeds of each truth, and the other designs.
    assert len(guests.started) == len(set(guests.started)) == 8
    assert interference.block_medians(found[PAIR]["everybody in the first"][1]["outcomes"])[0] == pytest.approx(2)
    assert found[PAIR]["switchback"][0]["answer"] == answer(1e6, 2e6)
    interference.measure("6.12", [PAIR], jobs=1, seeds=2)
    assert len(guests.started) == 8
    interference.measure("6.12", [PAIR], jobs=1, seeds=2, fresh=True)
    assert len(guests.started) == 16
