# SPDX-License-Identifier: GPL-2.0-only
"""Canaries: the new arm's share grows while guards hold, and is taken back when one fails."""
import contextlib
import json
import re
import socket
import struct
import subprocess
import threading
import time

import pytest

from bpfmap import Map
from experiments import Server, arms, new_name, short_connection, whole_transfer
from system import bpftool, maps_of_program, wait_until
from tool import NOTHING, SANITIZER, USAGE

TAKEN_BACK = 4
EVERY = "--every", "1s"
LEASE_S = 30
LEASE_AT = 4 * 4 + 4 + 4  # in struct experiment_control: after the shares of four arms, `paused` and `step`


class Sink:
    """Reads what connections send, until they end."""

    def __init__(self, ns, address):
        with ns.entered():
            self.socket = socket.create_server((address, 0), backlog=1024)
        self.address = self.socket.getsockname()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._read, args=(self.socket.accept()[0],), daemon=True).start()

    @staticmethod
    def _read(sock):
        with sock, contextlib.suppress(OSError):
            while sock.recv(1 << 18):
                pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Traffic:
    """Connections one after the other, in several threads, from a namespace; make it while the process is in a cgroup."""

    def __init__(self, ns, address, size, threads):
        self.stopping, self.errors = threading.Event(), []
        self.threads = [threading.Thread(target=self._run, args=(ns, address, size), daemon=True)
                        for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def _run(self, ns, address, size):
        try:
            with ns.entered():
                while not self.stopping.is_set():
                    whole_transfer(address, size)
        except OSError as error:
            self.errors.append(error)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        assert not self.errors


@contextlib.contextmanager
def traffic(cgroup, sender, receiver, address, size=100_000, threads=4):
    sink = Sink(receiver, address)
    with cgroup.entered():
        running = Traffic(sender, sink.address, size, threads)
        try:
            yield
        finally:
            running.stop()
            sink.close()


class Watch:
    """`bbrctl -j experiment watch` in the background."""

    def __init__(self, bbrctl, name):
        self.process = bbrctl.start("experiment", "watch", "-j", name, *EVERY, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait(self, status, timeout=120):
        """Waits for its end. Returns its decisions."""
        out, errors = self.process.communicate(timeout=timeout)
        assert not SANITIZER.search(errors), errors
        assert self.process.returncode == status, errors
        return [json.loads(line)["decision"] for line in out.splitlines()]

    def kill(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def watch(bbrctl):
    with contextlib.ExitStack() as stack:
        def start(name):
            watching = Watch(bbrctl, name)
            stack.callback(watching.kill)
            return watching
        yield start


def start(experiments, cgroup, new, *options, guards=("retransmitted < 1.5x",)):
    return experiments.start(cgroup, "--design", "canary", *arms(old="cubic", new=new), *options, "--step-time", "2s",
                             *(word for guard in guards for word in ("--guard", guard)))


def let_time_pass(cgroup, seconds=LEASE_S):
    """Moves the lease of this cgroup's experiment and the start of its step into the past, as if nobody had watched it meanwhile."""
    (program,) = bpftool("cgroup", "show", cgroup.path)
    with Map.of(maps_of_program(program["id"])[".data.bbr_exp"]) as control:
        value, now = bytearray(control[bytes(4)]), time.monotonic_ns()
        lease, step_since = struct.unpack_from("QQ", value, LEASE_AT)
        assert 0 < lease - now <= LEASE_S * 1e9 and step_since <= now
        struct.pack_into("QQ", value, LEASE_AT, lease - int(seconds * 1e9), step_since - int(seconds * 1e9))
        control[bytes(4)] = bytes(value)


def test_a_good_one_gets_everything(experiments, watch, ns, cgroup):
    guards = "retransmitted < 1.5x", "goodput_p50 > 0.5x", "failed < +5%"
    name = start(experiments, cgroup, "cubic", "--steps", "5,50,100", "--step-connections", "20", guards=guards)
    assert experiments.status(name)["state"] == "unwatched"
    with traffic(cgroup, ns, ns, "127.0.0.1"):
        log = watch(name).wait(0)
        assert [line.split(":")[0] for line in log] == ["step 1 of 3", "step 2 of 3", "step 3 of 3", "complete"]
        before = experiments.counts(name)
        wait_until(lambda: experiments.counts(name)["new"] > before["new"] + 50, "connections after its end")
        assert experiments.counts(name)["old"] == before["old"]
    shown = experiments.status(name)
    assert shown["state"] == "complete" and [line["decision"] for line in shown["log"]][1:] == log
    experiments.bbrctl("experiment", "watch", name, status=NOTHING)
    experiments.bbrctl("experiment", "pause", name)
    experiments.bbrctl("experiment", "watch", name, status=NOTHING)


def test_a_bad_one_is_taken_back(bbrctl, experiments, load, watch, new_path, cgroup):
    """A profile that fills a short queue loses far more than CUBIC."""
    path, greedy = new_path(rate="100mbit", limit="40k"), load()
    bbrctl("profile", "add", "--name", greedy, "greedy", "cwnd_gain=6", "high_gain=8")
    name = start(experiments, cgroup, f"{greedy}:greedy", "--steps", "25,100", "--step-connections", "1000",
                 "--keep", "16384")
    with traffic(cgroup, path.sender, path.receiver, path.v4, size=300_000):
        log = watch(name).wait(TAKEN_BACK)
        assert [line.split(":")[0] for line in log] == ["step 1 of 2", "taken back at step 1, a guard failed"]
        assert "retransmitted" in log[1] and "connections" in log[1]
        taken_back = experiments.status(name)
        assert taken_back["state"] == "taken back"
        assert [a["share_percent"] for a in taken_back["arms"]] == [100, 0]
        time.sleep(2)
        now = experiments.counts(name)
        counts = {a["label"]: a["connections"] for a in taken_back["arms"]}
        assert now["new"] == counts["new"] and now["old"] > counts["old"]
    assert experiments.status(name)["log"][-1]["decision"] == log[1]
    experiments.bbrctl("experiment", "watch", name, status=NOTHING)
    for pause in ("pause", "resume"):  # which does not bring it back
        experiments.bbrctl("experiment", pause, name)
        experiments.bbrctl("experiment", "watch", name, status=NOTHING)
        assert [a["share_percent"] for a in experiments.status(name)["arms"]] == [100, 0]


def test_without_a_watcher_all_get_the_old_one(experiments, watch, ns, cgroup):
    """All get it before the first watcher starts, and after its lease. Another watcher continues at the same step."""
    server = Server(ns)
    name = start(experiments, cgroup, "reno", "--steps", "99,100", "--step-connections", "400")

    def news():
        with cgroup.entered(), ns.entered():
            return [short_connection("127.0.0.1", server.port) for _ in range(200)].count("reno")
    assert news() == 0
    first = watch(name)
    wait_until(lambda: news() > 150, "the watcher takes the first step")
    experiments.bbrctl("experiment", "watch", name, status=NOTHING)  # one is enough
    first.kill()
    assert experiments.status(name)["state"] == "running" and news() > 150  # the lease still runs
    let_time_pass(cgroup)
    assert experiments.status(name)["state"] == "unwatched" and news() == 0
    second = watch(name)
    wait_until(lambda: experiments.status(name)["state"] == "running", "it is watched again")
    assert news() > 150 and experiments.status(name)["step"] == 0
    experiments.bbrctl("experiment", "pause", name)
    assert news() == 0 and experiments.status(name)["state"] == "paused"
    experiments.bbrctl("experiment", "resume", name)
    assert news() > 150
    experiments.bbrctl("experiment", "stop", name)
    assert [line.split(":")[0] for line in second.wait(NOTHING)][0] == "step 1 of 2"
    server.close()


def test_a_watcher_that_stood_still_says_so(experiments, watch, ns, cgroup):
    """As that of a machine that was suspended: the time is no part of the step, which goes on."""
    name = experiments.start(cgroup, "--design", "canary", *arms(old="cubic", new="reno"), "--steps", "50,100", "--step-connections", "1",
                             "--step-time", "60s", "--guard", "retransmitted < 1.5x")
    with traffic(cgroup, ns, ns, "127.0.0.1"):
        watching = watch(name)
        wait_until(lambda: experiments.counts(name)["new"] > 10, "connections of the new arm end")
        let_time_pass(cgroup, 600)
        wait_until(lambda: len(experiments.status(name)["log"]) > 2, "the watcher notices")
        time.sleep(3)  # and looks again
    shown = experiments.status(name)
    assert shown["state"] == "running" and shown["step"] == 0
    said = [line["decision"] for line in shown["log"]][2:]
    (seconds,) = re.fullmatch(r"not watched for (\d+) s after the lease: the machine or bbrctl stood still; meanwhile new connections got old", said[0]).groups()
    assert 600 - LEASE_S <= int(seconds) <= 610 - LEASE_S and len(said) == 1
    experiments.bbrctl("experiment", "stop", name)
    watching.wait(NOTHING)


def test_what_a_canary_needs(bbrctl, experiments, cgroup):
    canary = "experiment", "start", new_name(), "--cgroup", cgroup.path, "--design", "canary"
    two = arms(a="cubic", b="reno")
    guard = "--guard", "retransmitted < 1.2x"
    for wrong in ([*two], [*two, *arms(c="cubic"), *guard], [*two, "--guard", "nothing < 1.2x"],
                  [*two, *guard, "--share", "b=5%"], [*two, *guard, "--steps", "5,1,100"],
                  [*two, *guard, "--steps", "1,50"], [*two, *guard, "--step-connections", "100000"]):
        bbrctl(*canary, *wrong, status=USAGE)
    name = experiments.start(cgroup, *two)
    assert "is not a canary" in bbrctl("experiment", "watch", name, status=NOTHING).err
    bbrctl("experiment", "watch", name, "--every", "60s", status=USAGE)
