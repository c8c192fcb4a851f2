# SPDX-License-Identifier: GPL-2.0-only
"""
bbrctl apply: one file describes the whole machine. What others have loaded stays, because no apply made it.
"""
import json
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

import system
from cgroups import Cgroup, default_of
from system import NO_BPFFS, maps_of_instance, maps_of_ours, registered, run, wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, Tool, status_of
from transfer import MB, Transfer, connect, get_cc, listen, send_verified

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

ROOT = pathlib.Path(__file__).resolve().parents[3]
KILLS = 100


def default(ns):
    return ns.run("cat", "/proc/sys/net/ipv4/tcp_congestion_control").stdout.strip()


class Machine:
    """This machine, as bbrctl changes it by files."""

    def __init__(self, bbrctl, path):
        self.bbrctl, self.path = bbrctl, path
        self.others = "".join(bbrctl("save", "--name", i["name"]).out for i in bbrctl.json("status")
                              if not system.is_ours(i["name"]))

    def write(self, text):
        self.path.write_text(text)
        return self.path

    def apply(self, text, *args, **kwargs):
        return self.bbrctl("apply", *args, self.write(text), **kwargs)

    def changes(self, text, *args, **kwargs):
        """The changes that apply reports: (instance, change)."""
        found = self.bbrctl.json("apply", *args, self.write(text), **kwargs)["changes"]
        return [(c["name"], c["change"]) for c in found]

    def saved(self):
        """Our instances as save shows them, by name."""
        return {i["name"]: i for i in self.bbrctl.json("save") if system.is_ours(i["name"])}


@pytest.fixture
def machine(bbrctl, tmp_path):
    machine = Machine(bbrctl, tmp_path / "machine.conf")
    yield machine
    machine.apply("", status=None)


@pytest.fixture
def space(new_ns):
    ns = new_ns()
    ns.default_congestion_control("reno")
    return ns


@pytest.fixture
def full(free_name, space, cgroup):
    """A file with everything that a file can have, and the names of its instances."""
    one, two = free_name(), free_name()
    text = f"""
[instance {one}]
default_in = {space.name}
attach = {cgroup.relative}

[default]
cwnd_gain = 2.5

[fast]
from = tsunami
bw_win = 20

[rules]
rule = --dst 10.0.0.0/8 --dport 443 --profile fast
rule = --profile default --cgroup {cgroup.relative}

[instance {two}]
algorithm = bbr3
"""
    return text, one, two


def test_all_of_a_file(bbrctl, machine, full, space, cgroup):
    text, one, two = full
    out = machine.apply(text).out
    assert f"{one}: loaded" in out and f"now the default of network namespace {space.name} (was reno)" in out
    saved = machine.saved()
    assert saved[two]["algorithm"] == "bbr3" and saved[one]["default_in"] == [space.name]
    assert saved[one]["attach"] == [str(cgroup.path)]
    profiles = {p["profile"]: p["params"] for p in saved[one]["profiles"]}
    assert profiles["default"]["cwnd_gain"] == 2.5
    assert profiles["fast"]["bw_win"] == 20 and profiles["fast"]["min_rtt_win"] == 20000
    assert [r["profile"] for r in saved[one]["rules"]] == ["fast", "default"]
    assert default(space) == one
    sender, receiver = connect(space, listen(space))
    assert get_cc(sender) == one
    Transfer(sender, receiver, MB).finish()


def test_the_second_time_nothing_is_done(bbrctl, machine, full):
    text, *names = full
    machine.apply(text)
    before = [status_of(bbrctl, n) for n in names]
    assert "nothing to change" in machine.apply(text).out
    assert machine.changes(text) == machine.changes(text, "--check") == machine.changes(text, "--diff") == []
    assert [status_of(bbrctl, n) for n in names] == before


def test_what_was_saved_is_applied(bbrctl, machine, full):
    text, *_ = full
    machine.apply(text)
    saved, before = bbrctl("save").out, machine.saved()
    machine.path.write_text(saved)
    assert "nothing to change" in bbrctl("apply", machine.path).out
    machine.apply("")
    assert machine.saved() == {}
    bbrctl("apply", "-", input=saved)
    assert machine.saved() == before and bbrctl("save").out == saved


def test_taking_away(bbrctl, machine, full, space, cgroup):
    text, one, two = full
    machine.apply(text)
    sender, receiver = connect(space, listen(space))
    assert get_cc(sender) == one
    changes = machine.changes("")
    assert set(changes) == {(one, "unload"), (two, "unload"), (one, "detach"), (one, "default_back")}
    assert one not in registered() and two not in registered() and default(space) == "reno"
    with cgroup.entered():
        assert default_of(space) == "reno"
    Transfer(sender, receiver, MB).finish()  # the connection is not cut


@pytest.mark.parametrize("change, drift, line", [
    (["set", "cwnd_gain=3"], "profile_change", "profile default: not cwnd_gain=2.5, but 3"),
    (["profile", "delete", "extra"], "profile_add", "profile extra is missing"),
    (["profile", "add", "other", "bw_win=3"], "profile_delete", "has a profile other"),
    (["rule", "flush"], "rules", "has other rules than the file: 0, not 2"),
    (["unload"], "load", "is not loaded"),
])
def test_drift_is_named(bbrctl, machine, full, change, drift, line):
    text, one, _ = full
    text = text.replace("[rules]", "[extra]\n[rules]")
    machine.apply(text)
    bbrctl(*change, "--name", one)
    answer = machine.apply(text, "--check", status=NOTHING)
    assert f"{one}: {line}\n" in answer.out and "difference" in answer.err
    assert (one, drift) in machine.changes(text, "--check", status=NOTHING)
    assert (one, drift) in machine.changes(text, "--diff")  # --check has changed nothing
    machine.apply(text)
    machine.apply(text, "--check")


def test_drift_of_defaults_and_cgroups(bbrctl, machine, full, space, cgroup):
    text, one, two = full
    machine.apply(text)
    bbrctl("load", "--name", two, "--default", "--netns", space.name)
    bbrctl("detach", "--cgroup", cgroup.relative, "--name", one)
    bbrctl("attach", "--cgroup", cgroup.relative, "--name", two)
    answer = machine.apply(text, "--check", status=NOTHING)
    assert f"is not the default of network namespace {space.name}, but {two}" in answer.out
    machine.apply(text)
    assert default(space) == one and machine.saved()[one]["attach"] == [str(cgroup.path)]
    assert machine.saved()[two]["attach"] == []
    machine.apply("")
    assert default(space) == "reno"  # not our other instance, which was the default in between


def test_diff_is_lines_of_the_file(machine, full, space):
    text, one, _ = full
    assert f"+[instance {one}]\n" in machine.apply(text, "--diff").out
    assert machine.saved() == {} and default(space) == "reno"
    machine.apply(text)
    new = text.replace("cwnd_gain = 2.5", "cwnd_gain = 3").replace("--dport 443", "--dport 80")
    assert machine.apply(new, "--diff").out == (
        f" [instance {one}]\n [default]\n-cwnd_gain = 2.5\n+cwnd_gain = 3\n"
        f" [instance {one}]\n [rules]\n-rule = --dst 10.0.0.0/8 --dport 443 --profile fast\n"
        "+rule = --dst 10.0.0.0/8 --dport 80 --profile fast\n")
    assert machine.apply(new, "--check", "--diff", status=NOTHING).out.count("+") == 2


def test_connections_follow(bbrctl, machine, full, ns, monitor):
    text, one, _ = full
    machine.apply(text)
    watching = monitor(one, "--every", "round")
    transfer = Transfer(*connect(ns, listen(ns), cc=one))
    watching.wait_for(lambda m: m.of("ack"), "the connection runs")
    machine.apply(text.replace("cwnd_gain = 2.5", "cwnd_gain = 3"))
    watching.wait_for(lambda m: any(e["cwnd_gain"] == 3 for e in m.events), "the new gain is in use")
    transfer.stop()
    transfer.finish()


BROKEN = {
    "unknown key": "[instance {}]\n[default]\nno_such_key = 1\n",
    "out of range": "[instance {}]\n[default]\nbw_win = 0\n",
    "not a line": "[instance {}]\n[default]\nbw_win\n",
    "no such namespace": "[instance {}]\ndefault_in = bbrt_nobody\n",
    "a cgroup that cannot be": "[instance {}]\nattach = bbrt_nobody/../x\n",
    "no such algorithm": "[instance {}]\nalgorithm = nobody\n",
    "no such profile": "[instance {}]\n[rules]\nrule = --profile nobody\n",
    "twice": "[instance {0}]\n[instance {0}]\n",
    "a bad name": "[instance {0}{0}]\n",
    "binary": "[instance {}]\n\x01\x00\xff\n",
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_changes_nothing(bbrctl, machine, full, what):
    text, one, _ = full
    machine.apply(text)
    before = bbrctl("save").out
    machine.path.write_text(BROKEN[what].format(one))
    refused = bbrctl("apply", machine.path, status=USAGE)
    assert re.search(rf"at line \d+ of {machine.path}\n", refused.err) and len(refused.err) < 1000
    assert bbrctl("save").out == before


def test_a_missing_file_changes_nothing(bbrctl, machine, full, tmp_path):
    machine.apply(full[0])
    before = bbrctl("save").out
    bbrctl("apply", tmp_path / "none", status=USAGE)
    assert bbrctl("save").out == before


@pytest.fixture
def blocked(foreign_program):
    """A cgroup with somebody else's program, beside which no other is allowed."""
    made = Cgroup()
    run("bpftool", "cgroup", "attach", made.path, "sock_ops", "pinned", foreign_program)
    yield made
    made.delete()


def test_all_or_nothing(bbrctl, next_bbrctl, machine, full, space, blocked, free_name):
    """The kernel refuses one of the last steps, and the steps before it are undone."""
    text, one, two = full
    machine.apply(text)
    before, status, name = bbrctl("save").out, bbrctl.json("status"), free_name()
    new = (text.replace("cwnd_gain = 2.5", "cwnd_gain = 3").replace("[fast]", "[quick]").replace("profile fast", "profile quick")
           .replace("default_in", "; default_in"))
    new += f"[instance {name}]\ndefault_in = {space.name}\nattach = {blocked.relative}/child\n"
    for tool in bbrctl, next_bbrctl:  # the later one replaces the code, too
        refused = tool("apply", machine.write(new), status=REFUSED)
        assert "allows no other" in refused.err and "all is as it was before" in refused.err
        assert name not in registered() and default(space) == one
        assert bbrctl("save").out == before and bbrctl.json("status") == status
    send_verified(space, one)


def test_the_kernel_refuses_the_rules_of_one(bbrctl, machine, full):
    """Profiles and rules of all instances change in one step. What it has done is undone there."""
    text, one, two = full
    rules = "[rules]\nrule = --dport {} --profile default\n"
    machine.apply(text + rules.format(1))
    before = bbrctl("save").out
    run("bpftool", "map", "freeze", "id", maps_of_instance(status_of(bbrctl, two)["prog_id"])["bbr_rules"])
    refused = machine.apply(changed(text) + rules.format(2), status=REFUSED).err
    assert "cannot change the profiles and rules: Operation not permitted" in refused, refused
    assert "all is as it was before" in refused
    assert bbrctl("save").out == before
    machine.apply(text + rules.format(1), "--check")


def test_no_room_changes_nothing(bbrctl, machine, free_name):
    name = free_name()
    head = f"[instance {name}]\n[default]\n"
    machine.apply(head + "".join(f"[p{i}]\n" for i in range(63)))
    before = bbrctl("save").out
    assert "free places" in machine.apply(head + "[other]\n", status=REFUSED).err
    assert bbrctl("save").out == before


def test_a_name_that_others_have(machine):
    assert "already has another" in machine.apply("[instance reno]\n", status=REFUSED).err


@pytest.fixture
def next_bbrctl(build):
    """bbrctl of a later version."""
    return Tool(build / "next/bbrctl")


@pytest.mark.parametrize("prefix", [(), NO_BPFFS], ids=["link", "gap"])
def test_upgrade(bbrctl, next_bbrctl, machine, full, space, prefix):
    """The code comes from the bbrctl that applies, everything else from the file. Old connections stay."""
    text, one, two = full
    text = text.replace("algorithm = bbr3", "algorithm = bbr")  # next_bbrctl has a later version of bbr only
    machine.apply(text, prefix=prefix)
    sender, receiver = connect(space, listen(space))
    new = text.replace("cwnd_gain = 2.5", "cwnd_gain = 3")
    later = Machine(next_bbrctl, machine.path)
    assert (one, "upgrade") in later.changes(new, "--check", status=NOTHING)
    assert set(later.changes(new, prefix=prefix)) == {(one, "upgrade"), (two, "upgrade")}
    assert later.changes(new) == []
    now = status_of(next_bbrctl, one)
    assert now["version"] == "9.9.9" and bool(now["link_id"]) == (not prefix)
    assert later.saved()[one]["profiles"][0]["params"]["cwnd_gain"] == 3
    assert default(space) == one and get_cc(sender) == one
    Transfer(sender, receiver, MB).finish()
    machine.apply(text)  # and back
    assert status_of(bbrctl, one)["version"] != "9.9.9"
    machine.apply("")
    assert default(space) == "reno"


def test_another_algorithm_under_the_name(bbrctl, machine, free_name, ns):
    name = free_name()
    machine.apply(f"[instance {name}]\n[default]\nbw_win = 11\n")
    sender, receiver = connect(ns, listen(ns), cc=name)
    assert machine.changes(f"[instance {name}]\nalgorithm = bbr3\n") == [(name, "upgrade")]
    assert status_of(bbrctl, name)["algorithm"] == "bbr3"
    Transfer(sender, receiver, MB).finish()
    send_verified(ns, name)


@pytest.mark.parametrize("usual, algorithm, other", [("bpf_bbr", "bbr", "bbr3"), ("bpf_bbr3", "bbr3", "bbr")])
@pytest.mark.parametrize("how", [(), ("--check",), ("--diff",)], ids=["apply", "check", "diff"])
def test_another_algorithms_usual_name_is_refused(bbrctl, machine, full, usual, algorithm, other, how):
    """As load refuses it. Nothing changes, not even what the rest of the file wants."""
    text, _, two = full
    machine.apply(text)
    before, names = bbrctl("save").out, registered()
    new = text.replace("cwnd_gain = 2.5", "cwnd_gain = 3").replace(two, usual)
    new = new.replace("algorithm = bbr3", f"algorithm = {other}")
    refused = machine.apply(new, *how, status=USAGE).err.splitlines()
    assert refused == [
        f"bbrctl: {machine.path}: the algorithm of instance {usual} is {other}, "
        f"but only instances of {algorithm} may have this name",
        f"  give it another name, or write: algorithm = {algorithm}"]
    assert bbrctl("save").out == before and registered() == names


def test_what_others_made_is_left_alone(bbrctl, machine, full, load, space, new_ns, new_cgroup):
    """An instance; and of an instance of the file a default and an attachment."""
    text, one, two = full
    other, there, group = load("bw_win=11"), new_ns(), new_cgroup()
    there.default_congestion_control("reno")
    machine.apply(text)
    bbrctl("load", "--name", one, "--default", "--netns", there.name)
    bbrctl("attach", "--name", one, "--cgroup", group.path)
    left = [f"{other}: left alone: is loaded, but not by an apply (--prune)",
            f"{one}: left alone: is the default of network namespace {there.name}, but not by an apply (--prune)",
            f"{one}: left alone: is attached to {group.path}, but not by an apply (--prune)"]
    for option, begin, end in (("--check", "", "nothing"), ("--diff", "; ", "nothing"), (None, "", "nothing")):
        lines = machine.apply(text, *[option] if option else []).out.splitlines()
        assert {begin + line for line in left} <= {*lines} and lines[-1].startswith(end)
    answer = bbrctl.json("apply", machine.path)
    assert {(c["name"], c["change"]) for c in answer["left_alone"]} >= {(other, "unload"), (one, "default_back"), (one, "detach")}
    assert answer["changes"] == []
    # With the instance goes its default, whoever set it. The attachment waits for another of this name.
    assert set(machine.changes("")) == {(one, "unload"), (two, "unload"), (one, "detach"), (one, "default_back")}
    assert default(space) == default(there) == "reno"
    assert status_of(bbrctl, other)["params_changed"] == 1 and not {one, two} & {*registered()}
    bbrctl("detach", "--name", one, "--cgroup", group.path)


def test_prune_takes_what_others_made(bbrctl, machine, full, load):
    text, one, _ = full
    other = load()
    assert status_of(bbrctl, one) is None and status_of(bbrctl, other)["applied"] is False
    assert (other, "unload") in machine.changes(text + machine.others, "--prune")
    assert status_of(bbrctl, one)["applied"] is True
    assert other not in registered() and one in registered()


def test_what_the_file_names_goes_to_it(bbrctl, machine, free_name, space, cgroup):
    """Made by hand, then saved: the next file without it takes it away."""
    name = free_name()
    bbrctl("load", "--name", name, "--default", "--netns", space.name)
    bbrctl("attach", "--name", name, "--cgroup", cgroup.path)
    text = bbrctl("save", "--name", name).out
    assert machine.changes("") == [] and name in registered()
    assert machine.changes(text) == []
    assert machine.changes(text.replace("default_in", "; default_in").replace("attach", "; attach")) == \
        [(name, "detach"), (name, "default_back")]
    assert machine.changes("") == [(name, "unload")]
    assert default(space) == "reno"


def test_a_service_that_starts_later(bbrctl, machine, free_name, ns, cgroup):
    """The file is taken before its cgroup is there. A second run, and what save prints, change nothing."""
    name, late = free_name(), Cgroup.of(cgroup.path / "late.service")
    text = f"[instance {name}]\nattach = --not-dst 127.9.0.0/16 --cgroup {late.relative}\n[rules]\n" \
        f"rule = --not-dport 9 --src 127.0.0.1 --profile tsunami --cgroup {late.relative}\n"
    assert (name, "load") in machine.changes(text) and machine.changes(text) == []
    saved = bbrctl("save", "--name", name).out
    assert f"attach = --not-dst 127.9.0.0/16 --cgroup {late.path}\n" in saved and machine.changes(saved) == []
    assert machine.saved()[name]["attachments"] == [{"cgroup": str(late.path), "not_dst": ["127.9.0.0/16"]}]
    for _ in range(2):  # it is restarted
        late.path.mkdir()
        with late.entered():
            ends = connect(ns, listen(ns)) + connect(ns, listen(ns, "127.9.0.1"))
        assert [get_cc(sock) for sock in ends][0:3:2] == [name, default_of(ns)]
        profiles = {p["profile"]: p["connections"] for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}
        assert profiles["tsunami"] == 2 and machine.changes(bbrctl("save", "--name", name).out) == []
        assert "tsunami" in bbrctl("rule", "test", "--name", name, "127.0.0.1", "--src", "127.0.0.1",
                                   "--cgroup", late.path).out
        assert machine.changes(text) == []
        for sock in ends:
            sock.close()
        late.delete()
    new = text.replace("127.9.0.0/16", "127.8.0.0/16")
    assert machine.changes(new) == [(name, "attach")] and machine.changes(new) == []
    assert machine.changes(text.replace("attach", "; attach")) == [(name, "detach")]


def test_what_was_attached_by_hand_stays_from_then_on(bbrctl, machine, load, ns, cgroup):
    """attach alone ends with the cgroup. The file speaks for the name."""
    name, service = load(), Cgroup.of(cgroup.path / "x.service")
    service.path.mkdir()
    bbrctl("attach", "--name", name, "--cgroup", service.path)
    assert machine.changes(bbrctl("save", "--name", name).out) == []
    service.delete()
    service.path.mkdir()
    try:
        with service.entered():
            assert get_cc(connect(ns, listen(ns))[0]) == name
    finally:
        service.delete()


def test_default_of_an_instance_made_by_hand(bbrctl, machine, free_name, space):
    """It has no mark yet when apply makes it the default."""
    name = free_name()
    bbrctl("load", "--name", name)
    text = bbrctl("save", "--name", name).out.replace("]\n", f"]\ndefault_in = {space.name}\n", 1)
    assert machine.changes(text) == [(name, "default")]
    assert default(space) == name
    assert set(machine.changes("")) == {(name, "default_back"), (name, "unload")}
    assert default(space) == "reno"


def test_an_upgrade_keeps_whose_it_is(bbrctl, machine, full, space):
    text, one, two = full
    machine.apply(text)
    bbrctl("upgrade", "--name", one)
    assert machine.changes(text) == []
    assert set(machine.changes("")) == {(one, "unload"), (two, "unload"), (one, "detach"), (one, "default_back")}
    assert default(space) == "reno"


def test_only_one_instance(bbrctl, machine, full, load):
    text, one, two = full
    other = load("bw_win=11")
    bbrctl("apply", "--name", one, machine.write(text))
    assert two not in registered() and status_of(bbrctl, other)["params_changed"] == 1
    assert "no [instance" in bbrctl("apply", "--name", other, machine.path, status=USAGE).err


def test_a_folder(bbrctl, machine, free_name, tmp_path):
    """Files in the order of their names: a profile in a later file replaces that of an earlier one, rules are appended."""
    name, folder = free_name(), tmp_path / "conf.d"
    folder.mkdir()
    (folder / "20-later.conf").write_text(f"[instance {name}]\n[default]\nbw_win = 12\n[rules]\n"
                                          "rule = --dport 2 --profile a\n")
    (folder / "10-base.conf").write_text(f"[instance {name}]\n[default]\nbw_win = 11\n[a]\n[rules]\n"
                                         "rule = --dport 1 --profile a\n")
    (folder / "90-not.txt").write_text("nothing\n")
    bbrctl("apply", folder)
    saved = machine.saved()[name]
    assert saved["profiles"][0]["params"]["bw_win"] == 12
    assert [r["dport"] for r in saved["rules"]] == [1, 2]


def test_what_bpftool_registered_is_not_taken_away(bbrctl, machine, bpf_bbr):
    machine.apply("")
    assert bpf_bbr in registered()
    machine.apply(f"[instance {bpf_bbr}]\n[default]\nbw_win = 11\n")
    assert bbrctl.json("show", "--name", bpf_bbr, "bw_win")["params"][0]["value"] == 11


def test_several_at_once(bbrctl, machine, full):
    text, *names = full
    path = machine.write(text)
    applying = [bbrctl.start("apply", path, stdout=subprocess.DEVNULL) for _ in range(4)]
    try:
        assert [p.wait(60) for p in applying] == [DONE] * 4
    finally:
        for process in applying:
            process.kill()
            process.wait()
    machine.apply(text, "--check")


class Killing:
    """The old state, the new one, and a check of states between them: each part is the old or the new one."""

    def __init__(self, machine, old, new, names, space):
        self.machine, self.space = machine, space
        self.path = {}
        for which, text in ("old", old), ("new", new):
            self.path[which] = machine.path.with_suffix(f".{which}")
            self.path[which].write_text(text)
        self.names = names
        self.states = {}
        for which in "new", "old":
            machine.bbrctl("apply", self.path[which])
            self.states[which] = self.parts()

    def parts(self):
        """Every part that a step changes, by a name for it."""
        saved, parts = self.machine.saved(), {}
        for name in self.names:
            found = saved.get(name)
            parts[name] = found and (found["algorithm"], found["version"])
            for profile in (found or {}).get("profiles", []):
                parts[name, profile["profile"]] = json.dumps(profile["params"])
            parts[name, "rules"] = found and json.dumps(found["rules"])
            parts[name, "attach"] = found["attach"] if found else []  # attached after it is loaded
        parts["default"] = default(self.space)
        return parts

    def check(self):
        """Returns "old" or "new"; None for a state between them, in which each part is the old or the new one."""
        now = self.parts()
        for part in {*now, *self.states["old"], *self.states["new"]}:
            allowed = [self.states[w].get(part) for w in ("old", "new")]
            assert now.get(part) in allowed, (part, now.get(part), allowed)
        return next((w for w, s in self.states.items() if s == now), None)


def run_and_kill(bbrctl, killing, which, delay, number):
    """Kills apply after a delay. Its exit status is ignored, as it may have ended before."""
    process = bbrctl.start("apply", killing.path[which], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    process.send_signal(number)
    process.wait()


def kill_all_along(machine, old, new, names, space, kills, number):
    """
    Applies old and new in turn, killed at moments all along. Returns the states that were found: "old", "new", or None for
    one between them. The next apply finishes each.
    """
    killing = Killing(machine, old, new, names, space)
    begin = time.monotonic()
    machine.bbrctl("apply", killing.path["new"])
    longest = time.monotonic() - begin
    rng, seen = random.Random(1), []
    before = maps_of_ours(machine.bbrctl)
    for i in range(kills // 2):
        for which in "old", "new":
            delay = longest * 1.1 * (i + rng.random()) / (kills // 2)
            run_and_kill(machine.bbrctl, killing, which, delay, number)
            seen.append(killing.check())
            machine.bbrctl("apply", killing.path[which])
            assert killing.check() == which
    wait_until(lambda: len(maps_of_ours(machine.bbrctl)) <= len(before), "what was prepared is gone")
    assert {"old", "new"} <= set(seen)
    return seen


@pytest.fixture
def quick(machine, build):
    """The machine, with a bbrctl without the sanitizers."""
    machine.bbrctl = Tool(build.parent / "bbrctl")
    return machine


def changed(text):
    """The text with other profiles, rules, default and attachment."""
    return (text.replace("cwnd_gain = 2.5", "cwnd_gain = 3").replace("[fast]", "[quick]").replace("profile fast", "profile quick")
            .replace("default_in", "; default_in").replace("attach", "; attach"))


def test_killed_while_changing(quick, full, space):
    """Killed a hundred times: each part is the old or the new one, and a rule never names a missing profile."""
    text, one, two = full
    kill_all_along(quick, text, changed(text), [one, two], space, KILLS, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_killed_while_loading_and_taking_away(quick, full, space, cgroup, free_name, number):
    """Signals wait until all is done, except for SIGKILL."""
    text, one, two = full
    three = free_name()
    new = f"{changed(text).replace(two, three)}default_in = {space.name}\nattach = {cgroup.relative}\n"
    seen = kill_all_along(quick, text, new, [one, two, three], space, KILLS // 10, number)
    assert number == signal.SIGKILL or None not in seen


def test_the_sample(bbrctl, machine, free_name, space, cgroup):
    """The installed file, also with its lines after a ; in force, except for the other algorithm."""
    sample, name = (ROOT / "packaging/etc/bpf-bbr/bpf-bbr.conf").read_text(), free_name()
    mine = sample.replace("[instance bpf_bbr]", f"[instance {name}]")
    machine.apply(mine)
    (profile,) = machine.saved()[name]["profiles"]
    assert profile["profile"] == "default" and status_of(bbrctl, name)["params_changed"] == 0
    # A route without --netns is one of this machine's.
    mine = re.sub(r"^;(?=[a-z\[])(?!algorithm|route)", "", mine, flags=re.M)
    machine.apply(mine.replace("/proc/1/ns/net", space.name).replace("system.slice", cgroup.relative))
    saved = machine.saved()[name]
    assert saved["default_in"] == [space.name] and saved["attach"] and saved["rules"]
    assert [p["profile"] for p in saved["profiles"]] == ["default", "fast"]


@pytest.mark.parametrize("service", ["bpf-bbr", "bpf-bbr-follow"])
def test_the_service_has_what_apply_needs(bbrctl, service):
    unit = (ROOT / f"packaging/systemd/{service}.service").read_text()
    has = set(re.search(r"^CapabilityBoundingSet=(.*)", unit, re.M)[1].split())
    said = re.search(r"^Needs [^;]*;", bbrctl("apply", "--help").out, re.M)[0]
    needs, _, may = " ".join(said.split()).partition(" and uses")
    assert set(re.findall(r"CAP_[A-Z_]+", needs)) <= has <= set(re.findall(r"CAP_[A-Z_]+", needs + may))
    assert not re.search("^ProtectKernelTunables", unit, re.M)
