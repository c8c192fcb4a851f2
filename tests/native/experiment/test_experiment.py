# SPDX-License-Identifier: GPL-2.0-only
"""Experiments: which connection gets which arm, which are left alone, and what is refused."""
import contextlib
import json
import os
import time

import pytest

from cgroups import default_of
from experiments import Server, arms, chance, new_name, only, short_connection
from kills import delays, duration_of, kill_after
from system import bpftool, maps_of_ours, wait_until
from tool import NOTHING, REFUSED, USAGE
from transfer import MB, Transfer, connect, get_cc, listen, set_cc

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

UNLIKELY = 1e-6  # probability that a correct program fails
MANY = int(os.environ.get("BBR_SHORT_CONNECTIONS", 3000))


@pytest.fixture
def server(ns):
    listening = Server(ns)
    yield listening
    listening.close()


@contextlib.contextmanager
def client(ns, cgroup):
    """This thread connects from the cgroup and the namespace."""
    with cgroup.entered(), ns.entered():
        yield


def ccs(ns, cgroup, server, n, address="127.0.0.1", **kwargs):
    with client(ns, cgroup):
        return [short_connection(address, server.port, **kwargs) for _ in range(n)]


AB = arms(a="cubic", b="reno")


def test_its_life(bbrctl, experiments, ns, cgroup, server):
    default = default_of(ns)
    name = experiments.start(cgroup, *AB, "--share", "b=100%", status=USAGE)  # nothing is left for arm a
    name = experiments.start(cgroup, *AB, *only("b"))
    listed, = [e for e in bbrctl.json("experiment", "list") if e["name"] == name]
    assert listed["design"] == "ab" and listed["cgroup"] == str(cgroup.path) and listed["state"] == "running"
    assert ccs(ns, cgroup, server, 5) == ["reno"] * 5
    shown = experiments.status(name)
    assert [(a["label"], a["cc"], a["profile"], a["connections"]) for a in shown["arms"]] == [
        ("a", "cubic", None, 0), ("b", "reno", None, 5)]
    assert [a["share_percent"] for a in shown["arms"]] == [0.01, 99.99]
    assert shown["outcomes"] == 5 and shown["chosen"] == 0
    assert len(shown["log"]) == 1 and "started" in shown["log"][0]["decision"]
    assert abs(shown["log"][0]["time_ns"] / 1e9 - time.time()) < 60
    assert name in bbrctl("experiment", "status", name).out

    bbrctl("experiment", "pause", name)
    bbrctl("experiment", "pause", name, status=NOTHING)
    assert experiments.status(name)["state"] == "paused"
    assert ccs(ns, cgroup, server, 3) == [default] * 3
    bbrctl("experiment", "resume", name)
    bbrctl("experiment", "resume", name, status=NOTHING)
    assert ccs(ns, cgroup, server, 3) == ["reno"] * 3
    assert [line["decision"].split(":")[0] for line in experiments.status(name)["log"]] == [
        "started", "paused", "resumed"]

    assert "stopped" in bbrctl("experiment", "stop", name).out
    assert ccs(ns, cgroup, server, 3) == [default] * 3
    assert not bpftool("cgroup", "show", cgroup.path)
    assert "no experiment" in bbrctl("experiment", "stop", name, status=NOTHING).err
    bbrctl("experiment", "status", name, status=NOTHING)


SHARES = {"two": ([], [5000, 5000]), "one percent": (["--share", "b=1%"], [9900, 100]),
          "five": (["--share", "b=5%"], [9500, 500])}


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("shares", SHARES)
def test_shares_by_connection(experiments, ns, cgroup, server, shares, address):
    options, expected = SHARES[shares]
    name = experiments.start(cgroup, *AB, *options)
    seen = ccs(ns, cgroup, server, MANY, address)
    counts = [seen.count("cubic"), seen.count("reno")]
    assert sum(counts) == MANY
    assert chance(counts, expected) > UNLIKELY, counts
    assert list(experiments.counts(name).values()) == counts


def test_three_arms(experiments, load, ns, cgroup, server):
    instance = load()
    name = experiments.start(cgroup, *arms(a="cubic", b="reno", c=instance), "--share", "b=20%")
    seen = ccs(ns, cgroup, server, MANY)
    counts = [seen.count(cc) for cc in ("cubic", "reno", instance)]
    assert sum(counts) == MANY
    assert chance(counts, [4000, 2000, 4000]) > UNLIKELY, counts
    assert list(experiments.counts(name).values()) == counts


def prefixes(version, n):
    """Addresses in n prefixes of 24 or 48 bits, two in each."""
    for i in range(n):
        for host in 1, 200:
            yield f"127.{1 + i // 256}.{i % 256}.{host}" if version == 4 else f"fd99:{i // 65536:x}:{i % 65536:x}:{host:x}::{host:x}"


@pytest.mark.parametrize("version", [4, 6])
def test_shares_by_prefix(experiments, ns, cgroup, server, version):
    """All connections of a prefix have one arm, and the prefixes have the shares."""
    ns.ip("-6", "route", "add", "local", "fd99::/16", "dev", "lo")
    n = MANY // 2
    name = experiments.start(cgroup, *AB, "--by", "prefix", "--share", "b=25%", "--seed", 7)
    arm_of = {}
    with client(ns, cgroup):
        for i, address in enumerate(prefixes(version, n)):
            arm_of.setdefault(i // 2, set()).add(short_connection(address, server.port))
    assert all(len(seen) == 1 for seen in arm_of.values())
    seen = [cc for ccs in arm_of.values() for cc in ccs]
    counts = [seen.count("cubic"), seen.count("reno")]
    assert sum(counts) == n and chance(counts, [7500, 2500]) > UNLIKELY, counts
    assert list(experiments.counts(name).values()) == [2 * count for count in counts]


def test_what_is_outside_of_the_scope_is_left_alone(experiments, ns, new_ns, cgroup, new_cgroup, server):
    default, other_ns, outside, below = default_of(ns), new_ns(), new_cgroup(), new_cgroup(cgroup)
    ns.ip("-6", "addr", "add", "fd98::1/128", "dev", "lo", "nodad")
    b = [*AB, *only("b")]

    name = experiments.start(cgroup, *b)
    assert ccs(ns, outside, server, 3) == [default] * 3
    assert ccs(ns, below, server, 3) == ["reno"] * 3
    experiments.bbrctl("experiment", "stop", name)

    def check(options, inside, others):
        name = experiments.start(cgroup, *b, *options)
        assert inside() == ["reno"] * 2, options
        for other in others:
            assert other() == [default] * 2, options
        shown = experiments.status(name)
        assert sum(a["connections"] for a in shown["arms"]) == shown["outcomes"] == 2
        experiments.bbrctl("experiment", "stop", name)
        return shown["scope"]

    def some(address="127.0.0.1", to=server, where=ns, **kwargs):
        return lambda: ccs(where, cgroup, to, 2, address, **kwargs)

    second = Server(ns)
    assert check(["--dport", server.port], some(), [some(to=second)]) == {"dport": server.port}
    assert check(["--dst", "127.8.0.0/16"], some("127.8.1.1"), [some("127.9.0.1"), some("::1")]) == {
        "dst": "127.8.0.0/16"}
    assert check(["--dst", "fd98::/16"], some("fd98::1"), [some("::1"), some()]) == {"dst": "fd98::/16"}
    assert check(["--mark", 5], some(mark=5), [some(mark=6), some()]) == {"mark": 5}
    third = Server(other_ns)
    assert check(["--netns", ns.name], some(), [some(to=third, where=other_ns)]) == {"netns": ns.name}
    second.close()
    third.close()
    with cgroup.entered():
        inside, outside = listen(ns), listen(ns)
    name = experiments.start(cgroup, *b, "--sport", inside.getsockname()[1])
    assert [get_cc(sock) for sock in connect(ns, inside)] == [default, "reno"]
    assert [get_cc(sock) for sock in connect(ns, outside)] == [default, default]


def test_what_the_application_chose_stays_and_is_counted(experiments, ns, cgroup, server):
    name = experiments.start(cgroup, *AB, "--share", "a=50%")
    assert ccs(ns, cgroup, server, 4, cc="reno") == ["reno"] * 4
    with cgroup.entered():
        listener = listen(ns, cc="reno")
    assert [get_cc(end) for end in connect(ns, listener)][1] == "reno"
    shown = experiments.status(name)
    assert shown["chosen"] == 5 and shown["outcomes"] == 0
    # What it chooses afterwards counts as well.
    with client(ns, cgroup):
        ends = connect(ns, listen(ns), cc=None)
    set_cc(ends[0], "cubic")
    assert get_cc(ends[0]) == "cubic"


def test_what_bbrctl_attached_gives_way(bbrctl, load, experiments, ns, cgroup, new_cgroup, server):
    instance, below = load(), new_cgroup(cgroup)
    bbrctl("attach", "--cgroup", below.path, "--name", instance)
    bbrctl("attach", "--cgroup", cgroup.path, "--name", instance)
    name = experiments.start(cgroup, *AB, *only("b"))
    assert ccs(ns, below, server, 3) == ccs(ns, cgroup, server, 3) == ["reno"] * 3
    assert experiments.status(name)["chosen"] == 0
    bbrctl("experiment", "stop", name)
    assert ccs(ns, below, server, 2) == ccs(ns, cgroup, server, 2) == [instance] * 2
    for where in below, cgroup:
        bbrctl("detach", "--cgroup", where.path, "--name", instance)


def test_later_attachments_are_reported(bbrctl, load, experiments, ns, cgroup, new_cgroup, server):
    """Below the experiment's cgroup the attached instance wins, at that cgroup the experiment does."""
    instance, below = load(), new_cgroup(cgroup)
    name = experiments.start(cgroup, *AB, *only("b"))
    for where, said, cc in (below, "leave the experiment", instance), (cgroup, "no effect", "reno"):
        said_of_it, = bbrctl("attach", "--cgroup", where.path, "--name", instance).err.splitlines()
        assert said in said_of_it and name in said_of_it
        assert ccs(ns, where, server, 2) == [cc] * 2
    assert experiments.status(name)["chosen"] == 2
    for where in below, cgroup:
        bbrctl("detach", "--cgroup", where.path, "--name", instance)


def test_names_are_completed(bbrmon, experiments, cgroup, tmp_path):
    name = experiments.start(cgroup, *AB)
    assert name in bbrmon("--complete", "experiment", "").out
    assert name in bbrmon("--complete", "experiment", name[:2]).out
    assert name not in bbrmon("--complete", "experiment", "x").out


def test_profiles_are_arms(bbrctl, bbrmon, load, experiments, ns, cgroup):
    """A profile arm overrides the rules, also where the connection has the instance already."""
    instance = load()
    for profile in "gentle", "other":
        bbrctl("profile", "add", "--name", instance, profile, "cwnd_gain=3")
    bbrctl("rule", "add", "--name", instance, "--profile", "other", "--dst", "127.0.0.0/8")
    ns.default_congestion_control(instance)
    experiments.start(cgroup, *arms(a="cubic", b=f"{instance}:gentle"), *only("b"))
    outside = listen(ns)
    with cgroup.entered():
        ends = connect(ns, outside)
    port = ends[0].getsockname()[1]
    shown = [json.loads(line) for line in bbrmon("snapshot", "-j", "--name", instance).out.splitlines()]
    assert {s["lport"]: s["profile"] for s in shown if "lport" in s}[port] == "gentle"
    assert get_cc(ends[0]) == instance
    Transfer(*ends, 4 * MB).finish()


def overlapping():
    yield [], [], True
    yield ["--dport", 80], ["--dport", 81], False
    yield ["--dport", 80], ["--sport", 80], True
    yield ["--dst", "10.0.0.0/8"], ["--dst", "10.1.0.0/16"], True
    yield ["--dst", "10.0.0.0/8"], ["--dst", "11.0.0.0/8"], False
    yield ["--mark", 1], ["--mark", 2], False
    yield ["--mark", 1], ["--dst", "fd00::1"], True


@pytest.mark.parametrize("number", range(len([*overlapping()])))
def test_overlapping_scopes_are_refused(experiments, cgroup, new_cgroup, number):
    first, second, overlap = [*overlapping()][number]
    below, beside = new_cgroup(cgroup), new_cgroup()
    name = experiments.start(cgroup, *AB, *first)
    for where in cgroup, below:
        done = experiments.bbrctl("experiment", "start", new := new_name(), *AB, "--cgroup", where.path, *second,
                                  status=REFUSED if overlap else 0)
        assert not overlap or f"the experiment {name}\n" in done.err
        if not overlap:
            experiments.bbrctl("experiment", "stop", new)
    experiments.start(beside, *AB, *second)


def test_without_a_cgroup_only_the_own_namespace(bbrctl, experiments, ns, new_ns, cgroup, server):
    """bbrctl runs in a namespace; connections of another one are none of its business."""
    there, here = new_ns(), {"prefix": ["nsenter", f"--net=/run/netns/{ns.name}"]}
    other = Server(there)
    name = new_name()
    experiments.names.append(name)
    go = "experiment", "start", name, "--dst", "127.0.0.0/8", *AB
    assert "exclude each other" in bbrctl(*go, "--netns", there.name, "--all-netns", status=USAGE, **here).err
    bbrctl(*go, **here)
    assert experiments.status(name)["scope"]["netns"] == ns.name
    try:
        ccs(there, cgroup, other, 3)
        assert sum(experiments.counts(name).values()) == 0
        ccs(ns, cgroup, server, 2)
        assert sum(experiments.counts(name).values()) == 4  # both ends
    finally:
        other.close()
    assert f"--netns {ns.name}" in bbrctl("experiment", "status", name).out


def test_what_is_not_there_is_refused(bbrctl, load, experiments, cgroup):
    instance = load()
    start = "experiment", "start", new_name(), "--cgroup", cgroup.path, "--arm", "a=cubic", "--arm"
    assert "no congestion control of this name" in bbrctl(*start, "b=nothing_such", status=USAGE).err
    assert "not a loaded instance" in bbrctl(*start, "b=cubic:gentle", status=NOTHING).err
    assert "gentle" in bbrctl(*start, f"b={instance}:gentle", status=NOTHING).err
    name = experiments.start(cgroup, *AB)
    assert "runs already" in bbrctl("experiment", "start", name, *AB, "--cgroup", cgroup.path, status=NOTHING).err
    for options in ["--design", "xy"], ["--share", "c=5%"], ["--block", "5s"], ["--design", "canary"]:
        bbrctl("experiment", "start", new_name(), *AB, "--cgroup", cgroup.path, *options, status=USAGE)
    assert experiments.running() & {*experiments.names} == {name}


def test_an_instance_that_knows_no_experiments_is_refused(bbrctl, free_name, bbr_object, experiments, ns, cgroup, server, tmp_path):
    """An older version loaded it: its object has no map of this name. An upgrade brings it."""
    older = tmp_path / "older.bpf.o"
    older.write_bytes(bbr_object.read_bytes().replace(b".data.assigned", b".data.renamed_"))
    instance = free_name()
    bbrctl("load", "--name", instance, "--object", older)
    bbrctl("profile", "add", "--name", instance, "gentle")
    profile_arms = *arms(a="cubic", b=f"{instance}:gentle"), *only("b")
    done = bbrctl("experiment", "start", new_name(), "--cgroup", cgroup.path, *profile_arms, status=REFUSED)
    assert f"bbrctl upgrade --name {instance}" in done.err
    name = experiments.start(cgroup, *arms(a="cubic", b=instance), *only("b"))  # any profile will do, so no map is needed
    assert ccs(ns, cgroup, server, 2) == [instance] * 2
    bbrctl("experiment", "stop", name)
    bbrctl("upgrade", "--name", instance)
    experiments.start(cgroup, *profile_arms)
    assert ccs(ns, cgroup, server, 2) == [instance] * 2


def test_an_arm_is_not_taken_away(bbrctl, load, experiments, ns, cgroup, server, tmp_path):
    instance = load()
    bbrctl("profile", "add", "--name", instance, "gentle")
    saved = tmp_path / "before.ini"
    saved.write_text(bbrctl("save", "--name", instance).out.replace("gentle", "mild"))
    name = experiments.start(cgroup, *arms(a=instance, b=f"{instance}:gentle"))
    for verb in (["unload"], ["profile", "delete", "gentle"], ["apply", saved]):
        done = bbrctl(*verb, "--name", instance, status=REFUSED)
        assert f"the experiment {name}" in done.err and f"bbrctl experiment stop {name}" in done.err
    assert {p["profile"] for p in bbrctl.json("profile", "list", "--name", instance)["profiles"]} == {
        "default", "gentle"}

    bbrctl("upgrade", "--name", instance)
    seen = ccs(ns, cgroup, server, 20)
    assert seen == [instance] * 20 and sum(experiments.counts(name).values()) == 20
    gentle = {p["profile"]: p for p in bbrctl.json("profile", "list", "--name", instance)["profiles"]}["gentle"]
    with client(ns, cgroup):
        held = [connect(ns, listen(ns)) for _ in range(16)]
    now = {p["profile"]: p for p in bbrctl.json("profile", "list", "--name", instance)["profiles"]}
    assert now["gentle"]["connections"] > 0 and gentle["index"] == now["gentle"]["index"], held
    bbrctl("experiment", "stop", name)
    bbrctl("profile", "delete", "--name", instance, "gentle")


def test_stopping_moves_what_is_open(bbrctl, load, experiments, ns, cgroup):
    instance = load()
    bbrctl("profile", "add", "--name", instance, "gentle")
    outside = listen(ns)
    name = experiments.start(cgroup, *arms(a="cubic", b="reno", c=f"{instance}:gentle"))
    with client(ns, cgroup):
        held = [connect(ns, outside) for _ in range(30)]
        chosen = connect(ns, outside, cc="reno")
    assert len({get_cc(ends[0]) for ends in held}) == 3
    bbrctl("experiment", "stop", name, "--to", "nothing", status=USAGE)
    done = bbrctl("experiment", "stop", name, "--to", "c")
    assert {get_cc(ends[0]) for ends in held} == {instance} and "went over to c" in done.out
    assert get_cc(chosen[0]) == "reno" and default_of(ns) != instance
    shown = {p["profile"]: p for p in bbrctl.json("profile", "list", "--name", instance)["profiles"]}
    assert shown["gentle"]["connections"] == 30
    Transfer(*held[0], MB).finish()


def test_killed_while_starting(bbrctl, experiments, ns, cgroup, server):
    """It runs completely, or nothing of it exists."""
    default, before = default_of(ns), maps_of_ours(bbrctl)
    name = new_name()
    experiments.names.append(name)
    start = "experiment", "start", name, *AB, *only("b"), "--cgroup", cgroup.path
    longest = duration_of(bbrctl, *start)
    bbrctl("experiment", "stop", name)
    seen = set()
    for delay in delays(longest, 5):
        kill_after(bbrctl, delay, *start)
        runs = name in experiments.running()
        seen.add(runs)
        assert ccs(ns, cgroup, server, 2) == ["reno" if runs else default] * 2
        if runs:
            assert [line["decision"].split(":")[0] for line in experiments.status(name)["log"]] == ["started"]
            bbrctl("experiment", "stop", name)
    assert False in seen
    wait_until(lambda: not maps_of_ours(bbrctl) - before, "the maps are freed")


def test_killed_while_stopping(bbrctl, experiments, ns, cgroup, server):
    """It continues completely, or nothing of it exists, and stopping it again ends it."""
    default, before = default_of(ns), maps_of_ours(bbrctl)

    def started():
        return experiments.start(cgroup, *AB, *only("b"))
    longest = duration_of(bbrctl, "experiment", "stop", started())
    name, seen = started(), set()
    for delay in delays(longest, 6):
        kill_after(bbrctl, delay, "experiment", "stop", name)
        runs = name in experiments.running()
        seen.add(runs)
        assert ccs(ns, cgroup, server, 2) == ["reno" if runs else default] * 2
        if not runs:
            name = started()
    assert True in seen
    bbrctl("experiment", "stop", name)
    assert ccs(ns, cgroup, server, 2) == [default] * 2
    wait_until(lambda: not maps_of_ours(bbrctl) - before, "the maps are freed")


def test_a_monitor_that_is_killed_is_nothing_to_it(bbrmon, experiments, ns, cgroup, server, tmp_path):
    name = experiments.start(cgroup, *AB, *only("b"))
    for i in range(10):
        with open(tmp_path / "out", "w", encoding="utf-8") as out:
            following = bbrmon.start("experiment", name, "--follow", "-w", tmp_path / "a.csv", stdout=out)
        assert ccs(ns, cgroup, server, 2) == ["reno"] * 2
        time.sleep(i / 20)
        following.kill()
        following.wait()
    assert experiments.counts(name) == {"a": 0, "b": 20}
    wait_until(lambda: sum(arm["ended"] for arm in bbrmon.json("experiment", name)["arms"]) == 20, "all to have ended")


def test_as_many_as_are_kept_are_open_at_a_time(experiments, many_files, ns, cgroup):
    default, outside = default_of(ns), listen(ns)
    name = experiments.start(cgroup, *AB, *only("b"), "--keep", 1024)
    with client(ns, cgroup):
        held = [connect(ns, outside) for _ in range(1024 + 6)]
    assert [get_cc(ends[0]) for ends in held] == ["reno"] * 1024 + [default] * 6
    shown = experiments.status(name)
    assert shown["no_memory"] == 6 and shown["outcomes"] == shown["arms"][1]["connections"] == 1024
    for end in held.pop():  # ending a connection that was left alone makes no room
        end.close()
    with client(ns, cgroup):
        assert get_cc(connect(ns, outside)[0]) == default
    for end in held[0]:
        end.close()
    with client(ns, cgroup):
        wait_until(lambda: get_cc(connect(ns, outside)[0]) == "reno", "there is room again")


def test_switchback_moves_connections_at_seams(experiments, ns, cgroup):
    """All connections have the arm of the block, also those that existed before."""
    outside = listen(ns)
    name = experiments.start(cgroup, *AB, "--design", "switchback", "--block", "2s", "--washout", "1s", "--seed", 3)
    with client(ns, cgroup):
        held = [connect(ns, outside) for _ in range(4)]
    transfers = [Transfer(*ends, seed=i, gap=0.02) for i, ends in enumerate(held)]
    arm, seen = {"a": "cubic", "b": "reno"}, []
    while len({*seen}) < 4 or len({of for _, of in seen}) < 2:
        before = experiments.status(name)["block"]
        with client(ns, cgroup):
            found = [get_cc(ends[0]) for ends in [*held, connect(ns, outside)]]
        if before["washout"] or experiments.status(name)["block"]["number"] != before["number"]:
            continue  # this was at a seam
        assert found == [arm[before["arm"]]] * 5, experiments.status(name)
        seen.append((before["number"], before["arm"]))
    assert experiments.status(name)["moved"] >= 4
    for transfer in transfers:
        transfer.stop()
        transfer.finish()
