# SPDX-License-Identifier: GPL-2.0-only
"""Records every callback of the kernel's bbr while the points of a scenario run in a guest of the lab."""
import contextlib
import dataclasses
import functools
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "lab"))

# pylint: disable=wrong-import-position
from runs import experiment, scenario
from vm import guest, kernels
from vm.debugger import Debugger
from vm.kernels import LabError

CC = "bbr"
RECORDINGS = kernels.CACHE / "recordings"
SCENARIOS = HERE / "scenarios.toml"
RECORDER = experiment.BUILD / "oracle/record"
FILES = {f"/record_{name}.bpf.o": experiment.BUILD / f"oracle/record_{name}.bpf.o" for name in ("bbr", "bbr3")}
PROGRAMS = [experiment.BUILD / "flow", RECORDER]
COUNTS = "@@COUNTS "
MOST_PACKETS = 500000  # in a guest that runs several points


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """Points of one scenario, one after another in one guest."""
    points: list
    seed: int
    kernel: str  # key

    @property
    def scenario(self):
        return self.points[0].scenario

    @property
    def duration_s(self):
        return sum(point["duration"] for point in self.points) / 1e6

    @functools.cached_property
    def packets(self):
        return sum(experiment.packets_of(point) for point in self.points)

    @property
    def labels(self):
        return [point.label for point in self.points if point.label]

    def __str__(self):
        return f"{self.scenario} {self.kernel} seed {self.seed}"


def names():
    """The names of the oracle's own scenarios."""
    return sorted(scenario.family(SCENARIOS))


def load(name):
    """Loads a scenario of the oracle, of the lab, or from a path to a file."""
    own = scenario.family(SCENARIOS)
    return scenario.from_table(name, own[name]) if name in own else scenario.load(name)


def runs_of(found, kernel, seeds):
    """All points of a scenario, for each seed. Each run has enough points in one guest for a minute or so, because booting
    a guest takes as long as many a point. Points that differ only in parameters of bpf_bbr are the same to the kernel's bbr."""
    groups, packets, seen = [[]], 0, []
    for point in found.points():
        path = (point.values, point.sysctls)
        if path in seen:
            continue
        seen.append(path)
        packets += experiment.packets_of(point)
        if groups[-1] and packets > MOST_PACKETS:
            groups.append([])
            packets = experiment.packets_of(point)
        groups[-1].append(point)
    for seed in range(1, seeds + 1):
        for group in groups:
            yield Run(group, seed, kernel)


def _commands(run, point):
    """The commands that set up a point's path and its flows."""
    return [experiment.hosts_line(point), *experiment.path_lines(point)], experiment.flow_lines(experiment.Run(point, CC, run.seed, run.kernel))


def _about(run):
    """What the header of a recording of version 3 says about its origin."""
    points = [{"point": point.label, "virtual_s": point["duration"] / 1e6,
               "commands": [line.partition(" || ")[0] for lines in _commands(run, point) for line in lines]}
              for point in run.points]
    return json.dumps({"scenario": run.scenario, "about": run.points[0]["title"], "seed": run.seed, "points": points})


def script(run):
    lines = [f"# counters: {_counters(run)}",  # they are an input of the run, too
             f"cat >/tmp/about <<'END'\n{_about(run)}\nEND", "start_recording"]
    for point in run.points:
        path, flows = _commands(run, point)
        lines += [*path, "begin_point", *flows, "end_point"]
    lines.append("end_recording")
    return experiment.words() + (HERE / "recording.sh").read_text() + "\n".join(lines) + "\n"


def modules(run):
    wanted = [experiment.modules(experiment.Run(point, CC, run.seed, run.kernel))
              for point in run.points]
    return list(dict.fromkeys(name for some in wanted for name in some))


def _image(run, kernel):
    if not kernel.modules:
        raise LabError(f"kernel {run.kernel} has no modules in the archive any more, so no bbr")
    return guest.initramfs(kernel, script(run), programs=PROGRAMS, files=FILES, modules=modules(run))


def _counts(run, result):
    """The recorder's counts, if its recording has every call."""
    console = result.console.splitlines()
    lines = [line for line in console if line.startswith(COUNTS)]
    if result.status != 0 or not lines or any("scenario: " in line for line in console):
        raise LabError(f"{run}: the run failed in the guest:\n  " + "\n  ".join(console[-15:]))
    counts = json.loads(lines[0].removeprefix(COUNTS))
    if counts["called"] != counts["recorded"] + counts["omitted"]:
        raise LabError(f"{run}: the recording is not complete: {counts}")
    if not counts["recorded"]:
        raise LabError(f"{run}: nothing called {CC}")
    return counts


@functools.cache
def _places(key):
    """Where a debugger finds a socket that changes its congestion control, and the socket's counters."""
    kernel = kernels.find(key)
    image = guest.initramfs(kernel, "record -p\n", programs=[RECORDER], modules=["tcp_bbr"])
    result = guest.run(kernel, image)
    if result.status:
        raise LabError(f"kernel {key}: record -p failed in the guest:\n{result.console}")
    return json.loads(result.console.splitlines()[-1])


def _counters(run):
    """The counts that sockets start with; for all points that share the guest."""
    return {name: run.points[0][f"counters.{name}"] for name in ("delivered", "lost")
            if run.points[0][f"counters.{name}"]}


def _debug(run):
    """A function that sets the counters of a socket that changes to bbr; None if the scenario sets none."""
    counters = _counters(run)
    if not counters:
        return None
    places = _places(run.kernel)

    def on_change(debugger):
        if debugger.read(debugger.register("rsi"), len(CC) + 1) != CC.encode() + b"\0":
            return
        for name, value in counters.items():
            debugger.write(debugger.register("rdi") + places[name], value.to_bytes(4, "little"))

    def debug(path):
        with contextlib.closing(Debugger(path)) as debugger:
            debugger.run(places["tcp_set_congestion_control"], on_change)

    return debug


def execute(run, on_time=None, fresh=False):
    """Makes a recording and returns the facts about it, with its file; from the cache if all inputs are the same.
    on_time is called when the guest runs."""
    kernel = kernels.find(run.kernel)
    image = _image(run, kernel)
    inputs = guest.input_hash(kernel, image, seed=run.seed)
    file = RECORDINGS / inputs[:2] / inputs
    facts = file.with_suffix(".json")
    if fresh or not facts.exists():
        if on_time:
            on_time(0)
        begin = time.monotonic()
        result = guest.run(kernel, image, seed=run.seed, debug=_debug(run))
        counts = _counts(run, result)
        experiment.store(file, result.data)
        found = {"release": result.release, **counts, "bytes": len(result.data),
                 "host_s": round(time.monotonic() - begin, 1)}
        experiment.store(facts, json.dumps(found).encode())
    return {"scenario": run.scenario, "points": run.labels, "seed": run.seed, "kernel": kernel.key,
            "virtual_s": run.duration_s, "inputs": inputs, "file": str(file),
            **json.loads(facts.read_text())}
