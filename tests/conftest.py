# SPDX-License-Identifier: GPL-2.0-only
"""
Shares the tests between the processes of pytest-xdist, and shows which tests take long.

Each process takes one file at a time, or one guest of a kernel. Two processes may run tests that load something into the running
kernel. Tests with the mark machine_alone must not see what others load, so one process runs all of them.
"""
import os
import pathlib
import signal
import threading
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
RUNNING_KERNEL = "native/"
# Tests that wait most of their time, each for its own flow: any process may take any of them.
WAITING = "native/watching/test_why.py"
# Quick tests come first. Then those that only compute, the longest first, while one process runs the tests that must be alone:
# other tests of the running kernel would wait for that process. In traffic/ tests wait for their flows, too, so they
# begin as soon as that process is done, while others still compute.
FIRST = ("unit/", "lab/test_matrix.py", "lab/test_cost.py", "lab/test_scenarios.py", "lab/test_lab.py", "mutants/test_mutants.py",
         "lab/", "oracle/", "native/traffic/", "deploy/", "package/", "fuzz/", "mutants/", "native/")
# Files whose tests may run in several processes: each of these fixtures, with each of its parameters, is a guest or a fuzzer.
GUESTS = {"fuzz/test_fuzz.py": ("target",), "lab/test_matrix.py": ("steps",), "lab/test_cost.py": ("shapes", "rules", "experiment")}
TOLD_AFTER_S = 5
ALONE = "machine_alone"
NICE, OTHERS_NICER = os.getpriority(os.PRIO_PROCESS, 0), 10


def place_of(item):
    return item.path.relative_to(HERE).as_posix()


def is_of_running_kernel(item):
    return place_of(item).startswith(RUNNING_KERNEL)


def group_of(item):
    """Tests of one group run in one process, one after the other."""
    place = place_of(item)
    if item.get_closest_marker(ALONE):
        return ALONE
    if place == WAITING:
        return item.nodeid
    for fixture in GUESTS.get(place, ()):
        if fixture in item.fixturenames:
            params = getattr(item, "callspec", None) and item.callspec.params
            return f"{place} {fixture} {(params or {}).get(fixture, '')}"
    return place


def rank(item):
    """The order of groups: first machine_alone, which takes longest, then FIRST."""
    if item.get_closest_marker(ALONE):
        return -1
    place = place_of(item)
    return next((i for i, first in enumerate(FIRST) if place.startswith(first)), len(FIRST))


def spread(items):
    """Puts a few of the waiting tests before each group from native/traffic/ on, so that CPUs have work meanwhile."""
    waiting = [item for item in items if place_of(item) == WAITING]
    heads = len({group_of(item) for item in items if rank(item) >= FIRST.index("native/traffic/")} - {*map(group_of, waiting)})
    spread_out, seen = [], set()
    for item in items:
        group = group_of(item)
        if place_of(item) == WAITING:
            continue
        if group not in seen and rank(item) >= FIRST.index("native/traffic/"):
            n = -(-len(waiting) // heads)
            spread_out, waiting, heads = spread_out + waiting[:n], waiting[n:], heads - 1
        seen.add(group)
        spread_out.append(item)
    return spread_out + waiting


@pytest.hookimpl(tryfirst=True)  # pytest-xdist looks at the marks in the same hook
def pytest_collection_modifyitems(items):
    items.sort(key=rank)
    items[:] = spread(items)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Where there are fewer CPUs than processes, the process with the most left to do must not wait for the others."""
    os.setpriority(os.PRIO_PROCESS, 0, NICE + (0 if is_of_running_kernel(item) else OTHERS_NICER))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    """In CI a skipped test fails."""
    report = (yield).get_result()
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome, report.longrepr = "failed", f"skipped, which is not allowed in CI: {report.longrepr}"


class Watch:
    """Prints a line for each test that takes longer than TOLD_AFTER_S, and another each time that its duration has doubled."""

    def __init__(self, terminal):
        self.terminal = terminal
        self.lock = threading.Lock()
        self.running = {}  # test -> [start time, seconds after which to print a line]
        self.began = time.monotonic()
        threading.Thread(target=self.tell, daemon=True).start()

    def pytest_runtest_logstart(self, nodeid):
        with self.lock:
            self.running[nodeid] = [time.monotonic(), TOLD_AFTER_S]

    def pytest_runtest_logfinish(self, nodeid):
        with self.lock:
            self.running.pop(nodeid, None)

    def due(self):
        now = time.monotonic()
        with self.lock:
            for nodeid, state in self.running.items():
                if now - state[0] >= state[1]:
                    state[1] *= 2
                    yield nodeid, now - state[0]

    def tell(self):
        while True:
            time.sleep(1)
            for nodeid, seconds in [*self.due()]:
                minutes, rest = divmod(int(time.monotonic() - self.began), 60)
                self.terminal.ensure_newline()
                # xdist appends the group to each name.
                self.terminal.write_line(f"{minutes:3}:{rest:02} {nodeid.rpartition('@')[0]} has taken {seconds:.0f} s so far", flush=True)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A script starts a command in the background so. The programs under test inherit it, and some are stopped by SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", f"{ALONE}: must not see what tests of other processes load (native/conftest.py)")
    # If this process runs the tests itself, its output is captured meanwhile.
    if config.pluginmanager.hasplugin("dsession"):
        config.pluginmanager.register(Watch(config.pluginmanager.get_plugin("terminalreporter")))
