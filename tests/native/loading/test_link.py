# SPDX-License-Identifier: GPL-2.0-only
"""Instances that a link registers, and the pin that keeps it."""
import errno

import pytest

from kills import Traced
from system import BPFFS, NO_BPFFS, PINS, pin, registered, run, struct_ops, wait_until
from tool import DONE, NOTHING, REFUSED, status_of
from transfer import MB, Transfer, connect, get_cc, listen, send_verified

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine


def is_gone(name):
    return name not in registered() and name not in struct_ops().values()


def test_loaded_by_link_and_unloaded(bbrctl, load, ns):
    name = load()
    assert status_of(bbrctl, name)["link_id"] and pin(name).exists()
    send_verified(ns, name)
    bbrctl("unload", "--name", name)
    assert name not in registered() and not pin(name).exists()
    wait_until(lambda: is_gone(name), "the kernel frees the instance")


def test_a_link_that_somebody_makes_meanwhile(bbrctl, load, tmp_path):
    """Its id is known before it can be opened: until then the kernel says EAGAIN."""
    _, name = load(), load()  # the first link that is found is not that of name
    before = status_of(bbrctl, name)
    traced = Traced(tmp_path, bbrctl.path, "-j", "status", "--name", name)
    traced.calls("bpf")
    opens = [i for i, line in enumerate(traced.lines, 1) if line.startswith("bpf(BPF_LINK_GET_FD_BY_ID")]
    done = traced.fail(opens[0], errno.errorcode[errno.EAGAIN])
    assert "EAGAIN" in traced.log.read_text()
    assert done.returncode == DONE and f'"link_id":{before["link_id"]},' in done.stdout.replace(" ", ""), done


def test_the_directory_goes_with_the_last_pin(bbrctl, load):
    names = load(), load()
    for name in names:
        assert PINS.is_dir()
        bbrctl("unload", "--name", name)
    assert not PINS.exists() or list(PINS.iterdir())  # others may be using it


def test_a_name_with_dots(bbrctl, free_name, ns):
    """bpffs takes no dots in the names of its files."""
    name = free_name()[:11] + ".a.."
    bbrctl("load", "--name", name)
    try:
        assert status_of(bbrctl, name)["link_id"] and pin(name).exists()
        send_verified(ns, name)
    finally:
        bbrctl("unload", "--name", name)
    assert name not in registered() and not pin(name).exists()


@pytest.mark.parametrize("loader", ["load", "load_plain"])
def test_users_are_counted_the_same(request, loader, bbrctl, ns):
    name = request.getfixturevalue(loader)()
    assert bool(status_of(bbrctl, name)["link_id"]) == (loader == "load")
    assert status_of(bbrctl, name)["users"] == 0
    listener = listen(ns)
    pairs = [connect(ns, listener, cc=name) for _ in range(3)]
    assert status_of(bbrctl, name)["users"] == 3
    ns.default_congestion_control(name)
    assert status_of(bbrctl, name)["users"] == 4
    ns.default_congestion_control("reno")
    for pair in pairs:
        for sock in pair:
            sock.close()
    wait_until(lambda: status_of(bbrctl, name)["users"] == 0, "the sockets end")


def test_without_a_lasting_place_for_the_pin_there_is_no_link(bbrctl, free_name, ns):
    """`ip netns exec` makes a mount namespace, with a new /sys, that ends with the command."""
    for prefix in NO_BPFFS, ns.command():
        name = free_name()
        done = bbrctl("-v", "load", "--name", name, prefix=prefix)
        assert "not registered by a link" in done.err and "mount namespace" in done.err
        assert status_of(bbrctl, name)["link_id"] == 0
        send_verified(ns, name)
        bbrctl("unload", "--name", name)
        assert name not in registered()


def test_a_copy_of_the_mount_namespace_will_do(bbrctl, free_name):
    name = free_name()
    bbrctl("load", "--name", name, prefix=["unshare", "-m"])
    assert status_of(bbrctl, name)["link_id"] and pin(name).exists()


# As in a container without the host's bpffs: it has its own first process, and its mounts end with that.
CONTAINER = ["unshare", "-m", "-p", "-f", "--mount-proc", *NO_BPFFS[2:]]
# As ProtectKernelTunables= of systemd.exec(5) makes it.
READ_ONLY = ["unshare", "-m", "sh", "-c", f'mount -o remount,bind,ro {BPFFS}; exec "$@"', "sh"]


def refused(bbrctl, name, prefix, *args):
    """load refuses: nothing is loaded, and nothing is left behind. Returns the message."""
    before = set(struct_ops())
    err = bbrctl("load", "--name", name, *args, prefix=prefix, status=REFUSED).err
    assert len(err.splitlines()) == 2, "one sentence, and what to do about it"
    assert name not in registered() and set(struct_ops()) == before and not pin(name).exists()
    return err


def test_what_would_end_with_a_container_is_refused(bbrctl, load, free_name):
    load()  # there is a bpffs, but not in the container
    err = refused(bbrctl, free_name(), CONTAINER)
    assert "container" in err and f"-v {BPFFS}:{BPFFS}" in err


def test_a_container_with_the_bpffs_of_the_host(bbrctl, load, free_name, ns):
    load()
    name = free_name()
    bbrctl("load", "--name", name, prefix=["unshare", "-m", "-p", "-f", "--mount-proc"])
    assert status_of(bbrctl, name)["link_id"] and pin(name).exists()
    send_verified(ns, name)


@pytest.mark.parametrize("others", [0, 1])
def test_a_read_only_bpffs_is_refused(bbrctl, load, free_name, others):
    """Whether the folder of the pins is there, or would have to be made."""
    names = [load() for _ in range(1 + others)]
    bbrctl("unload", "--name", names[0])
    err = refused(bbrctl, free_name(), READ_ONLY)
    assert "read-only" in err and "ProtectKernelTunables" in err


def test_upgrade_makes_no_link_that_ends_with_a_container(bbrctl, load, load_plain, ns):
    load()
    name = load_plain()
    before = status_of(bbrctl, name)
    for prefix in CONTAINER, READ_ONLY:
        bbrctl("upgrade", "--name", name, prefix=prefix, status=REFUSED)
        assert status_of(bbrctl, name) == before
    send_verified(ns, name)


def test_pin_removed_by_hand(bbrctl, load, ns):
    name = load()
    sender, receiver = connect(ns, listen(ns), cc=name)
    pin(name).unlink()
    wait_until(lambda: name not in registered(), "the link ends with its pin")
    assert status_of(bbrctl, name) is None
    assert get_cc(sender) == name
    Transfer(sender, receiver, MB).finish()
    bbrctl("unload", "--name", name, status=NOTHING)
    bbrctl("load", "--name", name)
    send_verified(ns, name)


def test_unloaded_where_the_pin_cannot_be_seen(bbrctl, load, ns):
    """A pin stays whose link has ended. The next load takes it away."""
    name = load()
    bbrctl("unload", "--name", name, prefix=NO_BPFFS)
    assert name not in registered() and pin(name).exists()
    bbrctl("load", "--name", name)
    assert status_of(bbrctl, name)["link_id"] and pin(name).exists()
    send_verified(ns, name)


def test_link_detached_by_hand(bbrctl, load):
    name = load()
    run("bpftool", "link", "detach", "id", status_of(bbrctl, name)["link_id"])
    assert name not in registered() and status_of(bbrctl, name) is None
    assert pin(name).exists()
    bbrctl("unload", "--name", name, status=NOTHING)
    assert not pin(name).exists()


def test_a_link_that_somebody_else_holds_as_well(bbrctl, load):
    name = load()
    other = pin(name).with_name(f"{name}-other")
    run("bpftool", "link", "pin", "id", status_of(bbrctl, name)["link_id"], other)
    try:
        bbrctl("unload", "--name", name)
        assert name not in registered() and status_of(bbrctl, name) is None
    finally:
        other.unlink()
        bbrctl("unload", "--name", name, status=NOTHING)  # takes the directory away


def test_something_else_where_the_pin_would_be(bbrctl, load, free_name, ns):
    name, other = free_name(), load()
    map_id = status_of(bbrctl, other)["map_id"]
    run("bpftool", "map", "pin", "id", map_id, pin(name))
    try:
        bbrctl("load", "--name", name)
        assert status_of(bbrctl, name)["link_id"] == 0
        send_verified(ns, name)
        bbrctl("unload", "--name", name)
        assert pin(name).exists()
    finally:
        pin(name).unlink()


def test_a_prepared_map_is_no_instance(bbrctl, load):
    """Such a map is registered only while a link holds it."""
    name = load()
    map_id = status_of(bbrctl, name)["map_id"]
    held = pin(name).with_name(f"{name}-map")
    run("bpftool", "map", "pin", "id", map_id, held)
    try:
        bbrctl("unload", "--name", name)
        assert map_id in struct_ops() and status_of(bbrctl, name) is None
    finally:
        held.unlink()
        bbrctl("unload", "--name", name, status=NOTHING)
