# SPDX-License-Identifier: GPL-2.0-only
"""`make demo`: its whole run, and that one that ends half way leaves nothing."""
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import system

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAME = "bbr_demo"


def namespaces():
    out = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in out.splitlines() if line.startswith("bbr-demo-")]


def processes():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if NAME.encode() in words or b"scripts/demo" in words:
            found.append(words)
    return found


def is_clean():
    return not namespaces() and NAME not in system.registered() and not processes()


def wait_until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.2)


@pytest.fixture
def demo(request, tmp_path):
    """Starts the demo as a job of its own, as a shell does, with its output in a file. Parameter: the algorithm."""
    env = dict(os.environ, ALGORITHM=request.param) if hasattr(request, "param") else None
    assert is_clean(), "a demo is running, or has left something"
    had_bpffs = system.has_bpffs()
    with open(tmp_path / "output", "w+", encoding="utf-8") as output:
        started = subprocess.Popen(["scripts/demo"], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        started.output = lambda: (tmp_path / "output").read_text()
        yield started
        if started.poll() is None:
            started.kill()
            started.wait()
        wait_until(lambda: is_clean() and system.has_bpffs() == had_bpffs, "the demo is cleaned up")


def test_the_whole_of_it(demo):
    assert demo.wait(120) == 0, demo.output()
    text = demo.output()
    assert "Loading BBR version 1 as a BPF program" in text
    assert "modes     STARTUP -> DRAIN -> PROBE_BW" in text and " 0 dropped" in text
    assert "probes " not in text
    assert "Removed everything again." in text
    assert is_clean()


@pytest.mark.parametrize("demo", ["bbr3"], indirect=True)
def test_of_version_3(demo):
    """The demo shows the phases of version 3, and why it stopped probing."""
    assert demo.wait(120) == 0, demo.output()
    text = demo.output()
    assert "Loading BBR version 3 as a BPF program" in text
    assert "modes     STARTUP -> DRAIN -> PROBE_BW" in text and " 0 dropped" in text
    assert "PROBE_BW/" in text and re.search(r"^  probes    [1-9]\d*, ended by (loss|ecn|inflight|full_bw) \(", text, re.M)
    assert is_clean()


@pytest.mark.parametrize("demo", ["cubic"], indirect=True)
def test_of_another_algorithm(demo):
    assert demo.wait(30) == 1 and demo.output() == "demo: ALGORITHM=cubic: it is bbr or bbr3\n"


def flows(demo):
    return "PROBE_BW" in demo.output()


@pytest.mark.parametrize("end", ["SIGKILL", "Ctrl-C"])
def test_half_way(demo, end):
    wait_until(lambda: flows(demo), "the flow is shown")
    assert not is_clean()
    if end == "SIGKILL":
        demo.kill()
    else:
        os.killpg(demo.pid, signal.SIGINT)
    assert demo.wait(30) != 0
    wait_until(is_clean, "everything is removed")
