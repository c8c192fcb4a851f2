# SPDX-License-Identifier: GPL-2.0-only
"""
The recipes of CONTRIBUTING.md for adding a parameter, an event field and a verb. tests/tests.mk follows them for a later
version, its object and its tools.
"""
import json
import pathlib
import re
import signal
import subprocess

import pytest

import system
import tool
import transfer

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def later(bbrctl, free_name):
    """An instance of the later version."""
    name = free_name()
    bbrctl("load", "--name", name, "--object", ROOT / "build/next_version.bpf.o")
    return name


@pytest.fixture
def later_bbrctl():
    return tool.Tool(ROOT / "build/asan/next/bbrctl")


@pytest.fixture
def later_bbrmon():
    return tool.Tool(ROOT / "build/next/bbrmon")


def acks(monitor, name, ns, **kwargs):
    started = monitor(name, "--every", "ack", **kwargs)
    transfer.send_verified(ns, name)
    started.wait_for(lambda m: m.of("end"), "the connection ends")
    started.stop()
    return started.of("ack")


def test_a_line_is_a_parameter(later_bbrctl, later):
    assert "later=5 (was 0)" in later_bbrctl("set", "--name", later, "later=5").out
    (shown,) = later_bbrctl.json("show", "--name", later, "later")["params"]
    assert shown["value"] == 5 and shown["range"] == [0, 7] and shown["meaning"] == "of a later version"


def test_it_changes_what_its_option_says(later_bbrctl, monitor, later, ns):
    """The later version's option bounds the window."""
    assert max(e["cwnd"] for e in acks(monitor, later, ns)) > 5
    later_bbrctl("set", "--name", later, "later=5")
    assert max(e["cwnd"] for e in acks(monitor, later, ns)) <= 5


def test_it_has_a_later_minor(bbrctl, later):
    found = tool.status_of(bbrctl, later)
    assert (found["abi_major"], found["abi_minor"]) == (3, 1) and found["supported"] is True


def test_a_line_is_a_field(monitor, later_bbrmon, later, ns):
    events = acks(monitor, later, ns, tool_to_run=later_bbrmon)
    assert events and all(e["later"] == e["rounds"] + 1 for e in events)


def test_who_does_not_know_the_field_reads_all_others(monitor, later, ns):
    events = acks(monitor, later, ns)
    assert events and all("later" not in e and e["rounds"] >= 0 and e["policer"] == "off" for e in events)


def test_a_recording_describes_the_field(later_bbrmon, bbrmon, bbrctl, later, ns, tmp_path):
    """A tool that does not know the field shows it by the recording's description, filters by it, and copies it."""
    recorder = later_bbrmon.start("record", "--name", later, "--every", "ack", "-o", tmp_path / "later.rec", "-j",
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        system.wait_until(lambda: tool.status_of(bbrctl, later)["monitors"], "bbrmon subscribes")
        transfer.send_verified(ns, later)
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=60)
    bbrmon("record", "--read", tmp_path / "later.rec", "-o", tmp_path / "copy.rec")
    for name in ("later.rec", "copy.rec"):
        lines = bbrmon("stream", "-j", "--read", tmp_path / name).out.splitlines()
        events = [e for e in map(json.loads, lines) if e.get("event") == "ack"]
        assert events and all(e["later"] == e["rounds"] + 1 for e in events)
        middle = events[len(events) // 2]["later"]
        lines = bbrmon("stream", "-j", "--read", tmp_path / name, f"later >= {middle}").out.splitlines()
        chosen = [e["seq"] for e in map(json.loads, lines) if e.get("event") == "ack"]
        assert chosen == [e["seq"] for e in events if e["later"] >= middle] and 0 < len(chosen) < len(events)
        assert bbrmon("snapshot", "-j", "--read", tmp_path / name, "--at", "100us", "--sort", "later").out
        assert " POL " in bbrmon("top", "--batch", "--read", tmp_path / name).out


def test_a_file_is_a_verb(later_bbrctl, later_bbrmon):
    """Both programs list it in --help, explain it, complete it, and run it with its options; it needs no privilege."""
    assert later_bbrctl("hello", "--name", "you").out == "hello you from bbrctl\n"
    assert later_bbrmon("hello").out == "hello from bbrmon\n"
    for program in later_bbrctl, later_bbrmon:
        assert re.search(r"^  hello +greet$", program("--help").out, re.MULTILINE)
        text = program("hello", "--help").out
        assert "\ngreet\n" in text and "Needs no capabilities" in text, text
        assert "hello" in program("--complete", "hel").out
        assert "not an option" in program("hello", "--no-such", status=tool.USAGE).err
