# SPDX-License-Identifier: GPL-2.0-only
"""`bbrctl experiment promote`: the winning arm, as lines of a file for apply."""
import os
import re
import stat
import subprocess

import pytest

from bpfmap import Map
from experiments import arms, new_name
from kills import Traced
from system import bpftool, maps_of_program, wait_until
from test_canary import LEASE_AT
from tool import NOTHING, REFUSED, USAGE


@pytest.fixture
def name(bbrctl, load, cgroup):
    """An instance with a profile. What an apply attaches is attached above the cgroup, and would outlive it."""
    name = load("bw_win=11")
    bbrctl("profile", "add", "--name", name, "mild", "cwnd_gain=1.5")
    yield name
    bbrctl("detach", "--cgroup", cgroup.relative, "--name", name, status=None)


def lines(name, cgroup, rule=""):
    return (f"[instance {name}]\nalgorithm = bbr\nattach = {cgroup.path}\n\n[mild]\ncwnd_gain = 1.5\n"
            f"[rules]\nrule = {rule}--profile mild --cgroup /{cgroup.relative}\n")


def test_the_lines_are_what_the_arm_was(bbrctl, experiments, name, cgroup):
    started = experiments.start(cgroup, *arms(now="reno", new=f"{name}:mild"))
    refused = bbrctl("experiment", "promote", started, status=NOTHING).err
    assert refused.startswith(f"bbrctl: {started}: has no winner: only a canary decides for itself\n") and "--arm LABEL" in refused
    bbrctl("experiment", "promote", started, "--arm", "other", status=USAGE)
    printed = bbrctl("experiment", "promote", started, "--arm", "new")
    assert printed.out == lines(name, cgroup) and not printed.err
    assert bbrctl.json("experiment", "promote", started, "--arm", "new") == {
        "name": started, "arm": "new", "instance": name, "profile": "mild", "file": None, "lines": printed.out}
    bbrctl("experiment", "stop", started)
    bbrctl("apply", "--name", name, "-", input=printed.out)
    (saved,) = bbrctl.json("save", "--name", name)
    assert saved["attach"] == [str(cgroup.path)]
    assert [(rule["cgroup"], rule["profile"]) for rule in saved["rules"]] == [(f"/{cgroup.relative}", "mild")]
    assert "nothing to change" in bbrctl("apply", "--name", name, "-", input=printed.out).out


def write_control(cgroup, place, what):
    (program,) = bpftool("cgroup", "show", cgroup.path)
    with Map.of(maps_of_program(program["id"])[".data.bbr_exp"]) as control:
        value = bytearray(control[bytes(4)])
        value[place:place + len(what)] = what
        control[bytes(4)] = bytes(value)


def test_what_a_canary_decided(bbrctl, experiments, name, cgroup):
    started = experiments.start(cgroup, "--design", "canary", "--guard", "retransmitted < 1.2x", *arms(now="reno", new=f"{name}:mild"))
    assert "has not decided yet" in bbrctl("experiment", "promote", started, status=NOTHING).err
    write_control(cgroup, LEASE_AT, bytes(8))
    assert experiments.status(started)["state"] == "complete"
    assert bbrctl("experiment", "promote", started).out == lines(name, cgroup)
    write_control(cgroup, 4, bytes(4))  # the share of the second arm
    assert experiments.status(started)["state"] == "taken back"
    refused = bbrctl("experiment", "promote", started, status=NOTHING).err
    assert "arm now is reno, which is no instance" in refused and f"stop {started} --to now" in refused


def test_an_arm_without_a_profile(bbrctl, experiments, name, cgroup):
    """Then the instance's rules chose."""
    bbrctl("rule", "add", "--name", name, "--dport", 7, "--profile", "mild")
    started = experiments.start(cgroup, *arms(now="reno", new=name))
    assert bbrctl("experiment", "promote", started, "--arm", "new").out == (
        f"[instance {name}]\nalgorithm = bbr\nattach = {cgroup.path}\n\n[default]\nbw_win = 11\n\n[mild]\ncwnd_gain = 1.5\n"
        "[rules]\nrule = --dport 7 --profile mild\n")


def test_conditions_and_namespaces(bbrctl, experiments, name, cgroup, ns):
    started = experiments.start(cgroup, "--dport", 443, *arms(now="reno", new=f"{name}:mild"))
    printed = bbrctl("experiment", "promote", started, "--arm", "new")
    assert printed.out == lines(name, cgroup, "--dport 443 ").replace("attach = ", "attach = --dport 443 --cgroup ")
    assert "attached" in bbrctl("apply", "--check", "--name", name, "-", input=printed.out, status=NOTHING).out
    bbrctl("experiment", "stop", started)
    started = experiments.start(cgroup, "--netns", ns.name, *arms(now="reno", new=f"{name}:mild"))
    printed = bbrctl("experiment", "promote", started, "--arm", "new")
    assert printed.out == lines(name, cgroup).replace(f"attach = {cgroup.path}\n", "")
    assert f"add default_in or attach to [instance {name}]" in printed.err


@pytest.mark.machine_alone  # an experiment of another test may be in all namespaces
def test_a_namespace_without_a_name(bbrctl, experiments, name):
    """The scope of a start without one. The file needs a way to it, and has that of a process there."""
    started = new_name()
    with subprocess.Popen(["unshare", "--net", "sleep", "100"]) as there:
        try:
            wait_until(lambda: os.readlink(f"/proc/{there.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "it has its namespace")
            way = f"/proc/{there.pid}/ns/net"
            experiments.names.append(started)
            bbrctl("experiment", "start", started, *arms(now="cubic", new=name), prefix=["nsenter", f"--net={way}"])
            assert f"\ndefault_in = {way}\n" in bbrctl("experiment", "promote", started, "--arm", "new").out
        finally:
            there.kill()
    refused = bbrctl("experiment", "promote", started, "--arm", "new", status=REFUSED).err
    assert re.search(r"network namespace net:\[\d+\] cannot be found from here", refused)


FILE = """; ours
[instance {name}]
attach = {path} ; the service

[default]
bw_win = 11
[mild]
cwnd_gain = 1.25 ; too low
; the rules
[rules]
rule = --profile default --cgroup /{relative}
rule = --dport 80 --profile mild
"""


def test_into_a_file(bbrctl, experiments, name, cgroup, tmp_path):
    path, link = tmp_path / "conf", tmp_path / "link"
    started = experiments.start(cgroup, *arms(now="reno", new=f"{name}:mild"))
    promote = "experiment", "promote", started, "--arm", "new"
    said = bbrctl(*promote, path).out
    assert path.read_text() == lines(name, cgroup) and f"experiment stop {started} --to new && bbrctl apply {path}" in said
    path.write_text(FILE.format(name=name, path=cgroup.path, relative=cgroup.relative))
    path.chmod(0o640)
    os.chown(path, 7, 8)
    expected = path.read_text().replace("cwnd_gain = 1.25 ; too low", "cwnd_gain = 1.5").replace(
        f"--profile default --cgroup /{cgroup.relative}", f"--profile mild --cgroup /{cgroup.relative}")
    for _ in range(2):
        assert bbrctl.json(*promote, path)["file"] == str(path)
        assert path.read_text() == expected
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_uid, path.stat().st_gid) == (0o640, 7, 8)
    link.symlink_to(path)
    assert "it is a link" in bbrctl(*promote, link, status=REFUSED).err
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".conf.new").symlink_to(tmp_path / "mine")  # it is replaced and not followed
    bbrctl(*promote, path)
    assert path.read_text() == expected and (tmp_path / "mine").read_text() == "mine"
    for broken in f"[default]\n[instance {name}]\n", f"[instance other]\nattach = {cgroup.path}\n":
        path.write_text(broken)
        assert f"{path} stays as it is" in bbrctl(*promote, path, status=USAGE).err
        assert path.read_text() == broken
    assert sorted(p.name for p in tmp_path.iterdir()) == ["conf", "link", "mine"]


def test_killed(build, bbrctl, experiments, name, cgroup, tmp_path):
    """The file is the old one or the new one, and what a kill leaves does not stop the next promote."""
    path = tmp_path / "conf"
    started = experiments.start(cgroup, *arms(now="reno", new=f"{name}:mild"))
    old = FILE.format(name=name, path=cgroup.path, relative=cgroup.relative)
    path.write_text(old)
    promote = Traced(tmp_path, build.parent / "bbrctl", "experiment", "promote", started, "--arm", "new", path)
    calls, new = promote.calls(), path.read_text()
    first = next(i for i, line in enumerate(promote.lines) if '.conf.new"' in line)
    left = []
    for i in range(first, len(calls)):
        path.write_text(old)
        killed = promote.kill_at(calls, i)
        assert path.read_text() in (old, new) and (killed or path.read_text() == new), promote.lines[i]
        left.append((path.read_text() == new, (tmp_path / ".conf.new").exists()))
        path.write_text(old)
        bbrctl("experiment", "promote", started, "--arm", "new", path)
        assert path.read_text() == new and not (tmp_path / ".conf.new").exists(), promote.lines[i]
    assert new != old and {(False, False), (False, True), (True, False)} <= {*left}
