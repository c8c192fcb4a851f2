# SPDX-License-Identifier: GPL-2.0-only
"""Compares the built-in profiles of bbrctl on four paths. See docs/profiles.md."""
import json
import statistics

from claims import suite
from claims.results import PAYLOAD, acked_rate
from runs import pool, scenario, tables

SCENARIOS = ("profile-alone", "profile-cubic", "profile-rtt", "profile-step")
SEEDS = 3
WINDOW_US = 200_000  # over which a delivery rate is measured


def name_of(point):
    return point.params.get("bpf_bbr", {}).get("profile", "default").split()[0]


def time_to_use(result, from_us, capacity):
    """Seconds from a step upwards until 90 % of the new bandwidth is delivered, over WINDOW_US."""
    end = from_us + WINDOW_US
    while acked_rate(result, end - WINDOW_US, end) < 0.9 * capacity and end < result["window_us"][1]:
        end += 10_000
    return (end - from_us) / 1e6


def steps_up(point):
    """(time, new rate) of the changes that make the link faster."""
    rate = point["link.rate"]
    for time_us, values in point.changes:
        if values["link.rate"] > rate:
            yield time_us, values["link.rate"]
        rate = values["link.rate"]


def _of_run(found, point, result):
    """The figures of one run: name -> value."""
    rates = [flow["goodput_bps"] / 1e6 for flow in result["flows"]]
    if found == "profile-alone":
        loss = f"{100 * point['path.loss']:g} %"
        return {f"alone, loss {loss}: Mbit/s": rates[0],
                f"alone, loss {loss}: RTT ms": result["flows"][0]["rtt_us"]["median"] / 1e3,
                f"alone, loss {loss}: retransmits": result["flows"][0]["retransmits"]}
    if found == "profile-cubic":
        return {f"queue {point['link.queue']}: CUBIC's share %": 100 * rates[1] / sum(rates)}
    if found == "profile-rtt":
        return {f"queue {point['link.queue']}: share of 80 ms %": 100 * rates[1] / sum(rates)}
    times = [time_to_use(result, at, rate * PAYLOAD) for at, rate in steps_up(point)]
    return {"5 to 20 Mbit/s: mean s": statistics.mean(times), "5 to 20 Mbit/s: longest s": max(times)}


def run(kernel, seeds=SEEDS, jobs=None, fresh=False):
    """profile -> figure -> median over the seeds."""
    runs = [one for name in SCENARIOS
            for one in suite.runs_of(scenario.load(name), None, kernel, seeds)]
    values = {}

    def on_result(one, result):
        for figure, value in _of_run(one.point.scenario, one.point, result).items():
            values.setdefault(name_of(one.point), {}).setdefault(figure, []).append(value)

    pool.execute_all(runs, on_result, jobs, fresh)
    return {name: {figure: statistics.median(v) for figure, v in found.items()}
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
