#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_kube.py CHART IMAGE: the chart's pod in podman, with this machine's kernel. test_chart.py has what it makes of values."""
import contextlib
import json
import pathlib
import re
import subprocess
import sys

import engine  # makes roots importable
import roots
from chart_tools import render
from engine import bbrctl
from progress import expect, wait_until

NAME = "bbrkube"


@contextlib.contextmanager
def place():
    """A process in a network namespace of its own, and a cgroup, for the configuration to name."""
    root = re.search(r"^cgroup2 (\S+)", pathlib.Path("/proc/mounts").read_text(), re.M)[1]
    cgroup = pathlib.Path(root) / NAME
    cgroup.mkdir()
    with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"]) as process:
        try:
            own = pathlib.Path("/proc/self/ns/net").readlink()
            wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/ns/net").readlink() != own, "a network namespace")
            yield process.pid, cgroup
        finally:
            process.kill()
            process.wait()
            cgroup.rmdir()


def default_in(pid):
    return roots.run(["nsenter", f"--target={pid}", "--net", "cat", "/proc/sys/net/ipv4/tcp_congestion_control"]).strip()


def saved(key):
    found = {i["name"]: i for i in json.loads(bbrctl("-j", "save"))}.get(NAME)
    return found and found[key]


def check_pod(podman, chart, tag):
    """The rendered DaemonSet in podman. A rolling update starts the new pod first, so here that pod is of another release."""
    def play(release, config):
        image = {"repository": "docker.io/library/bpf-bbr", "tag": tag, "pullPolicy": "Never"}
        text, _ = render(chart, {"config": config, "instance": NAME, "image": image}, release)
        (podman.root.path / f"root/{release}.yaml").write_text(text)
        podman.podman("kube", "play", "--network=none", f"/root/{release}.yaml")

    def down(release):
        podman.podman("kube", "down", f"/root/{release}.yaml")

    def container(release, name):
        return next(c for c in podman.containers() if c.startswith(f"{release}-") and c.endswith(f"-{name}"))

    with place() as (pid, cgroup):
        before = default_in(pid)
        config = f"[instance {NAME}]\nattach = {cgroup.name}\n[default]\ncwnd_gain = 2.5\n"
        play("old", config)
        wait_until(lambda: saved("attach") == [str(cgroup)], "with four capabilities the pod loads, and attaches a cgroup")
        status = pathlib.Path(f"/proc/{podman.containers()[container('old', 'bbrctl')]}/status").read_text()
        expect(re.search(r"^CapBnd:\s*0*(.*)", status, re.M)[1] == f"{sum(1 << n for n in (12, 21, 38, 39)):x}",
               "it has no other capabilities")
        podman.podman("exec", container("old", "bbrctl"), "bbrctl", "apply", "--check", "--name", NAME)
        bbrctl("set", "--name", NAME, "cwnd_gain=2.75")
        said = podman.podman("exec", container("old", "bbrctl"), "bbrctl", "apply", "--check", "--name", NAME, status=3)
        expect("cwnd_gain" in said, "its readiness probe finds what was changed by hand")
        metrics = podman.get(container("old", "bbrmon"), 10227)
        expect(f'bbr_instance_info{{bbr_instance="{NAME}"' in metrics, "its metrics tell of the instance")

        number = json.loads(bbrctl("-j", "status", "--name", NAME))[0]["map_id"]
        play("new", config.replace("2.5", "3").replace("attach", f"default_in = /proc/{pid}/ns/net\nattach"))
        wait_until(lambda: default_in(pid) == NAME, "the next pod, which is privileged, makes it a default")
        down("old")
        expect(json.loads(bbrctl("-j", "status", "--name", NAME))[0]["map_id"] == number and default_in(pid) == NAME
               and saved("attach"), "when the old pod goes the instance stays, the same one")
        down("new")
        expect(saved("attach") is None and default_in(pid) == before, "when the last one goes it takes all away")


def main():
    chart, image = map(pathlib.Path, sys.argv[1:])
    with engine.nothing_left(NAME), engine.started(image) as started:
        (tag,) = started.podman("images", "--format={{.Tag}}").split()
        check_pod(started, chart, tag)


main()
