# SPDX-License-Identifier: GPL-2.0-only
"""Executes many runs at once, and shows progress on stderr."""
import concurrent.futures
import os
import sys
import threading
import time

from runs import experiment
from vm import guest

BOOT_COST = 2.0  # seconds of host time, roughly, that a run takes besides its packets
PACKET_COST = 1e-4  # the same for a packet of full size at the bottleneck


def _cost(run):
    return BOOT_COST + PACKET_COST * run.packets


def _clock(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}" if minutes >= 60 else \
        f"{minutes}:{seconds:02d}"


class Progress:
    """Shows one line that is rewritten on a terminal; elsewhere prints a line for each run that was executed."""

    def __init__(self, runs):
        self.total, self.done, self.cached = len(runs), 0, 0
        self.cost_left = sum(_cost(run) for run in runs)
        self.cost_done = 0.0
        self.start = time.monotonic()
        self.now = {}  # run -> virtual seconds
        self.lock = threading.Lock()
        self.terminal = sys.stderr.isatty()

    def _left(self):
        if not self.cost_done:
            return "?"
        return _clock(self.cost_left * (time.monotonic() - self.start) / self.cost_done)

    def _show(self):
        if self.terminal:
            going = ", ".join(f"{run} {at:.0f}/{run.duration_s:.0f} s" for run, at in self.now.items())
            line = f"{self.done}/{self.total} runs, {self._left()} left: {going}"
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            print(f"\r\033[K{line[:width]}", end="", file=sys.stderr, flush=True)

    def at(self, run, seconds):
        with self.lock:
            self.now[run] = seconds
            self._show()

    def finish(self, run):
        with self.lock:
            executed = self.now.pop(run, None) is not None
            self.done += 1
            self.cost_left -= _cost(run)
            if executed:
                self.cost_done += _cost(run)
            else:
                self.cached += 1
            if executed and not self.terminal:
                print(f"lab: {self.done}/{self.total} {run}: {run.duration_s:.0f} s of virtual time, "
                      f"{self._left()} left", file=sys.stderr, flush=True)
            self._show()

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr)
        if self.done:
            print(f"lab: {self.done} runs in {_clock(time.monotonic() - self.start)}, {self.cached} of "
                  "them from the cache", file=sys.stderr, flush=True)


def _result_of(future):
    """Waits in steps. A signal that comes just before Python begins to wait is noticed only when that wait ends."""
    while not concurrent.futures.wait([future], 1).done:
        pass
    return future.result()


def uncached(execute):
    """The execute() of runs that have no cache and report no times: each is in the progress from its beginning."""
    def begin_and_execute(run, on_time, _):
        on_time(0)
        return execute(run)
    return begin_and_execute


def execute_all(runs, on_result=lambda run, result: None, jobs=None, fresh=False,
                execute=experiment.execute):
    """Executes all runs, and calls on_result(run, result) in the order of runs. execute() returns the result of a
    run. An exception ends the guests."""
    progress = Progress(runs)
    executor = concurrent.futures.ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0)))

    def one(run):
        result = execute(run, lambda at: progress.at(run, at), fresh)
        progress.finish(run)
        return result

    try:
        # Starting the longest first would finish sooner; in order, results can be written as they come.
        futures = [executor.submit(one, run) for run in runs]
        for n, run in enumerate(runs):
            on_result(run, _result_of(futures[n]))
            futures[n] = None  # the series of many runs do not fit into memory
    except BaseException:
        guest.cancel()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        guest.uncancel()
        progress.end()
