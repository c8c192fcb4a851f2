# SPDX-License-Identifier: GPL-2.0-only
"""
bbrctl without root, or with only some of its capabilities: a clear refusal names the missing one. For bbrmon see
test_privileges.py.
"""
import os
import pathlib
import re
import shutil
import tempfile

import pytest

from cgroups import Cgroup
from system import registered
from tool import REFUSED, USAGE, Tool

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
CAPABILITY = re.compile(r"CAP_[A-Z_]+")
LOOK = {"CAP_SYS_ADMIN"}
CHANGE = {"CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN", "CAP_SYS_ADMIN"}

# What each needs. There is a command for each verb; a refused one changes nothing.
COMMANDS = [
    (CHANGE, [["check"], ["load", "--name", "bbrt_no"], ["unload"], ["set", "bw_win=11"], ["reset"], ["upgrade"],
              ["attach", "--cgroup", "bbrt_no"], ["detach", "--cgroup", "bbrt_no"],
              ["profile", "add", "a", "bw_win=11"], ["profile", "delete", "a"], ["profile", "copy", "a", "b"],
              ["rule", "add", "--dport", "1", "--profile", "a"], ["rule", "delete", "1"], ["rule", "flush"],
              ["apply", "FILE"], ["migrate", "--from", "bbrt_no", "--to", "reno"],
              ["experiment", "start", "bbrt_no", "--arm", "a=cubic", "--arm", "b=reno"],
              ["experiment", "stop", "bbrt_no"]]),
    (LOOK | {"CAP_NET_ADMIN"}, [["status"], ["save"], ["experiment", "list"], ["experiment", "status"],
                                ["experiment", "pause", "bbrt_no"], ["experiment", "resume", "bbrt_no"],
                                ["experiment", "watch", "bbrt_no"], ["experiment", "promote", "bbrt_no"]]),
    (LOOK, [["show"], ["profile", "list"], ["profile", "show", "a"], ["rule", "list"], ["rule", "test", "::1"]]),
]
ALL = [(needs, command) for needs, commands in COMMANDS for command in commands]


def words(command):
    """The words of the verb, before its options and arguments."""
    return command[:2] if command[0] in ("profile", "rule", "experiment") else command[:1]


@pytest.fixture(scope="session")
def bbrctl(build):
    """A copy that everybody may read and run, which may not be true of the build's folder, and a file to restore."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bbrt"))
    os.chmod(directory, 0o755)
    assert (build / "bbrctl").is_file(), f"{build / 'bbrctl'} is missing: run `make tests`"
    shutil.copy(build / "bbrctl", directory)
    os.chmod(directory / "bbrctl", 0o755)
    tool = Tool(directory / "bbrctl")
    tool.saved = directory / "saved"
    tool.saved.write_text("[default]\n[rules]\n")
    yield tool
    shutil.rmtree(directory)


def missing(bbrctl, command, prefix):
    """What the first line says is missing, and all that the second line, the remedy, lists."""
    command = [bbrctl.saved if word == "FILE" else word for word in command]
    lacks, remedy = bbrctl(*command, status=REFUSED, prefix=prefix, cwd="/").err.splitlines()
    assert lacks.startswith(f"bbrctl: {' '.join(words(command))}: missing CAP_")
    return set(CAPABILITY.findall(lacks)), set(CAPABILITY.findall(remedy))


def nobody_with(capabilities):
    which = ",".join(["-all", *(f"+{short(capability)}" for capability in sorted(capabilities))])
    return [*NOBODY, f"--inh-caps={which}", f"--ambient-caps={which}"]


def short(capability):
    return capability.removeprefix("CAP_").lower()


def test_every_verb_is_in_here(bbrctl):
    verbs = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", bbrctl("--help").out, re.M)
    assert len(verbs) > 20 and set(verbs) == {" ".join(words(command)) for _, command in ALL}


@pytest.mark.parametrize("needs, command", ALL, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_help_says_what_it_needs(bbrctl, needs, command):
    (line,) = re.findall(r"^Needs ([^;]*);\s+gives\s+up\s+all\s+others", bbrctl(*words(command), "--help").out, re.M)
    assert set(CAPABILITY.findall(" ".join(line.split()).partition(" and uses, if it has them, ")[0])) == needs


@pytest.mark.parametrize("needs, command", ALL, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_missing_privileges_are_reported(bbrctl, needs, command):
    assert missing(bbrctl, command, [*NOBODY, "--bounding-set=-all", "--inh-caps=-all"]) == (needs, needs)
    assert "bbrt_no" not in registered()


@pytest.mark.parametrize("needs, command", ALL, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_one_that_is_missing_is_named(bbrctl, needs, command):
    for capability in sorted(needs):
        for prefix in ["setpriv", f"--bounding-set=-{short(capability)}"], nobody_with(needs - {capability}):
            assert missing(bbrctl, command, prefix) == ({capability}, needs)
    assert "bbrt_no" not in registered()


@pytest.mark.parametrize("args, needs", [(["show"], LOOK), (["save"], LOOK | {"CAP_NET_ADMIN"}), (["profile", "list"], LOOK),
                                         (["rule", "list"], LOOK), (["rule", "test", "::1"], LOOK),
                                         (["status"], LOOK | {"CAP_NET_ADMIN"}), (["profile", "show", "default"], LOOK)])
def test_nobody_with_just_what_it_needs_sees_what_root_sees(bbrctl, load, args, needs):
    name = load("bw_win=11")
    bbrctl("profile", "add", "--name", name, "tsunami")
    bbrctl("rule", "add", "--name", name, "--dport", 443, "--profile", "tsunami")
    as_root = bbrctl.json(*args, "--name", name)
    as_nobody = bbrctl.json(*args, "--name", name, prefix=nobody_with(needs))
    for seen in as_root, as_nobody:
        if args == ["status"]:  # needs one more, to find all namespaces
            seen[0].pop("default_in")
    assert as_nobody == as_root and as_root


def test_nobody_with_just_what_it_needs_runs_an_experiment(bbrctl):
    """The lock belongs to root, hence one more capability."""
    cgroup, name = Cgroup(), f"e{os.getpid()}_n"
    change = {"prefix": nobody_with(CHANGE | {"CAP_DAC_OVERRIDE"})}
    try:
        bbrctl("experiment", "start", name, "--arm", "a=cubic", "--arm", "b=reno", "--cgroup", cgroup.path, **change)
        shown = bbrctl.json("experiment", "status", name, prefix=nobody_with(LOOK | {"CAP_NET_ADMIN"}))
        assert shown == bbrctl.json("experiment", "status", name) and shown["cgroup"] == str(cgroup.path)
        bbrctl("experiment", "pause", name, prefix=nobody_with(LOOK | {"CAP_NET_ADMIN", "CAP_DAC_OVERRIDE"}))
        bbrctl("experiment", "stop", name, **change)
    finally:
        cgroup.delete()  # this also ends what runs there


def test_defaults_and_help_need_no_privilege(bbrctl):
    nobody = [*NOBODY, "--bounding-set=-all", "--inh-caps=-all"]
    assert bbrctl.json("show", "--defaults", prefix=nobody)["params"]
    bbrctl("--help", prefix=nobody)
    bbrctl("set", "bw_win=0", prefix=nobody, status=USAGE)
