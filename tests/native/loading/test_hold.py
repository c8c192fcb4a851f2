# SPDX-License-Identifier: GPL-2.0-only
"""bbrctl apply --hold, the process of a container. Always with --name, so that it takes away that instance only."""
import json
import signal
import subprocess
import threading
import uuid

import pytest

from cgroups import Cgroup
from system import wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, Tool, status_of
from transfer import connect, get_cc, listen

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


class Node:
    """Pods as a kubelet makes them: first the cgroup, then the folder. bbrctl sees a /var of its own."""

    def __init__(self, bbrctl, new_cgroup, folder):
        self.parent, self.logs = new_cgroup(), folder / "log"
        (folder / "lib/bpf-bbr").mkdir(parents=True, mode=0o700)
        (self.logs / "pods").mkdir(parents=True)
        self.prefix = ["unshare", "--mount", "sh", "-c",
                       'mount --bind "$0/log" /var/log && mount --bind "$0/lib" /var/lib && exec "$@"', folder]
        self.bbrctl = Tool(bbrctl.path, self.prefix)
        self.pods = {}

    def make(self, pod):
        uid = str(uuid.uuid4())
        cgroup = Cgroup.of(self.parent.path / f"kubepods-burstable-pod{uid.replace('-', '_')}.slice")
        folder = self.logs / "pods" / f"{pod.replace('/', '_')}_{uid}"
        self.pods[pod] = cgroup, folder
        cgroup.path.mkdir()
        folder.mkdir()
        return cgroup

    def delete(self, pod):
        cgroup, folder = self.pods.pop(pod)
        folder.rmdir()
        cgroup.delete()

    def asks(self, *args, **kwargs):
        return self.bbrctl(*args, prefix=self.prefix, **kwargs)

    def rules(self, name):
        """The ports of an instance's rules, and the pods that they are for, in order."""
        paths = {str(cgroup.path): pod for pod, (cgroup, _) in self.pods.items()}
        mount = self.parent.path.parent
        return [(r.get("dport"), r.get("cgroup") and paths.get(f"{mount}{r['cgroup']}", "?")) for r in saved_of(self.bbrctl, name)["rules"]]


@pytest.fixture
def node(bbrctl, new_cgroup, tmp_path):
    node = Node(bbrctl, new_cgroup, tmp_path / "var")
    yield node
    for pod in [*node.pods]:
        node.delete(pod)


def saved_of(bbrctl, name):
    return next(i for i in bbrctl.json("save") if i["name"] == name)


def cc_in(ns, cgroup):
    with cgroup.entered():
        return get_cc(connect(ns, listen(ns))[0])


PODS = """[instance {name}]
attach = --not-dst 127.9.0.0/16 --pod web/front-*
[bulk]
cwnd_gain = 1.25
[rules]
rule = --dport 1 --profile bulk
rule = --dport 2 --profile bulk --pod web/front-0
rule = --profile bulk --pod */*
rule = --dport 3 --profile bulk
"""


def test_lines_for_pods_follow_the_pods(bbrctl, hold, free_name, space, node):
    name = free_name()
    here = node.make("web/front-0")
    holder = hold(name, PODS.format(name=name), node.bbrctl)
    assert cc_in(space, here) == name

    assert node.rules(name) == [(1, None), (2, "web/front-0"), (None, "web/front-0"), (3, None)]
    # New pods: one that both lines name, and one of another namespace.
    both, other = node.make("web/front-1"), node.make("db/front-1")
    wait_until(lambda: len(saved_of(bbrctl, name)["rules"]) == 6, "the new pods have their rules")
    assert node.rules(name) == [(1, None), (2, "web/front-0"), (None, "db/front-1"), (None, "web/front-0"), (None, "web/front-1"), (3, None)]
    assert cc_in(space, both) == name and cc_in(space, other) == "reno"
    assert saved_of(bbrctl, name)["attachments"] == [{"cgroup": str(c.path), "not_dst": ["127.9.0.0/16"]}
                                      for c in sorted((here, both), key=lambda c: c.path)]
    node.asks("apply", "--check", "--name", name, holder.path)
    node.delete("web/front-0")
    wait_until(lambda: len(saved_of(bbrctl, name)["rules"]) == 4, "the pod's rules are gone")
    assert node.rules(name) == [(1, None), (None, "db/front-1"), (None, "web/front-1"), (3, None)]
    # A restart of the pod, under another uid.
    assert cc_in(space, node.make("web/front-0")) in ("reno", name)
    wait_until(lambda: len(saved_of(bbrctl, name)["attachments"]) == 2, "it is attached again")
    assert cc_in(space, node.pods["web/front-0"][0]) == name
    said = holder.end()
    assert f"{name}: 6 rules (before: 4)" in said and "unloaded" in said


def test_pods_that_come_and_go_at_once(bbrctl, hold, free_name, node):
    """A pod's cgroup may be gone when its line is applied, or taken back."""
    name = free_name()
    holder = hold(name, PODS.format(name=name), node.bbrctl)
    node.make("web/front-0")  # for which there is another rule
    for i in range(30):
        node.make(f"web/front-{i + 1}")
        if i % 3:
            node.delete(f"web/front-{i}")

    def saved():
        found = saved_of(bbrctl, name)
        return sorted(found["attach"]), len(found["rules"])

    expected = sorted(str(cgroup.path) for cgroup, _ in node.pods.values()), 3 + len(node.pods)
    wait_until(lambda: saved() == expected, "only the pods that are there have a program and rules")
    holder.end()


def test_what_somebody_else_changed_stays(bbrctl, hold, free_name, node):
    """Pods are no reason to load what was unloaded, nor to make a rule again that was deleted."""
    name = free_name()
    holder = hold(name, PODS.format(name=name), node.bbrctl)
    bbrctl("unload", "--name", name)
    node.make("web/front-0")
    bbrctl("load", "--name", name)  # would be refused if it were there
    node.make("web/front-1")
    wait_until(lambda: len(saved_of(bbrctl, name)["attach"]) == 2, "both are attached")
    assert saved_of(bbrctl, name)["rules"] == []
    holder.end()


def test_following_the_file_that_was_applied(bbrctl, free_name, node, tmp_path):
    """As bpf-bbr-follow.service does; it ends with a file without such lines."""
    name = free_name()
    path = tmp_path / "pods.conf"
    path.write_text(PODS.format(name=name))
    node.asks("apply", "--name", name, path)
    process = node.bbrctl.start("apply", "--follow", "--name", name, path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        node.make("web/front-0")
        wait_until(lambda: len(saved_of(bbrctl, name)["rules"]) == 4, "the pod has its rules")
        # Somebody works at the rules: theirs stay as they are, and the pods' are still followed.
        bbrctl("rule", "delete", "--name", name, "1")
        bbrctl("profile", "add", "--name", name, "mine", "cwnd_gain=2")
        for rule in ("--dport", 4), ("--dport", 5, "--cgroup", node.pods["web/front-0"][0].path):
            bbrctl("rule", "add", "--name", name, "--profile", "mine", *rule)
        node.make("web/front-1")
        wait_until(lambda: len(saved_of(bbrctl, name)["rules"]) == 6, "the next pod has its rule")
        assert node.rules(name) == [(2, "web/front-0"), (None, "web/front-0"), (None, "web/front-1"), (3, None), (4, None), (5, "web/front-0")]
        node.delete("web/front-1")
        wait_until(lambda: len(saved_of(bbrctl, name)["rules"]) == 5, "its rule is gone")
        path.write_text(f"[instance {name}]\n")
        node.delete("web/front-0")
        out, _ = process.communicate(timeout=60)
        assert process.returncode == DONE and "attached to" in out, out
    finally:
        process.kill()
        process.wait()
    bbrctl("unload", "--name", name)


def test_the_kubelet_starts_later(bbrctl, hold, free_name, node):
    """At the boot of a node there is no folder yet."""
    name = free_name()
    (node.logs / "pods").rmdir()
    holder = hold(name, PODS.format(name=name), node.bbrctl)
    (node.logs / "pods").mkdir()
    node.make("web/front-0")
    wait_until(lambda: saved_of(bbrctl, name)["attach"], "it is attached")
    holder.end()


def test_undo_knows_the_lines_and_not_the_pods(bbrctl, free_name, node, tmp_path):
    """Pods come and go; what an undone apply asked for is the line."""
    name = free_name()
    path = tmp_path / "pods.conf"
    path.write_text(PODS.format(name=name))
    node.make("web/front-0")
    found = json.loads(node.asks("-j", "apply", "--name", name, path).out)["pods"]
    assert found == [{"name": name, "pod": "web/front-*", "found": 1}, {"name": name, "pod": "web/front-0", "found": 1},
                     {"name": name, "pod": "*/*", "found": 1}]
    node.make("web/front-1")
    node.asks("apply", "--check", "--name", name, path, status=NOTHING)
    node.asks("apply", "--undo", "--name", name)
    assert status_of(bbrctl, name) is None
    node.asks("apply", "--undo", "--name", name)
    saved = saved_of(bbrctl, name)
    assert len(saved["attach"]) == 2 and len(saved["rules"]) == 5
    # The state before another file, too, has the lines and not the pods of that time.
    other = tmp_path / "other.conf"
    other.write_text(f"[instance {name}]\n[bulk]\ncwnd_gain = 1.5\n")
    node.asks("apply", "--name", name, other)
    assert not saved_of(bbrctl, name)["rules"]
    node.make("web/front-2")
    node.asks("apply", "--undo", "--name", name)
    saved = saved_of(bbrctl, name)
    assert len(saved["attach"]) == 3 and len(saved["rules"]) == 6
    bbrctl("unload", "--name", name)


def test_a_pod_instead_of_its_cgroup(bbrctl, load, space, node):
    name, own = load(), node.make("web/front-0")
    node.make("web/front-1")
    other = node.make("db/front-0")
    assert "no such pod" in node.asks("attach", "--name", name, "--pod", "web/back-0", status=USAGE).err
    assert "means 2 pods" in node.asks("attach", "--name", name, "--pod", "web/*", status=USAGE).err
    node.asks("attach", "--name", name, "--pod", "*/front-1")
    node.asks("attach", "--name", name, "--pod", "w*/*-0")
    assert cc_in(space, own) == name and cc_in(space, other) == "reno"
    node.asks("rule", "add", "--name", name, "--pod", "web/front-0", "--profile", "default")
    (rule,) = bbrctl.json("rule", "list", "--name", name)["rules"]
    assert rule["cgroup"] == f"/{own.relative}"
    node.asks("detach", "--name", name, "--pod", "web/front-0")
    assert cc_in(space, own) == "reno"
