# SPDX-License-Identifier: GPL-2.0-only
"""
Lines `route = PREFIX` of a file for apply: a route's congctl. All routes are those of namespaces that the tests made.
"""
import json
import signal
import socket
import subprocess
import time

import pytest

from system import registered, run, wait_until
from kills import Traced
from tool import DONE, NOTHING, REFUSED, USAGE, Tool
from transfer import connect, get_cc, listen

FAMILIES = {"v4": ("-4", "10.77.0.0/24", "198.51.100.0/24", "10.77.0.2", "0.0.0.0/0"),
            "v6": ("-6", "fd77::/64", "2001:db8:9::/48", "fd77::2", "::/0")}


class Machine:
    """One instance of this machine, as files change it."""

    def __init__(self, bbrctl, path, name):
        self.bbrctl, self.path, self.name = bbrctl, path, name

    def apply(self, text, *args, **kwargs):
        self.path.write_text(text)
        return self.bbrctl("apply", "--name", self.name, *args, self.path, **kwargs)

    def json(self, *args, **kwargs):
        return self.bbrctl.json("apply", "--name", self.name, *args, self.path, **kwargs)

    def save(self):
        return self.bbrctl("save", "--name", self.name).out

    def saved(self):
        return self.bbrctl.json("save", "--name", self.name)[0]["routes"]

    def unload(self):
        self.bbrctl("unload", "--name", self.name)


@pytest.fixture
def machine(bbrctl, tmp_path, name):
    machine = Machine(bbrctl, tmp_path / "machine.conf", name)
    yield machine
    bbrctl("unload", "--name", name, status=None)


@pytest.fixture
def own(tmp_path):
    """For a bbrctl with a /var/lib of its own, where it keeps what --undo needs."""
    (tmp_path / "lib/bpf-bbr").mkdir(parents=True, mode=0o700)
    return {"prefix": ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /var/lib && exec "$@"', str(tmp_path / "lib")]}


class Following:
    """A bbrctl apply --follow of the machine's file, while a block runs."""

    def __init__(self, machine, prefix=()):
        self.process = Tool(machine.bbrctl.path, prefix).start("apply", "--follow", "--name", machine.name, machine.path, text=True,
                                                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.out, self.err = self.process.communicate(timeout=60)

    def ends(self):
        """Its exit status, once it has ended by itself."""
        wait_until(lambda: self.process.poll() is not None, "it ends")
        return self.process.returncode


class Routes:
    """The routes of one namespace and family, table main."""

    def __init__(self, link, family):
        self.ns, self.device = link.ends[0], link.names[0]
        self.six, self.near, self.far, self.via, self.all = FAMILIES[family]
        self.peer = self.via

    def ip(self, *args):
        return self.ns.ip(self.six, "route", *args)

    def show(self, *which):
        return json.loads(run("ip", "-n", self.ns.name, "-d", "-j", self.six, "route", "show", *which).stdout or "[]")

    def one(self, *which):
        found, = self.show("exact", *which)
        return found

    def congctl(self, prefix):
        """Of all routes to the prefix."""
        return [route.get("metrics", [{}])[0].get("congestion") for route in self.show("exact", prefix)]

    def all_lines(self):
        lines = self.ip("show").stdout.replace(" linkdown", "").splitlines()  # until the pair of devices is up
        return sorted(line for line in lines if not line.startswith("fe80"))

    def line(self, prefix, *options):
        return f"route = {' '.join([prefix, *options])} --netns {self.ns.name}\n"


@pytest.fixture(params=FAMILIES)
def routes(request, link):
    link.ends[0].default_congestion_control("reno")
    return Routes(link, request.param)


@pytest.fixture
def name(free_name):
    return free_name()


def file(name, *lines):
    return f"[instance {name}]\n" + "".join(lines)


@pytest.mark.parametrize("lock", [(), ("--lock",)], ids=["", "lock"])
def test_a_route_that_is_there(machine, routes, name, lock, link):
    """It gets the congctl and keeps all else; without the line it has what it had."""
    via = "via", routes.via, "dev", routes.device, "metric", "77", "mtu", "lock", "1400", "initcwnd", "12", "proto", "static"
    routes.ip("add", routes.far, *via)
    before, all_before = routes.one(routes.far), routes.all_lines()
    text = file(name, routes.line(routes.far, *lock), routes.line(routes.near))
    machine.apply(text, "--check", status=NOTHING)
    assert routes.all_lines() == all_before
    locked = " (locked)" if lock else ""
    assert (f"{name}: now the congctl{locked} of route {routes.far} in network namespace {routes.ns.name} (was none)\n"
            in machine.apply(text).out)
    shown = routes.ip("show", "exact", routes.far).stdout
    assert f"congctl {'lock ' if lock else ''}{name}" in shown and "mtu lock 1400" in shown and "initcwnd 12" in shown
    after = routes.one(routes.far)
    assert {k: v for k, v in after.items() if k != "metrics"} == {k: v for k, v in before.items() if k != "metrics"}
    assert routes.congctl(routes.near) == [name]
    sender, _ = connect(link.ends[0], listen(link.ends[1], routes.peer))
    assert get_cc(sender) == name
    assert "nothing to change" in machine.apply(text).out
    machine.apply(text, "--check", status=DONE)
    machine.apply(file(name))
    assert routes.all_lines() == all_before


def test_a_file_of_save(machine, routes, name):
    text = file(name, routes.line(routes.near, "--lock"))
    machine.apply(text)
    saved = machine.save()
    assert routes.line(routes.near, "--lock") in saved
    assert machine.saved() == [
        {"prefix": routes.near, "netns": routes.ns.name, "inode": routes.ns.inode, "locked": True}]
    machine.unload()
    assert routes.congctl(routes.near) == [None]
    machine.apply(saved)
    assert routes.congctl(routes.near) == [name] and machine.save() == saved


def test_drift_and_diff(machine, routes, name):
    text = file(name, routes.line(routes.near))
    assert f"+{routes.line(routes.near)}" in machine.apply(text, "--diff").out
    machine.apply(text)
    proto = ("proto", "kernel", "metric", "256") if routes.six == "-6" else ()
    routes.ip("change", routes.near, "dev", routes.device, *proto, "congctl", "reno")
    change, = machine.json("--check", status=NOTHING)["changes"]
    assert (change["change"], change["prefix"], change["old_congctl"], change["made"]) == ("route", routes.near, "reno", False)
    answer = machine.apply(text, "--check", status=NOTHING).out
    assert f"{name}: is not the congctl of route {routes.near} in network namespace {routes.ns.name}, but reno is\n" in answer
    machine.apply(text)
    assert routes.congctl(routes.near) == [name]
    machine.apply(file(name))
    assert routes.congctl(routes.near) == ["reno"]


def test_one_is_made(machine, routes, name, link):
    """A prefix without a route gets one that leads as its packets do, and nobody else's is touched."""
    before = routes.all_lines()
    prefix = routes.peer  # a single address
    text = file(name, routes.line(prefix))
    assert f"of route {prefix} in network namespace {routes.ns.name}, which was made\n" in machine.apply(text).out
    made = routes.one(prefix)
    assert made["protocol"] == "66" and made["dev"] == routes.device and made["metric"] == 4294967295
    assert routes.congctl(prefix) == [name] and routes.congctl(routes.near) == [None]
    sender, receiver = connect(link.ends[0], listen(link.ends[1], routes.peer))
    assert get_cc(sender) == name
    assert "nothing to change" in machine.apply(text).out
    machine.apply(file(name))
    assert routes.all_lines() == before


def test_a_made_route_follows(machine, routes, name):
    """It leads as the route above it; it goes when its prefix gets a route of its own."""
    routes.ip("add", "default", "via", routes.via, "dev", routes.device, "mtu", "1300", "metric", "5")
    text = file(name, routes.line(routes.far))
    machine.apply(text)
    assert routes.one(routes.far)["gateway"] == routes.ip("show", "default").stdout.split()[2]
    other = routes.via[:-1] + "9"
    routes.ip("change", "default", "via", other, "dev", routes.device, "metric", "5")
    assert "as it leads now" in machine.apply(text, "--check", status=NOTHING).out
    assert "which was made again" in machine.apply(text).out
    assert routes.one(routes.far)["gateway"] == other and "mtu" not in routes.ip("show", "exact", routes.far).stdout
    routes.ip("add", routes.far, "via", routes.via, "dev", routes.device)
    machine.apply(text)
    assert routes.congctl(routes.far) == [name] and routes.one(routes.far)["protocol"] != "66"
    machine.unload()
    assert routes.congctl(routes.far) == [None]


def test_all_routes_to_a_default(machine, routes, name):
    """Each metric's."""
    for metric, last in (5, "7"), (6, "8"):
        routes.ip("add", "default", "via", routes.via[:-1] + last, "dev", routes.device, "metric", metric)
    before = routes.all_lines()
    machine.apply(file(name, routes.line(routes.all)))
    assert routes.congctl("default") == [name, name] and len(routes.all_lines()) == len(before)
    assert machine.saved()[0]["prefix"] == routes.all and len(machine.saved()) == 1
    machine.unload()
    assert routes.all_lines() == before


def test_several_next_hops(machine, routes, name):
    hops = [word for last in "78" for word in ("nexthop", "via", routes.via[:-1] + last, "dev", routes.device, "weight", last)]
    routes.ip("add", routes.far, *hops)
    before, (old,) = routes.all_lines(), routes.show("exact", routes.far)
    text = file(name, routes.line(routes.far), routes.line(routes.far.split("/")[0]))
    machine.apply(text)
    new = routes.one(routes.far)
    assert new["nexthops"] == old["nexthops"] and routes.congctl(routes.far) == [name]
    assert routes.one(routes.far.split("/")[0])["nexthops"] == old["nexthops"]
    machine.unload()
    assert routes.all_lines() == before


def test_a_next_hop_object(machine, routes, name):
    routes.ns.ip(routes.six, "nexthop", "add", "id", "9", "via", routes.via, "dev", routes.device)
    routes.ip("add", routes.far, "nhid", "9")
    before = routes.all_lines()
    machine.apply(file(name, routes.line(routes.far)))
    assert routes.one(routes.far)["nhid"] == 9 and routes.congctl(routes.far) == [name]
    machine.unload()
    assert routes.all_lines() == before


def test_it_waits_for_a_route(machine, routes, name):
    """As at boot, before the network is up: the rest of the file is applied."""
    text = file(name, routes.line(routes.far))
    assert f"{name}: waits: nothing leads to route {routes.far} in network namespace {routes.ns.name} yet\n" in machine.apply(text).out
    assert machine.json()["waiting"][0]["prefix"] == routes.far
    assert "bbrctl: " in machine.apply(text, "--check", status=NOTHING).err
    routes.ip("add", "default", "via", routes.via, "dev", routes.device)
    machine.apply(text)
    assert routes.congctl(routes.far) == [name]
    machine.apply(text, "--check", status=DONE)


def test_it_follows_the_network(machine, routes, name):
    """As after a boot, and when a DHCP client or a daemon writes routes anew."""
    text = file(name, routes.line(routes.far), routes.line(routes.all))
    machine.apply(text)
    with Following(machine) as following:
        routes.ip("add", "default", "via", routes.via, "dev", routes.device)
        wait_until(lambda: routes.congctl(routes.far) == routes.congctl("default") == [name], "both have it")
        made = routes.one(routes.far)
        assert made["protocol"] == "66"
        machine.apply(text, "--check", status=DONE)
        other = routes.via[:-1] + "9"
        routes.ip("replace", "default", "via", other, "dev", routes.device)
        wait_until(lambda: routes.congctl("default") == [name] and routes.one(routes.far)["gateway"] == other, "they follow")
        routes.ip("del", routes.far, "proto", "66")
        wait_until(lambda: routes.congctl(routes.far) == [name], "it is made again")
        routes.ip("add", routes.far, "via", routes.via, "dev", routes.device)
        wait_until(lambda: routes.congctl(routes.far) == [name] and routes.one(routes.far)["protocol"] != "66", "it is its own")
    assert f"{name}: now the congctl of route {routes.far} in network namespace {routes.ns.name}, which was made\n" in following.out
    assert not following.err and following.process.returncode == -signal.SIGTERM


def test_it_follows_no_further(bbrctl, machine, routes, name, own):
    """It leaves alone what is not about routes, and routes that the last apply did not make."""
    first = file(name, routes.line(routes.near)) + "[default]\ncwnd_gain = 3\n"
    routes.ip("add", "default", "via", routes.via, "dev", routes.device)
    machine.apply(file(name, routes.line(routes.far)), **own)
    machine.apply(first, **own)
    bbrctl("set", "--name", name, "cwnd_gain=2.5")
    with Following(machine, **own):
        def lose():
            routes.ip("del", routes.near)
            proto = ("proto", "kernel", "metric", "256") if routes.six == "-6" else ("proto", "kernel", "scope", "link")
            routes.ip("add", routes.near, "dev", routes.device, *proto)

        def stays_lost():
            lose()
            time.sleep(2)
            return routes.congctl(routes.near) == [None]

        lose()
        wait_until(lambda: routes.congctl(routes.near) == [name], "it has it again")
        assert bbrctl.json("show", "--name", name, "cwnd_gain")["params"][0]["value"] == 2.5
        machine.path.write_text(first + "bw_win = 12\n")  # nobody has applied this
        # It looks once more after its own change. If it read the file before the write, it mends one loss, but no second.
        assert stays_lost() or stays_lost()
        bbrctl("apply", "--undo", "--name", name, **own)
        assert routes.congctl(routes.far) == [name]
        routes.ip("del", routes.far)
        machine.path.write_text(first)  # undone: the routes of before count
        lose()
        wait_until(lambda: routes.congctl(routes.far) == [name], "the one of before is made again")
        assert routes.congctl(routes.near) == [None]


def test_what_it_cannot_follow(machine, routes, name):
    machine.apply(file(name))
    with Following(machine) as following:
        assert following.ends() == DONE
    assert (following.out, following.err) == ("", "")
    for option in "--check", "--diff", "--hold", "--prune", "--undo", "--service":
        assert "--follow takes no other option than --name" in machine.bbrctl("apply", "--follow", option, status=USAGE).err
    machine.path.write_text("nonsense")
    with Following(machine) as following:
        assert following.ends() == USAGE


def test_what_cannot_be(machine, routes, name):
    """Then nothing else is changed either."""
    routes.ip("add", "unreachable", routes.far)
    before = routes.all_lines()
    for text, why in [(routes.line(routes.near) + routes.line(routes.far), "leads nowhere")]:
        assert why in machine.apply(file(name, text), status=REFUSED).err
        assert routes.all_lines() == before and name not in registered()


def test_other_tables(machine, routes, name):
    """With rules that lead elsewhere, a route of table main would take packets off their way."""
    routes.ip("add", "default", "via", routes.via, "dev", routes.device)
    routes.ip("add", "default", "via", routes.via, "dev", routes.device, "table", "77")
    routes.ns.ip(routes.six, "rule", "add", "table", "77", "pref", "77")
    refused = machine.apply(file(name, routes.line(routes.far)), status=REFUSED).err
    assert f"route {routes.far} in network namespace {routes.ns.name}: packets to it do not take table main, but table 77\n" in refused
    assert routes.show("exact", routes.far) == []


def test_routers_advertise(machine, routes, name):
    if routes.six == "-4":
        return
    routes.ip("add", "default", "via", routes.via, "dev", routes.device, "proto", "ra", "expires", "600")
    assert "router advertisements" in machine.apply(file(name, routes.line("::/0")), status=REFUSED).err


def test_two_that_cannot_be_told_apart(machine, routes, name):
    if routes.six == "-6":
        routes.ns.ip("link", "add", "other", "type", "veth", "peer", "name", "end")
        routes.ns.ip("link", "set", "end", "up")
        routes.ns.ip("link", "set", "other", "up")
        routes.ip("append", routes.near, "dev", "other", "metric", "256")
    else:
        routes.ip("append", routes.near, "via", routes.via, "dev", routes.device)
    assert len(routes.show("exact", routes.near)) == 2
    before = routes.all_lines()
    assert "two with the same metric" in machine.apply(file(name, routes.line(routes.near)), status=REFUSED).err
    assert routes.all_lines() == before


def test_a_route_by_hand_stays(machine, routes, name):
    """What an administrator set with ip(8) is not an apply's, until the file names it."""
    machine.apply(file(name))
    routes.ip("add", routes.far, "via", routes.via, "dev", routes.device, "congctl", name)
    assert "nothing to change" in machine.apply(file(name)).out
    assert "route" not in machine.save()
    machine.apply(file(name), "--prune")
    assert routes.congctl(routes.far) == [name]
    text = file(name, routes.line(routes.far))
    machine.apply(text)
    assert routes.line(routes.far) in machine.save()
    machine.apply(file(name))
    assert routes.congctl(routes.far) == [None]


@pytest.mark.machine_alone  # it is about two instances
def test_from_one_instance_to_another(bbrctl, tmp_path, routes, free_name):
    one, two = free_name(), free_name()

    def apply(text):
        (tmp_path / "both").write_text(text)
        bbrctl("apply", tmp_path / "both")

    routes.ip("add", routes.far, "via", routes.via, "dev", routes.device, "congctl", "lock", "reno")
    before = routes.all_lines()
    apply(file(one, routes.line(routes.far)) + file(two))
    apply(file(one) + file(two, routes.line(routes.far)))
    assert routes.congctl(routes.far) == [two]
    apply("")
    assert routes.all_lines() == before


def test_undo(bbrctl, machine, routes, name, own):
    machine.apply(file(name, routes.line(routes.near)), **own)
    machine.apply(file(name, routes.line(routes.peer, "--lock")), **own)
    assert routes.congctl(routes.near) == [None] and routes.congctl(routes.peer) == [name]
    bbrctl("apply", "--undo", "--name", name, **own)
    assert routes.congctl(routes.near) == [name] and routes.congctl(routes.peer) == []
    bbrctl("apply", "--undo", "--name", name, **own)
    assert routes.congctl(routes.near) == [None] and "congctl lock" in routes.ip("show", "exact", routes.peer).stdout


def test_undo_brings_a_line_back_that_waits(bbrctl, machine, routes, name, own):
    """Its network may come up after the undo."""
    machine.apply(file(name, routes.line(routes.far)), **own)
    machine.apply(file(name, routes.line(routes.near)), **own)
    assert f"{name}: waits: " in bbrctl("apply", "--undo", "--name", name, **own).out
    assert routes.congctl(routes.near) == [None]
    bbrctl("apply", "--undo", "--name", name, **own)
    assert routes.congctl(routes.near) == [name]


def test_killed_at_each_call(build, machine, routes, name, tmp_path):
    """The route is as before or as the file says; the next apply does the rest, and the way back leads to what was before."""
    quick = Tool(build.parent / "bbrctl")
    old, new = tmp_path / "old", tmp_path / "new"
    routes.ip("add", routes.far, "via", routes.via, "dev", routes.device, "mtu", "1400", "congctl", "reno")
    before = routes.all_lines()
    old.write_text(file(name))
    new.write_text(file(name, routes.line(routes.far, "--lock"), routes.line(routes.peer)))
    quick("apply", "--name", name, old)
    forth, back = (Traced(tmp_path, quick.path, "apply", "--name", name, to) for to in (new, old))
    calls = forth.calls(), back.calls()
    seen = set()
    for traced, its, to in (forth, calls[0], new), (back, calls[1], old):
        last = max(i for i, call in enumerate(its) if call == "sendto")
        where = sorted({*traced.places()[::6], *range(last - 14, last + 3)})
        for i in where:
            quick("apply", "--name", name, new if to == old else old)
            traced.kill_at(its, i)
            seen.add((routes.congctl(routes.far)[0], *routes.congctl(routes.peer)))
            quick("apply", "--name", name, new)
            assert routes.congctl(routes.far) == routes.congctl(routes.peer) == [name]
            quick("apply", "--name", name, old)
            assert routes.all_lines() == before
    assert {("reno",), (name, name)} <= seen <= {("reno",), (name, name), (name,), ("reno", name)}


def test_who_wins(machine, routes, name, link):
    """The route decides when a connection begins, whatever its program chose before; with lock also later."""
    sender, receiver = link.ends
    machine.apply(file(name, routes.line(routes.near)))
    listener = listen(receiver, routes.peer)
    before, _ = connect(sender, listener, cc="cubic")
    assert get_cc(before) == name
    later, _ = connect(sender, listener)
    later.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    machine.apply(file(name, routes.line(routes.near, "--lock")))
    locked, _ = connect(sender, listener)
    with pytest.raises(PermissionError):
        locked.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")


def test_unload_and_upgrade(bbrctl, machine, routes, name):
    before = routes.all_lines()
    machine.apply(file(name, routes.line(routes.near), routes.line(routes.peer)))
    bbrctl("upgrade", "--name", name)
    assert machine.saved()
    bbrctl("unload", "--name", name)
    assert routes.all_lines() == before


@pytest.mark.parametrize("line, why", [
    ("route = 10.0.0.0/33", "prefix length"),
    ("route = nobody", "not an IPv4 or IPv6"),
    ("route = 10.0.0.0/8 10.0.0.0/9", "not one prefix"),
    ("route = 10.0.0.0/8 --what", "not one prefix"),
    ("route = --lock", "a prefix is missing"),
    ("route = 10.0.0.0/8 --netns bbrt_nobody", "bbrt_nobody"),
    ("route = 10.0.0.0/8 --netns {ns}\nroute = 10.0.0.1/8 --netns {ns}", "already has"),
])
def test_wrong_lines(machine, name, ns, line, why):
    refused = machine.apply(file(name, line.format(ns=ns.name) + "\n"), status=USAGE).err
    assert why in refused and "at line" in refused
