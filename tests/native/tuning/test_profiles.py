# SPDX-License-Identifier: GPL-2.0-only
"""Profiles: up to 64 sets of parameters in an instance, from the command line and from files."""
import socket
import struct
import subprocess

import bpfmap
import objects
import pytest

from system import maps_of_program, registered, wait_until
from tool import NOTHING, REFUSED, USAGE, status_of
from transfer import MB, Transfer, connect, listen, opened, reset, send_verified, set_cc

PLACES = 64
CONNECTIONS = 300


def profiles(bbrctl, name):
    """The entries of `profile list` by name. Deleted ones that connections still have are under ""."""
    return {p["profile"]: p for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}


def everything(bbrctl, name):
    """All that a change might affect."""
    found = profiles(bbrctl, name)
    shown = {p: bbrctl.json("show", "--name", name, "--profile", p)["params"] for p in found if p}
    return found, shown, bbrctl.json("rule", "list", "--name", name)


def values(bbrctl, name, profile):
    return {p["key"]: p["value"] for p in bbrctl.json("profile", "show", "--name", name, profile)["params"]}


def changed(bbrctl, name, profile):
    return {p["key"]: p["value"] for p in bbrctl.json("profile", "show", "--name", name, profile)["params"]
            if p["changed"]}


@pytest.fixture
def ini(tmp_path):
    def write(content, name="profiles.ini"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path
    return write


# Verbs


def test_a_new_instance_has_the_default_profile(bbrctl, blank):
    name = blank
    bbrctl("set", "--name", name, "bw_win=11")
    listed = bbrctl.json("profile", "list", "--name", name)
    assert listed["name"] == name
    assert listed["profiles"] == [{"profile": "default", "index": 0, "params_changed": 1, "rules": 0,
                                   "connections": 0}]
    for known in listed["known"]:
        assert set(known) == {"profile", "origin", "about", "needs", "params_changed"}
    heading, row = bbrctl("profile", "list", "--name", name).out.splitlines()[:2]
    assert heading.split() == ["PROFILE", "INDEX", "CHANGED", "RULES", "CONNECTIONS"]
    assert row.split() == ["default", "0", "1", "0", "0"]


def test_add_show_and_delete(bbrctl, blank):
    name = blank
    assert bbrctl.json("profile", "add", "--name", name, "mine", "bw_win=11", "cwnd_gain=3") == {
        "name": name, "profile": "mine", "added": True, "params_changed": 2}
    assert changed(bbrctl, name, "mine") == {"bw_win": 11, "cwnd_gain": 3}
    assert not changed(bbrctl, name, "default")
    assert status_of(bbrctl, name)["profiles"] == 2
    text = bbrctl("profile", "show", "--name", name, "mine").out
    assert text == bbrctl("show", "--name", name, "--profile", "mine").out
    assert [line.split()[1] for line in text.splitlines() if line.startswith("*")] == ["cwnd_gain", "bw_win"]
    assert bbrctl.json("profile", "delete", "--name", name, "mine") == {
        "name": name, "profile": "mine", "deleted": True}
    assert set(profiles(bbrctl, name)) == {"default"}
    text = bbrctl("profile", "add", "--name", name, "mine", "bw_win=11").out
    assert name in text and "mine" in text and "1 parameter" in text


def test_copy(bbrctl, blank):
    name = blank
    bbrctl("set", "--name", name, "bw_win=11")
    bbrctl("profile", "copy", "--name", name, "default", "one", "cwnd_gain=3")
    assert bbrctl.json("profile", "copy", "--name", name, "one", "two", "bw_win=12")["params_changed"] == 2
    assert changed(bbrctl, name, "one") == {"bw_win": 11, "cwnd_gain": 3}
    assert changed(bbrctl, name, "two") == {"bw_win": 12, "cwnd_gain": 3}
    bbrctl("set", "--name", name, "--profile", "one", "cwnd_gain=4")
    assert changed(bbrctl, name, "two") == {"bw_win": 12, "cwnd_gain": 3}, "a copy is one of its own"


def test_set_and_reset_of_a_profile_touch_no_other(bbrctl, blank):
    name = blank
    bbrctl("set", "--name", name, "bw_win=11")
    bbrctl("profile", "add", "--name", name, "mine", "bw_win=12")
    assert bbrctl.json("set", "--name", name, "--profile", "mine", "cwnd_gain=3") == {
        "name": name, "profile": "mine", "changed": {"cwnd_gain": {"old": 2, "new": 3, "unit": "ratio"}}}
    assert f"{name} mine: cwnd_gain=4 (was 3)" in bbrctl("set", "--name", name, "--profile", "mine",
                                                         "cwnd_gain=4").out
    assert changed(bbrctl, name, "default") == {"bw_win": 11}
    assert changed(bbrctl, name, "mine") == {"bw_win": 12, "cwnd_gain": 4}
    bbrctl("set", "--name", name, "--profile", "mine", "cwnd_gain=4", status=NOTHING)
    bbrctl("reset", "--name", name, "--profile", "mine", "bw_win")
    assert changed(bbrctl, name, "mine") == {"cwnd_gain": 4}
    bbrctl("reset", "--name", name, "--profile", "mine")
    bbrctl("reset", "--name", name, "--profile", "mine", status=NOTHING)
    assert not changed(bbrctl, name, "mine") and changed(bbrctl, name, "default") == {"bw_win": 11}


def test_what_is_known_needs_no_instance(bbrctl, free_name):
    """Without --name, because with it the instance might just not be loaded."""
    if not status_of(bbrctl, "bpf_bbr"):
        listed = bbrctl.json("profile", "list")
        assert listed["profiles"] == [] and listed["known"]
    bbrctl("profile", "list", "--name", free_name(), status=NOTHING)


ERRORS = [
    (USAGE, ["profile"]), (USAGE, ["profile", "frobnicate"]), (USAGE, ["profile", "add"]),
    (USAGE, ["profile", "delete"]), (USAGE, ["profile", "show"]), (USAGE, ["profile", "copy"]),
    (USAGE, ["profile", "copy", "mine"]), (USAGE, ["profile", "list", "mine"]),
    (USAGE, ["profile", "delete", "mine", "mine"]), (USAGE, ["profile", "show", "mine", "mine"]),
    (USAGE, ["profile", "add", "unheard_of"]), (USAGE, ["profile", "add", "new", "bw_win=0"]),
    (USAGE, ["profile", "add", "new", "bw_win"]), (USAGE, ["profile", "add", "new", "no_such_key=1"]),
    (USAGE, ["profile", "copy", "mine", "new", "bw_win=0"]), (USAGE, ["profile", "add", "new", "--set", "bw_win=11"]),
    (USAGE, ["profile", "add", "a" * 16, "bw_win=11"]), (USAGE, ["profile", "add", "", "bw_win=11"]),
    (USAGE, ["profile", "add", "a b", "bw_win=11"]), (USAGE, ["profile", "add", "a/b", "bw_win=11"]),
    (USAGE, ["profile", "add", "ä", "bw_win=11"]), (USAGE, ["profile", "add", "a\n", "bw_win=11"]),
    (USAGE, ["profile", "add", "%s%n", "bw_win=11"]), (USAGE, ["profile", "copy", "mine", "a b"]),
    (USAGE, ["profile", "add", "--", "-a", "bw_win=11"]), (USAGE, ["show", "--profile", "mine", "no_such_key"]),
    (USAGE, ["set", "--profile", "mine", "bw_win=12", "bw_win=0"]),
    (NOTHING, ["profile", "add", "mine", "bw_win=12"]), (NOTHING, ["profile", "add", "default", "bw_win=12"]),
    (NOTHING, ["profile", "copy", "default", "mine"]), (NOTHING, ["profile", "copy", "mine", "mine"]),
    (NOTHING, ["profile", "copy", "unheard_of", "new"]), (NOTHING, ["profile", "delete", "unheard_of"]),
    (NOTHING, ["profile", "delete", ""]), (NOTHING, ["profile", "show", "unheard_of"]),
    (NOTHING, ["show", "--profile", "unheard_of"]), (NOTHING, ["set", "--profile", "unheard_of", "bw_win=12"]),
    (NOTHING, ["reset", "--profile", "unheard_of"]), (NOTHING, ["show", "--profile", ""]),
    (NOTHING, ["set", "--profile", "mine", "bw_win=11"]), (REFUSED, ["profile", "delete", "default"]),
    (REFUSED, ["profile", "delete", "used"]), (USAGE, ["load", "--profile", "unheard_of"]),
    (USAGE, ["load", "--profile", "/nowhere/none.ini"]), (USAGE, ["profile", "add", "new", "--profile", "/nowhere"]),
]


def state(name, bbrctl):
    """All that a change might affect, as bytes of the maps."""
    maps = maps_of_program(status_of(bbrctl, name)["prog_id"])
    with bpfmap.profiles(maps) as mapped:
        return bytes(mapped.bytes), mapped.maps[1][bytes(4)][8:16]


def test_an_error_changes_nothing(bbrctl, blank):
    name = blank
    bbrctl("set", "--name", name, "bw_win=33")
    bbrctl("profile", "add", "--name", name, "mine", "bw_win=11")
    bbrctl("profile", "add", "--name", name, "used", "bw_win=12")
    bbrctl("rule", "add", "--name", name, "--dport", 9, "--profile", "used")
    before = state(name, bbrctl), everything(bbrctl, name)
    for status, args in ERRORS:
        done = bbrctl("--name", name, *args, status=status)
        assert not done.out, done
        assert state(name, bbrctl) == before[0], done
    assert everything(bbrctl, name) == before[1]


def test_what_is_not_loaded_has_no_profiles(bbrctl, free_name):
    name = free_name()
    for args in (["profile", "add", "new", "bw_win=11"], ["profile", "delete", "mine"], ["profile", "list"],
                 ["profile", "copy", "mine", "new"], ["profile", "show", "mine"], ["show", "--profile", "mine"]):
        bbrctl("--name", name, *args, status=NOTHING)


def test_the_longest_name(bbrctl, blank):
    name = blank
    longest = "a.b-c_D9" * 2
    longest = longest[:15]
    bbrctl("profile", "add", "--name", name, longest, "bw_win=11")
    bbrctl("profile", "add", "--name", name, longest[:14], "bw_win=12")
    assert set(profiles(bbrctl, name)) == {"default", longest, longest[:14]}
    assert bbrctl("profile", "list", "--name", name).out.splitlines()[2].split()[0] == longest
    bbrctl("profile", "delete", "--name", name, longest)
    assert changed(bbrctl, name, longest[:14]) == {"bw_win": 12}


def fill(bbrctl, name):
    """Takes all free places: the first and the last by bbrctl."""
    bbrctl("profile", "copy", "--name", name, "default", "p1", status=None)
    with bpfmap.profiles(maps_of_program(status_of(bbrctl, name)["prog_id"])) as mapped:
        for i in range(2, PLACES - 1):
            mapped.copy_profile(0, i)
            mapped.set_name(i, f"p{i}")
    bbrctl("profile", "copy", "--name", name, "default", "p63")


def test_sixty_four_and_not_one_more(bbrctl, load):
    name = load()
    fill(bbrctl, name)
    found = profiles(bbrctl, name)
    assert len(found) == status_of(bbrctl, name)["profiles"] == PLACES
    assert sorted(p["index"] for p in found.values()) == list(range(PLACES))
    before = everything(bbrctl, name)
    for args in ["add", "one_more", "bw_win=11"], ["copy", "p1", "one_more"]:
        assert "64" in bbrctl("profile", *args, "--name", name, status=REFUSED).err
    assert everything(bbrctl, name) == before
    bbrctl("set", "--name", name, "--profile", "p63", "bw_win=33")
    bbrctl("profile", "delete", "--name", name, "p40")
    bbrctl("profile", "add", "--name", name, "one_more", "cwnd_gain=3")
    assert profiles(bbrctl, name)["one_more"]["index"] == found["p40"]["index"]
    assert changed(bbrctl, name, "one_more") == {"cwnd_gain": 3}, "nothing of the one that was there before"
    assert changed(bbrctl, name, "p63") == {"bw_win": 33} and not changed(bbrctl, name, "p62")


# Files

GOOD = {
    "comments": "; one\n# two\n[a] ; three\nbw_win = 11 ; four\n\n# cwnd_gain = 3\n",
    "blanks": "\n\n   [a]   \n\tbw_win\t=\t11\t\n",
    "no blanks": "[a]\nbw_win=11",
    "a colon": "[a]\nbw_win: 11\n",
    "indented": "[a]\nabout = something\n    bw_win = 11\n",
    "several": "[b]\nbw_win = 12\n[a]\nbw_win = 11\n[c]\n",
    "DOS": "[a]\r\nbw_win = 11\r\n",
    "BOM": b"\xef\xbb\xbf[a]\nbw_win = 11\n",
    "BOM and comment": b"\xef\xbb\xbf# x\n[a]\nbw_win = 11\n",
    "texts": "[a]\nabout = =[];# \xc3\xa4 %s%n\nneeds =\nbw_win = 11\n",
    "long comment": "[a]\nabout = " + "x" * 180 + "\nbw_win = 11\n",
}


def test_good_files(bbrctl, blank, ini):
    for what, content in GOOD.items():
        bbrctl("profile", "add", "--name", blank, "--profile", ini(content), "a")
        assert changed(bbrctl, blank, "a") == {"bw_win": 11}, what
        bbrctl("profile", "delete", "--name", blank, "a")


# The file, what the message must contain, and the line of the mistake.
BROKEN = {
    "unknown key": ("[a]\nno_such_key = 1\n", "no_such_key", 2),
    "bad value": ("[a]\n\nbw_win = many\n", "number", 3),
    "out of range": ("[a]\nbw_win = 1\n", "range", 2),
    "no unit": ("[a]\nmin_rtt_win = 5\n", "unit", 2),
    "no value": ("[a]\nbw_win =\n", "number", 2),
    "no equals": ("[a]\nbw_win\n", "KEY = VALUE", 2),
    "no section": ("bw_win = 11\n[a]\n", "follow the [NAME]", 1),
    "twice": ("[a]\nbw_win = 11\n[b]\n[a]\nbw_win = 12\n", "twice", 4),
    "a key twice": ("[b]\nbw_win = 11\n[a]\nbw_win = 11\n\nbw_win = 11\n", "twice", 6),
    "section without end": ("[a\nbw_win = 11\n", "SECTION", 1),
    "section without name": ("[]\n[a]\nbw_win = 11\n", "SECTION", 1),
    "more behind the section": ("[a] bw_win = 11\n", "SECTION", 1),
    "long name": ("[" + "a" * 16 + "]\n[a]\nbw_win = 11\n", "15", 1),
    "very long name": ("[" + "a" * 100 + "]\n[a]\nbw_win = 11\n", "SECTION", 1),
    "name with a blank": ("[a b]\nbw_win = 11\n[a]\n", "characters", 1),
    "needs what is not there": ("[a]\nneeds = no_such_key\n", "no_such_key", 2),
    "long line": ("[a]\nabout = " + "x" * 70000 + "\nbw_win = 11\n", "characters", 2),
    "long value": ("[a]\nbw_win = " + "1" * 150 + "\n", "number", 2),
    "a byte 0": (b"[a]\nbw_win = 11\0\n", "zero byte", 2),
    "a byte 0 at the end": (b"[a]\nbw_win = 11\0x", "zero byte", 2),
    "garbage": (bytes(range(1, 256)) * 4, "", None),
    "an executable": (open("/bin/true", "rb").read(5000), "", None),
    "UTF-16": ("[a]\nbw_win = 11\n".encode("utf-16"), "", None),
    "empty": ("", "is not in", None),
    "comments only": ("# nothing\n", "is not in", None),
    "another profile": ("[b]\nbw_win = 11\n", "is not in", None),
    "broken after the right one": ("[a]\nbw_win = 11\n[b]\nbw_win = 0\n", "range", 4),
}


def test_broken_files(bbrctl, blank, ini, free_name):
    name, other = blank, free_name()
    before = state(name, bbrctl)
    for what, (content, message, line) in BROKEN.items():
        path = ini(content)
        err = bbrctl("profile", "add", "--name", name, "--profile", path, "a", status=USAGE).err
        assert message in err and str(path) in err, (what, err)
        assert line is None or f"line {line} of" in err, (what, err)
        if what != "another profile":
            bbrctl("load", "--name", other, "--profile", path, status=USAGE)
            assert other not in registered()
    assert state(name, bbrctl) == before


def test_not_a_file(bbrctl, blank, tmp_path):
    name = blank
    for path, why, status in ((tmp_path, "Is a directory", USAGE), (tmp_path / "none", "No such file", USAGE)):
        assert why in bbrctl("profile", "add", "--name", name, "--profile", path, "a", status=status).err
    assert set(profiles(bbrctl, name)) == {"default"}


def test_a_file_from_standard_input(bbrctl, blank):
    name = blank
    bbrctl("profile", "add", "--name", name, "--profile", "-", "a", input="[a]\nbw_win = 11\n")
    assert changed(bbrctl, name, "a") == {"bw_win": 11}


def test_what_a_profile_needs(bbrctl, blank, free_name, ini):
    path = ini("[a]\nneeds = bw_win  cwnd_gain\ninit_rtt = 2ms\n")
    name, other = blank, free_name()
    for given in [], ["bw_win=11"], ["cwnd_gain=3"], ["bw_win=11", "init_rtt=3ms"]:
        err = bbrctl("profile", "add", "--name", name, "--profile", path, "a", *given, status=USAGE).err
        assert "needs" in err and "=VALUE" in err
        bbrctl("load", "--name", other, "--profile", path, *(w for g in given for w in ("--set", g)), status=USAGE)
    bbrctl("profile", "add", "--name", name, "--profile", path, "a", "bw_win=11", "cwnd_gain=3")
    assert changed(bbrctl, name, "a") == {"bw_win": 11, "cwnd_gain": 3, "init_rtt": 2000}
    bbrctl("load", "--name", other, "--profile", path, "--set", "bw_win=11", "--set", "cwnd_gain=3")
    assert changed(bbrctl, other, "default") == {"bw_win": 11, "cwnd_gain": 3, "init_rtt": 2000}


def test_what_is_given_comes_after_the_file(bbrctl, blank, ini):
    name = blank
    bbrctl("profile", "add", "--name", name, "--profile", ini("[a]\nbw_win = 11\ncwnd_gain = 3\n"), "a", "bw_win=12")
    assert changed(bbrctl, name, "a") == {"bw_win": 12, "cwnd_gain": 3}


def test_load_with_a_profile(bbrctl, free_name, ini, tmp_path):
    name = free_name()
    two = ini("[a]\nbw_win = 11\n[b]\n")
    assert "2 profiles" in bbrctl("load", "--name", name, "--profile", two, status=USAGE).err
    one = ini("[a]\nbw_win = 11\n")
    assert "slash" in bbrctl("load", "--name", name, "--profile", one.name, cwd=tmp_path, status=USAGE).err
    bbrctl("load", "--name", name, "--profile", f"./{one.name}", cwd=tmp_path)
    assert changed(bbrctl, name, "default") == {"bw_win": 11}
    assert set(profiles(bbrctl, name)) == {"default"}


def test_what_is_known_can_be_added_and_loaded(bbrctl, blank, free_name):
    """Each profile that bbrctl brings along and that needs nothing."""
    name = blank
    known = [k for k in bbrctl.json("profile", "list", "--name", name)["known"]
             if k["origin"] == "built in" and not k["needs"]]
    assert known
    for k in known:
        assert k["about"], k
        if k["profile"] != "default":
            bbrctl("profile", "add", "--name", name, k["profile"])
        assert len(changed(bbrctl, name, k["profile"])) == k["params_changed"]
    other = free_name()
    bbrctl("load", "--name", other, "--profile", known[-1]["profile"])
    assert status_of(bbrctl, other)["params_changed"] == known[-1]["params_changed"]


class Folder:
    """bbrctl in a mount namespace where /etc/bpf-bbr is a folder of ours."""

    SCRIPT = 'mkdir -p /etc/bpf-bbr && mount --bind "$1" /etc/bpf-bbr && shift && exec "$@"'

    def __init__(self, bbrctl, directory):
        self.bbrctl, self.directory = bbrctl, directory
        (directory / "profiles.d").mkdir()

    def write(self, name, content):
        (self.directory / "profiles.d" / name).write_text(content)

    def __call__(self, *args, **kwargs):
        prefix = ["unshare", "-m", "sh", "-c", self.SCRIPT, "sh", self.directory]
        return self.bbrctl(*args, prefix=prefix, **kwargs)

    def known(self):
        done = self("-j", "profile", "list")
        return {k["profile"]: k for k in done.json()["known"]}, done.err


@pytest.fixture
def folder(bbrctl, tmp_path):
    there = subprocess.run(["test", "-e", "/etc/bpf-bbr"]).returncode == 0
    (tmp_path / "etc").mkdir()
    yield Folder(bbrctl, tmp_path / "etc")
    if not there:  # the mount point
        subprocess.run(["rmdir", "/etc/bpf-bbr"])


def test_profiles_of_the_machine(folder, blank, bbrctl):
    name = blank
    built_in, _ = folder.known()
    folder.write("10-mine.ini", "[mine]\nabout = of mine\nneeds = init_rtt\nbw_win = 11\n[other]\nbw_win = 12\n")
    folder.write("20-again.ini", "[other]\nabout = the later one\nbw_win = 13\n")
    folder.write("ignored.txt", "[ignored]\n")
    known, err = folder.known()
    assert not err and set(known) == set(built_in) | {"mine", "other"}
    assert known["mine"] == {"profile": "mine", "origin": "/etc/bpf-bbr/profiles.d/10-mine.ini",
                             "about": "of mine", "needs": "init_rtt", "params_changed": 1}
    assert known["other"]["about"] == "the later one"
    text = folder("profile", "list", "--name", name).out
    assert "of mine; needs init_rtt" in text
    folder("profile", "add", "--name", name, "other")
    assert changed(bbrctl, name, "other") == {"bw_win": 13}
    err = folder("profile", "add", "--name", name, "mine", status=USAGE).err
    assert "init_rtt" in err
    folder("profile", "add", "--name", name, "mine", "init_rtt=2ms")
    assert changed(bbrctl, name, "mine") == {"bw_win": 11, "init_rtt": 2000}


def test_a_profile_of_the_machine_replaces_a_built_in_one(folder):
    built_in, _ = folder.known()
    name = next(iter(built_in))
    folder.write("a.ini", f"[{name}]\nabout = another\n")
    known, _ = folder.known()
    assert set(known) == set(built_in) and known[name]["about"] == "another"


def test_a_broken_file_does_not_take_away_the_others(folder, blank, bbrctl):
    name = blank
    folder.write("1.ini", "[one]\nbw_win = 11\n")
    folder.write("2.ini", "[two]\nbw_win = 12\n[three]\nbw_win = 0\n")
    folder.write("4.ini", "[four]\nbw_win = 14\n")
    (folder.directory / "profiles.d/5.ini").mkdir()
    (folder.directory / "profiles.d/6.ini").symlink_to("nowhere")
    known, err = folder.known()
    assert {"one", "four"} <= set(known) and not {"two", "three"} & set(known)
    assert "line 4 of /etc/bpf-bbr/profiles.d/2.ini" in err and "5.ini" in err and "6.ini" in err
    folder("profile", "add", "--name", name, "four")
    assert changed(bbrctl, name, "four") == {"bw_win": 14}


# Connections


class Instance:
    """An instance with a profile, and with a rule that gives it to connections to one port."""

    def __init__(self, bbrctl, name, ns):
        self.bbrctl, self.name, self.ns = bbrctl, name, ns
        self.listener = listen(ns, backlog=CONNECTIONS)
        self.port = self.listener.getsockname()[1]
        bbrctl("profile", "add", "--name", self.name, "mine", "cwnd_gain=3")
        self.add_rule()

    def add_rule(self):
        self.bbrctl("rule", "add", "--name", self.name, "--dport", self.port, "--profile", "mine")

    def profile(self, name="mine"):
        return profiles(self.bbrctl, self.name).get(name)

    def connections(self, name="mine"):
        return (self.profile(name) or {"connections": 0})["connections"]

    def connect(self):
        return connect(self.ns, self.listener, cc=self.name)

    def expect(self, n, what, name="mine"):
        wait_until(lambda: self.connections(name) == n, f"{n} connections: {what}")


@pytest.fixture
def instance(bbrctl, blank, ns):
    return Instance(bbrctl, blank, ns)


def test_a_deleted_profile_stays_with_its_connections(bbrctl, load, ns, monitor):
    instance = Instance(bbrctl, load(), ns)
    watching = monitor(instance.name, "--every", "ack")
    sender, receiver = instance.connect()
    running = Transfer(sender, receiver)
    index = instance.profile()["index"]
    watching.wait_for(lambda m: any(e["mode"] == "PROBE_BW" for e in m.of("ack")), "PROBE_BW")
    running.gap = 0.002  # paused from the start, it would take most of a minute to find the bandwidth
    bbrctl("profile", "delete", "--name", instance.name, "mine", status=REFUSED)
    bbrctl("rule", "flush", "--name", instance.name)
    bbrctl("profile", "delete", "--name", instance.name, "mine")
    bbrctl("profile", "delete", "--name", instance.name, "mine", status=NOTHING)
    assert instance.profile() is None and instance.profile("")["index"] == index
    assert instance.connections("") == 1
    assert f"(deleted) {index}" in " ".join(bbrctl("profile", "list", "--name", instance.name).out.split())
    bbrctl("set", "--name", instance.name, "--profile", "mine", "cwnd_gain=4", status=NOTHING)

    # Its place is given to nobody, not even if all others are taken.
    fill(bbrctl, instance.name)
    bbrctl("profile", "add", "--name", instance.name, "mine", "cwnd_gain=5", status=REFUSED)
    assert index not in [p["index"] for p in profiles(bbrctl, instance.name).values() if p["profile"]]
    seen = len(watching.of("ack"))
    watching.wait_for(lambda m: len(m.of("ack")) > seen + 50, "ACKs of the connection")
    after = watching.of("ack")[seen:]
    assert {e["profile_index"] for e in after} == {index}
    assert {e["cwnd_gain"] for e in after if e["mode"] == "PROBE_BW"} == {3}

    running.stop()
    running.finish()
    wait_until(lambda: instance.profile("") is None, "the place is free")
    bbrctl("profile", "add", "--name", instance.name, "mine", "cwnd_gain=5")
    assert instance.profile()["index"] == index and instance.connections() == 0
    watching.stop()


def test_counts_of_many_connections(bbrctl, instance, many_files):
    ends = [instance.connect() for _ in range(CONNECTIONS)]
    instance.expect(CONNECTIONS, "all of them open")
    assert instance.connections("default") == 0
    third = CONNECTIONS // 3
    for sender, receiver in ends[:third]:  # by us
        sender.close()
        receiver.close()
    instance.expect(CONNECTIONS - third, "a third closed")
    for sender, receiver in ends[third:2 * third]:  # by a RST of the peer: the socket still exists
        reset(receiver)
        sender.settimeout(30)
        with pytest.raises(ConnectionResetError):
            sender.recv(1)
    assert instance.connections() == CONNECTIONS - third
    for sender, _ in ends[third:2 * third]:
        sender.close()
    instance.expect(CONNECTIONS - 2 * third, "a third reset")
    for sender, receiver in ends[2 * third:]:  # by a RST of our own
        reset(sender)
    instance.expect(0, "all of them gone")


def test_counts_of_passive_connections_that_nobody_accepts(bbrctl, blank, ns, many_files):
    name, n = blank, 100
    listener = listen(ns, cc=name, backlog=n)
    bbrctl("profile", "add", "--name", name, "mine", "cwnd_gain=3")
    bbrctl("rule", "add", "--name", name, "--sport", listener.getsockname()[1], "--profile", "mine")
    clients = []
    for _ in range(n):
        with ns.entered():
            clients.append(socket.create_connection(listener.getsockname()[:2], timeout=30))
        opened.append(clients[-1])
    counts = lambda: {p: entry["connections"] for p, entry in profiles(bbrctl, name).items()}  # noqa: E731
    wait_until(lambda: counts() == {"default": 0, "mine": n}, "all of them are in the queue")
    for client in clients[:n // 2]:
        reset(client)
    listener.close()
    wait_until(lambda: counts() == {"default": 0, "mine": 0}, "the queue is gone")


def test_counts_when_the_congestion_control_is_switched(bbrctl, instance, load):
    other = load()
    sender, receiver = instance.connect()
    index = instance.profile()["index"]
    with (bpfmap.profiles(maps_of_program(status_of(bbrctl, instance.name)["prog_id"])) as here,
          bpfmap.profiles(maps_of_program(status_of(bbrctl, other)["prog_id"])) as there):
        for _ in range(20):
            for name, counts in (instance.name, (1, 0)), ("cubic", (0, 0)), (other, (0, 1)), (other, (0, 1)):
                set_cc(sender, name)
                assert (here.connections(index), there.connections(0)) == counts
    set_cc(sender, instance.name)
    assert instance.connections() == 1
    Transfer(sender, receiver, MB).finish()
    instance.expect(0, "closed")


def test_counts_when_a_socket_is_used_again(instance, ns):
    """connect() to AF_UNSPEC ends a connection, but the socket stays."""
    sender, receiver = instance.connect()
    unspec = struct.pack("=H14x", socket.AF_UNSPEC)
    libc = bpfmap.libc
    for _ in range(5):
        assert instance.connections() == 1
        assert libc.connect(sender.fileno(), unspec, len(unspec)) == 0
        assert instance.connections() == 0
        receiver.close()
        with ns.entered():
            sender.connect(("127.0.0.1", instance.port))
        receiver = instance.listener.accept()[0]
    receiver.close()
    sender.close()
    instance.expect(0, "closed")


def test_counts_with_fast_open(bbrctl, blank, ns):
    """Children of fast open are established by the SYN, so their congestion control starts there."""
    name = blank
    ns.run("sysctl", "-q", "-w", "net.ipv4.tcp_fastopen=0x603")  # both sides, without cookies
    listener = listen(ns, cc=name)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
    for _ in range(10):
        with ns.entered():
            client = socket.socket()
        opened.append(client)
        set_cc(client, name)
        client.sendto(b"x" * 500, socket.MSG_FASTOPEN, listener.getsockname())
        server = listener.accept()[0]
        assert server.recv(1000) == b"x" * 500
        assert profiles(bbrctl, name)["default"]["connections"] == 2
        client.close()
        server.close()
        wait_until(lambda: profiles(bbrctl, name)["default"]["connections"] == 0, "both ends are closed")
    listener.close()


def test_counts_after_the_unload(bbrctl, load, ns):
    """Connections that outlive the instance are counted down in its maps, which they keep."""
    instance = Instance(bbrctl, load(), ns)
    maps = maps_of_program(status_of(bbrctl, instance.name)["prog_id"])
    running = [Transfer(*instance.connect(), gap=0.002) for _ in range(3)]
    index = instance.profile()["index"]
    with bpfmap.profiles(maps) as mapped:
        assert mapped.connections(index) == 3 and mapped.name(index) == "mine"
        bbrctl("unload", "--name", instance.name)
        assert mapped.connections(index) == 3
        for i, transfer in enumerate(running):
            transfer.stop()
            transfer.finish()
            wait_until(lambda: mapped.connections(index) == 2 - i, f"{2 - i} connections")


# Another version


@pytest.fixture
def other_major(bbr_object, free_name, tmp_path):
    """An instance loaded by a version with another ABI."""
    name = free_name()
    objects.register(objects.Object(bbr_object).major(objects.constant("BBR_ABI_MAJOR") + 1).name(name)
                     .write(tmp_path / "other.bpf.o"))
    return name


def test_an_instance_of_another_version_is_left_alone(bbrctl, other_major, ns):
    major = objects.constant("BBR_ABI_MAJOR")
    for args in (["profile", "list"], ["profile", "show", "default"], ["profile", "add", "mine", "bw_win=11"],
                 ["profile", "copy", "default", "mine"], ["profile", "delete", "default"], ["rule", "list"],
                 ["rule", "add", "--dport", "1", "--profile", "default"], ["rule", "delete", "1"],
                 ["rule", "flush"], ["rule", "test", "10.0.0.1"], ["show", "--profile", "default"],
                 ["set", "--profile", "default", "bw_win=11"], ["reset", "--profile", "default"]):
        err = bbrctl("--name", other_major, *args, status=REFUSED).err
        assert "another version" in err and f"ABI {major + 1}" in err and "unload it" in err, err
    assert status_of(bbrctl, other_major)["supported"] is False
    send_verified(ns, other_major)
    bbrctl("unload", "--name", other_major)  # this needs no knowledge of its ABI
