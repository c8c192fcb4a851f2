# SPDX-License-Identifier: GPL-2.0-only
"""`make demo`: its whole run, its summary, and that one that ends half way leaves nothing."""
import json
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
    assert re.search(r"^  resent    \d+ packets\n  lost      \d+ packets marked", text, re.M)
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


@pytest.mark.parametrize("lost, resent, ca_state, words", [
    (8, 0, "open", "8 packets marked, 8 more than resent: their ACKs came first, so they were late, not lost"),
    (7, 6, "open", "7 packets marked, 1 more than resent: their ACKs came first, so they were late, not lost"),
    (8, 0, "recovery", "8 packets marked"),
    (5, 5, "open", "5 packets marked"),
    (0, 1, "open", "0 packets marked"),
], ids=["late", "one late", "still in recovery", "lost", "tail probe"])
def test_marked_and_not_resent(tmp_path, lost, resent, ca_state, words):
    """The summary says so if the kernel marked more packets as lost than it resent."""
    end = {"event": "end", "mode": "PROBE_BW", "ca_state": ca_state, "mss_bytes": 1448}
    events = [{**end, "event": "mode", "rport": 5201, "to": "PROBE_BW", "reason": "drained"},
              {**end, "rport": 40000, "lost": 0, "bytes_retrans": 0},  # of the other end
              {**end, "rport": 5201, "lost": lost, "bytes_retrans": resent * 1448},
              {"summary": {"events": {"total": 3}, "drops": {"total": 0}, "acks": 9}}]
    (tmp_path / "events").write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    sender = {"min_rtt": 2000, "mean_rtt": 3000, "max_rtt": 4000}
    (tmp_path / "iperf").write_text(json.dumps({"end": {
        "sum_received": {"bits_per_second": 47.6e6}, "sum_sent": {"retransmits": resent}, "streams": [{"sender": sender}]}}))
    done = subprocess.run(["scripts/demo", "--summary", tmp_path], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[3:6] == [
        f"  resent    {resent} packets", f"  lost      {words}", "  modes     STARTUP -> PROBE_BW"]


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
