# SPDX-License-Identifier: GPL-2.0-only
"""The path of path.sh: its devices are as asked for, it is a wire, and nothing but the flows' packets is on it."""
import json

import pytest

from runs import experiment
from vm import guest, kernels

MTU, SEGMENTS = 3000, 4  # not below 1280, where IPv6 is silent in any case
DEVICES = {"s0": "snd", "a0": "wan", "a1": "wan", "r0": "rtr", "r1": "rtr", "c0": "rcv"}
QUIET_S = 20  # IPv6 would have asked for a router three times
SCRIPT = f"""
make_path {MTU} {SEGMENTS} fq wan || exit
tc -n rtr qdisc add dev r1 root netem rate 10mbit limit 100
sleep {QUIET_S}
echo "quiet $(tc -n rtr -j -s qdisc show dev r1 root)"
{"".join(f'''echo "device $(ip -n {ns} -j -d link show {device})"
''' for device, ns in DEVICES.items())}
ip netns exec snd ping -c 3 -W 1 10.0.2.1
echo "busy $(tc -n rtr -j -s qdisc show dev r1 root)"
"""


@pytest.fixture(scope="module")
def lines():
    kernel = kernels.find("6.12")
    image = guest.initramfs(kernel, experiment.PATH.read_text() + SCRIPT, modules=experiment.PATH_MODULES)
    result = guest.run(kernel, image)
    assert result.status == 0, result.console
    return result.console.splitlines()


def named(lines, name):
    return [json.loads(line.partition(" ")[2])[0] for line in lines if line.startswith(f"{name} ")]


def test_devices_are_as_requested(lines):
    found = {device["ifname"]: (device["mtu"], device["gso_max_segs"]) for device in named(lines, "device")}
    assert found == dict.fromkeys(DEVICES, (MTU, SEGMENTS))


def test_without_flows_there_are_no_packets(lines):
    (queue,) = named(lines, "quiet")
    assert queue["kind"] == "netem" and queue["packets"] == 0


def test_it_does_not_route(lines):
    """An IP router would lower the TTL, and ARP would add packets to the three of ping."""
    (queue,) = named(lines, "busy")
    assert queue["packets"] == 3
    assert len([line for line in lines if "ttl=64" in line]) == 3
