# SPDX-License-Identifier: GPL-2.0-only
"""Pods of Kubernetes in place of their cgroups, by namespace, name and labels: in a file that is applied and followed, and in verbs."""
import contextlib
import json
import socket
import struct
import subprocess
import threading
import time
import uuid

import pytest

from cgroups import Cgroup
from system import wait_until
from test_hold import hold, space  # noqa: F401 fixtures
from tool import DONE, NOTHING, REFUSED, USAGE, Tool, status_of
from transfer import connect, get_cc, listen

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine


# ---- a container runtime, as far as a client sees: HTTP/2 and protocol buffers by hand

DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """A varint for an int, else bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def sandbox(uid, labels, created_ns=1):
    """A PodSandbox."""
    entries = b"".join(field(5, field(1, key) + field(2, value)) for key, value in labels.items())
    metadata = field(1, "name") + field(2, uid) + field(3, "namespace")
    return field(1, "id") + field(2, metadata) + field(3, 0) + field(4, created_ns) + entries


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def headers(pairs, status=b""):
    """In HPACK, each as a literal that is never indexed."""
    return status + b"".join(b"\x10" + b"".join(bytes([len(text)]) + text.encode() for text in pair) for pair in pairs)


class Runtime:
    """Answers ListPodSandbox. Listens at a path. answer is a message, or an error's text; wrong(bytes) are sent instead of all bytes of it."""

    def __init__(self, path):
        self.answer, self.asked, self.wrong = b"", 0, None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self.socket.accept()
                with connection, contextlib.suppress(ConnectionError):
                    self.talk(connection)

    def talk(self, connection):
        stream, credit = connection.makefile("rb"), 65535

        def take():
            """Reads a frame. Returns its kind, flags, stream and payload."""
            head = stream.read(9)
            if len(head) < 9:
                raise ConnectionError
            return head[3], head[4], int.from_bytes(head[5:], "big"), stream.read(int.from_bytes(head[:3], "big"))

        assert stream.read(len(PREFACE)) == PREFACE
        while (got := take())[:2] != (DATA, END_STREAM):
            pass
        assert got[3] == bytes(5)
        self.asked += 1
        for sent in self.reply():
            is_data = sent[3:4] == bytes([DATA])
            while is_data and credit < len(sent):
                kind, _, number, payload = take()
                credit += int.from_bytes(payload, "big") if kind == WINDOW_UPDATE and not number else 0
            credit -= len(sent) if is_data else 0
            connection.sendall(sent)
        while not (self.wrong and sent) and stream.read(1):  # until the client closes it
            pass

    def reply(self):
        """The frames of an answer."""
        failed = isinstance(self.answer, str)
        frames = [frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0) +
                  frame(HEADERS, END_HEADERS, 1, headers([("content-type", "application/grpc")], b"\x88"))]
        message = b"" if failed else b"\0" + struct.pack(">I", len(self.answer)) + self.answer
        frames += [frame(DATA, 0, 1, message[i:i + 16384]) for i in range(0, len(message), 16384)]
        end = [("grpc-status", "12"), ("grpc-message", self.answer)] if failed else [("grpc-status", "0")]
        frames.append(frame(HEADERS, END_HEADERS | END_STREAM, 1, headers(end)))
        return frames if self.wrong is None else [self.wrong(b"".join(frames))]

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(timeout=10)


# ---- a node

class Node:
    """
    Pods as a kubelet makes them: first the cgroup, then the folder; with a runtime, its answer comes last. bbrctl sees a /var
    and a /run of its own, the latter with the machine's lock and network namespaces.
    """

    def __init__(self, bbrctl, new_cgroup, folder):
        self.parent, self.logs = new_cgroup(), folder / "log"
        (folder / "lib/bpf-bbr").mkdir(parents=True, mode=0o700)
        (self.logs / "pods").mkdir(parents=True)
        (folder / "run/containerd").mkdir(parents=True)
        (folder / "run/netns").mkdir()
        (folder / "run/bbrctl.lock").touch()
        self.prefix = ["unshare", "--mount", "sh", "-ec",
                       'mount --bind "$0/log" /var/log; mount --bind "$0/lib" /var/lib; mount --rbind /run/netns "$0/run/netns"; '
                       '[ -e /run/bbrctl.lock ] || install -m 600 /dev/null /run/bbrctl.lock; '
                       'mount --bind /run/bbrctl.lock "$0/run/bbrctl.lock"; mount --rbind "$0/run" /run; exec "$@"', folder]
        self.bbrctl = Tool(bbrctl.path, self.prefix)
        self.pods, self.labels, self.runtime, self.socket = {}, {}, None, folder / "run/containerd/containerd.sock"

    def start_runtime(self):
        self.runtime = Runtime(self.socket)

    def label(self, pod, **labels):
        """The runtime knows the pod from now on, with these labels."""
        self.labels[pod] = labels
        self.runtime.answer = b"".join(field(1, sandbox(self.uid(pod), labels)) for pod, labels in self.labels.items())

    def uid(self, pod):
        return self.pods[pod][1].name.rpartition("_")[2]

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
    if node.runtime:
        node.runtime.close()


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


def test_a_pod_whose_cgroup_outlives_its_folder(bbrctl, hold, free_name, node):
    """Its rules go with the cgroup, although nothing tells when that is."""
    name = free_name()
    node.make("web/front-0")
    holder = hold(name, PODS.format(name=name), node.bbrctl)
    cgroup, folder = node.pods["web/front-0"]
    folder.rmdir()
    node.make("web/front-1")
    wait_until(lambda: len(node.rules(name)) == 5, "both pods have a rule")
    del node.pods["web/front-0"]
    cgroup.delete()
    wait_until(lambda: node.rules(name) == [(1, None), (None, "web/front-1"), (3, None)], "the pod's rules are gone")
    holder.end()


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

LABELS = """[instance {name}]
attach = --pod web/*,app=front,tier!=canary
[bulk]
cwnd_gain = 1.25
[rules]
rule = --dport 1 --profile bulk --pod */*,batch
rule = --dport 2 --profile bulk --pod */*,!batch
rule = --dport 3 --profile bulk
"""


def test_labels_choose_pods(bbrctl, hold, free_name, node):
    """Those of a new pod are known a while after its cgroup and its folder are there."""
    name = free_name()
    node.start_runtime()
    node.make("web/old")
    node.label("web/old", app="front", batch="")
    holder = hold(name, LABELS.format(name=name), node.bbrctl)
    assert node.rules(name) == [(1, "web/old"), (3, None)] and len(saved_of(bbrctl, name)["attach"]) == 1
    for pod in "web/new", "web/canary", "web/back", "db/new":
        node.make(pod)
    time.sleep(0.5)
    assert len(saved_of(bbrctl, name)["rules"]) == 2
    node.label("web/new", app="front", tier="best")
    node.label("web/canary", app="front", tier="canary")
    node.label("web/back", app="fronts")
    node.label("db/new", app="front", batch="yes")
    wait_until(lambda: len(saved_of(bbrctl, name)["rules"]) == 6, "all pods have their rules")
    assert node.rules(name) == [(1, "db/new"), (1, "web/old"), (2, "web/back"), (2, "web/canary"), (2, "web/new"), (3, None)]
    wait_until(lambda: len(saved_of(bbrctl, name)["attach"]) == 2, "both are attached")
    assert {a["cgroup"] for a in saved_of(bbrctl, name)["attachments"]} == {str(node.pods[pod][0].path) for pod in ("web/old", "web/new")}
    asked = node.runtime.asked
    time.sleep(1)
    assert node.runtime.asked == asked, "all labels are known, and it asks no more"
    node.asks("apply", "--check", "--name", name, holder.path)
    holder.end()


def test_labels_in_a_verb(bbrctl, load, node):
    name = load()
    node.start_runtime()
    for pod, app in ("web/a", "front"), ("web/b", "back"):
        node.make(pod)
        node.label(pod, app=app)
    node.asks("rule", "add", "--name", name, "--pod", "*/*,app=back", "--profile", "default")
    assert node.rules(name) == [(None, "web/b")]
    assert "means 2 pods" in node.asks("rule", "add", "--name", name, "--pod", "*/*,app", "--profile", "default", status=USAGE).err
    assert "no such pod" in node.asks("rule", "add", "--name", name, "--pod", "*/*,app=none", "--profile", "default", status=USAGE).err
    for wrong in "web/a,", "web/a,=x", "web/a,app=a b", "web/a,app in (x)", "web/a,!app=x", "web,app=x", "web/a/b":
        assert "expected NAMESPACE/NAME" in (err := node.asks("attach", "--name", name, "--pod", wrong, status=USAGE).err) or "no condition of labels" in err
    # A sandbox that had to be made again: the newest one counts.
    node.runtime.answer = b"".join(field(1, sandbox(node.uid("web/a"), {"app": app}, created_ns=at)) for app, at in (("x", 5), ("new", 7), ("y", 6)))
    node.asks("attach", "--name", name, "--pod", "web/a,app=new")


def test_more_pods_than_a_window_of_http2(bbrctl, load, node):
    name = load()
    node.start_runtime()
    node.make("web/last")
    node.runtime.answer = b"".join(field(1, sandbox(str(uuid.uuid4()), {"app": "x" * 60, **{f"l{k}": "v" * 60 for k in range(9)}})) for _ in range(2000))
    assert len(node.runtime.answer) > 1_000_000
    node.runtime.answer += field(1, sandbox(node.uid("web/last"), {"app": "last"}))
    node.asks("attach", "--name", name, "--pod", "*/*,app=last")


@pytest.mark.parametrize("answer, wrong, said", [
    ("unknown service runtime.v1.RuntimeService", None, "unknown service"),
    (b"\x0a\xff\xff\xff\xff\x0f", None, "malformed"),
    (b"\x0a\x00" * (9 << 20), None, "too long"),
    (b"", lambda raw: raw[:20], "closed the connection"),
    (b"", lambda raw: b"", "does not answer"),
    (b"", lambda raw: b"HTTP/1.1 400 Bad Request\r\n\r\n", "cannot read the labels of pods"),
    (None, None, "no container runtime with CRI runs here"),
], ids=["an old one", "malformed", "too long", "it ends", "it is silent", "another protocol", "none"])
def test_a_runtime_that_fails(bbrctl, free_name, node, tmp_path, answer, wrong, said):
    """Nothing is changed, and a file without labels does not ask."""
    name, path = free_name(), tmp_path / "conf"
    if answer is not None:
        node.start_runtime()
        node.runtime.answer, node.runtime.wrong = answer, wrong
    node.make("web/a")
    path.write_text(LABELS.format(name=name))
    assert said in node.asks("apply", "--name", name, path, status=REFUSED).err
    assert status_of(bbrctl, name) is None
    path.write_text(f"[instance {name}]\nattach = --pod web/a\n")
    node.asks("apply", "--name", name, path)
    bbrctl("unload", "--name", name)
