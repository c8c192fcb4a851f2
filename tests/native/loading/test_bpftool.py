# SPDX-License-Identifier: GPL-2.0-only
"""bpftool alone is enough to use an instance, and bbrctl manages what bpftool registered."""
import errno

import pytest

from system import bpftool, maps_of_program, pin, run, struct_ops
from tool import NOTHING, status_of
from transfer import MB, get_cc, listen, connect, send_verified, set_cc

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine


def unregister(name):
    run("bpftool", "struct_ops", "unregister", "name", name)


def test_registered_by_bpftool_it_carries_traffic(bpf_bbr, ns):
    send_verified(ns, bpf_bbr, 64 * MB)
    send_verified(ns, bpf_bbr, 16 * MB, address="::1")


def test_unregistered_by_bpftool_it_is_gone(bpf_bbr, ns):
    listener = listen(ns)
    unregister(bpf_bbr)
    with pytest.raises(OSError) as refused:
        connect(ns, listener, cc=bpf_bbr)
    assert refused.value.errno == errno.ENOENT


def test_bpftool_cannot_register_it_twice(bpf_bbr, bbr_object, ns):
    assert run("bpftool", "struct_ops", "register", bbr_object, check=False).returncode
    send_verified(ns, bpf_bbr)


def test_a_connection_outlives_the_unregistering(bpf_bbr, ns):
    listener = listen(ns)
    sender, _ = connect(ns, listener, cc=bpf_bbr)
    unregister(bpf_bbr)
    assert get_cc(sender) == bpf_bbr
    with pytest.raises(OSError) as refused:
        set_cc(sender, "no_such_name")
    assert refused.value.errno == errno.ENOENT


def test_status_shows_what_bpftool_registered(bpf_bbr, bbrctl):
    found = status_of(bbrctl, bpf_bbr)
    assert found["supported"] and found["params_changed"] == 0 and found["monitors"] == 0
    assert {".data.params", ".data.watch", "bbr_rings"} <= set(maps_of_program(found["prog_id"]))
    assert bpf_bbr in bbrctl("status").out
    assert [i["name"] for i in bbrctl.json("status", "--name", bpf_bbr)] == [bpf_bbr]


def test_its_parameters_are_the_defaults(bpf_bbr, bbrctl):
    shown = bbrctl.json("show")
    assert shown["name"] == bpf_bbr
    assert shown["params"] == bbrctl.json("show", "--defaults")["params"]


def test_set_and_reset_what_bpftool_registered(bpf_bbr, bbrctl, ns):
    bbrctl("set", "cwnd_gain=3", "bw_win=20")
    assert status_of(bbrctl, bpf_bbr)["params_changed"] == 2
    send_verified(ns, bpf_bbr)
    bbrctl("reset")
    assert status_of(bbrctl, bpf_bbr)["params_changed"] == 0


def test_bbrctl_unloads_what_bpftool_registered(bpf_bbr, bbrctl, ns):
    listener = listen(ns)
    bbrctl("unload")
    with pytest.raises(OSError) as refused:
        connect(ns, listener, cc=bpf_bbr)
    assert refused.value.errno == errno.ENOENT
    bbrctl("unload", status=NOTHING)


def test_bbrctl_does_not_load_over_it(bpf_bbr, bbrctl):
    before = status_of(bbrctl, bpf_bbr)
    bbrctl("load", status=NOTHING)
    assert status_of(bbrctl, bpf_bbr) == before


def test_bpftool_unregisters_what_bbrctl_loaded_without_a_link(load_plain, bbrctl):
    name = load_plain()
    unregister(name)
    assert status_of(bbrctl, name) is None


def test_bpftool_sees_what_bbrctl_loaded_by_link(load, bbrctl):
    name = load()
    found = status_of(bbrctl, name)
    assert struct_ops()[found["map_id"]] == name
    assert found["link_id"] in [link["id"] for link in bpftool("link", "list")]
    assert pin(name).exists()
    # The kernel refuses bpftool's way: the element of such a map cannot be deleted.
    assert run("bpftool", "struct_ops", "unregister", "name", name, check=False).returncode
    assert status_of(bbrctl, name) == found
