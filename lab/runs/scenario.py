# SPDX-License-Identifier: GPL-2.0-only
"""Reads scenario files, which describe a path and its flows. scenarios/README.md lists the keys.

A file is TOML: one scenario, or a table for each scenario of a document. Values are text with a unit, as tc(8) takes
them; here they become numbers in fixed units: microseconds, bits per second, bytes, packets, shares of 1. A [sweep] gives
some keys several values: each combination of them is one point. A run executes one point.
"""
import copy
import dataclasses
import functools
import itertools
import pathlib
import re
import tomllib

from runs import congestion_controls
from vm.kernels import LabError

FOLDER = pathlib.Path(__file__).parents[1] / "scenarios"

SUITES = ("check", "lab", "long")
QDISCS = ("fq", "fq_codel", "none")
STREAMS = ("none", "round", "ack", "transition")
COMPARED = "compared"  # stands for the congestion control that is compared, in cc:compared
TIME_US = {"us": 1, "ms": 1000, "s": 1000000}
RATE_BPS = {"bit": 1, "kbit": 1000, "mbit": 1000000, "gbit": 1000000000}
SIZE_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def _with_unit(units, what):
    def parse(value):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", str(value).strip().lower())
        if not match or match[2] not in units:
            raise ValueError(f"{value!r} is not {what}")
        return round(float(match[1]) * units[match[2]])
    return parse


time_us = _with_unit(TIME_US, "a time such as 40ms")
rate_bps = _with_unit(RATE_BPS, "a rate such as 10mbit")
size_bytes = _with_unit(SIZE_BYTES, "a size such as 8M")


def share(value):
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", str(value).strip())
    if not match or float(match[1]) > 100:
        raise ValueError(f"{value!r} is not a share such as 1%")
    return float(match[1]) / 100


def whole(value, least=0):
    if not re.fullmatch(r"[0-9]+", str(value)) or int(value) < least:
        raise ValueError(f"{value!r} is not a whole number from {least} on")
    return int(value)


def count(value):
    return whole(value, 1)


def mtu(value):
    if not 88 <= whole(value) <= 65535:  # TCP's smallest segment with its headers
        raise ValueError(f"{value!r} is not from 88 to 65535")
    return int(value)


def text(value):
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value


def _one_of(choices):
    def parse(value):
        if value not in choices:
            raise ValueError(f"{value!r} is none of {', '.join(choices)}")
        return value
    return parse


def name(value):
    if not isinstance(value, str) or not re.fullmatch(r"\w+", value):
        raise ValueError(f"{value!r} is not a name")
    return value


def names(value):
    """Congestion controls: a list, or a text with commas between them."""
    found = value.split(",") if isinstance(value, str) else value
    if not found or not all(isinstance(name, str) and name for name in found):
        raise ValueError(f"{value!r} is not a list of congestion controls")
    return [congestion_controls.parse(name) for name in found]


def _number(value):
    if not re.fullmatch(r"[0-9.]+", str(value)):
        raise ValueError(f"{value!r} is not a number")
    return float(value)


STEPS = {  # steps of a flow's pattern: name -> parsers of its arguments
    "send": [time_us],
    "pause": [time_us],
    "bytes": [size_bytes],
    "rate": [rate_bps, time_us],
    "cc": [name],
}


def pattern(value):
    """Steps such as send:5s or rate:2mbit:3s -> [(name, numbers...)]."""
    steps = []
    for step in value.split() if isinstance(value, str) else value:
        name, *arguments = str(step).split(":")
        if name not in STEPS or len(arguments) != len(STEPS[name]):
            raise ValueError(f"{step!r} is not a step such as {', '.join(STEPS)}: send:5s, "
                             "pause:500ms, bytes:1M, rate:2mbit:3s, cc:cubic")
        steps.append((name, *(parse(a) for parse, a in zip(STEPS[name], arguments))))
    return steps


# Key -> (parser, default, meaning). A default of None: the key must be given.
KEYS = {
    "title": (text, None, "what it is, in a line"),
    "source": (text, "", "document and figure"),
    "says": (text, "", "what the document reports"),
    "suite": (_one_of(SUITES), "long", "check: part of make check; lab: part of make lab; long: neither"),
    "cc": (names, ["bpf_bbr", "bbr", "cubic", "reno"], "congestion controls that are compared"),
    "duration": (time_us, None, "of the run"),
    "measure_from": (time_us, 0, "start of the window in which figures are measured"),
    "sample": (time_us, 10000, "interval of the series, whole milliseconds"),
    "stream": (_one_of(STREAMS), "none", "bbrmon streams BBR's events, in every run alike: round, ack, transition"),
    "uptime": (time_us, 0, "of the kernel when the run begins; its jiffies wrap at 300s"),
    "link.rate": (rate_bps, None, "of the bottleneck"),
    "link.queue": (count, None, "of the bottleneck, in packets"),
    "link.ecn": (time_us, 0, "mark packets that waited longer than this (0: never)"),
    "path.delay": (time_us, None, "round trip without queue"),
    "path.jitter": (time_us, 0, "of the delay, up and down, order is kept"),
    "path.loss": (share, 0.0, "of data packets, random, before the bottleneck"),
    "path.loss_burst": (_number, 1.0, "mean number of packets lost in a row"),
    "path.reorder": (share, 0.0, "share of data packets that overtake others"),
    "path.reorder_by": (time_us, 1000, "how far they overtake"),
    "path.ack_loss": (share, 0.0, "of ACKs, random"),
    "path.ack_aggregation": (time_us, 0, "ACKs come in bursts, one burst in each interval of this length"),
    "path.mtu": (mtu, 1500, "of every link"),
    "path.gso": (count, 1, "segments that may travel as one packet, to the receiver"),
    "policer.rate": (rate_bps, 0, "token bucket before the bottleneck (0: none)"),
    "policer.burst": (size_bytes, 64 << 10, "depth of the bucket"),
    "sender.qdisc": (_one_of(QDISCS), "fq", "fq; without it TCP paces by its own timer"),
    "sender.cpu": (share, 0.0, "share of each cpu_period in which the sender's machine runs (0%: it always runs)"),
    "sender.cpu_period": (time_us, 10000, "of sender.cpu"),
    "sender.cwnd_clamp": (whole, 0, "cwnd never exceeds it, by the route (0: none)"),
    "counters.delivered": (count, 0, "the oracle's: a socket's packets delivered before it changes to bbr"),
    "counters.lost": (count, 0, "the oracle's: a socket's packets lost before it changes to bbr"),
    "receiver.buffer": (size_bytes, 64 << 20, "limit of the receive buffer"),
}
FLOW_KEYS = {  # the same for a [[flow]]
    "start": (time_us, 0, "when it begins"),
    "duration": (time_us, 0, "how long it sends (0: to the end of the run)"),
    "cc": (text, "", "its congestion control, if not the one that is compared"),
    "count": (count, 1, "number of such flows"),
    "every": (time_us, 0, "between the starts of these"),
    "pattern": (pattern, [], "what the application does, instead of sending all the time"),
    "delay": (time_us, 0, "round trip of this flow, instead of path.delay"),
    "repeat": (count, 1, "how often it does the pattern"),
    "connections": (count, 1, "so many, one after another, each with the pattern"),
    "mss": (whole, 0, "TCP_MAXSEG, bytes (0: what the MTU allows)"),
    "max_rate": (rate_bps, 0, "SO_MAX_PACING_RATE (0: none)"),
    "udp": (rate_bps, 0, "UDP datagrams at this rate instead of TCP"),
}
CHANGE_KEYS = {"link.rate", "link.queue", "path.delay", "path.loss", "path.ack_loss"}


@dataclasses.dataclass(frozen=True, eq=False)
class Point:
    """One thing to run: all values, in the units above."""
    scenario: str
    label: str  # the sweep's values; empty without a sweep
    values: dict  # KEYS -> value
    flows: list  # of dicts, FLOW_KEYS -> value
    changes: list  # (time_us, {key: value}), in order of time
    params: dict  # of our algorithms, if they have any: instance -> parameter -> text for bbrctl
    sysctls: dict  # below net.ipv4 -> text

    def __getitem__(self, key):
        return self.values[key]


@dataclasses.dataclass(frozen=True, eq=False)
class Scenario:
    name: str
    title: str
    raw: dict  # flat key -> text
    flows: list
    changes: list
    sweep: dict  # flat key -> list of text

    def points(self):
        keys = list(self.sweep)
        for combination in itertools.product(*self.sweep.values()):
            chosen = dict(zip(keys, combination))
            label = " ".join(_label(key, value) for key, value in chosen.items())
            yield _point(self, label, {**self.raw, **chosen})


def _fail(name, key, why):
    raise LabError(f"scenario {name}: {key}: {why}")


def _parse(name, key, parser, value):
    try:
        return parser(value)
    except (ValueError, AttributeError, TypeError) as error:
        return _fail(name, key, error)


def _label(key, value):
    """A value of the sweep, with only the last part of its key."""
    return f"{key.rpartition('.')[2]}={value}"


def _flatten(table, prefix=""):
    flat = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


# Tables whose keys are not listed here: the parameters of one of our algorithms, and sysctls.
PARAM, SYSCTL = re.compile(r"(bpf_\w+)\.(.+)"), "sysctl."


def _check_keys(name, keys):
    for key in keys:
        if key not in KEYS and not key.startswith(SYSCTL) and not PARAM.fullmatch(key):
            _fail(name, key, f"no such key; there are {', '.join(KEYS)}, bpf_bbr.PARAMETER, "
                  f"{SYSCTL}NAME")


def _sysctls(raw):
    return {key.removeprefix(SYSCTL): str(value) for key, value in raw.items()
            if key.startswith(SYSCTL) and value != "default"}


def _params(raw):
    found = {}
    for key, value in raw.items():
        name = PARAM.fullmatch(key)
        if name and value != "default":
            found.setdefault(name[1], {})[name[2]] = str(value)
    return found


def _flow(name, number, table):
    for key in table:
        if key not in FLOW_KEYS:
            _fail(name, f"flow.{key}", f"no such key; a flow has {', '.join(FLOW_KEYS)}")
    found = {key: default for key, (_, default, _) in FLOW_KEYS.items()}
    for key, value in table.items():
        found[key] = _parse(name, f"flow {number}: {key}", FLOW_KEYS[key][0], value)
    return found


def _change(name, table):
    table = _flatten(table)
    if "at" not in table:
        _fail(name, "change", "at, the time of the change, is missing")
    when = _parse(name, "change.at", time_us, table.pop("at"))
    for key in table:
        if key not in CHANGE_KEYS:
            _fail(name, f"change.{key}", f"cannot change; {', '.join(sorted(CHANGE_KEYS))} can")
    return when, {key: _parse(name, f"change.{key}", KEYS[key][0], value)
                  for key, value in table.items()}


def _expanded(flows):
    """Yields each flow separately: applies count and every."""
    for flow in flows:
        for n in range(flow["count"]):
            one = copy.deepcopy(flow)
            one["start"] += n * flow["every"]
            yield one


def _point(scenario, label, raw):
    name, values = scenario.name, {}
    for key, (parser, default, meaning) in KEYS.items():
        if key in raw:
            values[key] = _parse(name, key, parser, raw[key])
        elif default is None:
            _fail(name, key, f"is missing: {meaning}")
        else:
            values[key] = default
    if values["sample"] % 1000 or not values["sample"]:
        _fail(name, "sample", "must be whole milliseconds")
    if values["measure_from"] >= values["duration"]:
        _fail(name, "measure_from", "is not before the end of the run")
    flows = list(_expanded(scenario.flows))
    for number, flow in enumerate(flows):
        if flow["start"] >= values["duration"]:
            _fail(name, f"flow {number}: start", "is not before the end of the run")
    return Point(name, label, values, flows, scenario.changes, _params(raw),
                 _sysctls(raw))


def _read(file, name):
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise LabError(f"{name}: no such scenario; `lab list` lists them") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabError(f"scenario {name}: {error}") from error


@functools.cache
def family(file):
    """The scenarios of a file that has several: name -> table."""
    return _read(file, file.stem)


def _all():
    """The scenarios of the folder. Each document has a file, named as its file of claims; names are unique."""
    return {name: table for file in FOLDER.glob("*.toml") for name, table in family(file).items()}


def load(name, settings=()):
    """Loads a scenario of the folder by its name, or a file with one scenario by its path. settings: (key, text) that
    replace its own."""
    file = pathlib.Path(name)
    if file.suffix == ".toml":
        return from_table(file.stem, _read(file, file.stem), settings)
    if name not in _all():
        raise LabError(f"{name}: no such scenario; `lab list` lists them")
    return from_table(name, _all()[name], settings)


def from_table(name, table, settings=()):
    table = copy.deepcopy(table)
    flows = [_flow(name, n, flow) for n, flow in enumerate(table.pop("flow", [{}]))]
    changes = sorted((_change(name, change) for change in table.pop("change", [])),
                     key=lambda change: change[0])
    sweep = table.pop("sweep", {})
    raw = _flatten(table)
    _check_keys(name, [*raw, *sweep, *(key for key, _ in settings)])
    for key, value in settings:
        raw[key] = value
        sweep.pop(key, None)
    for key, values in sweep.items():
        if not isinstance(values, list) or not values:
            _fail(name, f"sweep.{key}", "is not a list of values")
    scenario = Scenario(name, str(raw.get("title", "")), raw, flows, changes, sweep)
    list(scenario.points())  # reports errors in any of them now
    return scenario


def all_names():
    return sorted(_all(), key=natural)


def natural(name):
    """A key to sort by: fig2 comes before fig10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]
