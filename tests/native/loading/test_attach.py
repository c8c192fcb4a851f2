# SPDX-License-Identifier: GPL-2.0-only
"""attach and detach: connections of a cgroup get a congestion control that no program asked for."""
import subprocess

import pytest

from cgroups import Cgroup, default_of
from system import bpftool, cgroup_mount, run
from tool import NOTHING, REFUSED, USAGE, status_of
from transfer import MB, Transfer, connect, get_cc, listen, set_cc



def attach(bbrctl, name, cgroup, **kwargs):
    return bbrctl("attach", "--cgroup", cgroup.path, "--name", name, **kwargs)


def detach(bbrctl, name, cgroup, **kwargs):
    return bbrctl("detach", "--cgroup", cgroup.path, "--name", name, **kwargs)


def pair(ns, inside, cc=None, address="127.0.0.1"):
    """A connection whose ends are both made in a cgroup."""
    with inside.entered():
        return connect(ns, listen(ns, address), cc=cc)


def ccs(ns, inside, **kwargs):
    return [get_cc(sock) for sock in pair(ns, inside, **kwargs)]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_both_ends_of_a_new_connection(bbrctl, load, ns, cgroup, new_cgroup, address):
    name, default, outside = load(), default_of(ns), new_cgroup()
    assert ccs(ns, cgroup, address=address) == [default] * 2
    attach(bbrctl, name, cgroup)
    ends = pair(ns, cgroup, address=address)
    assert [get_cc(sock) for sock in ends] == [name] * 2
    assert status_of(bbrctl, name)["users"] == 2
    Transfer(*ends, 8 * MB).finish()
    assert ccs(ns, outside, address=address) == [default] * 2
    detach(bbrctl, name, cgroup)
    assert ccs(ns, cgroup, address=address) == [default] * 2


def test_only_one_end_is_in_it(bbrctl, load, ns, cgroup, new_cgroup):
    name, default = load(), default_of(ns)
    attach(bbrctl, name, cgroup)
    with new_cgroup().entered():
        listener = listen(ns)
    with cgroup.entered():
        assert [get_cc(sock) for sock in connect(ns, listener)] == [name, default]
        listener = listen(ns)
    assert [get_cc(sock) for sock in connect(ns, listener)] == [default, name]


def test_what_the_application_chose_stays(bbrctl, load, ns, cgroup):
    name, default = load(), default_of(ns)
    attach(bbrctl, name, cgroup)
    assert ccs(ns, cgroup, cc="reno") == ["reno", name]
    assert ccs(ns, cgroup, cc=default) == [default, name]
    with cgroup.entered():
        listener = listen(ns, cc="reno")
        assert [get_cc(sock) for sock in connect(ns, listener)] == [name, "reno"]
        sock, _ = connect(ns, listener)
    set_cc(sock, "reno")
    assert get_cc(sock) == "reno"


def test_what_a_route_says_stays(bbrctl, load, link, cgroup):
    """`ip route ... congctl lock` is the administrator's choice for a destination."""
    name = load()
    attach(bbrctl, name, cgroup)
    sender, receiver = link.ends
    sender.ip("route", "change", "10.77.0.0/24", "dev", link.names[0], "congctl", "lock", "reno")
    with cgroup.entered():
        listener = listen(receiver, link.v4[1])
        sock, _ = connect(sender, listener)
    assert get_cc(sock) == "reno"


def test_cgroups_below_it_and_the_nearest_wins(bbrctl, load, ns, cgroup, new_cgroup):
    outer, inner = load(), load()
    below = new_cgroup(cgroup)
    lowest = new_cgroup(below)
    attach(bbrctl, outer, cgroup)
    assert ccs(ns, lowest) == [outer] * 2
    attach(bbrctl, inner, below)
    assert ccs(ns, lowest) == [inner] * 2
    assert ccs(ns, cgroup) == [outer] * 2


def test_open_connections_keep_what_they_have(bbrctl, load, ns, cgroup):
    name, default = load(), default_of(ns)
    before = pair(ns, cgroup)
    attach(bbrctl, name, cgroup)
    after = pair(ns, cgroup)
    detach(bbrctl, name, cgroup)
    assert [get_cc(sock) for sock in before + after] == [default] * 2 + [name] * 2
    Transfer(*after, 4 * MB).finish()


def test_an_unloaded_instance_does_no_harm(bbrctl, load, ns, cgroup):
    name, default = load(), default_of(ns)
    attach(bbrctl, name, cgroup)
    done = bbrctl("unload", "--name", name)
    assert f"still attached to {cgroup.path}" in done.err and "bbrctl detach" in done.err
    ends = pair(ns, cgroup)
    assert [get_cc(sock) for sock in ends] == [default] * 2
    Transfer(*ends, MB).finish()
    assert f"{name} is attached to {cgroup.path}, but not loaded" in bbrctl("status").out
    bbrctl("load", "--name", name)
    assert ccs(ns, cgroup) == [name] * 2
    bbrctl("unload", "--name", name)
    detach(bbrctl, name, cgroup)
    assert str(cgroup.path) not in bbrctl("status").out


def test_status_tells(bbrctl, load, cgroup, new_cgroup):
    name, other = load(), load()
    assert status_of(bbrctl, name)["cgroups"] == []
    second = new_cgroup(cgroup)
    attach(bbrctl, name, cgroup)
    attach(bbrctl, name, second)
    assert status_of(bbrctl, name)["cgroups"] == [str(cgroup.path), str(second.path)]
    assert status_of(bbrctl, other)["cgroups"] == []
    assert f"  attached to {second.path}\n" in bbrctl("status", "--name", name).out


def test_json(bbrctl, load, cgroup):
    name = load()
    for path in str(cgroup.path), cgroup.relative, f"/{cgroup.relative}":
        for verb in "attach", "detach":
            done = bbrctl.json(verb, "--cgroup", path, "--name", name)
            assert done == {"name": name, "cgroup": str(cgroup.path)}


def test_nothing_to_do_and_another_of_ours(bbrctl, load, cgroup):
    name, other = load(), load()
    detach(bbrctl, name, cgroup, status=NOTHING)
    attach(bbrctl, name, cgroup)
    assert "detach it first" not in attach(bbrctl, name, cgroup, status=NOTHING).err
    stay = bbrctl("attach", "--stay", "--cgroup", cgroup.path, "--name", name, status=NOTHING)
    assert f"detach it first: bbrctl detach --cgroup {cgroup.path} --name {name}" in stay.err
    refused = attach(bbrctl, other, cgroup, status=REFUSED).err
    assert f"bbrctl detach --cgroup {cgroup.path} --name {name}" in refused
    assert f"--name {name}" in detach(bbrctl, other, cgroup, status=NOTHING).err
    assert status_of(bbrctl, name)["cgroups"] == [str(cgroup.path)]
    detach(bbrctl, name, cgroup)


def test_it_goes_with_the_cgroup(bbrctl, load):
    name = load()
    cgroup = Cgroup()
    try:
        attach(bbrctl, name, cgroup)
    finally:
        cgroup.delete()
    assert status_of(bbrctl, name)["cgroups"] == []


def test_bad_command_lines(bbrctl, load, cgroup, tmp_path):
    name = load()
    for verb in "attach", "detach":
        bbrctl(verb, "--name", name, status=USAGE)
        bbrctl(verb, "--name", name, "--cgroup", "", status=USAGE)
        for path in tmp_path, cgroup.path / "cgroup.procs", "bbrt_none", cgroup_mount() / "bbrt_none":
            refused = bbrctl(verb, "--name", name, "--cgroup", path, status=USAGE).err
            assert "no such cgroup" in refused and str(cgroup_mount()) in refused
            assert "not attached" not in refused  # one reason
    bbrctl("attach", "--name", "bbrt_none", "--cgroup", cgroup.path, status=NOTHING)
    assert status_of(bbrctl, name)["cgroups"] == []


def test_without_cgroup_v2(bbrctl, load):
    name = load()
    alone = ["unshare", "-m", "sh", "-c", f'umount -l {cgroup_mount()} && exec "$@"', "sh"]
    err = bbrctl("attach", "--name", name, "--cgroup", "any", status=REFUSED, prefix=alone).err
    assert "no cgroup2 file system is mounted" in err and "mount -t cgroup2" in err
    assert bbrctl("-j", "status", prefix=alone).json()


def test_an_exclusive_program_of_somebody_else(bbrctl, load, ns, cgroup, new_cgroup, foreign_program):
    name = load()
    below = new_cgroup(cgroup)
    run("bpftool", "cgroup", "attach", cgroup.path, "sock_ops", "pinned", foreign_program)
    for where in cgroup, below:
        err = attach(bbrctl, name, where, status=REFUSED).err
        assert "another program is attached" in err and "bpftool cgroup tree" in err
    run("bpftool", "cgroup", "detach", cgroup.path, "sock_ops", "pinned", foreign_program)
    attach(bbrctl, name, cgroup)
    assert ccs(ns, cgroup) == [name] * 2


def test_beside_a_program_of_somebody_else(bbrctl, load, ns, cgroup, foreign_program):
    name = load()
    run("bpftool", "cgroup", "attach", cgroup.path, "sock_ops", "pinned", foreign_program, "multi")
    attach(bbrctl, name, cgroup)
    assert ccs(ns, cgroup) == [name] * 2
    detach(bbrctl, name, cgroup)
    assert [p["name"] for p in bpftool("cgroup", "list", cgroup.path)] == ["nothing"]


def test_two_at_once(bbrctl, load, ns, cgroup):
    name = load()
    started = [bbrctl.start("attach", "--name", name, "--cgroup", cgroup.path,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert sorted(p.wait(60) for p in started) == [0, 3, 3, 3]
    assert len(bpftool("cgroup", "list", cgroup.path)) == 1
    assert ccs(ns, cgroup) == [name] * 2


def test_many_connections_at_once(bbrctl, load, ns, cgroup):
    name = load()
    attach(bbrctl, name, cgroup)
    with cgroup.entered():
        listener = listen(ns, backlog=64)
        pairs = [connect(ns, listener) for _ in range(50)]
    assert {get_cc(sock) for ends in pairs for sock in ends} == {name}
    assert status_of(bbrctl, name)["users"] == 100


def connections(bbrctl, name):
    return {p["profile"]: p["connections"] for p in bbrctl.json("profile", "list", "--name", name)["profiles"]}


def test_with_a_profile(bbrctl, load, ns, cgroup, new_cgroup):
    """Connections of the cgroup, and of cgroups below it, get the profile. Others of the instance do not."""
    name, below = load(), new_cgroup(cgroup)
    bbrctl("profile", "add", "--name", name, "mine", "cwnd_gain=3")
    bbrctl("rule", "add", "--name", name, "--dst", "127.0.0.0/8", "--profile", "default")
    assert bbrctl.json("attach", "--cgroup", cgroup.path, "--name", name, "--profile", "mine")["profile"] == "mine"
    rules = bbrctl.json("rule", "list", "--name", name)["rules"]
    assert [(r.get("cgroup"), r["profile"]) for r in rules] == [
        (str(cgroup.path).removeprefix(str(cgroup_mount())), "mine"), (None, "default")]
    held = [pair(ns, cgroup), pair(ns, below), connect(ns, listen(ns), cc=name)]
    assert connections(bbrctl, name) == {"default": 1, "mine": 4}
    Transfer(*held[0], 4 * MB).finish()
    detach(bbrctl, name, cgroup)
    assert [r["profile"] for r in bbrctl.json("rule", "list", "--name", name)["rules"]] == ["default"]


def test_with_a_profile_that_cannot_be(bbrctl, load, cgroup):
    name = load()
    arguments = "attach", "--cgroup", cgroup.path, "--name", name, "--profile"
    assert "no profile with this name" in bbrctl(*arguments, "nobody", status=NOTHING).err
    bbrctl("profile", "add", "--name", name, "mine", "cwnd_gain=3")
    bbrctl("rule", "add", "--name", name, "--cgroup", cgroup.path, "--profile", "default")
    assert "rule 1 already covers this cgroup" in bbrctl(*arguments, "mine", status=REFUSED).err
    assert status_of(bbrctl, name)["cgroups"] == []
    assert len(bbrctl.json("rule", "list", "--name", name)["rules"]) == 1
    bbrctl("rule", "flush", "--name", name)
    bbrctl(*arguments, "mine")
    bbrctl(*arguments, "mine", status=NOTHING)
    assert len(bbrctl.json("rule", "list", "--name", name)["rules"]) == 1
    detach(bbrctl, name, cgroup)


def cc_to(ns, inside, address):
    with inside.entered():
        return get_cc(connect(ns, listen(ns, address))[0])


def test_some_of_its_connections(bbrctl, load, ns, cgroup):
    """BBR outside, and what the kernel has inside; two prefixes are inside."""
    name, default = load(), default_of(ns)
    done = bbrctl.json("attach", "--cgroup", cgroup.path, "--name", name, "--not-dst", "127.1.0.0/16",
                       "--not-dst", "127.2.0.0/16", "--not-dport", 9, "--dev", "lo")
    assert done["not_dst"] == ["127.1.0.0/16", "127.2.0.0/16"] and done["not_dport"] == [9] and done["dev"] == "lo"
    ccs_of = {address: cc_to(ns, cgroup, address) for address in ("127.0.0.1", "127.1.2.3", "127.2.0.1", "127.3.0.1")}
    assert ccs_of == {"127.0.0.1": name, "127.1.2.3": default, "127.2.0.1": default, "127.3.0.1": name}
    assert "--not-dst 127.1.0.0/16" in bbrctl("status", "--name", name).out
    attach(bbrctl, name, cgroup, status=NOTHING)
    detach(bbrctl, name, cgroup)
    assert cc_to(ns, cgroup, "127.0.0.1") == default


@pytest.mark.parametrize("options, is_for", [
    (["--dst", "127.0.0.0/8"], True), (["--dst", "10.0.0.0/8"], False), (["--src", "127.0.0.0/30"], True),
    (["--not-src", "127.0.0.1"], False), (["--dev", "eth0"], False), (["--not-dev", "eth0"], True), (["--mark", 7], False),
    (["--not-mark", 7], True), (["--dst", "::/0", "--not-dst", "fd00::/8"], True)])
def test_each_condition(bbrctl, load, ns, cgroup, options, is_for):
    name = load()
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name, *options)
    assert ccs(ns, cgroup) == [name if is_for else default_of(ns)] * 2


def test_not_for_one_of_its_cgroups(bbrctl, load, ns, cgroup, new_cgroup):
    name, below = load(), new_cgroup(cgroup)
    bbrctl("attach", "--cgroup", cgroup.path, "--name", name, "--not-cgroup", below.path)
    assert ccs(ns, cgroup) == [name] * 2 and ccs(ns, below) == [default_of(ns)] * 2


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_it_waits_for_a_cgroup_and_stays(bbrctl, load, ns, cgroup, depth):
    """Attached before the cgroup is made, by its name; the next cgroup of that name has it, too. Names of 7, 14 and 255 bytes."""
    name, default = load(), default_of(ns)
    made, path = [], cgroup.path
    for part in ("x" * 7, "y" * 255, "z" * 14)[:depth]:
        path = path / part
    path = path / "late.service"
    bbrctl("attach", "--stay", "--cgroup", path, "--name", name)
    assert status_of(bbrctl, name)["cgroups"] == [str(path)]
    assert f"attached to {path} (waits for it)" in bbrctl("status", "--name", name).out
    bbrctl("attach", "--stay", "--cgroup", path, "--name", name, status=NOTHING)
    try:
        for _ in range(2):
            for level in reversed([path, *path.parents][:depth + 1]):
                level.mkdir()
                made.append(level)
            service = Cgroup.of(path)
            beside = Cgroup.of(path.parent / "late.servicf")
            beside.path.mkdir()
            made.append(beside.path)
            inner = Cgroup.of(path / "late.service")
            inner.path.mkdir()
            made.append(inner.path)
            assert ccs(ns, service) == ccs(ns, inner) == [name] * 2
            assert ccs(ns, cgroup) == ccs(ns, beside) == [default] * 2
            while made:
                Cgroup.of(made.pop()).delete()
        detach_path = str(path).removeprefix(str(cgroup_mount()))
        bbrctl("detach", "--cgroup", detach_path, "--name", name)
        assert status_of(bbrctl, name)["cgroups"] == []
    finally:
        while made:
            Cgroup.of(made.pop()).delete()


def test_what_stays_and_what_does_not(bbrctl, load, ns, cgroup, new_cgroup):
    """The nearest wins, whichever waits; --profile is a rule, and that would not stay."""
    outer, inner, below = load(), load(), new_cgroup(cgroup)
    bbrctl("attach", "--stay", "--cgroup", below.path, "--name", inner)
    bbrctl("attach", "--stay", "--cgroup", cgroup.path, "--name", outer)
    assert ccs(ns, below) == [inner] * 2 and ccs(ns, cgroup) == [outer] * 2
    attach(bbrctl, inner, below, status=NOTHING)
    bbrctl("attach", "--stay", "--cgroup", below.path, "--name", inner, "--profile", "default", status=USAGE)
    bbrctl("attach", "--stay", "--cgroup", "../x", "--name", inner, status=USAGE)
    detach(bbrctl, inner, below)
    assert ccs(ns, below) == [outer] * 2
    detach(bbrctl, outer, cgroup)
