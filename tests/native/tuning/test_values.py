# SPDX-License-Identifier: GPL-2.0-only
"""An invalid value of a parameter is refused, with the reason, and changes nothing."""
import re

import pytest

from system import registered
from tool import USAGE

SUFFIX = {"percent": "%", "us": "us", "ms": "ms", "bps": "bit"}

# Not a value of any parameter.
NEVER = ["", " ", "x", "-1", "+1", "inf", "nan", "infinity", "0x10", "1e3", "1e3ms", "1..2", ".", "1,", ",1", "--1",
         "1 ", " 1", "1\n", "1;2", "1x", "10sx", "10s5", "1%%", "%", "s", "ms", "bit", "9" * 40, "1/2", "½", "٣",
         "%n%s", "99999999999999999999", "4294967297", "18446744073709551617"]

GAINS = "1,1,1,1,1,1,1,1"

# (assignment, what the message must contain)
SPECIAL = [
    ("bw_win", "KEY=VALUE"), ("=5", "KEY"), ("", "KEY=VALUE"), ("=", "KEY"), ("bw_win =5", "key"),
    ("BW_WIN=5", "key"), ("no_such_key=5", "no_such_key"), ("bw_winx=5", "bw_winx"), ("bw_wi=5", "bw_wi"),
    ("bw_win==5", "number"), ("bw_win=5=5", "number"), ("bw_win=5s", "number"), ("bw_win=5.5", "precise"),
    ("cwnd_gain=2,2", "many"), ("cwnd_gain=2%", "number"), ("cwnd_gain=2x", "number"),
    ("pacing_margin=1", "unit"), ("pacing_margin=1s", "unit"), ("pacing_margin=1.5%", "precise"),
    ("min_rtt_win=5", "unit"), ("min_rtt_win=5m", "unit"), ("min_rtt_win=5mbit", "unit"), ("min_rtt_win=5%", "unit"),
    ("min_rtt_win=100.5ms", "precise"), ("min_rtt_win=1us", "precise"), ("init_rtt=0.5us", "precise"),
    ("min_tso_rate=5", "unit"), ("min_tso_rate=5s", "unit"), ("min_tso_rate=5mbps", "unit"),
    ("pin_bw=5", "unit"), ("pin_bw=5mbps", "unit"), ("pin_bw=1bit", "precise"), ("pin_bw=1.0001kbit", "precise"),
    ("max_pacing_rate=4tbit1", "unit"), ("pacing_rate=0.5kbit", "precise"), ("min_pacing_rate=4.1tbit", "range"),
    ("probe_bw_gains=" + GAINS + ",1", "many"), ("probe_bw_gains=1,1,1,1,1,1,1", "few"), ("probe_bw_gains=1", "few"),
    ("probe_bw_gains=" + "," * 7, "number"), ("probe_bw_gains=1,1,1,1,1,1,1,", "number"),
    ("probe_bw_gains=1 1 1 1 1 1 1 1", "few"), ("probe_bw_gains=1,1,1,1,1,1,1,0.1", "range"),
    ("probe_bw_gains=1,1,1,99,1,1,1,1", "range"), ("probe_bw_gains=" + "1," * 5000 + "1", "many"),
]


def text(value, unit):
    """A number in a parameter's own notation; exact, because gains are 256ths."""
    return f"{value:.10f}" if unit == "ratio" else f"{value}{SUFFIX.get(unit, '')}"


def beside(param):
    """The nearest values outside the range, one below and one above."""
    low, high = param["range"]
    if param["unit"] == "ratio":
        low, high = round(low * 256), round(high * 256)
        return [text((low - 1) / 256, "ratio"), text((high + 1) / 256, "ratio")]
    step = 1000 if high >= 2**32 else 1  # rates that do not fit 32 bits are kept in kbit/s
    return [text(low - step, param["unit"]), text(high + step, param["unit"])]


def full(param, value):
    """The assignment; in a list the last value is the bad one."""
    n = len(param["value"]) if isinstance(param["value"], list) else 1
    return f"{param['key']}={'1,' * (n - 1)}{value}"


@pytest.fixture
def params(bbrctl):
    return bbrctl.json("show", "--defaults")["params"]


@pytest.fixture
def ranges(bbrctl):
    """key: its range in readable notation."""
    lines = bbrctl("show", "--defaults").out.splitlines()[1:]
    return {line.split()[0]: re.search(r"\S+ to \S+", line).group() for line in lines}


class Instance:
    """An instance with some values of its own, which no bad assignment may change."""

    def __init__(self, bbrctl, name):
        self.bbrctl, self.name = bbrctl, name
        self.before = self.show()

    def show(self):
        return self.bbrctl.json("show", "--name", self.name)["params"]

    def refuses(self, *assignments):
        return self.bbrctl("set", "--name", self.name, "--", *assignments, status=USAGE).err

    def is_unchanged(self):
        assert self.show() == self.before


@pytest.fixture
def instance(bbrctl, load):
    return Instance(bbrctl, load("bw_win=11", "cwnd_gain=2.5", "min_rtt_win=7s"))


def check_message(err, assignment, limits):
    key, _, value = assignment.partition("=")
    value = value.replace("\n", r"\x0a")  # a message stays on its line
    assert key in err and value in err and limits in err, err


def test_out_of_range(instance, params, ranges):
    for param in params:
        for value in beside(param):
            assignment = full(param, value)
            err = instance.refuses(assignment)
            check_message(err, assignment, ranges[param["key"]])
            assert "negative" in err if "=-" in assignment else "range" in err, err
    instance.is_unchanged()


@pytest.mark.parametrize("key", ["bw_win", "cwnd_gain", "pacing_margin", "min_rtt_win", "init_rtt", "min_tso_rate",
                                 "pin_bw"])
def test_what_is_no_value(instance, ranges, key):
    for value in NEVER:
        check_message(instance.refuses(f"{key}={value}"), f"{key}={value}", ranges[key])
    instance.is_unchanged()


def test_special_cases(instance, ranges):
    for assignment, why in SPECIAL:
        err = instance.refuses(assignment)
        assert why in err, err
        key, equals, _ = assignment.partition("=")
        if equals and key in ranges:
            check_message(err, assignment, ranges[key])
    instance.is_unchanged()


@pytest.mark.parametrize("written, bps, shown", [
    ("100mbit", 100_000_000, "100mbit"), ("64kbit", 64_000, "64kbit"), ("1000bit", 1000, "1kbit"),
    ("12345.678mbit", 12_345_678_000, "12.345678gbit"), ("4tbit", 4_000_000_000_000, "4tbit"),
    ("0bit", 0, "0bit"), ("0", 0, "0bit"),
])
def test_rates_beyond_32_bits(bbrctl, load, written, bps, shown):
    name = load("max_pacing_rate=5kbit")
    assert bbrctl.json("set", "--name", name, f"max_pacing_rate={written}")["changed"] == {
        "max_pacing_rate": {"old": 5000, "new": bps, "unit": "bps"}}
    param, = bbrctl.json("show", "--name", name, "max_pacing_rate")["params"]
    assert (param["value"], param["unit"], param["range"]) == (bps, "bps", [0, 4_000_000_000_000])
    assert bbrctl("show", "--name", name, "max_pacing_rate").out.splitlines()[1].split()[1 + (bps > 0)] == shown


@pytest.mark.parametrize("assignment", ["pin_bw=0", "pin_min_rtt=0", "probe_rtt_duration=0", "pacing_margin=0"])
def test_zero_needs_no_unit(bbrctl, load, assignment):
    param, = bbrctl.json("show", "--name", load(assignment), assignment.partition("=")[0])["params"]
    assert param["value"] == 0


@pytest.mark.parametrize("bad", ["bw_win=0", "no_such_key=1", "cwnd_gain=nan", "min_rtt_win=10", "bw_win"])
def test_one_bad_value_spoils_all_of_the_line(instance, bad):
    instance.refuses("bw_win=99", "cwnd_gain=3", bad)
    instance.refuses(bad, "bw_win=99")
    instance.is_unchanged()


def test_load_with_a_bad_value_loads_nothing(bbrctl, free_name, params, ranges):
    name = free_name()
    for param in params:
        for value in beside(param):
            assignment = full(param, value)
            good = "cwnd_gain=2" if param["key"] == "bw_win" else "bw_win=11"
            err = bbrctl("load", "--name", name, "--set", good, "--set", assignment, status=USAGE).err
            check_message(err, assignment, ranges[param["key"]])
    for assignment, _ in SPECIAL:
        bbrctl("load", "--name", name, "--set", assignment, status=USAGE)
    assert name not in registered()


def test_bad_values_are_reported_first(bbrctl, free_name):
    """Whether or not the instance exists, it is the command line that is wrong."""
    bbrctl("set", "--name", free_name(), "bw_win=0", status=USAGE)
