# SPDX-License-Identifier: GPL-2.0-only
"""bbrctl is killed at any moment: its work is done completely, or not at all."""
import pytest

from kills import delays, duration_of, kill_after, start
from system import maps_of_ours, registered, struct_ops, wait_until
from tool import status_of
from transfer import send_verified

alone = pytest.mark.machine_alone  # it lists all maps


@alone
def test_killed_while_loading(bbrctl, free_name, ns):
    name = free_name()
    load = "load", "--name", name, "--set", "cwnd_gain=2.5"
    longest = duration_of(bbrctl, *load)
    bbrctl("unload", "--name", name)
    wait_until(lambda: name not in struct_ops().values(), "the kernel frees the instance")
    before = maps_of_ours(bbrctl)
    for delay in delays(longest, 1):
        kill_after(bbrctl, delay, *load)
        found = status_of(bbrctl, name)
        assert bool(found) == (name in registered())
        if found:
            params = bbrctl.json("show", "--name", name, "cwnd_gain")["params"]
            assert params[0]["value"] == 2.5 and found["params_changed"] == 1
            send_verified(ns, name)
            bbrctl("unload", "--name", name)
        wait_until(lambda: name not in struct_ops().values(), "no struct_ops map stays")
    wait_until(lambda: not maps_of_ours(bbrctl) - before, "the maps are freed")
    bbrctl(*load)
    send_verified(ns, name)


def test_killed_while_unloading(bbrctl, load, ns):
    name = load()
    longest = duration_of(bbrctl, "status")
    for delay in delays(longest, 2):
        kill_after(bbrctl, delay, "unload", "--name", name)
        if status_of(bbrctl, name):
            send_verified(ns, name)
        else:
            assert name not in registered()
            bbrctl("load", "--name", name)


def test_killed_while_setting(bbrctl, load, ns):
    """All of the new values, or all of the old ones."""
    name = load()
    old, new = {"bw_win": 10, "cwnd_gain": 2}, {"bw_win": 33, "cwnd_gain": 3}
    arguments = "set", "--name", name, "bw_win=33", "cwnd_gain=3"
    longest = duration_of(bbrctl, *arguments)
    for delay in delays(longest, 3):
        bbrctl("reset", "--name", name, status=None)
        kill_after(bbrctl, delay, *arguments)
        params = bbrctl.json("show", "--name", name, "bw_win", "cwnd_gain")["params"]
        assert {p["key"]: p["value"] for p in params} in (old, new)
    send_verified(ns, name)


def state(bbrctl, name):
    """Rules, and profiles with their parameters."""
    found = {p["profile"]: p for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}
    assert "" not in found
    shown = {p: bbrctl.json("show", "--name", name, "--profile", p)["params"] for p in found}
    return shown, [{k: v for k, v in r.items() if k != "rule"}
                   for r in bbrctl.json("rule", "list", "--name", name)["rules"]]


CHANGES = {
    "profile add": [["profile", "add", "p2", "bw_win=33", "cwnd_gain=3"], ["profile", "delete", "p2"]],
    "profile delete": [["profile", "delete", "p1"], ["profile", "add", "p1", "bw_win=22", "cwnd_gain=3"]],
    "rule add": [["rule", "add", "--dport", "9", "--profile", "default"], ["rule", "delete", "--dport", "9"]],
    "rule delete": [["rule", "delete", "--dport", "7"], ["rule", "add", "--dport", "7", "--profile", "default"]],
}


def test_killed_while_changing_profiles_and_rules(bbrctl, load, ns):
    """All of the change, or nothing of it."""
    name = load()
    bbrctl("profile", "add", "--name", name, "p1", "bw_win=22", "cwnd_gain=3")
    bbrctl("rule", "add", "--name", name, "--dport", 7, "--profile", "default")
    before = state(bbrctl, name)
    for number, (do, undo) in enumerate(CHANGES.values()):
        longest = duration_of(bbrctl, *do, "--name", name)
        after = state(bbrctl, name)
        bbrctl("--name", name, *undo)
        assert after != before and state(bbrctl, name) == before
        for delay in delays(longest, number)[::2]:
            kill_after(bbrctl, delay, *do, "--name", name)
            found = state(bbrctl, name)
            assert found in (before, after), do
            if found == after:
                bbrctl("--name", name, *undo)
    send_verified(ns, name)


def all_done(processes):
    try:
        return [p.wait(60) for p in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_profiles_and_rules_added_at_once_do_not_get_lost(bbrctl, load):
    name, n = load(), 6
    adding = [start(bbrctl, "profile", "add", "--name", name, f"p{i}", f"bw_win={20 + i}") for i in range(n)]
    adding += [start(bbrctl, "rule", "add", "--name", name, "--dport", str(i + 1), "--profile", "default")
               for i in range(n)]
    adding += [start(bbrctl, "profile", "add", "--name", name, "same", "bw_win=99") for _ in range(3)]
    assert sorted(all_done(adding)) == [0] * (2 * n + 1) + [3, 3]
    shown, rules = state(bbrctl, name)
    assert set(shown) == {"default", "same", *(f"p{i}" for i in range(n))}
    values = {p: next(v["value"] for v in params if v["key"] == "bw_win") for p, params in shown.items()}
    assert values == {"default": 10, "same": 99, **{f"p{i}": 20 + i for i in range(n)}}
    assert sorted(r["dport"] for r in rules) == list(range(1, n + 1))
    deleting = [start(bbrctl, "rule", "delete", "--name", name, "1") for _ in range(n)]
    deleting += [start(bbrctl, "profile", "delete", "--name", name, f"p{i}") for i in range(n)]
    assert all_done(deleting) == [0] * 2 * n
    shown, rules = state(bbrctl, name)
    assert set(shown) == {"default", "same"} and not rules


def test_two_at_once(bbrctl, free_name, ns):
    """Of several that load the same name, one loads it and the others find it loaded."""
    name = free_name()
    loading = [start(bbrctl, "load", "--name", name) for _ in range(4)]
    try:
        assert sorted(p.wait(60) for p in loading) == [0, 3, 3, 3]
    finally:
        for process in loading:
            process.kill()
            process.wait()
    send_verified(ns, name)


def test_changes_at_once_do_not_get_lost(bbrctl, load):
    name = load()
    keys = ["bw_win=33", "cwnd_gain=3", "min_rtt_win=3s", "full_bw_rounds=4", "tso_budget=4", "pacing_margin=2%"]
    setting = [start(bbrctl, "set", "--name", name, key) for key in keys]
    try:
        assert [p.wait(60) for p in setting] == [0] * len(keys)
    finally:
        for process in setting:
            process.kill()
            process.wait()
    assert status_of(bbrctl, name)["params_changed"] == len(keys)
