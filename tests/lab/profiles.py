# SPDX-License-Identifier: GPL-2.0-only
"""The profiles that bbrctl brings along, side by side on four paths. See docs/profiles.md."""
import json
import statistics

import paper
import pool
import scenario
import suite
import tables

SCENARIOS = ("profile-alone", "profile-cubic", "profile-rtt", "profile-step")
SEEDS = 3
STEP_US, WINDOW_US = 10_000_000, 200_000  # of profile-step: when the link gets faster; what a rate is taken of


def name_of(point):
    return point.params.get("profile", "default").split()[0]


def time_to_use(result, capacity):
    """Seconds until 90 % of the new bandwidth is delivered; None if it never is."""
    end = STEP_US + WINDOW_US
    while end <= result["window_us"][1]:
        if paper.acked_rate(result, end - WINDOW_US, end) >= 0.9 * capacity:
            return (end - STEP_US) / 1e6
        end += 10_000
    return None


def _of_run(found, point, result):
    """The figures of one run: name -> value."""
    rates = [flow["goodput_bps"] / 1e6 for flow in result["flows"]]
    if found == "profile-alone":
        loss = f"{point['path.loss']:g} %"
        return {f"alone, loss {loss}: Mbit/s": rates[0],
                f"alone, loss {loss}: RTT ms": result["flows"][0]["rtt_us"]["median"] / 1e3,
                f"alone, loss {loss}: retransmits": result["flows"][0]["retransmits"]}
    if found == "profile-cubic":
        return {f"queue {point['link.queue']}: CUBIC's share %": 100 * rates[1] / sum(rates)}
    if found == "profile-rtt":
        return {f"queue {point['link.queue']}: share of 80 ms %": 100 * rates[1] / sum(rates)}
    capacity = 10e6 * paper.PAYLOAD
    return {"2.5 to 10 Mbit/s: seconds": time_to_use(result, capacity)}


def run(kernel, seeds=SEEDS, jobs=None, fresh=False):
    """profile -> figure -> median over the seeds."""
    runs = [one for name in SCENARIOS
            for one in suite.runs_of(scenario.load(name), None, kernel, seeds)]
    values = {}

    def on_result(one, result):
        for figure, value in _of_run(one.point.scenario, one.point, result).items():
            values.setdefault(name_of(one.point), {}).setdefault(figure, []).append(value)

    pool.execute_all(runs, on_result, jobs, fresh)
    return {name: {figure: statistics.median(v) if None not in v else None for figure, v in found.items()}
            for name, found in values.items()}


def table(found):
    """A row for each figure, a column for each profile."""
    names = list(found)
    figures = list(dict.fromkeys(figure for row in found.values() for figure in row))
    return tables.align(["", "", *names],
                        [[figure, "", *(tables.number(found[name].get(figure)) for name in names)]
                         for figure in figures])


def main(kernel, seeds, as_json=False, jobs=None, fresh=False):
    found = run(kernel, seeds, jobs, fresh)
    print(json.dumps(found, indent=2) if as_json else table(found))
    return 0
