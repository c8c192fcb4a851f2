# SPDX-License-Identifier: GPL-2.0-only
"""What the chart makes of values, and what the image's layer says of its files. make check-kube runs its pod."""
import functools
import json
import operator
import pathlib
import struct
import subprocess
import tarfile

import pytest
import yaml

from chart_tools import helm, render, validate

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSIONS = "1.30", "1.37"  # the oldest that Chart.yaml allows, and the newest for which there are schemas
NUMBERS = {"SYS_PTRACE": 19, "SYS_ADMIN": 21}
CAPABILITIES = ["SYS_ADMIN", "BPF", "PERFMON", "NET_ADMIN"]
PROXY = {"name": "proxy", "image": "registry.example.org/proxy:1", "ports": [{"name": "metrics", "containerPort": 10228}]}
FULL = {
    "config": "[instance a]\n  default_in = /proc/1/ns/net\n[default]\ncwnd_gain = 2.5 ; {{ not a template }}\n[instance b]\n",
    "instance": "a", "minReadySeconds": 10, "checkSeconds": 5,
    "image": {"repository": "registry.example.org/net/bpf-bbr", "tag": "1.2.3", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "metrics": {"address": "[::]", "port": 9999, "args": ["--every", "10s"],
                "networkPolicy": {"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]},
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
    ({"metrics": {"address": "127.0.0.1"}}, "/metrics/address"),
    ({"metrics": {"proxy": PROXY}}, "/metrics/address"),
    ({"metrics": {"address": "[::1]", "proxy": {"name": "proxy"}}}, "/metrics/proxy"),
    ({"metrics": {"address": "[::1]", "proxy": {**PROXY, "ports": [{"name": "https", "containerPort": 1}]}}}, "/metrics/proxy/ports"),
    ({"metrics": {"address": "[::1]", "proxy": {**PROXY, "name": "bbrmon"}}}, "/metrics/proxy/name"),
    ({"metrics": {"networkPolicy": {"from": [{}]}}}, "/metrics/networkPolicy/from/0"),
    ({"metrics": {"networkPolicy": {"ingress": []}}}, "/metrics/networkPolicy"),
    ({"updateStrategy": {"type": "Recreate"}}, "/updateStrategy/type"),
    ({"updateStrategy": {"rollingUpdate": {"maxSurge": "one"}}}, "/updateStrategy/rollingUpdate/maxSurge"),
    ({"checkSeconds": 0}, "/checkSeconds"),
    ({"podLabels": {"a": 1}}, "/podLabels/a"),
    ({"parameters": {}}, ""),
]


@pytest.fixture(name="chart", scope="module")
def _chart(tmp_path_factory):
    made = subprocess.run(["make", "-C", ROOT, "-s", f"BUILD={tmp_path_factory.mktemp('chart')}", "chart"], check=True,
                          capture_output=True, text=True)
    return made.stdout.splitlines()[-1]


def containers(things):
    return {container["name"]: container for container in pod(things)["containers"]}


def pod(things):
    return things["DaemonSet"]["spec"]["template"]["spec"]


def objects(chart, values, tmp_path):
    """What helm renders of the values, by kind. Kubernetes' schemas know it."""
    _, things = render(chart, values)
    known = [thing for kind, thing in things.items() if kind not in ("ServiceMonitor", "PrometheusRule")]
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(known))
    for version in VERSIONS:
        assert validate(version, tmp_path / "objects.yaml").count("passed") == len(known)
    return things


def test_without_values(chart, tmp_path):
    assert helm("lint", "--strict", chart).returncode == 0
    things = objects(chart, {}, tmp_path)
    assert set(things) == {"ConfigMap", "DaemonSet", "NetworkPolicy"}
    security = containers(things)["bbrctl"]["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"], "add": CAPABILITIES} and "privileged" not in security
    template = things["DaemonSet"]["spec"]["template"]
    assert render(chart, {})[1]["DaemonSet"]["spec"]["template"] == template
    assert render(chart, {"config": "[instance other]\n"})[1]["DaemonSet"]["spec"]["template"] != template


def test_with_all_values(chart, tmp_path):
    things = objects(chart, FULL, tmp_path)
    found = containers(things)
    assert things["ConfigMap"]["data"]["bpf-bbr.conf"].strip() == FULL["config"].strip()
    assert found["bbrctl"]["securityContext"] == {"privileged": True}
    assert found["bbrctl"]["command"] == ["bbrctl", "apply", "--hold", "--name", "a"]
    assert found["bbrmon"]["command"] == ["bbrmon", "export", "--listen", "[::]:9999", "--every", "10s"]
    assert things["PrometheusRule"]["spec"] == yaml.safe_load((ROOT / "packaging/prometheus/bpf-bbr.rules.yml").read_text())
    things = render(chart, {**FULL, "privileged": False})[1]
    assert "privileged" not in containers(things)["bbrctl"]["securityContext"]


def test_lines_for_pods(chart, tmp_path):
    """Only these need the kubelet's folders, and only labels the runtime's socket."""
    def mounts(line):
        things = objects(chart, {"config": f"[instance a]\n{line}\n"}, tmp_path)
        assert {m["name"] for m in containers(things)["bbrctl"]["volumeMounts"]} == {
            volume["name"] for volume in pod(things)["volumes"]}
        return [m for m in containers(things)["bbrctl"]["volumeMounts"] if m["name"] in ("pods", "runtime")]

    assert not mounts("attach = system.slice") and not mounts("; attach = --pod web/*") and not mounts("attach = /x ; --pod a/b")
    expected = [{"name": "pods", "mountPath": "/var/log/pods", "readOnly": True}]
    assert mounts("attach = --not-dst 10.0.0.0/8 --pod web/*") == mounts("[rules]\n  rule= --profile p --pod web/*") == expected
    expected.append({"name": "runtime", "mountPath": "/run/containerd", "readOnly": True})
    assert mounts("attach = --pod web/*,app=front") == mounts("rule = --pod */*,!app --profile p") == expected
    assert len(mounts("attach = --pod web/* ; --pod web/*,app=front")) == 1


def test_without_metrics(chart, tmp_path):
    things = objects(chart, {"metrics": {"enabled": False}, "privileged": True}, tmp_path)
    assert list(containers(things)) == ["bbrctl"] and containers(things)["bbrctl"]["securityContext"] == {"privileged": True}
    assert "ingress" not in things["NetworkPolicy"]["spec"]


def test_who_may_connect(chart, tmp_path):
    """The pods connect to nothing, and only those that are named connect to the metrics."""
    def policy(values):
        things = objects(chart, values, tmp_path)
        spec = things["NetworkPolicy"]["spec"]
        labels = things["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
        assert spec["podSelector"]["matchLabels"].items() <= labels.items()
        assert spec["policyTypes"] == ["Ingress", "Egress"] and "egress" not in spec
        return spec.get("ingress")

    port = [{"port": "metrics", "protocol": "TCP"}]
    (rule,) = policy({})
    assert rule["ports"] == port and all(peer["podSelector"]["matchLabels"] for peer in rule["from"])
    assert policy(FULL) == [{"from": FULL["metrics"]["networkPolicy"]["from"], "ports": port}]
    assert policy({"metrics": {"networkPolicy": {"from": []}}}) is None
    assert "NetworkPolicy" not in render(chart, {"metrics": {"networkPolicy": {"enabled": False}}})[1]


def test_a_proxy(chart, tmp_path):
    """bbrmon is on the pod's loopback, where the node does not reach it either. The port of the metrics is the proxy's."""
    volume = {"name": "tls", "secret": {"secretName": "bbr-metrics"}}
    metrics = {"address": "127.0.0.1", "proxy": PROXY, "volumes": [volume], "serviceMonitor": {
        "enabled": True, "endpoint": {"scheme": "https", "tlsConfig": {"serverName": "bbr"}}}}
    things = objects(chart, {"metrics": metrics}, tmp_path)
    found = containers(things)
    assert found["proxy"] == PROXY and volume in pod(things)["volumes"]
    assert found["bbrmon"]["command"][2:4] == ["--listen", "127.0.0.1:10227"]
    assert "ports" not in found["bbrmon"] and "livenessProbe" not in found["bbrmon"]
    assert list(found["bbrmon"]["readinessProbe"]) == ["exec", "periodSeconds", "timeoutSeconds"]
    (endpoint,) = things["ServiceMonitor"]["spec"]["endpoints"]
    assert endpoint["scheme"] == "https" and endpoint["port"] == things["Service"]["spec"]["ports"][0]["targetPort"] == "metrics"


def test_bbrmon_is_not_root(chart, tmp_path):
    """Its user gets no capabilities from the engine, so the image's file has those that the chart allows."""
    security = containers(render(chart, {})[1])["bbrmon"]["securityContext"]
    assert security["runAsNonRoot"] and security["runAsUser"] and security["runAsGroup"]
    assert security.get("allowPrivilegeEscalation", True)  # false would take those of the file away
    allowed = functools.reduce(operator.or_, (1 << NUMBERS[name] for name in security["capabilities"]["add"]))

    programs = tmp_path / "root/usr/sbin"
    programs.mkdir(parents=True)
    for name in "bbrctl", "bbrmon":
        (programs / name).touch(0o755)
    image, layout = tmp_path / "image.tar", tmp_path / "layout"
    subprocess.run([ROOT / "packaging/image/archive", tmp_path / "root", "1.0", "amd64", "0", image], check=True)
    with tarfile.open(image) as archive:
        archive.extractall(layout)
    (manifest,) = json.loads((layout / "manifest.json").read_text())
    with tarfile.open(layout / manifest["Layers"][0]) as layer:
        files = {file.name: file for file in layer}
    assert {name: (file.uid, file.mode) for name, file in files.items()} == {
        name: (0, 0o755) for name in ("usr", "usr/sbin", "usr/sbin/bbrctl", "usr/sbin/bbrmon")}
    assert not files["usr/sbin/bbrctl"].pax_headers
    has = files["usr/sbin/bbrmon"].pax_headers["SCHILY.xattr.security.capability"].encode()
    revision, permitted, inheritable, *high = struct.unpack("<5I", has)
    assert (revision, permitted, inheritable, high) == (0x02000000, allowed, 0, [0, 0])


@pytest.mark.parametrize("values, where", BAD, ids=range(len(BAD)))
def test_values_that_are_refused(chart, values, where):
    done = helm("template", chart, "--values", "-", input=json.dumps(values))
    assert done.returncode and f"at '{where}'" in done.stderr, done.stderr
