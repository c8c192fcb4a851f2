# SPDX-License-Identifier: GPL-2.0-only
"""bbrctl apply --hold, the process of a container. Always with --name, so that it takes away that instance only."""
import signal
import subprocess
import threading

import pytest

from system import wait_until
from tool import DONE, REFUSED, USAGE, status_of

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine


class Holder:
    """A bbrctl apply --hold, which runs until it gets a signal."""

    def __init__(self, bbrctl, name, path):
        self.process = bbrctl.start("apply", "--hold", "--name", name, path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True)
        self.path = path
        # bbrctl prints before it waits, and holds no lock while it waits.
        self.first = self.process.stdout.readline()

    def end(self, sig=signal.SIGTERM):
        """Sends a signal and waits. Returns what bbrctl printed since."""
        self.process.send_signal(sig)
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == (DONE if sig != signal.SIGKILL else -sig)
        return out + err


@pytest.fixture
def hold(bbrctl, tmp_path):
    holders = []

    def start(name, text, tool=bbrctl):
        path = tmp_path / f"{len(holders)}.conf"
        path.write_text(text)
        holders.append(Holder(tool, name, path))
        return holders[-1]

    yield start
    for holder in holders:
        if holder.process.poll() is None:
            holder.process.kill()
            holder.process.wait()


def file_of(name, space, gain=2.5):
    return f"[instance {name}]\ndefault_in = {space.name}\n[default]\ncwnd_gain = {gain}\n"


@pytest.fixture
def space(new_ns):
    ns = new_ns()
    ns.default_congestion_control("reno")
    return ns


def default(ns):
    return ns.run("cat", "/proc/sys/net/ipv4/tcp_congestion_control").stdout.strip()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_it_stays_and_takes_away(bbrctl, hold, free_name, space, sig):
    name = free_name()
    holder = hold(name, file_of(name, space))
    assert f"{name}: loaded" in holder.first and default(space) == name
    bbrctl("set", "--name", name, "cwnd_gain=3")  # the lock is free
    assert f"{name}: unloaded" in holder.end(sig)
    assert status_of(bbrctl, name) is None and default(space) == "reno"


def test_killed_it_leaves_all(bbrctl, hold, free_name, space):
    name = free_name()
    hold(name, file_of(name, space)).end(signal.SIGKILL)
    assert status_of(bbrctl, name) and default(space) == name
    second = hold(name, file_of(name, space))
    assert "nothing to change" in second.first
    second.end()
    assert status_of(bbrctl, name) is None


def test_the_last_one_takes_away(bbrctl, hold, free_name, space):
    """A rolling update: the new process starts before the old one ends."""
    name, other = free_name(), free_name()
    old = hold(name, file_of(name, space))
    elsewhere = hold(other, f"[instance {other}]\n")
    new = hold(name, file_of(name, space, gain=2.75))
    before = status_of(bbrctl, name)["map_id"]
    assert "nothing was removed" in old.end()
    assert status_of(bbrctl, name)["map_id"] == before and default(space) == name
    assert "unloaded" in new.end() and default(space) == "reno"
    assert status_of(bbrctl, other) and "unloaded" in elsewhere.end()


def test_of_those_who_end_at_once_one_takes_away(bbrctl, hold, free_name, space):
    name = free_name()
    holders = [hold(name, file_of(name, space)) for _ in range(4)]
    said = []
    threads = [threading.Thread(target=lambda h=holder: said.append(h.end())) for holder in holders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted("unloaded" in text for text in said) == [False, False, False, True]
    assert status_of(bbrctl, name) is None and default(space) == "reno"


def test_stopped_while_it_waits_for_another(bbrctl, hold, free_name, space, tmp_path):
    """It has not begun to apply, and does not."""
    name = free_name()
    (tmp_path / "conf").write_text(file_of(name, space))
    with subprocess.Popen(["flock", "/run/bbrctl.lock", "sleep", "2"]) as locked:
        wait_until(lambda: subprocess.run(["flock", "-n", "/run/bbrctl.lock", "true"], check=False).returncode, "it is locked")
        process = bbrctl.start("apply", "--hold", "--name", name, tmp_path / "conf", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)
        wait_until(lambda: "bbrctl.lock" in " ".join(open_files(process.pid)), "it waits")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert locked.poll() is None
    assert process.returncode == REFUSED and not out
    assert err == "bbrctl: stopped by a signal while waiting for /run/bbrctl.lock; nothing was changed\n"
    assert status_of(bbrctl, name) is None and default(space) == "reno"


def open_files(pid):
    found = subprocess.run(["find", f"/proc/{pid}/fd", "-type", "l", "-printf", "%l\n"], capture_output=True, text=True,
                           check=False)
    return found.stdout.split()


def test_what_cannot_be_held(bbrctl, tmp_path, free_name):
    name = free_name()
    whole, tuning = tmp_path / "whole", tmp_path / "tuning"
    whole.write_text(f"[instance {name}]\n")
    tuning.write_text("[default]\ncwnd_gain = 2.5\n")
    for option in "--check", "--diff":
        assert "--hold" in bbrctl("apply", "--hold", option, "--name", name, whole, status=USAGE).err
    assert "[instance NAME]" in bbrctl("apply", "--hold", "--name", name, tuning, status=USAGE).err
    assert status_of(bbrctl, name) is None
