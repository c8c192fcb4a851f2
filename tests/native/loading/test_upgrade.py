# SPDX-License-Identifier: GPL-2.0-only
"""upgrade: other code under the same name, by a link or with a gap."""
import itertools
import pathlib
import random
import socket
import subprocess
import threading
import time

import pytest

import objects
from cgroups import Cgroup, default_of
from system import NO_BPFFS, maps_of_ours, pin, registered, struct_ops, wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, Tool, status_of
from transfer import MB, Transfer, connect, get_cc, listen, send_verified, set_cc

alone = pytest.mark.machine_alone  # it needs one instance, lists all maps, or counts descriptors

ROOT = pathlib.Path(__file__).resolve().parents[3]
NEXT = ROOT / "build/next_version.bpf.o"  # 9.9.9
KINDS = ["link", "gap"]
TRIES = 12


@pytest.fixture
def load_kind(load, load_plain):
    return lambda kind, *args: (load if kind == "link" else load_plain)(*args)


def upgrade(bbrctl, name, kind, *args, **kwargs):
    """Upgrades an instance. With kind "gap" it stays without a link."""
    prefix = NO_BPFFS if kind == "gap" else ()
    return bbrctl("-j", "upgrade", "--name", name, *args, prefix=prefix, **kwargs)


class Asking:
    """
    Sets a congestion control all the time. `failed` has the durations for which the name was missing, each from the last
    success to the next one.
    """

    def __init__(self, ns, name):
        self.name, self.asked, self.failed = name, 0, []
        with ns.entered():
            self.socks = [socket.socket() for _ in range(2)]
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def is_there(self):
        try:
            set_cc(self.socks[0], "reno")
            set_cc(self.socks[0], self.name)
        except FileNotFoundError:
            return False
        return True

    def run(self):
        last = time.monotonic()
        while not self.stopping.is_set():
            self.asked += 1
            there = self.is_there()
            if not there:
                while not self.is_there() and not self.stopping.is_set():
                    pass
                self.failed.append(time.monotonic() - last)
            last = time.monotonic()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        for sock in self.socks:
            sock.close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_is_new_and_the_parameters_stay(bbrctl, load_kind, ns, kind):
    name = load_kind(kind, "bw_win=33", "cwnd_gain=2.5")
    before, params = status_of(bbrctl, name), bbrctl.json("show", "--name", name)["params"]
    done = upgrade(bbrctl, name, kind, "--object", NEXT).json()
    after = status_of(bbrctl, name)
    assert (done["old_version"], done["version"]) == (before["version"], "9.9.9")
    assert (done["old_map_id"], done["map_id"]) == (before["map_id"], after["map_id"])
    assert after["version"] == "9.9.9" and after["prog_id"] != before["prog_id"]
    assert done["atomic"] == (kind == "link") and ("gap_us" in done) == (kind == "gap")
    assert bool(after["link_id"]) == (kind == "link")
    assert bbrctl.json("show", "--name", name)["params"] == params
    send_verified(ns, name)
    bbrctl("set", "--name", name, "bw_win=34")
    bbrctl("unload", "--name", name)
    wait_until(lambda: name not in struct_ops().values(), "old and new code are freed")


def test_what_it_says(bbrctl, load, load_plain):
    name = load()
    version = status_of(bbrctl, name)["version"]
    out = bbrctl("upgrade", "--name", name).out  # the same version again: it may have been rebuilt
    assert f"{name}: upgraded from {version} to {version}" in out and "never missing" in out
    name = load_plain()
    out = bbrctl("upgrade", "--name", name, prefix=NO_BPFFS).out
    assert "the name was missing for at most" in out and "mount namespace" in out


def test_the_first_upgrade_brings_the_link(bbrctl, load_plain, ns):
    name = load_plain("bw_win=33")
    first, second = (bbrctl.json("upgrade", "--name", name) for _ in range(2))
    assert not first["atomic"] and first["next_is_atomic"] and second["atomic"]
    assert status_of(bbrctl, name)["link_id"] and pin(name).exists()
    assert status_of(bbrctl, name)["params_changed"] == 1
    send_verified(ns, name)


@alone
def test_what_bpftool_registered(bpf_bbr, bbrctl, ns):
    bbrctl("set", "bw_win=33")
    done = bbrctl.json("upgrade", "--object", NEXT)
    assert not done["atomic"] and status_of(bbrctl, bpf_bbr)["params_changed"] == 1
    send_verified(ns, bpf_bbr)
    bbrctl("unload")


def test_by_link_the_name_is_never_missing(bbrctl, load, ns):
    name = load()
    with Asking(ns, name) as asking:
        for obj in itertools.islice(itertools.cycle([NEXT, None]), 8):
            args = ["--object", obj] if obj else []
            assert upgrade(bbrctl, name, "link", *args).json()["atomic"]
    assert asking.asked > 1000 and asking.failed == []
    send_verified(ns, name)


def test_the_gap_is_as_long_as_it_says(bbrctl, load_plain, ns):
    name = load_plain()
    said = []
    with Asking(ns, name) as asking:
        for _ in range(5):
            said.append(upgrade(bbrctl, name, "gap").json()["gap_us"])
    assert asking.asked > 1000 and len(asking.failed) <= 5
    assert all(0 < gap for gap in said)
    send_verified(ns, name)


@pytest.mark.parametrize("kind", KINDS)
def test_connections_go_on_with_the_code_they_have(bbrctl, load_kind, ns, kind):
    name = load_kind(kind)
    old_map = status_of(bbrctl, name)["map_id"]
    listener = listen(ns)
    running = [Transfer(*connect(ns, listener, cc=name), seed=i, gap=0.002) for i in range(3)]
    for users in 3, 1:
        done = upgrade(bbrctl, name, kind, "--object", NEXT).json()
        assert done["old_users"] == users and status_of(bbrctl, name)["users"] == 0
        running.append(Transfer(*connect(ns, listener, cc=name), seed=9, gap=0.002))
        assert status_of(bbrctl, name)["users"] == 1
    assert old_map in struct_ops()
    before = [t.received for t in running]
    wait_until(lambda: all(t.received > b for t, b in zip(running, before)), "every transfer gets on")
    for transfer in running:
        assert get_cc(transfer.sockets[0]) == name
        transfer.stop()
    for transfer in running:
        transfer.finish()
    wait_until(lambda: old_map not in struct_ops(), "the old code goes with its last connection")


@pytest.mark.parametrize("kind", KINDS)
def test_many_times_under_traffic(bbrctl, load_kind, ns, kind):
    name = load_kind(kind)
    running = [Transfer(*connect(ns, listen(ns), cc=name), 20 * MB, seed=i) for i in range(4)]
    for _ in range(5):
        upgrade(bbrctl, name, kind)
    for transfer in running:
        transfer.finish()
    wait_until(lambda: list(struct_ops().values()).count(name) == 1, "only the last one is left")


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_of_namespaces_are_set_again(bbrctl, load_kind, new_ns, kind):
    name = load_kind(kind)
    having, other = [new_ns(), new_ns()], new_ns()
    for ns in having:
        ns.default_congestion_control(name)
    other.default_congestion_control("reno")
    old_map = status_of(bbrctl, name)["map_id"]
    done = upgrade(bbrctl, name, kind, "--object", NEXT).json()
    assert done["defaults"] == 2 and done["old_users"] == 0
    assert status_of(bbrctl, name)["users"] == 2
    wait_until(lambda: old_map not in struct_ops(), "nothing holds the old code")
    sender, receiver = connect(having[0], listen(having[0]))
    assert get_cc(sender) == name and status_of(bbrctl, name)["users"] == 5  # and the listener
    Transfer(sender, receiver, MB).finish()
    assert get_cc(connect(other, listen(other))[0]) == "reno"


@pytest.fixture
def bad_objects(tmp_path):
    """Objects that cannot replace the instance, each with its message; test_objects.py has more."""
    cut = tmp_path / "cut.o"
    cut.write_bytes(NEXT.read_bytes()[:20000])
    return {tmp_path / "none.o": "No such file", ROOT / "Makefile": "not a BPF object", cut: "not a whole BPF object",
            ROOT / "build/next_abi.bpf.o": "ABI 999", ROOT / "build/attach.bpf.o": "is not a bpf_bbr object",
            objects.Object(NEXT).broken().write(tmp_path / "broken.o"): "the kernel refused the BPF program"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_upgrade_leaves_the_old_one(bbrctl, load_kind, ns, bad_objects, kind):
    name = load_kind(kind, "bw_win=33")
    before = status_of(bbrctl, name)
    with Asking(ns, name) as asking:
        for obj, why in bad_objects.items():
            status = REFUSED if why.startswith("the kernel") else USAGE
            err = upgrade(bbrctl, name, kind, "--object", obj, status=status).err
            assert why in err and f"not upgraded: {name} still runs" in err, err
    assert asking.failed == [] and status_of(bbrctl, name) == before
    send_verified(ns, name)


@alone
@pytest.mark.parametrize("kind", KINDS)
def test_short_of_file_descriptors(build, load_kind, ns, kind):
    """It may fail wherever it needs one more, but then the old code is still there."""
    bbrctl = Tool(build.parent / "bbrctl")  # sanitizers need some themselves
    name = load_kind(kind, "bw_win=33")
    statuses = []
    for limit in range(12, 48, 3):
        before = status_of(bbrctl, name)
        statuses.append(bbrctl("upgrade", "--name", name, status=None,
                               prefix=[*(NO_BPFFS if kind == "gap" else []), "prlimit", f"--nofile={limit}"]).status)
        after = status_of(bbrctl, name)
        assert after["params_changed"] == 1 and name in registered()
        assert (after["map_id"] == before["map_id"]) == (statuses[-1] != DONE)
    assert statuses[0] != DONE and statuses[-1] == DONE
    send_verified(ns, name)


def test_nothing_to_upgrade(bbrctl, free_name):
    name = free_name()
    bbrctl("upgrade", "--name", name, status=NOTHING)
    assert name not in registered()


@alone
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_moment(bbrctl, load_kind, ns, kind):
    """With a link there is the old code or the new. Without one there may be none, and then it can be loaded again."""
    name = load_kind(kind, "bw_win=33")
    before = maps_of_ours(bbrctl)
    begin = time.monotonic()
    upgrade(bbrctl, name, kind)
    longest = time.monotonic() - begin
    rng, prefix = random.Random(1), NO_BPFFS if kind == "gap" else []
    command = [*prefix, bbrctl.path, "upgrade", "--name", name]
    for i in range(TRIES):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(longest * (i + rng.random()) / TRIES)
        process.kill()
        process.wait()
        found = status_of(bbrctl, name)
        assert bool(found) == (name in registered())
        if not found:
            assert kind == "gap"
            bbrctl("load", "--name", name, "--set", "bw_win=33", prefix=prefix)
        assert status_of(bbrctl, name)["params_changed"] == 1
        wait_until(lambda: list(struct_ops().values()).count(name) == 1, "what was prepared is freed")
    send_verified(ns, name)
    wait_until(lambda: len(maps_of_ours(bbrctl)) <= len(before), "the maps are freed")


@pytest.mark.parametrize("kind", KINDS)
def test_several_at_once(bbrctl, load_kind, ns, kind):
    name = load_kind(kind, "bw_win=33")
    command = [*(NO_BPFFS if kind == "gap" else []), bbrctl.path, "-j", "upgrade", "--name", name]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [p.wait(60) for p in started] == [0] * 4
    assert status_of(bbrctl, name)["params_changed"] == 1
    send_verified(ns, name)
    wait_until(lambda: list(struct_ops().values()).count(name) == 1, "only one is left")


def test_upgraded_where_the_pin_cannot_be_seen(bbrctl, load, ns):
    """bbrctl finds the link by asking the kernel."""
    name = load()
    done = bbrctl.json("upgrade", "--name", name, prefix=NO_BPFFS)
    assert done["atomic"] and pin(name).exists()
    send_verified(ns, name)


def test_attached_cgroups_follow(bbrctl, load, ns):
    name = load()
    cgroup = Cgroup()
    try:
        bbrctl("attach", "--name", name, "--cgroup", cgroup.path)
        upgrade(bbrctl, name, "link")
        with cgroup.entered():
            assert get_cc(connect(ns, listen(ns))[0]) == name
        assert status_of(bbrctl, name)["users"] == 2
    finally:
        cgroup.delete()


@pytest.mark.parametrize("kind", KINDS)
def test_profiles_and_rules_stay(bbrctl, load_kind, ns, kind):
    """Each keeps its place, also behind a gap that a deleted one left. New connections get them at once."""
    name = load_kind(kind, "bw_win=11")
    for number in range(3):
        bbrctl("profile", "add", "--name", name, f"p{number}", f"min_rtt_win={number + 3}s")
    bbrctl("profile", "delete", "--name", name, "p1")
    bbrctl("rule", "add", "--name", name, "--dst", "127.0.0.2", "--profile", "p2")
    bbrctl("rule", "add", "--name", name, "--dport", "7", "--cgroup", "/", "--profile", "p0")
    (before,) = bbrctl.json("save", "--name", name)
    upgrade(bbrctl, name, kind, "--object", NEXT)
    (after,) = bbrctl.json("save", "--name", name)
    assert after == before | {"version": "9.9.9"} != before
    with listen(ns, "127.0.0.2") as listener:
        held = connect(ns, listener, cc=name)
        now = {p["profile"]: (p["index"], p["connections"])
               for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}
        assert now == {"default": (0, 0), "p0": (1, 0), "p2": (3, 1)}
        Transfer(*held, MB).finish()
    bbrctl("rule", "flush", "--name", name)
    bbrctl("profile", "add", "--name", name, "p3", "bw_win=5")


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_put_back_after_an_upgrade(bbrctl, load_kind, new_ns, kind):
    """The new code still knows the earlier defaults."""
    name, ns = load_kind(kind), new_ns()
    was = default_of(ns)
    bbrctl("load", "--name", name, "--default", "--netns", ns.name)
    upgrade(bbrctl, name, kind)
    assert default_of(ns) == name
    bbrctl("unload", "--name", name)
    assert default_of(ns) == was


@pytest.fixture
def later_bbrctl(build):
    """The tool of a later version, which has one more parameter, the last one."""
    return Tool(build / "next/bbrctl")


def value(tool, name, key):
    return tool.json("show", "--name", name, key)["params"][0]["value"]


def test_a_later_tool_manages_what_is_loaded(later_bbrctl, bbrctl, load, ns):
    """It manages all but the parameter that the loaded program does not know; after an upgrade that, too."""
    name = load("bw_win=33")
    assert value(later_bbrctl, name, "bw_win") == 33 and value(later_bbrctl, name, "later") == 0
    later_bbrctl("set", "--name", name, "cwnd_gain=3")
    for change in (["set", "--name", name, "later=5"], ["profile", "add", "--name", name, "p", "later=5"]):
        assert "lacks this parameter" in later_bbrctl(*change, status=REFUSED).err
    later_bbrctl("profile", "add", "--name", name, "other", "bw_win=7")
    assert value(bbrctl, name, "cwnd_gain") == 3 and value(bbrctl, name, "bw_win") == 33
    later_bbrctl("upgrade", "--name", name)
    later_bbrctl("set", "--name", name, "later=5")
    assert (value(later_bbrctl, name, "later"), value(later_bbrctl, name, "cwnd_gain")) == (5, 3)
    assert value(later_bbrctl, name, "bw_win") == 33
    send_verified(ns, name)


def test_this_tool_manages_what_a_later_one_loaded(later_bbrctl, bbrctl, free_name, ns):
    """This tool leaves alone what it does not know."""
    name = free_name()
    later_bbrctl("load", "--name", name, "--set", "later=5", "--set", "bw_win=33")
    later_bbrctl("profile", "add", "--name", name, "other", "later=6", "cwnd_gain=3")
    assert value(bbrctl, name, "bw_win") == 33
    assert "later" not in {p["key"] for p in bbrctl.json("show", "--name", name)["params"]}
    bbrctl("set", "--name", name, "bw_win=34")
    bbrctl("set", "--name", name, "bw_win=35")
    assert (value(later_bbrctl, name, "later"), value(later_bbrctl, name, "bw_win")) == (5, 35)
    counts = {p["profile"]: p["connections"] for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}
    assert counts == {"default": 0, "other": 0}
    send_verified(ns, name)
    before = status_of(bbrctl, name)["map_id"]
    bbrctl("upgrade", "--name", name)  # back to a program that has no such parameter
    assert status_of(bbrctl, name)["map_id"] != before and value(bbrctl, name, "bw_win") == 35
