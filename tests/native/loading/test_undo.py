# SPDX-License-Identifier: GPL-2.0-only
"""
bbrctl apply --undo: the state before the last apply, of one instance; tests/lab has the whole machine. /var/lib and /etc are
folders of the test, in a mount namespace.
"""
import collections
import os
import re
import stat

import pytest

from system import maps_of_instance, run
from kills import Traced
from test_faults import sample
from tool import DONE, NOTHING, REFUSED, USAGE, Tool, status_of

MOUNT = 'mount --bind "$0/lib" /var/lib && mount --bind "$0/etc" /etc && {more} && exec "$@"'


class Undoing:
    """An instance, files for it, and what is kept of it."""

    def __init__(self, tool, name, folder):
        self.tool, self.name, self.folder = tool, name, folder
        self.kept = folder / "lib/bpf-bbr"
        self.kept.mkdir(parents=True, mode=0o700)
        (folder / "etc/bpf-bbr").mkdir(parents=True)
        self.record = self.kept / f"undo.{name}"

    def prefix(self, more=":"):
        return ["unshare", "-m", "sh", "-c", MOUNT.format(more=more), str(self.folder)]

    def __call__(self, *args, more=":", **kwargs):
        return self.tool(*args[:1], "--name", self.name, *args[1:], prefix=self.prefix(more), **kwargs)

    def file(self, gain, more="", name="conf", head=None):
        path = self.folder / f"{name}{gain}"
        path.write_text(f"{f'[instance {self.name}]' if head is None else head}\n[default]\ncwnd_gain = {gain}\n{more}")
        return path

    def apply(self, gain, *args, more="", head=None, **kwargs):
        return self("apply", *args, self.file(gain, more, head=head), **kwargs)

    def gain(self):
        """What the instance has; None: it is not loaded."""
        shown = self.tool("-j", "show", "--name", self.name, "cwnd_gain", status=None)
        return None if shown.status else shown.json()["params"][0]["value"]

    def undo(self, *args, **kwargs):
        return self("apply", "--undo", *args, **kwargs)


@pytest.fixture
def undoing(bbrctl, free_name, tmp_path):
    return Undoing(bbrctl, free_name(), tmp_path)


def test_back_and_forth(undoing):
    undoing.apply(2.5)
    undoing.apply(3, more="[fast]\nbw_win = 20\n[rules]\nrule = --dport 7 --profile fast\n")
    new = undoing("save").out
    line = f"{undoing.name}: profile default: not cwnd_gain=2.5, but 3\n"
    checked = undoing.undo("--check", status=NOTHING)
    assert line in checked.out and "3 differences" in checked.err and undoing("save").out == new
    assert undoing.undo("--diff").out.startswith(f"; the state before the last apply:\n [instance {undoing.name}]\n")
    assert undoing.undo().out == (f"the state before the last apply:\n{undoing.name}: profile default: cwnd_gain=2.5 (was 3)\n"
                                  f"{undoing.name}: 0 rules (before: 1)\n{undoing.name}: profile fast deleted\n")
    assert undoing.gain() == 2.5
    again = undoing("-j", "apply", "--undo").json()
    assert again["state"] == "after" and len(again["changes"]) == 3 and again["file"] == f"/var/lib/bpf-bbr/undo.{undoing.name}"
    assert undoing("save").out == new
    undoing.undo()
    assert undoing.gain() == 2.5


def test_the_first_apply(bbrctl, undoing):
    """Before it there was nothing."""
    assert "no apply that could be undone" in undoing.undo(status=NOTHING).err
    undoing.apply(2.5)
    assert undoing.undo().out == f"the state before the last apply:\n{undoing.name}: unloaded\n" and undoing.gain() is None
    undoing.undo()
    assert undoing.gain() == 2.5 and status_of(bbrctl, undoing.name)["applied"]


def test_what_was_set_by_hand_comes_back(undoing):
    undoing.apply(2.5)
    undoing.tool("set", "--name", undoing.name, "cwnd_gain=4", "bw_win=12")
    before = undoing("save").out
    undoing.apply(3)
    undoing.undo()
    assert undoing("save").out == before


def test_after_a_boot(undoing):
    """A boot unloads everything and applies the file again: the state before is still that before the last change."""
    undoing.apply(2.5)
    undoing.apply(3)
    kept = undoing.record.read_text()
    for _ in range(2):
        undoing.tool("unload", "--name", undoing.name)
        undoing.apply(3, "--service")
    assert undoing.record.read_text() == kept
    undoing.tool("unload", "--name", undoing.name)
    undoing.undo()
    assert undoing.gain() == 2.5


def test_a_file_that_was_changed_before_a_boot(undoing):
    undoing.apply(2.5)
    undoing.tool("unload", "--name", undoing.name)
    undoing.apply(3, "--service")
    undoing.undo()
    assert undoing.gain() == 2.5


def test_it_stays_undone(undoing):
    """Also after a boot, until the file changes or somebody applies it by hand."""
    undoing.apply(2.5)
    undoing.apply(3)
    undoing.undo()
    undoing.tool("unload", "--name", undoing.name)
    kept = undoing.apply(3, "--service").err
    assert undoing.gain() == 2.5 and "asks for what bbrctl apply --undo took back" in kept
    undoing.apply(3.5, "--service")
    assert undoing.gain() == 3.5
    undoing.undo()
    assert undoing.gain() == 2.5
    undoing.apply(3.5)
    assert undoing.gain() == 3.5 and "cwnd_gain=2.5 (was 3.5)" in undoing.undo().out


def test_it_says_what_a_boot_does(undoing):
    undoing.apply(2.5)
    undoing.apply(3)
    (undoing.folder / "etc/bpf-bbr/bpf-bbr.conf").write_text(undoing.file(3).read_text())
    said = undoing.undo().err
    assert said.startswith("bbrctl: /etc/bpf-bbr/bpf-bbr.conf: asks for something else, which the next boot makes\n"), said
    assert not undoing.undo().err
    (undoing.folder / "etc/bpf-bbr/bpf-bbr.conf").write_text(undoing.file(2.5).read_text())
    assert not undoing.undo().err


def test_profiles_and_rules_only(bbrctl, undoing):
    """Such a file does not own the instance, and its undo does not either."""
    bbrctl("load", "--name", undoing.name, "--set", "bw_win=12")
    before = undoing("save").out
    undoing.apply(3, head="")
    undoing.undo()
    assert undoing("save").out == before and not status_of(bbrctl, undoing.name)["applied"]
    undoing.undo()
    assert undoing.gain() == 3


@pytest.fixture
def detached(bbrctl, undoing, cgroup):
    """What an apply attaches is attached above the cgroup, and would outlive it."""
    yield
    bbrctl("detach", "--cgroup", cgroup.relative, "--name", undoing.name, status=None)


def test_namespaces_and_cgroups(bbrctl, undoing, ns, cgroup, detached):
    """What others attached and set before an apply takes it over."""
    ns.default_congestion_control("reno")
    bbrctl("load", "--name", undoing.name, "--default", "--netns", ns.name)
    bbrctl("attach", "--name", undoing.name, "--cgroup", cgroup.relative)
    before = bbrctl.json("save", "--name", undoing.name)
    undoing("apply", "--prune", undoing.file(3))
    assert bbrctl.json("save", "--name", undoing.name)[0]["attach"] == []
    undoing.undo()
    assert bbrctl.json("save", "--name", undoing.name) == before


def test_the_file(undoing):
    """Only root reads it, it is a whole file each time, and what it replaces does not matter."""
    undoing.apply(2.5)
    undoing.apply(3)
    mode = stat.S_IMODE(undoing.record.stat().st_mode)
    assert mode == 0o600 and [p.name for p in undoing.kept.iterdir()] == [undoing.record.name]
    text = undoing.record.read_text()
    assert re.fullmatch(rf"; bbrctl apply --undo brings back .*\n\[instance {undoing.name}\]\nalgorithm = bbr\n\n\[default\]\n"
                        rf"cwnd_gain = 2.5\n; ----\n\[instance {undoing.name}\]\nalgorithm = bbr\n\n\[default\]\ncwnd_gain = 3\n", text)
    victim = undoing.folder / "victim"
    victim.write_text("mine")
    for link in undoing.record, undoing.kept / "new":
        link.unlink(missing_ok=True)
        link.symlink_to(victim)
    said = undoing.apply(3.5).err
    assert "is left out: Too many levels of symbolic links" in said
    assert victim.read_text() == "mine" and stat.S_ISREG(undoing.record.lstat().st_mode)
    undoing.undo()
    assert undoing.gain() == 3


def test_a_file_that_cannot_be_believed(undoing):
    undoing.apply(2.5)
    undoing.apply(3)
    whole = undoing.record.read_bytes()

    def refused(why):
        said = undoing.undo(status=NOTHING).err
        assert f"is left out: {why}" in said and undoing.gain() == 3
    for text in (b"", whole[:70], whole.replace(b"; ----", b"; --"), whole + b"\0", b"[instance x]\n" + whole):
        undoing.record.write_bytes(text)
        refused("it is not whole")
    undoing.record.write_bytes(whole)
    for path in undoing.record, undoing.kept:
        path.chmod(0o722)
        refused("others may write there")
        path.chmod(0o700)
    os.chown(undoing.record, 65534, 0)
    refused("others may write there")
    os.chown(undoing.record, 0, 0)
    undoing.record.write_bytes(whole.replace(b"algorithm", b"default_in = /no/such\nalgorithm"))
    said = undoing.undo(status=REFUSED).err
    assert "at line 2 of /var/lib/bpf-bbr/undo." in said and "cannot be made again" in said and undoing.gain() == 3


def test_it_cannot_be_kept(undoing):
    """The apply is done all the same. An older state is no undo of it."""
    undoing.apply(2.5)
    undoing.apply(3)
    full = "mount -t tmpfs -o size=4k none /var/lib/bpf-bbr && chmod 700 /var/lib/bpf-bbr && head -c 4096 /dev/zero >/var/lib/bpf-bbr/x"
    said = undoing("apply", undoing.file(3.5), more=full).err
    assert "cannot be written: No space left on device\n  bbrctl apply --undo will not undo this apply" in said
    assert undoing.gain() == 3.5
    said = undoing("apply", undoing.file(3), more="mount -o remount,bind,ro /var/lib").err
    assert "cannot be written: Read-only file system" in said and undoing.gain() == 3


def test_without_the_folder(undoing):
    undoing.apply(2.5)
    undoing.record.unlink()
    undoing.kept.rmdir()
    assert undoing.apply(3).err == "" and not undoing.kept.exists()
    undoing.undo(status=NOTHING)
    assert undoing.gain() == 3


def test_an_apply_that_is_refused(bbrctl, undoing):
    """What is kept stays."""
    undoing.apply(2.5)
    undoing.apply(3)
    kept = undoing.record.read_text()
    run("bpftool", "map", "freeze", "id", maps_of_instance(status_of(bbrctl, undoing.name)["prog_id"])["bbr_rules"])
    assert "all is as it was before" in undoing.apply(4, more="[rules]\nrule = --dport 7 --profile default\n", status=REFUSED).err
    assert undoing.record.read_text() == kept
    undoing.undo()
    assert undoing.gain() == 2.5


@pytest.mark.parametrize("args", [["--hold"], ["--prune"], ["--service"], ["x.conf"]])
def test_command_lines(undoing, args):
    assert "--undo takes no file" in undoing.undo(*args, status=USAGE).err


def test_killed_at_each_call(build, undoing, tmp_path):
    """The state before the last apply that was done, or before the one that was killed; never another."""
    undoing.tool = quick = Tool(build.parent / "bbrctl")
    new = undoing.file(3.5)
    for killed in ["apply", "--name", undoing.name, new], ["apply", "--name", undoing.name, "--undo"]:
        def begin():
            undoing.record.unlink(missing_ok=True)
            for gain in 2, 2.5, 3:
                undoing.apply(gain)
        begin()
        traced = Traced(tmp_path, *undoing.prefix(), quick.path, *killed)
        calls = traced.calls()
        begun = next(i for i, line in enumerate(traced.lines) if line.startswith(f'execve("{quick.path}"'))
        # How often it looks at maps before it writes what --undo brings back depends on the maps of the machine.
        writes = next(i for i, line in enumerate(traced.lines) if f".undo.{undoing.name}.new" in line)
        before = [i for i in traced.places() if begun < i < writes]
        where = [*(before[k] for k in sample(len(before), 5)), *(i for i in traced.places() if i >= writes)]
        found = collections.Counter()
        for i in where:
            begin()
            traced.kill_at(calls, i)
            now = undoing.gain()
            undone = undoing.undo(status=None)
            found[now, undoing.gain()] += 1
            assert undone.status == DONE, undone
        print(f"killed before {found.total()} system calls ({len(before)} places before it writes): (then, undone):", dict(found))
        # A killed --undo that had come that far is told to undo again, and has nothing to change.
        allowed = {(3, 2.5), (3, 3), (3.5, 3)} if new in killed else {(3, 2.5), (2.5, 2.5), (2.5, 3)}
        assert set(found) == allowed, found
