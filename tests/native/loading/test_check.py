# SPDX-License-Identifier: GPL-2.0-only
"""
`bbrctl check`: is it on, and where not. Each case is made in a namespace of the test's own, found with its cause, and
mended by the command that check prints.
"""
import os
import subprocess

import pytest

from cgroups import default_of
from crowd import Crowd
from experiments import arms
from tool import DONE, NOTHING, USAGE, Tool
from transfer import Transfer, connect, get_cc, listen, set_cc

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

USES = "why", "uses", "meant", "connections", "listeners"


@pytest.fixture
def check(bbrctl):
    def run(*args, status=NOTHING):
        answer = bbrctl.json("check", *args, status=status)
        assert status is None or (status == NOTHING) == bool(answer["off"]), answer["off"]
        return answer
    return run


@pytest.fixture
def mend(bbrctl, tmp_path):
    """Runs the command of a finding in a shell, as a user would."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bbrctl").symlink_to(bbrctl.path)
    def run(finding):
        subprocess.run(["sh", "-ec", finding["command"]], check=True, timeout=60, cwd=tmp_path,
                       env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    return run


def place(answer, ns):
    return next(entry for entry in answer["in_namespaces"] if entry["inode"] == ns.inode)


def used(answer, ns):
    return {use["name"]: use["connections"] for use in place(answer, ns)["uses"] if use["connections"]}


def off(answer, ns, kind="connections"):
    """What is off about connections of a namespace, as tuples."""
    return [tuple(f[key] for key in USES) for f in answer["off"] if f["kind"] == kind and f["inode"] == ns.inode]


def only(answer, ns, kind="connections"):
    found = [f for f in answer["off"] if f["kind"] == kind and f["inode"] == (ns and ns.inode)]
    assert len(found) == 1, answer["off"]
    return found[0]


def make_default(bbrctl, name, ns):
    ns.default_congestion_control("reno")
    bbrctl("load", "--name", name, "--default", "--netns", ns.name)


def restore_default(ns):
    ns.default_congestion_control("reno")


def test_nothing_is_off(bbrctl, check, load, ns):
    name = load()
    make_default(bbrctl, name, ns)
    pair = connect(ns, listen(ns))
    answer = check(status=DONE)
    assert used(answer, ns) == {name: 2} and answer["file"] is None and not answer["sockets_not_counted"]
    assert place(answer, ns)["default"] == name and place(answer, ns)["paced_by_tcp"] == 2
    out = bbrctl("check").out
    assert f"{ns.name}: default {name}; 2 connections: {name} 2\n" in out and "Nothing is off.\n" in out
    restore_default(ns)
    assert pair


def test_opened_before_and_chosen(bbrctl, check, mend, load, ns):
    name = load()
    ns.default_congestion_control("reno")
    old = connect(ns, listen(ns))
    make_default(bbrctl, name, ns)
    listener = listen(ns, cc="cubic")
    chosen = connect(ns, listener, cc="cubic")
    answer = check()
    assert used(answer, ns) == {"reno": 2, "cubic": 2}
    assert sorted(off(answer, ns)) == [("chosen", "cubic", name, 2, 1), ("opened_before", "reno", name, 2, 0)]
    text = bbrctl("check", status=NOTHING)
    assert f"2 connections use reno, not {name}" in text.out and "bbrctl: 2 findings\n" in text.err
    assert all(len(line) <= 80 for line in text.out.splitlines()), text.out
    for finding in answer["off"]:
        mend(finding)
    assert {get_cc(sock) for sock in (*old, *chosen, listener)} == {name}
    check(status=DONE)
    restore_default(ns)


@pytest.mark.parametrize("lock", [(), ("lock",)], ids=["", "lock"])
@pytest.mark.parametrize("family", ["v4", "v6"])
def test_a_route(bbrctl, check, mend, load, link, lock, family):
    name = load()
    sender, receiver = link.ends
    make_default(bbrctl, name, sender)
    six, *route = ("-4", "10.77.0.0/24") if family == "v4" else ("-6", "fd77::/64", "proto", "kernel", "metric", 256)
    sender.ip(six, "route", "change", *route, "dev", link.names[0], "congctl", *lock, "reno")
    listener = listen(receiver, getattr(link, family)[1])
    pair = connect(sender, listener)
    finding = only(check(), sender)
    assert (finding["why"], finding["uses"]) == ("route", "reno")
    mend(finding)
    after, _ = connect(sender, listener)
    assert get_cc(after) == name and get_cc(pair[0]) == "reno"
    restore_default(sender)


def test_unloaded_code(bbrctl, check, mend, load, ns):
    """Connections and a default of an instance that was unloaded: each is named, and not taken for its successor."""
    name = load()
    ns.default_congestion_control(name)  # by sysctl: bbrctl does not know
    old = connect(ns, listen(ns))
    bbrctl("unload", "--name", name)
    answer = check()
    assert place(answer, ns)["default_unloaded"] is True
    assert [use["unloaded"] for use in place(answer, ns)["uses"]] == [True]
    assert off(answer, ns) == [("unloaded", name, name, 2, 0)]
    words = " ".join(bbrctl("check", status=NOTHING).out.split())
    assert f"default {name} (unloaded); 2 connections: {name} (unloaded) 2" in words
    mend(only(answer, ns, "default_is_unloaded"))
    assert default_of(ns) in ("cubic", "reno")
    ns.default_congestion_control("reno")
    bbrctl("load", "--name", name, "--default", "--netns", ns.name)
    new = connect(ns, listen(ns))
    answer = check()
    assert used(answer, ns) == {name: 2} and len(place(answer, ns)["uses"]) == 2
    mend(only(answer, ns))
    answer = check(status=DONE)
    assert [use["connections"] for use in place(answer, ns)["uses"]] == [4]
    restore_default(ns)
    assert old and new


@pytest.mark.parametrize("verb", ["load", "apply"])
def test_a_default_that_is_renewed(bbrctl, check, load, ns, tmp_path, verb):
    """47.8: after unload and load of the same name, a default that was set by sysctl is the new code. It is the only user of the old."""
    name = load()
    (tmp_path / "file").write_text(f"[instance {name}]\n")
    ns.default_congestion_control(name)
    bbrctl("unload", "--name", name)
    assert only(check(), ns, "default_is_unloaded")["command"].startswith("nsenter ")
    bbrctl(verb, "--name", name, *([tmp_path / "file"] if verb == "apply" else []))
    assert place(check(status=DONE), ns)["default_unloaded"] is False
    restore_default(ns)


@pytest.mark.parametrize("group", ["group", "it's;touch pwned;$(touch pwned)'`touch pwned`\\"])
def test_attached_later(bbrctl, check, mend, load, ns, cgroups, group, tmp_path):
    """Whoever may make a cgroup chooses a part of the command, which is still one word of it."""
    name = load()
    ns.default_congestion_control("reno")
    cgroups.make(group)
    with cgroups.entered(group):
        old = connect(ns, listen(ns))
    bbrctl("attach", "--cgroup", cgroups.path(group), "--name", name)
    outside = connect(ns, listen(ns))
    answer = check()
    finding = only(answer, ns)
    assert (finding["why"], finding["connections"], finding["cgroup"]) == ("opened_before", 2, cgroups.path(group))
    mend(finding)
    assert {get_cc(sock) for sock in old} == {name} and {get_cc(sock) for sock in outside} == {"reno"}
    assert not (tmp_path / "pwned").exists()
    check(status=DONE)


def test_a_socket_of_another_cgroup(bbrctl, check, mend, load, ns, cgroup):
    """The cgroup in which a socket is made decides, not the one that its process has entered since."""
    name = load()
    ns.default_congestion_control("reno")
    listener = listen(ns)
    sock, _ = connect(ns, listener)
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name)
    sleeper = subprocess.Popen(["sleep", "60"], pass_fds=[sock.fileno()])
    try:
        (cgroup.path / "cgroup.procs").write_text(str(sleeper.pid))
        finding = only(check(), ns)
        assert (finding["why"], finding["connections"], finding["cgroup"]) == ("other_cgroup", 1, None)
        assert f"/{cgroup.relative}" in finding["text"]
        mend(finding)
        assert get_cc(sock) == name
        check(status=DONE)
    finally:
        sleeper.kill()
        sleeper.wait()


def test_an_attachment_without_its_instance(bbrctl, check, mend, load, cgroup):
    name = load()
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name)
    bbrctl("unload", "--name", name)
    mend(only(check(), None, "not_loaded"))
    check(status=DONE)


def test_an_experiment_is_not_off(bbrctl, check, load, ns, cgroup, experiments):
    name = load()
    ns.default_congestion_control("reno")
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name)
    experiments.start(cgroup, *arms(a="cubic", b="reno"))
    with cgroup.entered():
        pair = connect(ns, listen(ns))
    check(status=DONE)
    assert pair


def test_a_file(bbrctl, check, free_name, ns, cgroup, tmp_path):
    """What the file says counts, whether it was applied or not."""
    name, file = free_name(), tmp_path / "machine.conf"
    ns.default_congestion_control("reno")
    pair = connect(ns, listen(ns))
    with cgroup.entered():
        attached = connect(ns, listen(ns))
    file.write_text(f"[instance {name}]\ndefault_in = {ns.name}\nattach = {cgroup.relative}\n")
    answer = check(file)
    assert answer["file"] == str(file)
    differs = only(answer, None, "differs_from_file")
    assert differs["command"] == f"bbrctl apply {file}" and len(answer["changes"]) == 3
    assert sorted(off(answer, ns)) == [("not_loaded", "reno", name, 2, 0)] * 2
    assert f"{name}: is not loaded" in bbrctl("check", file, status=NOTHING).out
    bbrctl("load", "--name", name)
    assert sorted(f[0] for f in off(check(file), ns)) == ["not_attached", "not_default"]
    bbrctl("apply", "--name", name, file)
    assert sorted(f[0] for f in off(check(file), ns)) == ["opened_before"] * 2
    bbrctl("migrate", "--from", "reno", "--to", name, "--netns", ns.name)
    assert f"the machine matches {file}" in bbrctl("check", file).out
    bbrctl("detach", "--cgroup", cgroup.path, "--name", name)  # a file's attachment waits for its cgroup
    restore_default(ns)
    assert pair and attached


@pytest.mark.parametrize("family", ["v4", "v6"])
def test_opened_before_a_route(bbrctl, check, mend, free_name, link, family, tmp_path):
    """Of a file; a narrower route takes its connections away from it."""
    name, file = free_name(), tmp_path / "machine.conf"
    sender, receiver = link.ends
    for ns in link.ends:
        ns.default_congestion_control("reno")
    near, peer = {"v4": ("10.77.0.0/24", "10.77.0.2"), "v6": ("fd77::/64", "fd77::2")}[family]
    listener = listen(receiver, peer)
    old = connect(sender, listener)
    file.write_text(f"[instance {name}]\nroute = {near} --netns {sender.name}\n")
    bbrctl("load", "--name", name)
    finding = only(check(file), sender)
    assert (finding["why"], finding["route"], finding["connections"]) == ("not_routed", near, 1)
    bbrctl("apply", "--name", name, file)
    new = connect(sender, listener)
    finding = only(check(file), sender)
    assert (finding["why"], finding["uses"], finding["meant"], finding["connections"]) == ("opened_before", "reno", name, 1)
    assert finding["route"] == near and f"set for route {near}" in finding["text"] and f"--dst {near}" in finding["command"]
    sender.ip("-4" if family == "v4" else "-6", "route", "add", peer, "dev", link.names[0])
    assert used(check(file, status=None), sender) == {"reno": 1, name: 1}
    assert not off(check(file, status=None), sender)
    sender.ip("-4" if family == "v4" else "-6", "route", "del", peer, "dev", link.names[0])
    mend(only(check(file), sender))
    check(file, status=DONE)
    assert get_cc(old[0]) == get_cc(new[0]) == name
    bbrctl("apply", "--name", name, "/dev/null", status=None)


def test_opened_before_an_attachment_with_conditions(bbrctl, check, mend, load, link, cgroup):
    name = load()
    sender, receiver = link.ends
    for ns in link.ends:
        ns.default_congestion_control("reno")
    listeners = [listen(receiver, address) for address in (link.v4[1], link.v6[1])]
    with cgroup.entered():
        old = [connect(sender, listener)[0] for listener in listeners]
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name, "--dst", "10.77.0.0/24")
    with cgroup.entered():
        new = [connect(sender, listener)[0] for listener in listeners]
    assert [get_cc(sock) for sock in new] == [name, "reno"]
    finding = only(check(), sender)
    assert (finding["why"], finding["uses"], finding["connections"]) == ("opened_before", "reno", 1)
    mend(finding)
    assert [get_cc(sock) for sock in old] == [name, "reno"]
    check(status=DONE)
    bbrctl("detach", "--cgroup", cgroup.path, "--name", name)
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name, "--not-dst", "10.77.0.0/24", "--not-dport", str(listeners[0].getsockname()[1]))
    finding = only(check(), sender)
    assert (finding["connections"], finding["command"]) == (2, None)


@pytest.mark.parametrize("negated", [False, True])
def test_opened_before_an_attachment_with_a_device(bbrctl, check, load, link, cgroup, negated):
    """Connections by the device of the condition and by another one; no word of those that have no route at present."""
    name = load()
    sender, receiver = link.ends
    for ns in link.ends:
        ns.default_congestion_control("reno")
    there, here = listen(receiver, link.v4[1]), listen(sender, "127.0.0.1")
    with cgroup.entered():
        old = [connect(sender, listener)[0] for listener in (there, there, here)]
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name, "--not-dev" if negated else "--dev", link.names[0])
    with cgroup.entered():
        new = [connect(sender, listener)[0] for listener in (there, here)]
    assert [get_cc(sock) for sock in new] == (["reno", name] if negated else [name, "reno"])
    finding = only(check(), sender)
    assert (finding["why"], finding["uses"], finding["connections"], finding["command"]) == ("opened_before", "reno", 1 if negated else 2, None)
    if negated:
        set_cc(old[2], name)
    else:
        sender.ip("link", "set", link.names[0], "down")
        for sock in old[:2]:
            sock.send(b"x")  # TCP finds that the route is gone
    check(status=DONE)


def test_a_file_that_is_wrong(bbrctl, tmp_path):
    file = tmp_path / "wrong.conf"
    file.write_text("[instance bbrt_wrong]\ncolour = red\n")
    assert "colour" in bbrctl("check", file, status=USAGE).err
    bbrctl("check", tmp_path / "none", status=USAGE)


def test_what_the_paths_show(bbrctl, check, load, link):
    sender, receiver = link.ends
    sender.run("tc", "qdisc", "add", "dev", link.names[0], "root", "tbf", "rate", "100mbit", "burst", "1m", "latency", "10ms")
    sender.run("sysctl", "-qw", "net.ipv4.tcp_wmem=4096 4096 20000", "net.ipv4.tcp_rmem=4096 8192 30000")
    pair = connect(sender, listen(receiver, link.v4[1]))
    Transfer(*pair, 4_000_000).finish(keep_open=True)
    answer = check(status=None)
    here, there = (place(answer, ns) for ns in link.ends)
    assert all(4_000_000 <= n < 4_000_010 for n in (here["acked_bytes"], there["received_bytes"]))  # a SYN counts, too
    assert here["tcp_wmem_bytes"] == 20000 and here["tcp_rmem_bytes"] == 30000
    assert [d["qdisc"] for d in here["devices"]] == ["tbf"] and here["paced_by_fq"] == 0


def test_ten_thousand_sockets(build, load, link):
    """In groups, and fast: in CPU time, for other tests run. Most of it is for loading the programs, with or without sockets."""
    name, plain = load(), Tool(build.parent / "bbrctl")
    def time_check():
        before = os.times()
        answer = plain.json("check", status=None)
        after = os.times()
        return answer, after.children_user + after.children_system - before.children_user - before.children_system
    _, alone = time_check()
    crowd = Crowd(link, 10_000, [name, "reno"])
    try:
        answer, took = time_check()
        print(f"10,000 connections, both ends: {took:.2f} s of CPU time, without any {alone:.2f} s")
        assert used(answer, link.ends[0]) == {name: 5000, "reno": 5000}
        assert took - alone < 0.5
        out = plain("check", status=None).out
        assert len(out.splitlines()) < 60
    finally:
        crowd.close()
