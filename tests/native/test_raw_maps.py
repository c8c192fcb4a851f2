# SPDX-License-Identifier: GPL-2.0-only
"""
Whatever user space writes into the maps, past bbrctl: connections go on, and what they carry stays
whole.
"""
import json
import random

import pytest

from system import maps_of_program, run, wait_until
from tool import status_of
from transfer import MB, Transfer, connect, listen, send_verified

CONNECTIONS = 4
ROUNDS = 8


def write(map_id, value):
    run("bpftool", "map", "update", "id", map_id, "key", "hex", "0", "0", "0", "0",
        "value", "hex", *(f"{b:02x}" for b in value))


def size_of(map_id):
    return json.loads(run("bpftool", "-j", "map", "show", "id", map_id).stdout)["bytes_value"]


def contents(size):
    """Zeros, also as a new generation, ones, and bytes of a fixed seed."""
    rng = random.Random(4)
    return [bytes(size), b"\1" + bytes(size - 1), b"\xff" * size] + [rng.randbytes(size) for _ in range(ROUNDS)]


def small_values(size):
    """Words of which most are within some parameter's range, or just beside it."""
    rng = random.Random(5)
    choices = [0, 1, 2, 3, 4, 15, 16, 63, 64, 127, 128, 255, 256, 257, 1000, 4095, 4096, 65535, 1 << 20]
    return [b"".join(rng.choice(choices).to_bytes(4, "little") for _ in range(size // 4)) for _ in range(ROUNDS)]


class Instance:
    def __init__(self, bbrctl, name, ns):
        self.maps = maps_of_program(status_of(bbrctl, name)["prog_id"])
        listener = listen(ns, backlog=CONNECTIONS)
        self.running = [Transfer(*connect(ns, listener, cc=name), seed=i) for i in range(CONNECTIONS)]

    def advance(self, what, size=2 * MB):
        """Every connection gets two megabytes further than it is."""
        goals = [t.received + size for t in self.running]
        wait_until(lambda: all(t.received > g or t.errors for t, g in zip(self.running, goals)),
                   f"every connection goes on with {what}")

    def finish(self):
        for transfer in self.running:
            transfer.stop()
        for transfer in self.running:
            transfer.finish()



@pytest.mark.parametrize("make", [contents, small_values])
def test_anything_in_the_parameters(bbrctl, load, ns, make):
    name = load()
    instance = Instance(bbrctl, name, ns)
    params = instance.maps[".data.params"]
    for i, value in enumerate(make(size_of(params))):
        write(params, value)
        instance.advance(f"{make.__name__}[{i}] as parameters")
        send_verified(ns, name)
        bbrctl("show", "--name", name)
    bbrctl("reset", "--name", name, status=None)
    assert status_of(bbrctl, name)["params_changed"] == 0
    bbrctl("set", "--name", name, "cwnd_gain=2.5")
    assert status_of(bbrctl, name)["params_changed"] == 1
    instance.advance("the parameters set again")
    instance.finish()


def test_anything_in_the_subscriptions(bbrctl, load, ns):
    name = load()
    instance = Instance(bbrctl, name, ns)
    watch = instance.maps[".data.watch"]
    for i, value in enumerate(contents(size_of(watch))):
        write(watch, value)
        instance.advance(f"contents[{i}] as subscriptions")
        send_verified(ns, name)
        bbrctl("status")
    write(watch, bytes(size_of(watch)))
    instance.advance("no subscriptions again")
    assert status_of(bbrctl, name)["monitors"] == 0
    instance.finish()


def test_both_at_once_again_and_again(bbrctl, load, ns):
    name = load()
    instance = Instance(bbrctl, name, ns)
    params, watch = instance.maps[".data.params"], instance.maps[".data.watch"]
    rng = random.Random(6)
    for _ in range(40):
        write(params, rng.randbytes(size_of(params)))
        write(watch, rng.randbytes(size_of(watch)))
    instance.advance("random bytes everywhere")
    bbrctl("reset", "--name", name, status=None)
    instance.advance("the defaults")
    instance.finish()


def is_frozen(bbrctl, name, map_name):
    """Does the kernel refuse to have a map of the instance written?"""
    frozen = maps_of_program(status_of(bbrctl, name)["prog_id"])[map_name]
    refused = run("bpftool", "map", "update", "id", frozen, "key", "hex", "0", "0", "0", "0",
                  "value", "hex", *["0"] * size_of(frozen), check=False)
    return refused.returncode != 0


def test_the_clamped_parameters_cannot_be_written(bbrctl, load, ns):
    """The algorithm computes with them; bbrctl has frozen them."""
    name = load()
    assert is_frozen(bbrctl, name, "bbr_clamped")
    send_verified(ns, name)


def test_anything_in_the_clamped_parameters(bbrctl, bpf_bbr, ns):
    """Where bpftool registered it they are not frozen."""
    instance = Instance(bbrctl, bpf_bbr, ns)
    instance.advance("the defaults")
    clamped = instance.maps["bbr_clamped"]
    size = size_of(clamped) - 8
    for i, value in enumerate(contents(size)):
        write(clamped, value + (1).to_bytes(8, "little"))  # as if generation 0 had been clamped
        instance.advance(f"contents[{i}] as clamped parameters", 50_000)
    write(clamped, bytes(size + 8))
    instance.advance("the defaults again")
    instance.finish()


def test_the_abi_cannot_be_written(bbrctl, load, ns):
    """It is frozen: nobody can make tools misread an instance."""
    name = load()
    assert is_frozen(bbrctl, name, ".rodata.bbr_abi")
    assert status_of(bbrctl, name)["supported"]
