# SPDX-License-Identifier: GPL-2.0-only
"""Checks that one input gives one result: makes the same run many times, beside other load, and counts the results."""
import collections
import contextlib
import hashlib
import pathlib
import subprocess

from runs import experiment, pool, scenario

SCENARIO = pathlib.Path(__file__).parent / "repeat.toml"
JOBS, LOAD = 4, 2
BUSY = ["sh", "-c", "while :; do :; done"]


@contextlib.contextmanager
def _load(processes):
    """Runs processes that only take time from the guests."""
    with contextlib.ExitStack() as started:
        for _ in range(processes):
            process = started.enter_context(subprocess.Popen(BUSY))
            started.callback(process.kill)
        yield


def hashes(times, kernel, name=str(SCENARIO), jobs=JOBS, load=LOAD):
    """How often each result occurred, by the hash of everything that the guest left."""
    point = next(scenario.load(name).points())
    runs = [experiment.Run(point, point["cc"][0], 1, kernel) for _ in range(times)]
    found = collections.Counter()

    def execute(run, on_time, _):
        release, data = experiment.in_guest(run, on_time)
        return hashlib.sha256(release.encode() + data).hexdigest()

    with _load(load):
        pool.execute_all(runs, lambda _, result: found.update([result]), jobs, execute=execute)
    return found
