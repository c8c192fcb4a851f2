# SPDX-License-Identifier: GPL-2.0-only
"""What shells offer for the last word of a command line, from the programs' own tables."""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
ENVIRONMENT = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TERM": "dumb"}


@pytest.fixture(scope="module", autouse=True)
def made():
    subprocess.run(["make", "-s", "-C", ROOT, "completions"], check=True, timeout=60)


def run(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=ENVIRONMENT, **kwargs)
    assert not done.stderr, done.stderr
    return done.stdout


def bash(*words, **kwargs):
    """Completes in a shell that completes nothing else."""
    script = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              'function=$(complete -p "$1" | sed -n "s/.* -F \\([^ ]*\\).*/\\1/p"); "$function"; printf "%s\\n" "${COMPREPLY[@]}"')
    return run("bash", "--norc", "-c", script, BUILD / "completions/bash" / words[0], *words, **kwargs).split()


def zsh(*words, **kwargs):
    """zsh completes only on a terminal, so stand-ins for its functions print what it would offer."""
    script = """
        _describe() { local array=$4; print -rl -- ${(@P)array%%:*}; }
        _files() { print -rl -- *; }
        file=$1; shift; words=("$@"); CURRENT=$#; source $file"""
    return run("zsh", "-f", "-c", script, "zsh", BUILD / f"completions/zsh/_{words[0]}", *words, **kwargs).split()


def fish(*words, **kwargs):
    script = f"source {BUILD}/completions/fish/{words[0]}.fish; complete -C'{' '.join(words)}'"
    return [line.split("\t")[0] for line in run("fish", "--no-config", "-c", script, **kwargs).splitlines()]


@pytest.fixture(params=[bash, zsh, fish], ids=lambda shell: shell.__name__)
def offered(request):
    return request.param


def verbs_of(program):
    text = run(BUILD / program, "--help").partition("Options of every verb")[0]
    return [found.split() for found in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", text, re.M)]


@pytest.mark.parametrize("program", ["bbrctl", "bbrmon"])
def test_every_verb(offered, program):
    verbs = verbs_of(program)
    assert len(verbs) > 5 and set(offered(program, "")) == {first for first, *_ in verbs}
    for group in {first for first, *rest in verbs if rest}:
        assert set(offered(program, group, "")) == {verb[1] for verb in verbs if verb[0] == group}


def test_bash_quotes_what_others_named(tmp_path):
    """bash inserts a candidate as it is."""
    program = tmp_path / "bbrctl"
    program.write_text("#!/bin/sh\nprintf '%s\\n' 'odd;$(id) x/' --name=\n")
    program.chmod(0o755)
    script = 'source "$0"; COMP_WORDS=("$1" ""); COMP_CWORD=1; _bbrctl; printf "%s\n" "${COMPREPLY[@]}"'
    assert run("bash", "--norc", "-c", script, BUILD / "completions/bash/bbrctl", program) == "odd\\;\\$\\(id\\)\\ x/\n--name=\n"


@pytest.mark.parametrize("program", ["bbrctl", "bbrmon"])
def test_every_option(program):
    for verb in verbs_of(program):
        options = set(re.findall(r"^ +(?:-[a-zA-Z], )?(--[a-z-]+)", run(BUILD / program, *verb, "--help"), re.M))
        assert len(options) >= 3 and set(bash(program, *verb, "-")) == options, verb


def keys_of(algorithm):
    shown = run(BUILD / "bbrctl", "show", "--defaults", "--algorithm", algorithm)
    return {line[2:].split()[0] for line in shown.splitlines()[1:]}


def available():
    return set(pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split())


def test_values(offered, tmp_path):
    (tmp_path / "a.ini").touch()
    keys, keys3 = keys_of("bbr"), keys_of("bbr3")
    assert len(keys) > 40
    assert set(offered("bbrctl", "show", "")) == keys
    assert set(offered("bbrctl", "set", "cwnd")) == {f"{key}=" for key in keys if key.startswith("cwnd")}
    assert set(offered("bbrctl", "load", "--algorithm", "")) == {"bbr", "bbr3"}
    assert set(offered("bbrctl", "--json", "load", "--algorithm", "bbr3", "--profile", "/", "--set", "f")) == \
        {f"{key}=" for key in keys3 if key.startswith("f")} != set()
    assert {"tsunami", "bbrplus", "a.ini"} <= set(offered("bbrctl", "load", "--profile", "", cwd=tmp_path))
    before = available()
    found = set(offered("bbrctl", "migrate", "--from", ""))
    assert before & available() <= found  # tests of other processes load and unload some
    assert offered("bbrctl", "apply", "", cwd=tmp_path) == ["a.ini"] == offered("bbrmon", "report", "", cwd=tmp_path)
    assert not offered("bbrctl", "rule", "add", "--mark", "")
    assert set(offered("bbrctl", "experiment", "start", "x", "--design", "")) == {"ab", "switchback", "canary"}
    assert not offered("bbrctl", "experiment", "start", "")
    assert offered("bbrctl", "check", "", cwd=tmp_path) == ["a.ini"] and not offered("bbrctl", "rule", "flush", "")


def test_values_of_bbrmon(offered):
    assert {"bw_bps", "lport", "instance"} <= set(offered("bbrmon", "snapshot", "--sort", ""))
    assert set(offered("bbrmon", "snapshot", "--sort", "bw_bps,-lp")) == {"bw_bps,-lport"}
    assert {"rate", "rtt"} <= set(offered("bbrmon", "top", "--columns", ""))
    assert set(offered("bbrmon", "top", "--sort", "-rat")) == {"-rate"}
    assert set(offered("bbrmon", "stream", "--every", "")) == {"ack", "round", "transition"}
    assert "bbr" in offered("bbrmon", "snapshot", "--name", "")
    assert "lo" in offered("bbrctl", "rule", "add", "--dev", "")


def test_only_what_can_follow():
    assert bash("bbrctl", "l") == ["load"] and bash("bbrctl", "load", "--def") == ["--default"]
    assert bash("bbrctl", "set", "cwnd_gain", "=", "") == []
    assert bash("bbrctl", "profile", "add", "ts") == ["tsunami"]
    assert bash("bbrctl", "nonesuch", "") == [] and bash("bbrctl", "nonesuch", "l") == []
