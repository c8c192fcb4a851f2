# SPDX-License-Identifier: GPL-2.0-only
"""Instances as the default of network namespaces; never of the initial one."""
import subprocess

import pytest

from system import map_exists, maps_of_program, registered, wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, status_of
from transfer import MB, Transfer, connect, get_cc, listen, send_verified

MAP = "bbr_defaults"
SYSCTL = "/proc/sys/net/ipv4/tcp_congestion_control"
FALLBACKS = "cubic", "reno"  # cubic may be restricted to the initial namespace


def default(ns):
    return ns.run("cat", SYSCTL).stdout.strip()


@pytest.fixture
def reno_ns(new_ns):
    """Makes namespaces whose default is reno."""
    def make():
        ns = new_ns()
        ns.default_congestion_control("reno")
        return ns
    return make


def set_default(bbrctl, name, ns, status=DONE):
    return bbrctl("load", "--name", name, "--default", "--netns", ns.name, status=status)


def test_load_makes_it_the_default(bbrctl, free_name, reno_ns):
    name, ns = free_name(), reno_ns()
    answer = bbrctl.json("load", "--name", name, "--set", "bw_win=12", "--default", "--netns", ns.name)
    assert answer == {"name": name, "map_id": status_of(bbrctl, name)["map_id"], "defaults": 0,
                      "default": {"netns": ns.name, "inode": ns.inode, "previous": "reno"}}
    assert default(ns) == name and status_of(bbrctl, name)["params_changed"] == 1
    sender, receiver = connect(ns, listen(ns))
    assert get_cc(sender) == get_cc(receiver) == name
    Transfer(sender, receiver, MB).finish()
    unloaded = bbrctl.json("unload", "--name", name)
    assert unloaded["defaults"] == [{"netns": ns.name, "inode": ns.inode, "default": "reno", "restored": True}]
    assert default(ns) == "reno"


def test_an_instance_that_is_loaded(bbrctl, load, reno_ns):
    name, ns = load("bw_win=12"), reno_ns()
    before = status_of(bbrctl, name)
    assert "was reno" in set_default(bbrctl, name, ns).out
    after = status_of(bbrctl, name)
    assert after["map_id"] == before["map_id"] and after["params_changed"] == 1
    assert default(ns) == name
    assert "already" in set_default(bbrctl, name, ns, status=NOTHING).err
    send_verified(ns, name)


def test_what_is_to_be_changed_is_not_ignored(bbrctl, load, reno_ns):
    """--default of a loaded instance sets the default only."""
    name, ns = load(), reno_ns()
    args = "load", "--name", name, "--default", "--netns", ns.name
    for other in ("--set", "bw_win=12"), ("--profile", "tsunami"), ("--algorithm", "bbr3"), ("--ecn", "--algorithm", "bbr3"):
        assert "is already loaded, with" in bbrctl(*args, *other, status=NOTHING).err
        assert default(ns) == "reno"


def test_the_same_load_sets_the_default(bbrctl, free_name, bbr_object, reno_ns):
    """So a load that was killed before it set the default is finished by the same command."""
    for asked, other in ((["--set", "bw_win=12"], ["--set", "bw_win=13"]), (["--profile", "tsunami"], ["--profile", "bbrplus"]),
                         (["--algorithm", "bbr3", "--ecn"], ["--algorithm", "bbr"]),
                         (["--object", bbr_object], ["--object", bbr_object.with_name("bpf_bbr3.bpf.o")])):
        name, ns = free_name(), reno_ns()
        bbrctl("load", "--name", name, *asked)
        args = "load", "--name", name, "--default", "--netns", ns.name
        assert "is already loaded, with" in bbrctl(*args, *other, status=NOTHING).err and default(ns) == "reno"
        assert "was reno" in bbrctl(*args, *asked).out and default(ns) == name
        bbrctl("unload", "--name", name)


def test_killed_before_a_namespace_has_the_new_code(bbrctl, free_name, reno_ns):
    """Its default has the name, and still the code that was unloaded. The next load mends that."""
    name, ns = free_name(), reno_ns()
    bbrctl("load", "--name", name)
    ns.default_congestion_control(name)
    bbrctl("unload", "--name", name)
    killed = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-P", SYSCTL, "-e", "trace=write",
                             "-e", "inject=write:signal=KILL:when=1", bbrctl.path, "load", "--name", name], check=False)
    assert killed.returncode < 0 and status_of(bbrctl, name)["default_in"] == []
    assert bbrctl("load", "--name", name).out == "  made the default of 1 network namespace again\n"
    assert [d["inode"] for d in status_of(bbrctl, name)["default_in"]] == [ns.inode]
    bbrctl("load", "--name", name, status=NOTHING)


def status_below(bbrctl, name):
    """What status prints below the instance's line."""
    lines = [*bbrctl("status").out.splitlines(), ""]
    return next(below for line, below in zip(lines, lines[1:]) if line.startswith(f"{name} "))


def test_several_namespaces(bbrctl, load, reno_ns, new_ns):
    name = load()
    spaces = [reno_ns(), new_ns(), reno_ns()]
    before = [default(ns) for ns in spaces]
    for ns in spaces[:2]:
        set_default(bbrctl, name, ns)
    listed = status_of(bbrctl, name)["default_in"]
    assert {(d["netns"], d["inode"]) for d in listed} == {(ns.name, ns.inode) for ns in spaces[:2]}
    below = status_below(bbrctl, name)
    assert below.startswith("  default in ") and set(below[len("  default in "):].split(", ")) == {ns.name for ns in spaces[:2]}
    out = bbrctl("unload", "--name", name).out
    assert [default(ns) for ns in spaces] == before
    assert all(ns.name in out for ns in spaces[:2]) and spaces[2].name not in out


def test_no_default(bbrctl, load):
    name = load()
    assert status_of(bbrctl, name)["default_in"] == []
    assert "default in" not in status_below(bbrctl, name)


def test_two_instances_one_after_the_other(bbrctl, load, reno_ns):
    one, two, ns = load(), load(), reno_ns()
    set_default(bbrctl, one, ns)
    set_default(bbrctl, two, ns)
    bbrctl("unload", "--name", two)
    assert default(ns) == one
    bbrctl("unload", "--name", one)
    assert default(ns) == "reno"


def test_the_one_before_is_gone(bbrctl, load, reno_ns):
    one, two, ns = load(), load(), reno_ns()
    set_default(bbrctl, one, ns)
    set_default(bbrctl, two, ns)
    assert ns.name not in bbrctl("unload", "--name", one).out
    assert default(ns) == two
    answer = bbrctl("unload", "--name", two)
    assert f"the previous default {one} is gone" in answer.err
    assert default(ns) in FALLBACKS


def test_what_was_changed_by_hand_stays(bbrctl, load, reno_ns):
    name, other, ns = load(), load(), reno_ns()
    set_default(bbrctl, name, ns)
    ns.default_congestion_control(other)
    assert bbrctl.json("unload", "--name", name)["defaults"] == []
    assert default(ns) == other


def test_what_was_set_by_hand_is_named(bbrctl, load, reno_ns):
    name, ns = load(), reno_ns()
    ns.default_congestion_control(name)
    answer = bbrctl("-j", "unload", "--name", name)
    assert ns.name in answer.err and "somebody else made" in answer.err
    (found,) = answer.json()["defaults"]
    assert found["netns"] == ns.name and found["restored"] is False
    send_verified_default(ns, name)


def send_verified_default(ns, name):
    with listen(ns) as listener:
        sender, receiver = connect(ns, listener)
        assert get_cc(sender) == name
        Transfer(sender, receiver, MB).finish()


def test_what_was_set_by_hand_is_taken_over(bbrctl, load, reno_ns):
    """bbrctl notes it, and the next unload changes it. So setting it is a change, although the default stays."""
    name, ns = load(), reno_ns()
    ns.default_congestion_control(name)
    set_default(bbrctl, name, ns)
    set_default(bbrctl, name, ns, status=NOTHING)
    assert "previous default is unknown" in bbrctl("unload", "--name", name).err
    assert default(ns) in FALLBACKS


def test_load_anew_and_unload_again(bbrctl, free_name, reno_ns):
    name, ns = free_name(), reno_ns()
    for _ in range(5):
        set_default(bbrctl, name, ns)
        send_verified_default(ns, name)
        assert bbrctl.json("unload", "--name", name)["users"] == 0
        assert default(ns) == "reno"


def test_what_is_kept_goes_with_the_instance(bbrctl, load, reno_ns):
    name, ns = load(), reno_ns()
    prog = status_of(bbrctl, name)["prog_id"]
    assert MAP not in maps_of_program(prog)
    set_default(bbrctl, name, ns)
    ids = maps_of_program(prog)
    assert MAP in ids
    bbrctl("unload", "--name", name)
    wait_until(lambda: not map_exists(ids[MAP]), "the kernel frees the map")


def test_of_what_bpftool_registered(bbrctl, bpf_bbr, reno_ns):
    ns = reno_ns()
    set_default(bbrctl, bpf_bbr, ns)
    assert default(ns) == bpf_bbr
    bbrctl("unload")
    assert default(ns) == "reno"


def test_the_current_namespace(bbrctl, free_name, reno_ns):
    """Without --netns it is the one in which bbrctl runs."""
    name, ns = free_name(), reno_ns()
    out = bbrctl("load", "--name", name, "--default", prefix=ns.command()).out
    assert "this network namespace" in out and default(ns) == name
    bbrctl("unload", "--name", name)
    assert default(ns) == "reno"


@pytest.mark.parametrize("netns", ["there_is_none", "", "/etc/passwd", "/proc/self/ns/mnt", "../x"])
def test_there_is_no_such_namespace(bbrctl, free_name, netns):
    name = free_name()
    assert "--netns" in bbrctl("load", "--name", name, "--default", "--netns", netns, status=USAGE).err
    assert name not in registered()


def test_netns_without_default(bbrctl, free_name, ns):
    name = free_name()
    bbrctl("load", "--name", name, "--netns", ns.name, status=USAGE)
    assert name not in registered()


def test_unload_moves_and_puts_back(bbrctl, load, reno_ns):
    """Afterwards nothing uses the instance, although its namespace was busy."""
    name, ns = load(), reno_ns()
    set_default(bbrctl, name, ns)
    with listen(ns) as listener:
        transfers = [Transfer(*connect(ns, listener), gap=0.002) for _ in range(4)]
    answer = bbrctl.json("unload", "--name", name, "--migrate", "cubic")
    assert answer["users"] == 0 and answer["migrated"]["failed"] == 0
    assert answer["migrated"]["moved"] == 8
    assert {get_cc(s) for t in transfers for s in t.sockets} == {"cubic"}
    assert default(ns) == "reno"
    for transfer in transfers:
        transfer.stop()
        transfer.finish()


def test_several_at_once(bbrctl, free_name, reno_ns):
    """One loads it, the others find it loaded; each does what is left to do."""
    name, spaces = free_name(), [reno_ns() for _ in range(3)]
    started = [bbrctl.start("load", "--name", name, "--default", "--netns", ns.name,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for ns in spaces * 2]
    assert sorted(p.wait(60) for p in started) == [DONE] * 3 + [NOTHING] * 3
    assert [default(ns) for ns in spaces] == [name] * 3
    bbrctl("unload", "--name", name)
    assert [default(ns) for ns in spaces] == ["reno"] * 3


def test_killed_while_loading(bbrctl, free_name, reno_ns):
    """Whatever was done by then can be undone, and done again."""
    name, ns = free_name(), reno_ns()
    load = "load", "--name", name, "--default", "--netns", ns.name
    for i in range(12):
        process = bbrctl.start(*load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(0.02 * i)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert default(ns) in (name, "reno")
        if default(ns) == "reno":
            bbrctl(*load)
        send_verified_default(ns, name)
        bbrctl("unload", "--name", name)
        assert default(ns) == "reno"


def test_killed_while_unloading(bbrctl, free_name, reno_ns):
    name, ns = free_name(), reno_ns()
    for i in range(12):
        bbrctl("load", "--name", name, "--default", "--netns", ns.name, status=None)
        process = bbrctl.start("unload", "--name", name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(0.01 * i)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        bbrctl("unload", "--name", name, status=None)
        assert default(ns) == "reno" and name not in registered()


def test_without_rights(bbrctl, free_name, reno_ns):
    name, ns = free_name(), reno_ns()
    answer = bbrctl("load", "--name", name, "--default", "--netns", ns.name, status=REFUSED,
                    prefix=["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"])
    assert "CAP_SYS_ADMIN" in answer.err and default(ns) == "reno"
