# SPDX-License-Identifier: GPL-2.0-only
"""
bbrctl save writes an instance as text, and apply restores it, all or nothing. The files here without [instance NAME]
are as bbrctl wrote them when save covered profiles and rules only.
"""
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

from system import cgroup_mount
from tool import REFUSED, USAGE
from transfer import Transfer, connect, listen

BROKEN = {
    "unknown key": "[default]\nno_such_key = 1\n",
    "out of range": "[default]\nbw_win = 0\n",
    "not a line": "[default]\nbw_win\n",
    "before the first section": "bw_win = 11\n[default]\n",
    "twice the same profile": "[default]\n[one]\n[one]\n",
    "no such profile": "[default]\n[rules]\nrule = --dport 1 --profile nobody\n",
    "profile after its rule": "[default]\n[rules]\nrule = --dport 1 --profile one\n[one]\n",
    "no profile": "[default]\n[rules]\nrule = --dport 1\n",
    "unknown option": "[default]\n[rules]\nrule = --color red --profile default\n",
    "no value": "[default]\n[rules]\nrule = --profile default --dport\n",
    "bad prefix": "[default]\n[rules]\nrule = --dst 10.0.0.1/8.5 --profile default\n",
    "no such cgroup": "[default]\n[rules]\nrule = --profile default --cgroup /bbrt/../such\n",
    "the same rule twice": "[default]\n[rules]\nrule = --dport 1 --profile default\n"
                           "rule = --profile default --dport 1\n",
    "another key in rules": "[default]\n[rules]\nbw_win = 11\n",
    "a line too long": "[default]\nbw_win = " + "1" * 9000 + "\n",
    "a bad name": "[default]\n[this is a name too long]\nbw_win = 3\n",
    "binary": "\x01\x02\xff\x00[default\n",
    "65 profiles": "[default]\n" + "".join(f"[p{i}]\n" for i in range(64)),
}


def save(bbrctl, name):
    return bbrctl("save", "--name", name).out


def save_json(bbrctl, name):
    (saved,) = bbrctl.json("save", "--name", name)
    assert saved["name"] == name
    return saved


@pytest.fixture
def restore(bbrctl, tmp_path):
    def run(name, text, **kwargs):
        path = tmp_path / "saved.ini"
        path.write_text(text)
        return bbrctl("apply", "--name", name, path, **kwargs)
    return run


@pytest.fixture
def furnished(bbrctl, load):
    """An instance with profiles and rules."""
    name = load("bw_win=11")
    bbrctl("profile", "add", "--name", name, "one", "cwnd_gain=3", "probe_bw_gains=1.5,0.75,1,1,1,1,1,1")
    bbrctl("profile", "add", "--name", name, "two", "min_rtt_win=3s", "pacing_margin=0%")
    bbrctl("rule", "add", "--name", name, "--dst", "10.0.0.0/8", "--dport", "443", "--profile", "one")
    bbrctl("rule", "add", "--name", name, "--dst", "fd00::/7", "--sport", "7", "--mark", "9", "--profile", "two")
    bbrctl("rule", "add", "--name", name, "--cgroup", "/", "--dst", "10.1.0.0/16", "--profile", "default")
    return name


def test_it_comes_back_as_it_was(bbrctl, load, restore, furnished):
    text, rules = save(bbrctl, furnished), bbrctl.json("rule", "list", "--name", furnished)["rules"]
    other = load()
    bbrctl("profile", "add", "--name", other, "mine", "bw_win=3")
    bbrctl("rule", "add", "--name", other, "--dport", "1", "--profile", "mine")
    out = restore(other, text.replace(furnished, other)).out
    assert out == "".join(f"{other}: {line}\n" for line in (
        "profile one added", "profile two added", "profile default: bw_win=11 (was 10)", "3 rules (before: 1)",
        "profile mine deleted"))
    assert save(bbrctl, other).replace(other, furnished) == text
    assert bbrctl.json("rule", "list", "--name", other)["rules"] == rules
    assert len(rules) == 3


def test_only_what_differs(bbrctl, load):
    """--all prints the rest as comments."""
    name = load("bw_win=11")
    lines = save(bbrctl, name).splitlines()
    assert lines[1:] == ["", f"[instance {name}]", "algorithm = bbr", "", "[default]", "bw_win = 11"]
    every = bbrctl("save", "--all", name).out.splitlines()
    keys = {p["key"] for p in bbrctl.json("show", "--name", name)["params"]}
    assert "bw_win = 11" in every and {line.split()[1] for line in every if re.match(r"; \w+ = ", line)} == keys - {"bw_win"}


def test_nothing_to_do(bbrctl, restore, furnished):
    assert "nothing to change" in restore(furnished, save(bbrctl, furnished)).out


def test_edited(bbrctl, restore, furnished):
    text = save(bbrctl, furnished)
    restore(furnished, text.replace("cwnd_gain = 3", "cwnd_gain = 4").replace("--dport 443", "--dport 80"))
    assert save(bbrctl, furnished) == text.replace("cwnd_gain = 3", "cwnd_gain = 4").replace("--dport 443", "--dport 80")


def test_json(bbrctl, restore, furnished):
    saved = save_json(bbrctl, furnished)
    assert [p["profile"] for p in saved["profiles"]] == ["default", "one", "two"]
    assert saved["profiles"][0]["params"]["bw_win"] == 11 and saved["profiles"][1]["params"]["cwnd_gain"] == 3
    assert saved["rules"][0] == {"dst": "10.0.0.0/8", "dport": 443, "profile": "one"}
    text = save(bbrctl, furnished).replace("bw_win = 11", "bw_win = 12")
    restore(furnished, text)
    assert bbrctl.json("show", "--name", furnished, "bw_win")["params"][0]["value"] == 12


def test_from_standard_input(bbrctl, furnished):
    text = save(bbrctl, furnished)
    bbrctl("rule", "flush", "--name", furnished)
    done = bbrctl.json("apply", "--name", furnished, "-", input=text)
    assert done == {"file": "-", "applied": True, "defaults_left": False, "changes": [{"name": furnished, "change": "rules", "old_rules": 0, "new_rules": 3}],
                    "left_alone": [], "waiting": [], "pods": []}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_change_nothing(bbrctl, restore, furnished, what):
    before = save(bbrctl, furnished)
    refused = restore(furnished, BROKEN[what], status=USAGE)
    assert len(refused.err) < 1000
    assert save(bbrctl, furnished) == before


def hostile_names():
    """Names that a cgroup can have, and that are something else in a file, a terminal or JSON."""
    yield from (b" a", b"a ", b'"a"', b"a ;b", b"#a", b"a=b", b"[a]", b"\\x2d\\", b"\x1b[2J\x1b]0;a\x07", b"a\xff\xfe", b"a\tb",
                b"\xc2\x9b2J", "für".encode(), "a\u202eb".encode(), b"a" * 255, b"\xff" * 255, b"%n%s", b"--profile none", b"id:1")
    dice = random.Random(44)
    for _ in range(20):
        yield bytes(dice.choice(b" ;\"\\x#=\x1b\xff") if dice.random() < 0.5 else dice.choice([*range(1, 47), *range(48, 256)])
                    for _ in range(dice.randint(1, 40))).replace(b"\n", b"n")


@pytest.fixture
def hostile(cgroup):
    """Cgroups with such names, some of them in cgroups with such names."""
    above = os.fsencode(cgroup.path)
    made = []
    for i, name in enumerate(hostile_names()):
        made.append(os.path.join(above if i % 3 or not made else made[-1], name))
        os.mkdir(made[-1])
    yield made
    for path in reversed(made):
        os.rmdir(path)


def raw(bbrctl, *args):
    """What it prints, as bytes; none of them may do anything to a terminal."""
    done = subprocess.run([bbrctl.path, *map(os.fsencode, args)], capture_output=True, check=False, timeout=60)
    for out in done.stdout, done.stderr:
        text = out.decode()  # fails unless it is UTF-8
        assert not [c for c in text if c != "\n" and (ord(c) < 32 or 127 < ord(c) < 160 or c == "\x7f" and args[0] != "-j")], out
    return done


def unquote(text):
    """The name that a JSON string stands for."""
    if not text.startswith('"'):
        return os.fsencode(text)
    return text[1:-1].encode().decode("latin-1").encode("latin-1").decode("unicode_escape").encode("latin-1")


def test_names_that_are_hostile_come_back(bbrctl, load, hostile, tmp_path):
    name = load()
    for path in hostile:
        bbrctl("attach", "--name", name, "--cgroup", path.decode(errors="surrogateescape"), "--profile", "default")
    saved = raw(bbrctl, "save", "--name", name)
    assert saved.returncode == 0
    file = tmp_path / "saved.conf"
    file.write_bytes(saved.stdout)
    assert b"nothing to change" in raw(bbrctl, "apply", "--check", "--name", name, file).stdout
    (machine,) = json.loads(raw(bbrctl, "-j", "save", "--name", name).stdout)
    assert {unquote(path) for path in machine["attach"]} == {*hostile}
    listed = json.loads(raw(bbrctl, "-j", "rule", "list", "--name", name).stdout)["rules"]
    assert len(listed) == len(hostile)
    assert all(path.endswith(unquote(rule["cgroup"])) for rule, path in zip(listed, reversed(hostile)))
    for verb in (["rule", "list", "--name", name], ["status"], ["apply", "--diff", "--name", name, file]):
        assert raw(bbrctl, *verb).returncode == 0
    # All of it is made again from the file.
    for path in hostile:
        raw(bbrctl, "detach", "--name", name, "--cgroup", path)
    assert raw(bbrctl, "apply", "--check", "--name", name, file).returncode == 3
    assert raw(bbrctl, "apply", "--name", name, file).returncode == 0
    assert raw(bbrctl, "save", "--name", name).stdout == saved.stdout


def test_a_rule_whose_cgroup_is_gone_is_a_comment(bbrctl, load, cgroup, tmp_path):
    name = load()
    gone = cgroup.path / "gone"
    gone.mkdir()
    bbrctl("rule", "add", "--name", name, "--cgroup", gone, "--profile", "default")
    bbrctl("rule", "add", "--name", name, "--dport", "7", "--profile", "default")
    gone.rmdir()
    text = save(bbrctl, name)
    assert "\n; its cgroup is gone: rule = --profile default --cgroup id:" in text
    file = tmp_path / "saved.conf"
    file.write_text(text)
    bbrctl("apply", "--name", name, file)
    assert [rule.get("dport") for rule in bbrctl.json("rule", "list", "--name", name)["rules"]] == [7]


def test_conditions_on_cgroups_that_are_gone_come_back(bbrctl, load, cgroup, tmp_path):
    """A connection is never in such a cgroup: with and without the condition, the machine does the same."""
    name = load()
    keep, other, *gone = paths = [cgroup.path / word for word in ("keep", "other", "gone", "too")]
    for path in paths:
        path.mkdir()
    bbrctl("attach", "--name", name, "--cgroup", keep, "--not-cgroup", gone[0])
    bbrctl("attach", "--name", name, "--cgroup", other, "--not-cgroup", gone[1], "--not-cgroup", keep)
    for options in (["7", "--not-cgroup", gone[0]], ["8", "--not-cgroup", gone[0], "--not-cgroup", keep], ["7", "--not-cgroup", gone[1]],
                    ["9", "--cgroup", gone[0]], ["7"]):
        bbrctl("rule", "add", "--name", name, "--dport", *options, "--profile", "default")
    for path in gone:
        path.rmdir()
    file = tmp_path / "saved.conf"
    file.write_text(save(bbrctl, name))
    bbrctl("apply", "--name", name, file)
    assert "nothing to change" in bbrctl("apply", "--check", "--name", name, file).out
    saved = save_json(bbrctl, name)
    not_keep = [f"/{keep.relative_to(cgroup_mount())}"]
    assert [(at["cgroup"], at.get("not_cgroup")) for at in saved["attachments"]] == [(str(keep), None), (str(other), not_keep)]
    assert [(rule["dport"], rule.get("not_cgroup")) for rule in saved["rules"]] == [(7, None), (8, not_keep)]
    keep.rmdir()
    other.rmdir()


def test_cgroups_as_deep_as_any_user_can_make_them(bbrctl, load, cgroup):
    """More of them, one in the other, than bbrctl may have files, and a path longer than the kernel takes."""
    name = load()
    bbrctl("attach", "--name", name, "--cgroup", cgroup.path)
    here, made = os.open(cgroup.path, os.O_RDONLY), []
    try:
        for part in [*"a" * 60, *["b" * 250] * 17]:
            os.mkdir(part, dir_fd=here)
            made.append((here, part))
            here = os.open(part, os.O_RDONLY, dir_fd=here)
        result = bbrctl.json("status", prefix=["prlimit", "--nofile=32"])
        assert {i["name"]: i for i in result}[name]["cgroups"] == [str(cgroup.path)]
    finally:
        os.close(here)
        for above, part in reversed(made):
            os.rmdir(part, dir_fd=above)
            os.close(above)


def test_what_a_file_of_before_leaves_out_stays(bbrctl, restore, furnished, ns):
    """An old file says nothing about the defaults of namespaces. If it lacks the profile default, that profile is reset."""
    bbrctl("load", "--name", furnished, "--default", "--netns", ns.name)
    restore(furnished, "[one]\nbw_win = 12\n")
    saved = save_json(bbrctl, furnished)
    assert saved["default_in"] == [ns.name] and not saved["rules"]
    assert [(p["profile"], p["params"]["bw_win"]) for p in saved["profiles"]] == [("default", 10), ("one", 12)]


def test_missing_files_change_nothing(bbrctl, furnished, tmp_path):
    before = save(bbrctl, furnished)
    for path in tmp_path / "none", tmp_path:
        bbrctl("apply", "--name", furnished, path, status=None)
    assert save(bbrctl, furnished) == before


def test_no_room_changes_nothing(bbrctl, restore, load):
    """All places for profiles are taken, and become free only when the profiles that the file lacks are deleted."""
    name = load()
    restore(name, "[default]\n" + "".join(f"[p{i}]\n" for i in range(63)))
    before = save(bbrctl, name)
    refused = restore(name, "[default]\nbw_win = 11\n[other]\n", status=REFUSED)
    assert "delete" in refused.err
    assert save(bbrctl, name) == before


def test_connections_follow(bbrctl, restore, furnished, ns, monitor):
    """A profile keeps its place, so live connections get its restored parameters."""
    watching = monitor(furnished, "--every", "round")
    transfer = Transfer(*connect(ns, listen(ns), cc=furnished))
    watching.wait_for(lambda m: m.of("ack"), "the connection runs")
    restore(furnished, bbrctl("save", "--all", "--name", furnished).out.replace("; cwnd_gain = 2", "cwnd_gain = 2.5"))
    watching.wait_for(lambda m: any(e["cwnd_gain"] == 2.5 for e in m.events), "the new gain is in use")
    transfer.stop()
    transfer.finish()


def test_killed_half_way(bbrctl, restore, furnished, tmp_path):
    """Each profile is entirely the old or the new one, and a second run finishes the work."""
    old = save(bbrctl, furnished)
    new = (old.replace("bw_win = 11", "bw_win = 33").replace("cwnd_gain = 3", "cwnd_gain = 4")
           .replace("[rules]", "[three]\nbw_win = 5\n[rules]").replace("--dport 443 --profile one",
                                                                       "--dport 443 --profile three"))
    path = tmp_path / "new.ini"
    path.write_text(new)
    rng = random.Random(1)
    for _ in range(8):
        restore(furnished, old, status=None)
        process = bbrctl.start("apply", "--name", furnished, path)
        time.sleep(rng.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = {p["profile"]: p["params"] for p in save_json(bbrctl, furnished)["profiles"]}
        assert now["default"]["bw_win"] in (11, 33) and now["one"]["cwnd_gain"] in (3, 4)
        assert now.get("three", {"bw_win": 5})["bw_win"] == 5
        rules = [r["profile"] for r in save_json(bbrctl, furnished)["rules"]]
        assert rules in (["one", "two", "default"], ["three", "two", "default"])
        bbrctl("apply", "--name", furnished, path)
        assert save_json(bbrctl, furnished)["profiles"][0]["params"]["bw_win"] == 33


def test_many_rules(bbrctl, restore, load):
    name = load()
    rules = [f"rule = --dst 10.{i >> 8}.{i & 255}.0/24 --profile default" for i in range(4096)]
    restore(name, "\n".join(["[default]", "[rules]", *rules, ""]))
    assert [line for line in save(bbrctl, name).splitlines() if line.startswith("rule")] == rules
    assert bbrctl.json("rule", "test", "--name", name, "10.15.255.1")["rule"] == 4096
