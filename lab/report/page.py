# SPDX-License-Identifier: GPL-2.0-only
"""Makes one page out of many runs: `lab report DIR`, from the files that --out has left in DIR.

For each scenario: the table of figures, the comparison of bpf_bbr with the kernel's bbr, the document's claims, and
pictures with all congestion controls in one plot.
"""
import collections
import html
import json
import pathlib
import re
import statistics

import claims
from claims.results import BBRS, Results
from report import plots
from runs import compare, scenario, tables
from vm.kernels import LabError

STYLE = pathlib.Path(__file__).with_name("page.css")


class Runs:
    """The runs of a folder. Their series are large, so they are read only when they are drawn or checked."""

    def __init__(self, folder):
        self.files = collections.defaultdict(lambda: collections.defaultdict(list))
        self.about = {}  # scenario -> title and what the document says
        for file in sorted(pathlib.Path(folder).glob("*.json")):
            result = load(file)
            name = result["scenario"]
            self.about[name] = result
            self.files[name][result["point"], result["cc"]].append((result["seed"], file, compare.figures(result),
                                                                    [flow["share"] for flow in result["flows"]]))
        if not self.files:
            raise LabError(f"{folder} has no runs: `lab run ... --out {folder}` or `lab all --out {folder}` writes them")
        for groups in self.files.values():
            for runs in groups.values():
                runs.sort(key=lambda run: run[0])

    def names(self):
        return sorted(self.files, key=scenario.natural)

    def points(self, name):
        """The labels, in the scenario's order if it is one of ours."""
        found = list(dict.fromkeys(label for label, _ in self.files[name]))
        order = {point.label: n for n, point in enumerate(_points(name))}
        return sorted(found, key=lambda label: order.get(label, len(order)))

    def ccs(self, name):
        """Ours first, then the kernel's bbr, then the others."""
        found = {cc for _, cc in self.files[name]}
        return sorted(found, key=lambda cc: (BBRS.index(cc) if cc in BBRS else len(BBRS), cc))

    def figures(self, name, label, cc):
        """The figures over the seeds; None if there is no such run."""
        runs = self.files[name].get((label, cc))
        return runs and compare.summary({seed: figures for seed, _, figures, _ in runs})

    def shares(self, name, label, cc):
        """The median share of each flow."""
        runs = self.files[name].get((label, cc), [])
        return [statistics.median(share or 0 for share in flow) for flow in zip(*(shares for _, _, _, shares in runs))]

    def first(self, name, label, cc):
        """The whole run of the first seed."""
        return load(self.files[name][label, cc][0][1])

    def all(self, name, label, cc):
        runs = self.files[name].get((label, cc))
        if not runs:
            raise LabError(f"no run of {cc}{' at ' + label if label else ''}")
        return [load(file) for _, file, _, _ in runs]


def load(file):
    try:
        return json.loads(file.read_text())
    except ValueError as error:
        raise LabError(f"{file} is not the JSON of a run: {error}") from error


def _points(name):
    """The points of one of our scenarios, as its file is today; none for another scenario."""
    return list(scenario.load(name).points()) if name in scenario.all_names() else []


def verdicts(runs, name):
    """(check, holds or None if something was not run, what was measured) of the document's claims."""
    measured = Results(_points(name), lambda label, cc: runs.all(name, label, cc))
    for one in claims.CHECKS.get(name, []):
        try:
            yield (one, *one(measured))
        except LabError as error:
            yield one, None, str(error)


def _figure(svg, caption):
    return f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _pictures(runs, name):
    labels, ccs = runs.points(name), runs.ccs(name)
    if len(labels) > 1:
        groups = {cc: {label: found for label in labels if (found := runs.figures(name, label, cc))} for cc in ccs}
        yield _figure(plots.over_points(groups), "Goodput at each point: median and range over the seeds")
    for label in labels:
        there = [cc for cc in ccs if (label, cc) in runs.files[name]]
        at = f" at {label}" if label else ""
        yield _figure(plots.over_time({cc: runs.first(name, label, cc) for cc in there}),
                      f"The first seed{at} over time")
        if any(len(runs.files[name][label, cc]) > 1 for cc in there):
            yield _figure(plots.over_seeds({cc: runs.figures(name, label, cc) for cc in there}),
                          f"Each seed{at}: a dot; the bar is the median")
        shares = {cc: runs.shares(name, label, cc) for cc in there}
        if max(map(len, shares.values())) > 1:
            yield _figure(plots.shares(shares), f"Shares of the flows{at}: medians over the seeds")


def _section(runs, name):
    about = runs.about[name]
    groups = {(label, cc): found for label in runs.points(name) for cc in runs.ccs(name)
              if (found := runs.figures(name, label, cc))}
    yield f'<section id="{html.escape(name)}"><h2>{html.escape(name)}: {html.escape(about.get("title", ""))}</h2>'
    if about.get("says"):
        yield f"<p>{html.escape(about['source'])}: {html.escape(about['says'])}.</p>"
    yield f"<pre>{html.escape(tables.scenario_table(groups))}</pre>"
    lines = [line for line, _ in tables.verdict_lines(groups)]
    if lines:
        yield '<pre class="verdicts">' + html.escape("\n".join(lines)) + "</pre>"
    found = list(verdicts(runs, name))
    if found:
        yield "<ul>"
        for check, holds, measured in found:
            verdict = "not measured" if holds is None else claims.verdict(check, holds)[0]
            kind = re.match(r"\w+", verdict).group().lower()
            why = f"<br>{html.escape(check.fails)}" if check.fails else ""
            yield (f'<li class="{kind}"><b>{verdict}</b>: {html.escape(claims.words_of(check))}: '
                   f"{html.escape(measured)}{why}</li>")
        yield "</ul>"
    yield from _pictures(runs, name)
    yield "</section>"


def write(folder, file):
    """Writes the page of a folder of runs. Raises LabError."""
    runs = Runs(folder)
    total = sum(len(seeds) for groups in runs.files.values() for seeds in groups.values())
    kernels = sorted({about["release"] for about in runs.about.values()})
    parts = ["<!DOCTYPE html><html lang=en><meta charset=utf-8><title>lab report</title>",
             f"<style>{STYLE.read_text()}</style><h1>Experiments</h1>",
             f"<p>{total} runs on Linux {html.escape(', '.join(kernels))}, in virtual time.</p><nav>",
             *(f'<a href="#{html.escape(name)}">{html.escape(name)}</a> ' for name in runs.names()), "</nav>"]
    for name in runs.names():
        parts += _section(runs, name)
    pathlib.Path(file).write_text("\n".join(parts) + "</html>\n")
