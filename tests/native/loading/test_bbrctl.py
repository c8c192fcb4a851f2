# SPDX-License-Identifier: GPL-2.0-only
"""bbrctl's verbs: what they do, what they print, how they end."""
import contextlib
import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from system import registered
from tool import NOTHING, REFUSED, USAGE, sanitizer_environment, status_of
from transfer import connect, get_cc, listen, send_verified

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

UNITS = {"ratio", "bytes", "percent", "count", "packets", "rounds", "us", "ms", "bps"}


def values(bbrctl, *args):
    return {p["key"]: p["value"] for p in bbrctl.json("show", *args)["params"]}


def test_check_says_that_this_machine_can(bbrctl):
    answer = bbrctl.json("check")
    assert answer["ok"] is True and answer["kernel"] == os.uname().release
    assert answer["cong_control_args"] in (2, 4)
    assert os.uname().release in bbrctl("check").out


def devices_of(bbrctl, ns):
    return {d["device"]: d for d in bbrctl.json("check", prefix=ns.command())["devices"]}


def test_the_advice_of_check_keeps_mq(bbrctl, new_ns):
    """As a shell runs it, with pfifo in the place of fq, which not every kernel has."""
    ns = new_ns()
    ns.ip("link", "add", "made", "numtxqueues", 12, "numrxqueues", 12, "type", "veth", "peer", "name", "end")
    ns.run("tc", "qdisc", "add", "dev", "made", "root", "mq")
    ns.ip("link", "add", "kernels", "numtxqueues", 3, "type", "ifb")  # the kernel makes its mq, without a handle
    ns.ip("link", "set", "kernels", "up")
    before = devices_of(bbrctl, ns)
    assert {d: before[d]["root"] for d in ("made", "kernels")} == {"made": "mq", "kernels": "mq"}
    for device, queues in ("made", 12), ("kernels", 3):
        advice = before[device]["advice"]
        assert advice in bbrctl("check", prefix=ns.command()).out
        ns.run("sh", "-ec", re.sub(r"\bfq\b", "pfifo limit 77", advice))
        shown = ns.run("tc", "qdisc", "show", "dev", device).stdout.splitlines()
        assert shown[0].startswith("qdisc mq ") and len(shown) == 1 + queues
        assert all(line.startswith("qdisc pfifo ") and line.endswith(" limit 77p") for line in shown[1:])


def test_check_advises_nothing_that_takes_a_shaper_away(bbrctl, new_ns):
    ns = new_ns()
    ns.run("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1gbit", "burst", "1m", "latency", "10ms")
    assert devices_of(bbrctl, ns)["lo"] == {"device": "lo", "qdisc": "tbf", "root": "tbf", "advice": None, "fq": None}
    out = bbrctl("check", prefix=ns.command()).out
    assert "tc qdisc" not in out and "would replace tbf" in out


def test_load_then_use_then_unload(bbrctl, free_name, ns):
    name = free_name()
    assert name in bbrctl("load", "--name", name).out
    send_verified(ns, name)
    assert name in bbrctl("unload", "--name", name).out
    with listen(ns) as listener, pytest.raises(OSError) as refused:
        connect(ns, listener, cc=name)
    assert refused.value.errno == errno.ENOENT


def test_load_says_what_the_verifier_went_through(bbrctl, free_name):
    name = free_name()
    done = bbrctl("-v", "load", "--name", name)
    counts = dict(re.findall(r"^(\w+): the verifier went through (\d+) instructions$", done.err, re.M))
    assert name in done.out and {"init", "cong_control", "ssthresh"} < counts.keys()
    assert int(counts["cong_control"]) == max(map(int, counts.values()))


def test_load_and_unload_in_json(bbrctl, free_name):
    name = free_name()
    loaded = bbrctl.json("load", "--name", name)
    assert loaded == {"name": name, "map_id": status_of(bbrctl, name)["map_id"], "defaults": 0}
    unloaded = bbrctl.json("unload", "--name", name)
    assert unloaded == {"name": name, "map_id": loaded["map_id"], "unloaded": True, "users": 0, "defaults": [],
                        "routes": []}


def test_load_takes_parameters(bbrctl, free_name):
    name = free_name()
    bbrctl("load", "--name", name, "--set", "cwnd_gain=2.5", "--set", "min_rtt_win=3s")
    now = values(bbrctl, "--name", name)
    assert now["cwnd_gain"] == 2.5 and now["min_rtt_win"] == 3000
    assert status_of(bbrctl, name)["params_changed"] == 2


def test_load_from_a_file(bbrctl, free_name, bbr_object, ns):
    name = free_name()
    bbrctl("load", "--name", name, "--object", bbr_object)
    send_verified(ns, name)


@pytest.mark.parametrize("size", [0, 1, 64, 4096, 100_000])
def test_load_from_garbage_is_refused(bbrctl, free_name, tmp_path, size):
    name = free_name()
    garbage = tmp_path / "garbage.o"
    garbage.write_bytes(os.urandom(size))
    err = bbrctl("load", "--name", name, "--object", garbage, status=USAGE).err
    assert str(garbage) in err and "not a BPF object" in err
    assert name not in registered()


@pytest.mark.parametrize("keep", [100, 5000, 40_000])
def test_load_from_a_truncated_object_is_refused(bbrctl, free_name, bbr_object, tmp_path, keep):
    name = free_name()
    part = tmp_path / "part.o"
    part.write_bytes(bbr_object.read_bytes()[:keep])
    bbrctl("load", "--name", name, "--object", part, status=USAGE)
    assert name not in registered()


def test_load_from_a_missing_file_is_refused(bbrctl, free_name, tmp_path):
    name = free_name()
    err = bbrctl("load", "--name", name, "--object", tmp_path / "none.o", status=USAGE).err
    assert "none.o" in err and "No such file" in err
    assert name not in registered()


def test_load_from_another_object_is_refused(bbrctl, free_name):
    """An ELF file, but no BPF object."""
    name = free_name()
    bbrctl("load", "--name", name, "--object", "/bin/true", status=USAGE)
    assert name not in registered()


def test_loading_twice_is_nothing_to_do(bbrctl, load):
    name = load("cwnd_gain=2.5")
    before = status_of(bbrctl, name)
    err = bbrctl("load", "--name", name, status=NOTHING).err
    assert name in err and "already" in err
    assert status_of(bbrctl, name) == before


@pytest.mark.parametrize("verb", [["unload"], ["status"], ["show"], ["set", "bw_win=11"], ["reset"]])
def test_what_is_not_loaded_is_nothing_to_do(bbrctl, free_name, verb):
    name = free_name()
    assert name in bbrctl(*verb, "--name", name, status=NOTHING).err
    assert name not in registered()


@pytest.mark.parametrize("name", ["bbr", "cubic", "reno"])
def test_a_name_of_the_kernels_own_is_refused(bbrctl, ns, name):
    assert name in registered(), f"this kernel has no {name} of its own"
    assert name in bbrctl("load", "--name", name, status=REFUSED).err
    assert name in registered()
    assert status_of(bbrctl, name) is None
    send_verified(ns, name)


@pytest.mark.parametrize("name", ["bbr", "cubic", "reno"])
def test_the_kernels_own_cannot_be_unloaded(bbrctl, name):
    bbrctl("unload", "--name", name, status=NOTHING)
    assert name in registered()


@pytest.mark.parametrize("name", ["", "a" * 16, "a" * 300, "a b", "a/b", "a-b", "ä", "a\n", "%s%n", "a;b", "../a"])
@pytest.mark.parametrize("verb", ["load", "unload", "show"])
def test_invalid_names_are_a_usage_error(bbrctl, verb, name):
    before = registered()
    assert "name" in bbrctl(verb, "--name", name, status=USAGE).err
    assert registered() == before


def test_the_longest_name(bbrctl, free_name, ns):
    name = (free_name() + "." * 15)[:15]
    bbrctl("load", "--name", name)
    try:
        assert status_of(bbrctl, name)
        send_verified(ns, name)
    finally:
        bbrctl("unload", "--name", name)


@pytest.mark.parametrize("args", [
    [], ["no_such_verb"], ["load", "extra"], ["status", "--set", "bw_win=11"], ["unload", "--object", "x"],
    ["show", "no_such_key"], ["reset", "no_such_key"], ["set"], ["--no-such-option", "status"],
    ["load", "--name"], ["load", "--set"], ["check", "--name", "x"], ["set", "--defaults", "bw_win=11"],
    ["rule", "add", "--dst", "10.0.0.0/8", "--dst", "192.0.2.0/24", "--profile", "p"],
    ["rule", "test", "10.0.0.1", "--dport", "80", "--dport", "443"], ["attach", "--cgroup", "a", "--cgroup", "b"],
    ["migrate", "--from", "cubic", "--to", "reno", "--sport", "1", "--sport", "2"],
])
def test_wrong_command_lines_are_a_usage_error(bbrctl, args):
    before = registered()
    assert bbrctl(*args, status=USAGE).err
    assert registered() == before


def test_help_and_version(bbrctl):
    text = bbrctl("--help").out
    for verb in "check", "load", "unload", "status", "show", "set", "reset":
        assert verb in text
    assert bbrctl("--version").out.startswith("bbrctl ")


def test_help_of_verbs_that_begin_alike(bbrctl):
    assert re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", bbrctl("rule", "--help").out, re.M) == [
        "rule list", "rule add", "rule delete", "rule flush", "rule test"]


@pytest.mark.parametrize("words, options", [
    (["rule", "add"], {"--name", "--profile", "--before", "--dst", "--src", "--dport", "--sport", "--cgroup", "--pod", "--dev", "--mark",
                       "--not-dst", "--not-src", "--not-dport", "--not-sport", "--not-cgroup", "--not-dev", "--not-mark"}),
    (["migrate"], {"--from", "--to", "--netns", "--all-netns", "--listeners", "--dry-run", "--dst", "--dport", "--sport",
                   "--cgroup", "--pod", "--mark"}),
    (["check"], set()),
])
def test_help_of_a_verb(bbrctl, words, options):
    text = bbrctl(*words, "--help").out
    assert text.startswith(f"usage: bbrctl {' '.join(words)} [options]")
    assert set(re.findall(r"^ .*?(--[a-z-]+)", text, re.M)) == options | {"--json", "--verbose", "--help", "--version"}


def test_help_of_no_verb_is_that_of_all(bbrctl):
    assert bbrctl("ru", "--help").out == bbrctl("rule", "such", "--help").out == bbrctl("--help").out


def test_output_that_cannot_be_written_is_an_error(bbrctl):
    for args in (), ("-j",):
        with open("/dev/full", "w") as full:
            done = bbrctl.start("show", "--defaults", *args, stdout=full, stderr=subprocess.PIPE, text=True)
            assert "cannot write: No space left on device" in done.communicate(timeout=30)[1]
            assert done.returncode == REFUSED


@pytest.mark.parametrize("args, said", [
    (["rule", "test", "10.0.0.1:80"], "bbrctl: rule test 10.0.0.1:80: not an IPv4 or IPv6 address or prefix\n"),
    (["rule", "test", "10.0.0.1", "--src", "10.0.0.0/8"], "bbrctl: rule test --src: expected an address, not a prefix\n"),
    (["rule", "delete", "1", "--dst", "10.0.0.1"], "bbrctl: rule delete: a number or options, not both\n"),
    (["show", "--defaults", "cwnd_gian"], "\n  did you mean cwnd_gain?\n"),
    (["show", "--defaults", "--name", "x"], "bbrctl: show: --defaults does not go with --name or --profile\n"),
    (["show", "--defaults", "--profile", "tsunami"], "bbrctl: show: --defaults does not go with --name or --profile\n"),
    (["set", "cwnd_gain=1", "bw_win=9", "cwnd_gain=2"], "bbrctl: cwnd_gain: appears twice\n"),
    (["load", "--name", "a", "--name", "b"], "bbrctl: load: --name: appears twice\n"),
    (["load", "--set", "bw_win=9", "--set", "bw_win=8"], "bbrctl: bw_win: appears twice\n")])
def test_a_refusal_names_what_was_given(bbrctl, args, said):
    assert said in bbrctl(*args, status=USAGE).err


def test_names_that_may_be_meant(bbrctl, load, tmp_path):
    name = load()
    assert f"{name} is an instance: bbrctl show --name {name}" in bbrctl("show", name, status=USAGE).err
    go = "profile", "add", "--name", name
    assert "did you mean tsunami?" in bbrctl(*go, "tsunmi", status=USAGE).err
    assert "wifi is a profile of bbr3" in bbrctl(*go, "wifi", status=USAGE).err
    assert "here --profile takes a file" in bbrctl(*go, "mine", "--profile", "tsunami", status=USAGE).err
    assert "here --profile" not in bbrctl(*go, "mine", "--profile", tmp_path, status=None).err


def test_the_namespace_whose_default_it_is_already(bbrctl, load, ns):
    go = "load", "--name", load(), "--default", "--netns", ns.name
    bbrctl(*go)
    assert f"already the default of network namespace {ns.name}\n" in bbrctl(*go, status=NOTHING).err


def test_show_in_json_has_units_and_ranges(bbrctl):
    params = bbrctl.json("show", "--defaults")["params"]
    assert len(params) > 30
    for p in params:
        low, high = p["range"]
        listed = p["value"] if isinstance(p["value"], list) else [p["value"]]
        assert all(low <= v <= high for v in listed), p
        assert p["unit"] in UNITS and p["meaning"] and p["changed"] is False and p["value"] == p["default"]
    assert len({p["key"] for p in params}) == len(params)


def test_the_defaults_are_mainlines(bbrctl):
    """The constants of net/ipv4/tcp_bbr.c, as its comments and definitions give them."""
    now = values(bbrctl, "--defaults")
    assert round(now["high_gain"] * 256) == 256 * 2885 // 1000 + 1
    assert round(now["drain_gain"] * 256) == 256 * 1000 // 2885
    assert now["probe_bw_gains"] == [1.25, 0.75, 1, 1, 1, 1, 1, 1]
    assert (now["cwnd_gain"], now["bw_win"], now["min_rtt_win"]) == (2, 10, 10_000)
    assert (now["probe_rtt_duration"], now["min_tso_rate"], now["pacing_margin"]) == (200, 1_200_000, 1)
    assert (now["cwnd_min_target"], now["full_bw_thresh"], now["full_bw_rounds"]) == (4, 1.25, 3)


def test_show_in_text_has_a_line_for_each(bbrctl):
    heading, *lines = bbrctl("show", "--defaults").out.splitlines()
    assert {"KEY", "VALUE", "DEFAULT", "RANGE", "UNIT"} <= set(heading.split())
    params = bbrctl.json("show", "--defaults")["params"]
    assert [line.split()[0] for line in lines] == [p["key"] for p in params]


def test_show_selects_keys(bbrctl, load):
    name = load()
    params = bbrctl.json("show", "--name", name, "bw_win", "cwnd_gain")["params"]
    assert {p["key"] for p in params} == {"bw_win", "cwnd_gain"}
    assert len(bbrctl("show", "--name", name, "bw_win").out.splitlines()) == 2


def test_show_marks_what_was_changed(bbrctl, load):
    name = load("bw_win=11", "probe_bw_gains=1.5,0.75,1,1,1,1,1,1")
    marked = [line.split()[1] for line in bbrctl("show", "--name", name).out.splitlines() if line.startswith("*")]
    changed = [p["key"] for p in bbrctl.json("show", "--name", name)["params"] if p["changed"]]
    assert sorted(marked) == sorted(changed) == ["bw_win", "probe_bw_gains"]


def on_terminal(bbrctl, columns, *args):
    """The lines that a verb prints on a terminal of this width."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    try:
        process = subprocess.Popen([bbrctl.path, *args], stdout=its, stderr=subprocess.PIPE, env=sanitizer_environment())
        os.close(its)
        text = b""
        with contextlib.suppress(OSError):  # EIO: it has closed its end
            while part := os.read(ours, 4096):
                text += part
        assert process.wait(30) == 0, process.stderr.read()
        process.stderr.close()
    finally:
        os.close(ours)
    return text.decode().splitlines()


@pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])
@pytest.mark.parametrize("columns", [80, 60, 0, 300])
def test_show_fits_the_terminal(bbrctl, load, columns, algorithm):
    """On a narrow one the meaning is below each parameter. 0: the terminal does not say."""
    name = load("cwnd_min_target=5", algorithm=algorithm)
    lines = on_terminal(bbrctl, columns, "show", "--name", name)
    params = bbrctl.json("show", "--name", name)["params"]
    if columns in (0, 300):
        assert lines == bbrctl("show", "--name", name).out.splitlines()
        return
    assert all(len(line) <= max(columns, 73) for line in lines) and all(line == line.rstrip() for line in lines)
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    for p in params:
        assert f" {p['key']} " in text and " ".join(p["meaning"].split()) in text
    (changed,) = [i for i, line in enumerate(lines) if line.startswith("* ")]
    assert lines[changed].split()[1:3] == ["cwnd_min_target", "5"] and "      default 4" in lines[changed:changed + 4]


def test_status_fits_80_columns(bbrctl, free_name):
    name = free_name().ljust(15, "x")
    bbrctl("load", "--name", name, "--algorithm", "bbr3")
    try:
        (line,) = [line for line in bbrctl("status").out.splitlines() if line.startswith(name)]
        assert len(line) <= 80 and line.endswith(f"bbr3 {status_of(bbrctl, name)['version']}")
    finally:
        bbrctl("unload", "--name", name)


def test_set_tells_what_it_changed(bbrctl, load):
    name = load()
    assert bbrctl.json("set", "--name", name, "bw_win=11") == {
        "name": name, "profile": "default", "changed": {"bw_win": {"old": 10, "new": 11, "unit": "rounds"}}}
    text = bbrctl("set", "--name", name, "bw_win=12", "min_rtt_win=5s").out
    assert "bw_win=12 (was 11)" in text and "min_rtt_win=5s (was 10s)" in text


def test_set_to_the_same_is_nothing_to_do(bbrctl, load):
    name = load("bw_win=11")
    bbrctl("set", "--name", name, "bw_win=11", status=NOTHING)
    bbrctl("set", "--name", name, "bw_win=11", "cwnd_gain=3")
    assert values(bbrctl, "--name", name)["cwnd_gain"] == 3


def test_reset_of_single_keys_leaves_the_others(bbrctl, load):
    name = load("bw_win=11", "cwnd_gain=3", "min_rtt_win=3s")
    bbrctl("reset", "--name", name, "bw_win", "min_rtt_win")
    now = values(bbrctl, "--name", name)
    assert (now["bw_win"], now["cwnd_gain"], now["min_rtt_win"]) == (10, 3, 10_000)
    bbrctl("reset", "--name", name, "bw_win", status=NOTHING)


def test_reset_of_all(bbrctl, load):
    name = load("bw_win=11", "cwnd_gain=3")
    changed = bbrctl.json("reset", "--name", name)["changed"]
    assert set(changed) == {"bw_win", "cwnd_gain"}
    assert bbrctl.json("show", "--name", name)["params"] == bbrctl.json("show", "--defaults")["params"]
    bbrctl("reset", "--name", name, status=NOTHING)


def test_every_limit_can_be_set_and_is_shown_so(bbrctl, load):
    """The lowest and the highest value of each parameter, in the notation that show itself prints."""
    name = load()
    ranges = {line.split()[0]: line for line in bbrctl("show", "--defaults").out.splitlines()[1:]}
    for end in 0, 1:
        limits = {}
        for p in bbrctl.json("show", "--defaults")["params"]:
            words = ranges[p["key"]].split()
            text = words[words.index("to") + (-1, 1)[end]]
            n = len(p["value"]) if isinstance(p["value"], list) else 1
            limits[p["key"]] = ",".join([text] * n), [p["range"][end]] * n if n > 1 else p["range"][end]
        bbrctl("set", "--name", name, *(f"{k}={text}" for k, (text, _) in limits.items()))
        assert values(bbrctl, "--name", name) == {k: value for k, (_, value) in limits.items()}


def test_two_instances_keep_their_own_parameters(bbrctl, load, ns):
    one, two = load("cwnd_gain=2.5"), load("cwnd_gain=3.5", "bw_win=20")
    bbrctl("set", "--name", one, "bw_win=30")
    assert [values(bbrctl, "--name", n)["cwnd_gain"] for n in (one, two)] == [2.5, 3.5]
    assert [values(bbrctl, "--name", n)["bw_win"] for n in (one, two)] == [30, 20]
    bbrctl("reset", "--name", one)
    assert values(bbrctl, "--name", two)["cwnd_gain"] == 3.5
    for name in one, two:
        send_verified(ns, name)
    bbrctl("unload", "--name", one)
    send_verified(ns, two)


def test_status_in_text_and_json_agree(bbrctl, load):
    one, two = load("bw_win=11"), load()
    rows = {line.split()[0]: line.split() for line in bbrctl("status").out.splitlines()[1:]}
    for name in one, two:
        found = status_of(bbrctl, name)
        assert rows[name][1:6] == [str(found[k]) for k in ("map_id", "users", "params_changed", "profiles",
                                                           "monitors")]


def test_status_counts_users(bbrctl, load, ns):
    name = load()
    listener = listen(ns)
    ends = [connect(ns, listener, cc=name) for _ in range(3)]
    assert {get_cc(sender) for sender, _ in ends} == {name}
    assert status_of(bbrctl, name)["users"] == 3
    assert bbrctl.json("unload", "--name", name)["users"] == 3
