# SPDX-License-Identifier: GPL-2.0-only
"""Rules: which profile does a new connection get? The program, bbrctl and a few lines of Python must agree."""
import ipaddress
import random
import socket
import struct
import subprocess

import bpfmap
import pytest

from system import maps_of_program, wait_until
from tool import NOTHING, REFUSED, USAGE, status_of
from transfer import MB, Transfer, accept, connect, listen, new_socket, reset, set_cc

PROFILES = 8  # with the default one
SETS, CONNECTIONS = 32, 10  # SETS of rules; CONNECTIONS of each set, with two ends each
TESTED = 3  # of the ends, also by `bbrctl rule test`
MOST = 65536


def rules(bbrctl, name):
    return bbrctl.json("rule", "list", "--name", name)["rules"]


def listed(bbrctl, name):
    return bbrctl("rule", "list", "--name", name).out.splitlines()


@pytest.fixture
def profiles(bbrctl, blank):
    """An instance with profiles p1, p2, ...: the number is the index."""
    with bpfmap.profiles(maps_of_program(status_of(bbrctl, blank)["prog_id"])) as mapped:
        for i in range(1, PROFILES):
            mapped.copy_profile(0, i)
            mapped.set_name(i, f"p{i}")
    return blank


# Verbs


def test_add_list_and_delete(bbrctl, profiles, cgroups):
    name, cgroup = profiles, cgroups.path("")
    assert rules(bbrctl, name) == []
    assert listed(bbrctl, name) == ["all others: --profile default"]
    assert bbrctl.json("rule", "add", "--name", name, "--dst", "10.1.2.3/8", "--dport", 443, "--sport", 5000,
                       "--mark", "0xff", "--cgroup", cgroup, "--profile", "p1") == {
        "rule": 1, "dst": "10.0.0.0/8", "dport": 443, "sport": 5000, "mark": 255, "cgroup": cgroup,
        "cgroup_id": cgroups.id(""), "profile": "p1", "name": name, "added": True}
    assert f"{name}: added rule 2: --dst fd00::/8 --profile p2" in bbrctl(
        "rule", "add", "--name", name, "--dst", "fd12::1/8", "--profile", "p2").out
    bbrctl("rule", "add", "--name", name, "--dst", "192.0.2.1", "--profile", "default")
    bbrctl("rule", "add", "--name", name, "--profile", "p3")
    assert listed(bbrctl, name) == [
        f"1: --dst 10.0.0.0/8 --dport 443 --sport 5000 --mark 255 --cgroup {cgroup} --profile p1",
        "2: --dst fd00::/8 --profile p2", "3: --dst 192.0.2.1 --profile default", "4: --profile p3",
        "all others: --profile default"]
    assert rules(bbrctl, name)[1:] == [
        {"rule": 2, "dst": "fd00::/8", "profile": "p2"}, {"rule": 3, "dst": "192.0.2.1", "profile": "default"},
        {"rule": 4, "profile": "p3"}]
    by_profile = {p["profile"]: p["rules"] for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}
    assert [by_profile[p] for p in ("default", "p1", "p2", "p3", "p4")] == [1, 1, 1, 1, 0]
    assert bbrctl.json("rule", "delete", "--name", name, 3) == {
        "rule": 3, "dst": "192.0.2.1", "profile": "default", "name": name, "deleted": True}
    assert "deleted rule 2: --dst fd00::/8 --profile p2" in bbrctl(
        "rule", "delete", "--name", name, "--dst", "fd00::/8").out
    assert [r["profile"] for r in rules(bbrctl, name)] == ["p1", "p3"]
    assert bbrctl.json("rule", "flush", "--name", name) == {"name": name, "deleted": 2}
    bbrctl("rule", "flush", "--name", name, status=NOTHING)


def test_the_order(bbrctl, profiles):
    name = profiles
    for port, before in (1, None), (2, None), (3, 1), (4, 2), (5, 4), (6, None):
        where = ["--before", before] if before else []
        added = bbrctl.json("rule", "add", "--name", name, "--dport", port, "--profile", "p1", *where)
        assert added["rule"] == before or before is None
    ports = lambda: [r["dport"] for r in rules(bbrctl, name)]  # noqa: E731
    assert ports() == [3, 4, 1, 5, 2, 6]
    bbrctl("rule", "delete", "--name", name, 3)
    assert ports() == [3, 4, 5, 2, 6]
    bbrctl("rule", "delete", "--name", name, 5)
    bbrctl("rule", "delete", "--name", name, 1)
    assert ports() == [4, 5, 2]
    assert [r["rule"] for r in rules(bbrctl, name)] == [1, 2, 3]


def test_a_rule_of_each_kind_of_prefix_is_printed_as_it_is_read(bbrctl, profiles):
    given = {"0.0.0.0/0": "0.0.0.0/0", "10.0.0.1/32": "10.0.0.1", "::/0": None, "::1/128": "::1",
             "::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:0:0/96": "0.0.0.0/0", "::fffe:0:0/95": "::fffe:0:0/95",
             "2001:db8::1:0/112": "2001:db8::1:0/112", "::10.0.0.1": "::10.0.0.1"}
    for prefix, printed in given.items():
        added = bbrctl.json("rule", "add", "--name", profiles, "--dst", prefix, "--profile", "p1",
                            status=NOTHING if prefix == "::ffff:0:0/96" else 0) if prefix != "::ffff:0:0/96" else None
        assert added is None or added.get("dst") == printed
    err = bbrctl("rule", "add", "--name", profiles, "--dst", "::ffff:0:0/96", "--profile", "p2", status=NOTHING).err
    assert "rule 1 has the same options" in err and "rule delete 1" in err


ERRORS = [
    (USAGE, ["rule"]), (USAGE, ["rule", "frobnicate"]), (USAGE, ["rule", "add"]),
    (USAGE, ["rule", "add", "--dport", "1"]), (USAGE, ["rule", "add", "10.0.0.1", "--profile", "p1"]),
    (USAGE, ["rule", "list", "1"]), (USAGE, ["rule", "flush", "1"]), (USAGE, ["rule", "delete"]),
    (USAGE, ["rule", "delete", "1", "2"]), (USAGE, ["rule", "delete", "1", "--dport", "7"]),
    (USAGE, ["rule", "test"]), (USAGE, ["rule", "test", "10.0.0.1", "10.0.0.2"]),
    (USAGE, ["rule", "test", "10.0.0.0/8"]), (USAGE, ["rule", "test", "localhost"]), (USAGE, ["rule", "test", ""]),
    (USAGE, ["rule", "test", "--dst", "10.0.0.1"]), (USAGE, ["rule", "test", "10.0.0.1", "--profile", "p1"]),
    *((USAGE, ["rule", "add", "--profile", "p1", *args]) for args in (
        ["--dst", ""], ["--dst", "10.0.0"], ["--dst", "10.0.0.0/33"], ["--dst", "fd00::/129"], ["--dst", "10.0.0.0/"],
        ["--dst", "10.0.0.0/8.5"], ["--dst", "10.0.0.0/-1"], ["--dst", "host"], ["--dst", "x" * 1000],
        ["--dst", "10.0.0.0/255.0.0.0"], ["--dst", "[fd00::1]"], ["--dst", "fe80::1%lo"],
        ["--dport", ""], ["--dport", "0"], ["--dport", "65536"], ["--dport", "http"], ["--dport", "80-90"],
        ["--dport", "-1"], ["--dport", "1.5"], ["--sport", "0"], ["--sport", "65536"], ["--sport", "1e3"],
        ["--mark", ""], ["--mark", "-1"], ["--mark", "4294967296"], ["--mark", "0x100000000"], ["--mark", "0x"],
        ["--mark", "1/1"], ["--mark", "x"], ["--cgroup", ""], ["--cgroup", "no/such/cgroup"], ["--cgroup", "/tmp"],
        ["--cgroup", "../.."], ["--cgroup", "x" * 5000],
        ["--before", "0"], ["--before", ""], ["--before", "x"], ["--before", "-1"], ["--before", "1.5"],
        ["--before", "9" * 30], ["--before", "65537"], ["--defaults"], ["--set", "bw_win=11"])),
    (USAGE, ["rule", "delete", "0"]), (USAGE, ["rule", "delete", "x"]), (USAGE, ["rule", "delete", "1.5"]),
    (USAGE, ["rule", "delete", "9" * 30]), (USAGE, ["rule", "delete", ""]),
    (NOTHING, ["rule", "delete", "3"]), (NOTHING, ["rule", "delete", "65536"]),
    (NOTHING, ["rule", "delete", "--dport", "9"]), (NOTHING, ["rule", "delete", "--dst", "0.0.0.0/0", "--dport", "7"]),
    (NOTHING, ["rule", "add", "--dport", "7", "--profile", "p1"]),
    (NOTHING, ["rule", "add", "--dport", "7", "--profile", "p2"]),
    (NOTHING, ["rule", "add", "--dport", "7", "--profile", "p2", "--before", "1"]),
    (NOTHING, ["rule", "add", "--dport", "9", "--profile", "unheard_of"]),
    (NOTHING, ["rule", "add", "--dport", "9", "--profile", ""]),
    (NOTHING, ["rule", "add", "--dport", "9", "--profile", "p1", "--before", "3"]),
]


def test_an_error_changes_nothing(bbrctl, profiles):
    name = profiles
    bbrctl("rule", "add", "--name", name, "--dport", 7, "--profile", "p1")
    bbrctl("rule", "add", "--name", name, "--dport", 8, "--profile", "p2")
    before = listed(bbrctl, name)
    for status, args in ERRORS:
        done = bbrctl("--name", name, *args, status=status)
        assert not done.out and listed(bbrctl, name) == before, done


def test_what_is_not_loaded_has_no_rules(bbrctl, free_name):
    name = free_name()
    for args in (["rule", "list"], ["rule", "flush"], ["rule", "add", "--dport", "7", "--profile", "p1"],
                 ["rule", "delete", "1"], ["rule", "test", "10.0.0.1"]):
        bbrctl("--name", name, *args, status=NOTHING)
    bbrctl("rule", "add", "--name", name, "--dport", "0", "--profile", "p1", status=USAGE)


def test_rule_test(bbrctl, profiles, cgroups):
    name = profiles
    cgroups.make("a")
    cgroups.make("a/b")
    for rule in (["--dst", "10.0.0.0/8", "--profile", "p1"], ["--dst", "10.9.0.0/16", "--profile", "p2"],
                 ["--mark", "0", "--dport", "7", "--profile", "p3"], ["--mark", "5", "--profile", "p4"],
                 ["--cgroup", cgroups.path("a"), "--profile", "p5"], ["--sport", "6", "--profile", "p6"]):
        bbrctl("rule", "add", "--name", name, *rule)
    for args, number, profile in ((["10.9.0.1"], 1, "p1"), (["::ffff:10.9.0.1"], 1, "p1"), (["11.0.0.1"], None, "default"),
                                  (["fd00::1", "--dport", "7"], 3, "p3"), (["fd00::1", "--dport", "8"], None, "default"),
                                  (["fd00::1", "--dport", "7", "--mark", "5"], 4, "p4"),
                                  (["fd00::1", "--cgroup", cgroups.path("a/b")], 5, "p5"),
                                  (["fd00::1", "--cgroup", cgroups.path("")], None, "default"),
                                  (["fd00::1", "--cgroup", cgroups.path("a"), "--sport", "6"], 5, "p5"),
                                  (["fd00::1", "--sport", "6"], 6, "p6")):
        found = bbrctl.json("rule", "test", "--name", name, *args)
        assert (found["rule"], found["profile"]) == (number, profile), args
    assert bbrctl("rule", "test", "--name", name, "11.0.0.1").out == "no rule: --profile default\n"
    assert bbrctl("rule", "test", "--name", name, "10.0.0.1").out == "1: --dst 10.0.0.0/8 --profile p1\n"


def test_cgroups_by_any_of_their_paths(bbrctl, profiles, cgroups):
    cgroups.make("a b")
    for path in (cgroups.path("a b"), cgroups.path("a b")[1:], str(cgroups.mount) + cgroups.path("a b"),
                 cgroups.path("a b") + "/"):
        added = bbrctl.json("rule", "add", "--name", profiles, "--cgroup", path, "--profile", "p1")
        assert (added["cgroup"], added["cgroup_id"]) == (cgroups.path("a b"), cgroups.id("a b"))
        bbrctl("rule", "delete", "--name", profiles, "--cgroup", path)
    assert bbrctl.json("rule", "add", "--name", profiles, "--cgroup", "/", "--profile", "p1")["cgroup"] == "/"


def test_a_cgroup_that_is_gone(bbrctl, profiles, cgroups):
    """The rule stays, and shows the cgroup's id instead of its path."""
    cgroups.make("a")
    number = cgroups.id("a")
    bbrctl("rule", "add", "--name", profiles, "--cgroup", cgroups.path("a"), "--profile", "p1")
    cgroups.remove("a")
    wait_until(lambda: f"1: --cgroup id:{number} --profile p1" in listed(bbrctl, profiles), "the cgroup is gone")
    assert rules(bbrctl, profiles)[0]["cgroup_id"] == number
    bbrctl("rule", "add", "--name", profiles, "--cgroup", cgroups.path("a"), "--profile", "p1", status=USAGE)
    bbrctl("rule", "delete", "--name", profiles, 1)


# Connections


def as_v6(address):
    """An address of either family as one number: IPv4 is ::ffff:a.b.c.d."""
    number = int(ipaddress.ip_address(address))
    return number if ":" in str(address) else 0xffff << 32 | number


def has_prefix(network, address):
    length = network.prefixlen + (0 if network.version == 6 else 96)
    return not (as_v6(network.network_address) ^ as_v6(address)) >> (128 - length)


def is_below(cgroup, end):
    return end["cgroup"] is not None and (cgroup == "" or f"{end['cgroup']}/".startswith(f"{cgroup}/"))


def some_prefix(rng, world):
    address = rng.choice(world.v4 + world.v6)
    return ipaddress.ip_network((address, rng.choice((64, 80, 112, 128) if ":" in address else (8, 9, 24, 32))), strict=False)


MORE = {
    "--src": some_prefix, "--not-dst": some_prefix, "--not-src": some_prefix,
    "--not-dport": lambda rng, world: rng.choice(world.ports), "--not-sport": lambda rng, world: rng.choice(world.ports),
    "--not-mark": lambda rng, world: rng.choice(world.marks),
    "--not-cgroup": lambda rng, world: rng.choice(world.cgroups.made),
    "--dev": lambda rng, world: rng.choice(("lo", "lo", "lo0", "l")), "--not-dev": lambda rng, world: rng.choice(("lo", "l")),
}
HOLDS = {
    "--src": lambda value, end: has_prefix(value, end["local"]),
    "--not-dst": lambda value, end: not has_prefix(value, end["remote"]),
    "--not-src": lambda value, end: not has_prefix(value, end["local"]),
    "--not-dport": lambda value, end: value != end["dport"], "--not-sport": lambda value, end: value != end["sport"],
    "--not-mark": lambda value, end: value != end["mark"], "--not-cgroup": lambda value, end: not is_below(value, end),
    "--dev": lambda value, end: value == "lo", "--not-dev": lambda value, end: value != "lo",
}


class Rule:
    """With `more`, half of the rules also have what the trie cannot look up: a local address or device, or a "not"."""

    def __init__(self, rng, world, more=False):
        self.dst = self.dport = self.sport = self.mark = self.cgroup = None
        if rng.random() < 0.7:
            address = rng.choice(world.v4 + world.v6)
            lengths = (0, 1, 64, 80, 95, 96, 100, 112, 120, 127, 128) if ":" in address else (0, 1, 8, 9, 16, 24, 31, 32)
            if ":" not in address and rng.random() < 0.1:
                address = f"::ffff:{address}"
                lengths = 0, 64, 90, 96, 104, 128
            self.dst = ipaddress.ip_network((address, rng.choice(lengths)), strict=False)
        if rng.random() < 0.25:
            self.dport = rng.choice(world.ports)
        if rng.random() < 0.25:
            self.sport = rng.choice(world.ports)
        if rng.random() < 0.2:
            self.mark = rng.choice(world.marks)
        if rng.random() < 0.25:
            self.cgroup = rng.choice(world.cgroups.made)
        self.profile = rng.randrange(PROFILES)
        self.options = [str(word) for option, value in (
            ("--dst", self.dst), ("--dport", self.dport), ("--sport", self.sport), ("--mark", self.mark),
            ("--cgroup", None if self.cgroup is None else world.cgroups.path(self.cgroup))) if value is not None
            for word in (option, value)]
        self.more = {}
        for option in rng.sample(sorted(MORE), rng.randrange(1, 4)) if more and rng.random() < 0.5 else ():
            self.more[option] = MORE[option](rng, world)
            shown = world.cgroups.path(self.more[option]) if option == "--not-cgroup" else self.more[option]
            self.options = [option, str(shown), *self.options]  # in a file --cgroup is the last one

    def matches(self, end):
        if any(not HOLDS[option](value, end) for option, value in self.more.items()):
            return False
        if self.dst is not None and not has_prefix(self.dst, end["remote"]):
            return False
        if any(want is not None and want != end[field]
               for field, want in (("dport", self.dport), ("sport", self.sport), ("mark", self.mark))):
            return False
        return self.cgroup is None or is_below(self.cgroup, end)


class World:
    """The parts to make connections from: addresses on a loopback, ports, marks, cgroups, listeners."""

    def __init__(self, rng, ns, cgroups, cc):
        self.rng, self.ns, self.cgroups, self.cc = rng, ns, cgroups, cc
        for name in ("a", "a/b", "a/b/c", "a/b/c/d", "a/bb", "e"):
            cgroups.make(name)
        ns.run("sysctl", "-q", "-w", "net.ipv6.conf.lo.disable_ipv6=0")
        self.v4 = ["127.0.0.1", "127.0.0.2", "127.0.1.1", "127.1.0.1", "127.128.0.1", "127.255.255.254", "127.0.0.3"]
        self.v6 = ["fd77::1", "fd77::2", "fd77::1:0:1", "fd77:0:0:1::1", "fd78::1", "::1"]
        for address in self.v6[:-1]:
            ns.ip("addr", "add", f"{address}/128", "dev", "lo", "nodad")
        self.marks = [0, 1, 2, 0x80000001]
        self.listeners = [self.listen(*how) for how in (
            ("0.0.0.0", 0, None), ("0.0.0.0", 2, "a/b"), ("::", 0, "a/b/c/d"), ("::", 1, None), ("::", 0x80000001, "e"))]
        self.client_ports = [40001, 40002, 40003]
        self.ports = self.client_ports + [listener.getsockname()[1] for listener, _, _ in self.listeners]

    def socket(self, family, mark, cgroup):
        with self.cgroups.entered(cgroup):
            sock = new_socket(self.ns, family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if mark:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, struct.pack("I", mark))
        set_cc(sock, self.cc)
        return sock

    def listen(self, address, mark, cgroup):
        sock = self.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, mark, cgroup)
        if ":" in address:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind((address, 0))
        sock.listen(4)
        return sock, mark, cgroup

    def connect(self):
        """Makes a connection and ends it with a RST. Returns its two ends, as rules see them."""
        rng = self.rng
        listener, mark, cgroup = rng.choice(self.listeners)
        v6 = listener.family == socket.AF_INET6 and rng.random() < 0.6
        pool = self.v6 if v6 else self.v4
        local, remote = rng.choice(pool), rng.choice(pool)
        family, form = (socket.AF_INET6, "{}") if v6 else (socket.AF_INET, "{}")
        if not v6 and rng.random() < 0.3:  # an IPv6 socket that speaks IPv4
            family, form = socket.AF_INET6, "::ffff:{}"
        own_mark, own_cgroup = rng.choice(self.marks), rng.choice([None, *self.cgroups.made])
        client = self.socket(family, own_mark, own_cgroup)
        client.bind((form.format(local), rng.choice([0, *self.client_ports])))
        port, dport = client.getsockname()[1], listener.getsockname()[1]
        client.connect((form.format(remote), dport))
        server = accept(listener)
        reset(client)
        server.close()
        return [{"local": local, "sport": port, "remote": remote, "dport": dport, "mark": own_mark, "cgroup": own_cgroup},
                {"local": remote, "sport": dport, "remote": local, "dport": port, "mark": mark, "cgroup": cgroup}]


def first(ruleset, end):
    """The reference: the number of the first rule that matches, and its profile."""
    return next(((i, rule.profile) for i, rule in enumerate(ruleset, 1) if rule.matches(end)), (None, 0))


def put_in_force(bbrctl, write_rules, name, ruleset, rng):
    """Writes all rules at once. Adds a small set one by one in random order, each before the rule that must follow it."""
    if len(ruleset) > 6 or len({" ".join(rule.options) for rule in ruleset}) < len(ruleset):
        write_rules(name, (" ".join([*rule.options, "--profile", str(rule.profile)]) for rule in ruleset))
        return
    bbrctl("rule", "flush", "--name", name, status=None)
    there = []
    for i in rng.sample(range(len(ruleset)), len(ruleset)):
        place = sum(other < i for other in there)
        profile = f"p{ruleset[i].profile}" if ruleset[i].profile else "default"
        before = ["--before", place + 1] if place < len(there) else []
        done = bbrctl("rule", "add", "--name", name, *ruleset[i].options, "--profile", profile, *before, status=None)
        if done.status == NOTHING:  # 0.0.0.0/0 and ::ffff:0:0/96 are the same
            return put_in_force(bbrctl, write_rules, name, ruleset + ruleset, rng)
        there.append(i)


@pytest.mark.parametrize("more", [False, True], ids=["in the trie", "and terms"])
def test_every_connection_gets_what_the_rules_say(bbrctl, profiles, write_rules, ns, cgroups, monitor, more):
    name, rng = profiles, random.Random(5)
    world = World(rng, ns, cgroups, name)
    watching = monitor(name, "--every", "transition")
    seen, profiles_seen = 0, set()
    for n in range(SETS):
        ruleset = [Rule(rng, world, more) for _ in range(rng.choice((1, 2, 3, 5, 8, 13, 30, 80)))]
        put_in_force(bbrctl, write_rules, name, ruleset, rng)
        ends = [end for _ in range(CONNECTIONS) for end in world.connect()]
        watching.wait_for(lambda m: len(m.of("start")) >= seen + len(ends), "the start of each end")
        started = watching.of("start")[seen:]
        seen += len(ends)
        found = {(e["local"], e["lport"], e["remote"], e["rport"]): e["profile_index"] for e in started}
        for i, end in enumerate(ends):
            number, profile = first(ruleset, end)
            key = end["local"], end["sport"], end["remote"], end["dport"]
            if sum((e["local"], e["lport"], e["remote"], e["rport"]) == key for e in started) == 1:
                assert found[key] == profile, f"set {n}: {end}: rule {number}, of {[r.options for r in ruleset]}"
                profiles_seen.add(profile)
            if i >= TESTED:
                continue
            cgroup = world.cgroups.path(end["cgroup"]) if end["cgroup"] is not None else None
            tested = bbrctl.json("rule", "test", "--name", name, end["remote"], "--dport", end["dport"],
                                 "--sport", end["sport"], "--mark", end["mark"], "--src", end["local"], "--dev", "lo",
                                 *(["--cgroup", cgroup] if cgroup else []))
            assert (tested["rule"], tested["profile"]) == (number, f"p{profile}" if profile else "default"), end
    assert profiles_seen == set(range(PROFILES))
    watching.stop()


def test_the_levels_of_cgroups(bbrctl, profiles, cgroups, ns, monitor):
    """32 levels from the socket's cgroup upwards count; the tools see no more than the program."""
    name, depth = profiles, 34
    names = ["/".join(["x"] * i) for i in range(1, depth + 1)]
    for cgroup in names:
        cgroups.make(cgroup)
    watching = monitor(name, "--every", "transition")
    listener = listen(ns)
    for height, reached in (0, True), (31, True), (32, False):
        bbrctl("rule", "flush", "--name", name, status=None)
        bbrctl("rule", "add", "--name", name, "--cgroup", cgroups.path(names[-1 - height]), "--profile", "p1")
        seen = len(watching.of("start"))
        with cgroups.entered(names[-1]):
            sender = new_socket(ns, socket.AF_INET)
        set_cc(sender, name)
        sender.connect(listener.getsockname())
        accept(listener)
        watching.wait_for(lambda m: len(m.of("start")) > seen, "the start")
        assert watching.of("start")[-1]["profile_index"] == int(reached), height
        tested = bbrctl.json("rule", "test", "--name", name, "127.0.0.1", "--cgroup", cgroups.path(names[-1]))
        assert (tested["rule"] == 1) is reached
    watching.stop()


def test_rules_are_for_new_connections(bbrctl, profiles, ns):
    name = profiles
    counts = lambda: {p["profile"]: p["connections"]  # noqa: E731
                      for p in bbrctl.json("profile", "list", "--name", name)["profiles"] if p["connections"]}
    listener = listen(ns)
    old = connect(ns, listener, cc=name)
    bbrctl("rule", "add", "--name", name, "--dst", "127.0.0.0/8", "--profile", "p1")
    assert counts() == {"default": 1}
    new = connect(ns, listener, cc=name)
    assert counts() == {"default": 1, "p1": 1}
    bbrctl("rule", "flush", "--name", name)
    assert counts() == {"default": 1, "p1": 1}
    for pair in old, new:
        Transfer(*pair, MB).finish()


# Many


def numbered(i):
    return f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"


def test_many_rules(bbrctl, profiles, write_rules):
    """As many rules as are allowed, and not one more. None is lost when one among them is deleted or added."""
    name = profiles
    write_rules(name, (f"--dst {numbered(i)} --profile {i % PROFILES}" for i in range(MOST)))
    assert str(MOST) in bbrctl("rule", "add", "--name", name, "--dport", 7, "--profile", "p1", status=REFUSED).err
    check = lambda: [bbrctl.json("rule", "test", "--name", name, numbered(i))["profile"]  # noqa: E731
                     for i in (0, 1, 4095, 30_000, MOST - 1)]
    expected = ["default", "p1", "p7", "default", "p7"]
    assert check() == expected
    assert bbrctl.json("rule", "delete", "--name", name, 30_001)["dst"] == numbered(30_000)
    assert bbrctl.json("rule", "add", "--name", name, "--dst", numbered(30_000), "--profile", "p6", "--before", 1)["rule"] == 1
    assert check() == ["default", "p1", "p7", "p6", "p7"]
    after = rules(bbrctl, name)
    assert [r["dst"] for r in after] == [numbered(30_000)] + [numbered(i) for i in range(MOST) if i != 30_000]
    assert bbrctl.json("rule", "flush", "--name", name)["deleted"] == MOST


def test_connections_with_many_rules(bbrctl, profiles, write_rules, ns, monitor):
    name, rng = profiles, random.Random(6)
    write_rules(name, [f"--dst 127.{i >> 8}.{i & 255}.0/24 --profile {i % 7 + 1}" for i in range(4096)])
    watching = monitor(name, "--every", "transition")
    listener = listen(ns, "0.0.0.0")
    addresses = [(rng.randrange(16), rng.randrange(256)) for _ in range(50)]
    for high, low in addresses:
        connect(ns, listener, f"127.{high}.{low}.9", cc=name)
    watching.wait_for(lambda m: len(m.of("start")) == len(addresses), "the starts")
    found = {e["remote"]: e["profile_index"] for e in watching.of("start")}
    assert found == {f"127.{high}.{low}.9": (256 * high + low) % 7 + 1 for high, low in addresses}
    watching.stop()


def test_rules_are_listed_while_they_change(bbrctl, profiles):
    """A reader sees the rules as before or after a change, and gets no error."""
    name = profiles
    bbrctl("rule", "add", "--name", name, "--dport", 1, "--profile", "p1")
    loop = f"for i in $(seq 12); do {bbrctl.path} rule add --name {name} --dport 7 --profile p2 && " \
           f"{bbrctl.path} rule delete --name {name} 2 || exit 1; done"
    with subprocess.Popen(["bash", "-c", loop], stdout=subprocess.DEVNULL) as writer:
        while writer.poll() is None:
            assert [r["dport"] for r in rules(bbrctl, name)] in ([1], [1, 7])
    assert writer.returncode == 0
