# SPDX-License-Identifier: GPL-2.0-only
"""Unloading and loading while connections use the instance: they keep the code that they have."""
import errno

import pytest

from system import map_exists, maps_of_program, registered, wait_until
from tool import pause, status_of
from transfer import BUSY_RATE, Transfer, advance, connect, finish, flows, get_cc, listen, send_verified


def test_unload_under_traffic(bbrctl, load, ns):
    name = load()
    running = flows(ns, name, 4)
    advance(running)
    assert bbrctl.json("unload", "--name", name)["users"] == 4
    assert name not in registered()
    advance(running)
    assert {get_cc(t.sockets[0]) for t in running} == {name}
    with pytest.raises(OSError) as refused:
        connect(ns, listen(ns), cc=name)
    assert refused.value.errno == errno.ENOENT
    finish(running)


def test_maps_go_with_the_last_connection(bbrctl, load, ns):
    name = load()
    ids = maps_of_program(status_of(bbrctl, name)["prog_id"])
    assert len(ids) >= 4
    running = flows(ns, name, 2)
    bbrctl("unload", "--name", name)
    advance(running)
    assert all(map_exists(i) for i in ids.values())
    finish(running)
    wait_until(lambda: not any(map_exists(i) for i in ids.values()), "the kernel frees the instance's maps")


def test_load_anew_under_the_same_name(bbrctl, load, ns):
    name = load("cwnd_gain=3")
    old = flows(ns, name, 3)
    before = status_of(bbrctl, name)
    bbrctl("unload", "--name", name)
    bbrctl("load", "--name", name)
    after = status_of(bbrctl, name)
    assert after["map_id"] != before["map_id"] and after["users"] == 0
    new = flows(ns, name, 3)
    advance(old + new)
    assert status_of(bbrctl, name)["users"] == 3
    send_verified(ns, name)
    finish(old)
    advance(new)
    finish(new)


def test_twenty_times_under_traffic(bbrctl, load, ns):
    name = load()
    running = flows(ns, name, 2, gap=0.03)
    for _ in range(20):
        bbrctl("unload", "--name", name)
        bbrctl("load", "--name", name)
        running += flows(ns, name, 1, gap=0.03)
    advance(running)
    finish(running)
    bbrctl("unload", "--name", name)
    assert name not in registered()


def test_namespace_default_outlives_the_unload(bbrctl, load, ns):
    """The namespace keeps its default, so its new sockets still work."""
    name = load()
    ns.default_congestion_control(name)
    bbrctl("unload", "--name", name)
    sender, receiver = connect(ns, listen(ns))
    assert get_cc(sender) == name
    Transfer(sender, receiver, 1_000_000).finish()
    ns.default_congestion_control("reno")


def test_listener_outlives_the_unload(bbrctl, load, ns):
    name = load()
    listener = listen(ns, cc=name)
    bbrctl("unload", "--name", name)
    connecting, accepted = connect(ns, listener)
    # The kernel gives an accepted socket the default when the listener's is being unregistered.
    Transfer(accepted, connecting, 1_000_000).finish()


def test_parameters_change_under_traffic(bbrctl, load, ns):
    name = load()
    running = flows(ns, name, 4, gap=0, rate=BUSY_RATE)
    for i in range(30):
        bbrctl("set", "--name", name, f"bw_win={i % 5 + 5}", f"cwnd_gain={1 + i % 7}", f"high_gain={2 + i % 3}")
    pause()
    bbrctl("reset", "--name", name)
    advance(running)
    finish(running)
