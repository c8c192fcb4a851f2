# SPDX-License-Identifier: GPL-2.0-only
"""The scenarios of a suite, and the checks on them."""
import claims
from claims.results import Results
from runs import experiment, scenario


def names(*suites):
    return [name for name in scenario.all_names()
            if next(scenario.load(name).points())["suite"] in suites]


def runs_of(found, ccs, kernel, seeds, first=1):
    """Yields the runs of a scenario, in the order of its points. A point that sets parameters of an algorithm is
    run only with that algorithm."""
    for point in found.points():
        compared = tuple(ccs or point["cc"])
        for cc in compared:
            if point.params and point.params.keys().isdisjoint(experiment.used_ccs(point, cc)):
                continue
            for seed in range(first, first + seeds):
                yield experiment.Run(point, cc, seed, kernel, compared)


def results(found, runs):
    """The runs of a scenario as Results. Call pool.execute_all() first, so that they are loaded one by one from
    the cache."""
    runs = list(runs)

    def load(label, cc):
        return [experiment.execute(run) for run in runs
                if (run.point.label, run.cc) == (label, cc)]

    return Results(found.points(), load)


def check(found, runs):
    """(check, holds, what was measured) of each check of a scenario."""
    measured = results(found, runs)
    for one in claims.CHECKS.get(found.name, []):
        yield (one, *one(measured))
