#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_kube.py CHART IMAGE: checks what the chart makes of values, and its pod in podman, with this machine's kernel."""
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

import chart_tools  # makes roots importable
import engine
import roots
from engine import bbrctl
from progress import expect, wait_until

NAME = "bbrkube"
VERSIONS = "1.30", "1.37"  # the oldest that Chart.yaml allows, and the newest for which there are schemas
CAPABILITIES = ["SYS_ADMIN", "BPF", "PERFMON", "NET_ADMIN"]
FULL = {
    "config": "[instance a]\n  default_in = /proc/1/ns/net\n[default]\ncwnd_gain = 2.5 ; {{ not a template }}\n[instance b]\n",
    "instance": "a", "minReadySeconds": 10, "checkSeconds": 5,
    "image": {"repository": "registry.example.org/net/bpf-bbr", "tag": "1.2.3", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "metrics": {"address": "[::]", "port": 9999, "args": ["--every", "10s"],
                "serviceMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}},
                "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}}},
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}},
    "resources": {"bbrctl": {"limits": {"memory": "64Mi"}}, "bbrmon": {"requests": {"cpu": "50m"}}},
    "nodeSelector": {"edge": "yes"}, "tolerations": [], "priorityClassName": "system-node-critical",
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kernel", "operator": "Exists"}]}]}}},
    "podAnnotations": {"team": "net"}, "podLabels": {"tier": "edge"},
}
# Values that the schema refuses, and the place in them that its message must name.
BAD = [
    ({"config": "[default]\ncwnd_gain = 2.5\n"}, "/config"),
    ({"config": {"instances": []}}, "/config"),
    ({"instance": "a-b"}, "/instance"),
    ({"privileged": "yes"}, "/privileged"),
    ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
    ({"image": {"name": "bpf-bbr"}}, "/image"),
    ({"metrics": {"port": 0}}, "/metrics/port"),
    ({"metrics": {"port": "10227"}}, "/metrics/port"),
    ({"metrics": {"serviceMonitor": {"interval": "30"}}}, "/metrics/serviceMonitor/interval"),
    ({"updateStrategy": {"type": "Recreate"}}, "/updateStrategy/type"),
    ({"updateStrategy": {"rollingUpdate": {"maxSurge": "one"}}}, "/updateStrategy/rollingUpdate/maxSurge"),
    ({"checkSeconds": 0}, "/checkSeconds"),
    ({"podLabels": {"a": 1}}, "/podLabels/a"),
    ({"parameters": {}}, ""),
]


def render(chart, values, release="bbr"):
    """The text that helm renders, and the objects in it by kind."""
    done = chart_tools.helm("template", release, chart, "--namespace", "net", "--values", "-", input=json.dumps(values))
    if done.returncode:
        raise SystemExit(f"helm template: {done.stderr}")
    return done.stdout, {thing["kind"]: thing for thing in yaml.safe_load_all(done.stdout) if thing}


def pod(things):
    return things["DaemonSet"]["spec"]["template"]


def containers(things):
    return {container["name"]: container for container in pod(things)["spec"]["containers"]}


def check_schemas(things, what):
    """Checks the kinds that Kubernetes itself knows."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        known = [thing for kind, thing in things.items() if kind not in ("ServiceMonitor", "PrometheusRule")]
        yaml.safe_dump_all(known, file)
        file.flush()
        for version in VERSIONS:
            said = chart_tools.validate(version, file.name)
            expect(said.count("passed") == len(known), f"{what}: {len(known)} objects pass the schemas of {version}")


def check_values(chart):
    expect(chart_tools.helm("lint", "--strict", chart).returncode == 0, "helm lint is content")
    _, things = render(chart, {})
    check_schemas(things, "without values")
    security = containers(things)["bbrctl"]["securityContext"]
    expect(set(things) == {"ConfigMap", "DaemonSet"} and security["capabilities"] == {"drop": ["ALL"], "add": CAPABILITIES}
           and "privileged" not in security, "without values four capabilities do")
    again, other = render(chart, {})[1], render(chart, {"config": "[instance other]\n"})[1]
    expect(pod(things) == pod(again) != pod(other), "another configuration makes another pod, the same one does not")

    _, things = render(chart, FULL)
    check_schemas(things, "with all values")
    found = containers(things)
    expect(things["ConfigMap"]["data"]["bpf-bbr.conf"].strip() == FULL["config"].strip(), "the configuration is what was given")
    expect(found["bbrctl"]["securityContext"] == {"privileged": True}, "default_in makes bbrctl privileged")
    expect(found["bbrctl"]["command"] == ["bbrctl", "apply", "--hold", "--name", "a"]
           and found["bbrmon"]["command"] == ["bbrmon", "export", "--listen", "[::]:9999", "--every", "10s"], "commands")
    rules = things["PrometheusRule"]["spec"]
    ours = yaml.safe_load((roots.ROOT / "packaging/prometheus/bpf-bbr.rules.yml").read_text())
    expect(rules == ours, "the alerts are those of packaging/prometheus")

    _, things = render(chart, {"metrics": {"enabled": False}, "privileged": True})
    check_schemas(things, "without metrics")
    expect(list(containers(things)) == ["bbrctl"] and containers(things)["bbrctl"]["securityContext"] == {"privileged": True},
           "without metrics there is one container")
    _, things = render(chart, {**FULL, "privileged": False})
    expect("privileged" not in containers(things)["bbrctl"]["securityContext"], "privileged: false is heeded")
    for values, where in BAD:
        done = chart_tools.helm("template", chart, "--values", "-", input=json.dumps(values))
        expect(done.returncode and f"at '{where}'" in done.stderr, f"refused: {json.dumps(values)}")


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
    check_values(chart)
    with engine.nothing_left(NAME), engine.started(image) as started:
        (tag,) = started.podman("images", "--format={{.Tag}}").split()
        check_pod(started, chart, tag)


main()
