#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_cluster.py CHART IMAGE: the chart in a cluster of one node, with the kernel of this machine: installed, changed, refused,
rolled back, deleted. After each step the kernel has what the chart says; after all of them this machine is as it was."""
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import threading
import time
import uuid

import chart_tools
import cluster
import engine
import host_state
import roots
from engine import bbrctl
from progress import expect, say

NAME = "bbrcluster"
RELEASE = NAMESPACE = "bbr"
OBJECT = f"{RELEASE}-bpf-bbr"
PORT = 10227
CHECK_SECONDS = 2
HELD = pathlib.Path(__file__).with_name("held_connection.py")
# Runs in the node's processes. If this kills a probe, too, that probe fails, and no more happens.
KILL = "for c in /proc/[0-9]*/comm; do if grep -q '^bbrctl$' $c; then p=${c%/comm}; kill -KILL ${p#/proc/}; fi; done"


def config(cwnd_gain, more=""):
    return f"[instance {NAME}]\n{more}[default]\ncwnd_gain = {cwnd_gain}\n"


# ---- this machine's own view, from outside the cluster

def registered():
    return {instance["name"]: instance["id"] for instance in json.loads(roots.run(["bpftool", "-j", "struct_ops", "list"]))}


def available():
    return pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def gain_in_kernel():
    """The instance's cwnd_gain; None if there is no instance."""
    found = {instance["name"]: instance for instance in json.loads(bbrctl("-j", "save"))}.get(NAME)
    return found and found["profiles"][0]["params"]["cwnd_gain"]


class Watch(threading.Thread):
    """Checks all the time whether the name exists."""
    def __init__(self):
        super().__init__(daemon=True)
        self.looks, self.missed, self.goes_on = 0, 0, True

    def run(self):
        while self.goes_on:
            self.looks += 1
            self.missed += NAME not in available()
            time.sleep(0.005)


@contextlib.contextmanager
def never_missing(what):
    watch = Watch()
    watch.start()
    try:
        yield
    finally:
        watch.goes_on = False
        watch.join()
    expect(not watch.missed and watch.looks, f"{what}: the name was there each of the {watch.looks} times that it was looked for")


class Connection:
    def __init__(self, node):
        self._process = node.in_its_network(sys.executable, HELD, NAME, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _ask(self):
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def check(self, what):
        """The connection still has its congestion control, and receives more within a second."""
        since = self._ask()
        time.sleep(1)
        now = self._ask()
        gap = max(since["longest_gap_s"], now["longest_gap_s"])
        expect(now["congestion_control"] == NAME and now["bytes"] > since["bytes"],
               f"{what}: the connection is on {NAME}, got {now['bytes']} bytes, and waited for more at most {gap:.3f} s")

    def close(self):
        self._process.stdin.close()
        expect(self._process.wait() == 0, "the connection got through all that was sent")

    def kill(self):
        self._process.kill()
        self._process.wait()


# ---- the cluster's view

class Chart:
    """A release of the chart in a cluster."""
    def __init__(self, node, chart):
        self.node, self._chart = node, f"/root/{chart.name}"

    def helm(self, *arguments, values=None, fails=False):
        command = ["/root/helm", *arguments, "--namespace", NAMESPACE]
        if values is not None:
            command += ["--values", "-"]
            values = json.dumps({"instance": NAME, "checkSeconds": CHECK_SECONDS, **values})
        done = self.node.run(*command, input=values)
        if bool(done.returncode) != fails:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{self.described()}{self.node.said()}")
        return done.stdout

    def install(self, **values):
        self.helm("install", RELEASE, self._chart, "--create-namespace", "--wait", "--timeout=300s", values=values)

    def upgrade(self, **values):
        self.helm("upgrade", RELEASE, self._chart, "--wait", "--timeout=300s", values=values)

    def upgrade_in_vain(self, **values):
        self.helm("upgrade", RELEASE, self._chart, "--wait", "--timeout=15s", values=values, fails=True)

    def rollback(self, *revision):
        self.helm("rollback", RELEASE, *revision, "--wait", "--timeout=300s")

    def kubectl(self, *arguments):
        return self.node("kubectl", "--namespace", NAMESPACE, *arguments)

    def get(self, *arguments):
        return json.loads(self.kubectl("get", "--output=json", *arguments))

    def described(self):
        return self.node.run("kubectl", "--namespace", NAMESPACE, "describe", "pods").stdout[-6000:]

    def pods(self):
        """The pods that are not being deleted, by name: is each ready?"""
        return {pod["metadata"]["name"]: all(c["ready"] for c in pod["status"].get("containerStatuses", [{"ready": False}]))
                for pod in self.get("pods")["items"] if "deletionTimestamp" not in pod["metadata"]}

    def only_pod(self):
        self.wait_until(lambda: list(self.pods().values()) == [True], "there is one pod, and it is ready")
        return list(self.pods())[0]

    def restarts(self, pod, container):
        found = {c["name"]: c["restartCount"] for c in self.get("pod", pod)["status"]["containerStatuses"]}
        return found[container]

    def wait_until(self, condition, what, seconds=300):
        try:
            self.node.wait_until(condition, what, seconds)
        except SystemExit as end:
            raise SystemExit(f"{end}\n{self.described()}") from None
        expect(True, what)


def is_so(chart, gain, what):
    """The ConfigMap and the kernel have this gain. Returns the name of the only pod."""
    text = chart.get("configmap", OBJECT)["data"]["bpf-bbr.conf"]
    expect(f"cwnd_gain = {gain}\n" in text and gain_in_kernel() == gain and NAME in registered(),
           f"{what}: the ConfigMap says cwnd_gain = {gain}, and the kernel has it")
    return chart.only_pod()


def default(node):
    return node("cat", "/proc/sys/net/ipv4/tcp_congestion_control").strip()


def metrics(chart, pod):
    address = chart.get("pod", pod)["status"]["podIP"]
    ask = f"import urllib.request as r; print(r.urlopen('http://{address}:{PORT}/metrics').read().decode())"
    with chart.node.in_its_network(sys.executable, "-c", ask, stdout=subprocess.PIPE, text=True) as process:
        return process.communicate()[0]


# ---- the steps

def check_rollouts(chart, connection, first):
    number = registered()[NAME]
    say("changes the ConfigMap")
    with never_missing("the rollout"):
        chart.upgrade(config=config(2.75))
    second = is_so(chart, 2.75, "changed")
    expect(second != first and registered()[NAME] == number, "another pod, and still the same instance")
    connection.check("changed")

    say("a configuration that bbrctl refuses")
    with never_missing("the refusal"):
        chart.upgrade_in_vain(config=config("much"))
        expect(gain_in_kernel() == 2.75 and chart.pods()[second], "the node and the old pod are as they were")
        bad, = (name for name in chart.pods() if name != second)
        why = chart.kubectl("logs", bad, "--container=bbrctl")
        expect("cwnd_gain" in why, f"the log of the new pod says why: {why.strip().splitlines()[0]}")
        chart.rollback()
    expect(is_so(chart, 2.75, "after helm rollback") == second, "the old pod is the one")
    connection.check("refused")

    say("back to the first revision")
    with never_missing("the rollback"):
        chart.rollback("1")
    is_so(chart, 2.5, "rolled back")
    connection.check("rolled back")


def check_by_hand(chart, connection):
    say("somebody changes the node by hand")
    bbrctl("set", "--name", NAME, "cwnd_gain=3")
    chart.wait_until(lambda: not all(chart.pods().values()), "the pod is no longer ready")
    bbrctl("set", "--name", NAME, "cwnd_gain=2.5")
    chart.wait_until(lambda: all(chart.pods().values()), "undone, it is ready again")
    pod, number = chart.only_pod(), registered()[NAME]
    say("bbrctl is killed, as when memory is short")
    with never_missing("killed"):
        chart.node("sh", "-euc", KILL)
        chart.wait_until(lambda: chart.restarts(pod, "bbrctl") > 0, "its container is started again")
        is_so(chart, 2.5, "killed")
    expect(registered()[NAME] == number, "it found nothing to do")
    connection.check("killed")


def privileged(chart):
    containers = chart.get("daemonset", OBJECT)["spec"]["template"]["spec"]["containers"]
    found, = (container["securityContext"] for container in containers if container["name"] == "bbrctl")
    return found.get("privileged", False)


def check_default(chart, connection, before):
    say("the default of a network namespace, for which the pod must be privileged")
    chart.upgrade(config=config(2.5, "default_in = /proc/1/ns/net\n"))
    is_so(chart, 2.5, "with default_in")
    expect(privileged(chart) and default(chart.node) == NAME, "privileged, it makes the instance the default of the node")
    say("takes default_in out")
    chart.upgrade(config=config(2.5))
    is_so(chart, 2.5, "without default_in")
    expect(privileged(chart) and default(chart.node) == before, f"still privileged, it makes {before} the default again")
    chart.upgrade(config=config(2.5), privileged=False)
    is_so(chart, 2.5, "not privileged")
    expect(not privileged(chart), "it has only its capabilities again")
    connection.check("the default was changed twice")


def attached():
    """The cgroups that the instance is attached to."""
    return {instance["name"]: instance for instance in json.loads(bbrctl("-j", "save"))}[NAME]["attach"]


def check_pods(chart, connection):
    """A pod as a kubelet makes it that gives pods cgroups. This node's does not: version 2 may have no controllers here."""
    uid = str(uuid.uuid4())
    cgroup, folder = f"/sys/fs/cgroup/kubepods/pod{uid}", f"/var/log/pods/web_front-0_{uid}"
    say("a line for pods")
    chart.upgrade(config=config(2.5, "attach = --pod web/front-*\n"))
    is_so(chart, 2.5, "for pods")
    expect(not attached(), "attached to nothing yet")
    try:
        chart.node("mkdir", "-p", cgroup)
        chart.node("mkdir", folder)
        chart.wait_until(lambda: [path.endswith(f"/kubepods/pod{uid}") for path in attached()] == [True], "attached to the pod that came")
        chart.only_pod()
        chart.node("rmdir", folder)
        chart.wait_until(lambda: not attached(), "the pod went, and with it the attachment")
    finally:
        chart.node("rmdir", cgroup, "/sys/fs/cgroup/kubepods")
    say("a line for pods with a label, which containerd knows")
    chart.upgrade(config=config(2.5, "attach = --pod */*,app.kubernetes.io/name=bpf-bbr,!no.such/label\n"
                                     "attach = --pod */*,app.kubernetes.io/name=another\n"))
    uid = chart.get("pod", is_so(chart, 2.5, "for a label"))["metadata"]["uid"]
    cgroups = [f"/sys/fs/cgroup/kubepods/pod{uid}", f"/sys/fs/cgroup/kubepods/pod{uuid.uuid4()}"]
    try:
        chart.node("mkdir", "-p", *cgroups)
        chart.node("mkdir", f"/var/log/pods/web_back-0_{cgroups[1][-36:]}")
        chart.wait_until(lambda: [path.endswith(f"/kubepods/pod{uid}") for path in attached()] == [True], "attached to the pod with the label")
    finally:
        chart.node("rmdir", *cgroups, "/sys/fs/cgroup/kubepods", f"/var/log/pods/web_back-0_{cgroups[1][-36:]}")
    chart.upgrade(config=config(2.5))
    is_so(chart, 2.5, "not for pods")
    connection.check("not for pods")


def check(chart):
    before = default(chart.node)
    say("installs the chart")
    chart.install(config=config(2.5))
    first = is_so(chart, 2.5, "installed")
    text = metrics(chart, first)
    expect(f'bbr_instance_info{{bbr_instance="{NAME}"' in text, "the pod's metrics tell of the instance")

    connection = Connection(chart.node)
    try:
        connection.check("opened")
        check_rollouts(chart, connection, first)
        check_by_hand(chart, connection)
        check_default(chart, connection, before)
        check_pods(chart, connection)

        say("deletes the release")
        chart.helm("uninstall", RELEASE, "--wait", "--timeout=300s")
        chart.wait_until(lambda: not chart.get("pods")["items"], "no pod is left")
        expect(NAME not in available() and not pathlib.Path(f"/sys/fs/bpf/bpf_bbr/{NAME}").exists() and gain_in_kernel() is None,
               "the name is no longer there, nor its pin")
        connection.check("deleted")
        connection.close()
    finally:
        connection.kill()
    chart.wait_until(lambda: NAME not in registered(), "with the last connection its code goes")


@contextlib.contextmanager
def untouched(root):
    """Checks that the block leaves this machine as it was, and that no process in root is left."""
    before = host_state.read(root)
    try:
        yield
    finally:
        after = host_state.read(root)
        changed = host_state.differences(before, after)
        left = host_state.processes_in(root.path)
        for line in [*changed, *(f"process: {pid}" for pid in left)]:
            print(f"check-cluster: not as before: {line}", flush=True)
    counts = ", ".join(f"{len(lines)} {what}" for what, lines in after.items())
    expect(not changed and not left, f"this machine is as it was ({counts}), and no process is left")


def main():
    chart, image = map(pathlib.Path, sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("check-cluster: terminated"))
    with engine.nothing_left(NAME), cluster.unpacked(say) as (root, programs), untouched(root):
        with cluster.started(root, programs, image, chart, chart_tools.helm_program(), say=say) as node:
            check(Chart(node, chart))
    say("done")


main()
