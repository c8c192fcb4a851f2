# SPDX-License-Identifier: GPL-2.0-only
"""
Whatever user space writes into the maps, past bbrctl: connections continue, and their data stays intact.
"""
import itertools
import json
import random
import struct

import bpfmap
import pytest

from system import maps_of_instance, maps_of_program, run, wait_until
from tool import REFUSED, status_of
from transfer import BUSY_RATE, MB, Transfer, connect, flows, listen, send_verified

CONNECTIONS = 4
ROUNDS = 8


def write(map_id, value):
    run("bpftool", "map", "update", "id", map_id, "key", "hex", "0", "0", "0", "0",
        "value", "hex", *(f"{b:02x}" for b in value))


def size_of(map_id):
    return json.loads(run("bpftool", "-j", "map", "show", "id", map_id).stdout)["bytes_value"]


def contents(size):
    """Zeros, also as a new generation; ones; and bytes from a fixed seed."""
    rng = random.Random(4)
    return [bytes(size), b"\1" + bytes(size - 1), b"\xff" * size] + [rng.randbytes(size) for _ in range(ROUNDS)]


def small_values(size):
    """Words that are mostly within some parameter's range, or just beside it."""
    rng = random.Random(5)
    choices = [0, 1, 2, 3, 4, 15, 16, 63, 64, 127, 128, 255, 256, 257, 1000, 4095, 4096, 65535, 1 << 20]
    return [b"".join(rng.choice(choices).to_bytes(4, "little") for _ in range(size // 4)) for _ in range(ROUNDS)]


# Commands that read profiles and rules, and commands that change them.
VERBS = [["profile", "list"], ["-j", "profile", "list"], ["profile", "show", "p1"], ["profile", "copy", "default", "new"],
         ["set", "--profile", "p1", "bw_win=12"], ["profile", "delete", "p1"], ["profile", "delete", "new"],
         ["rule", "list"], ["-j", "rule", "list"], ["rule", "test", "127.0.0.1", "--dport", "7"],
         ["rule", "add", "--dport", "7", "--profile", "default"], ["rule", "delete", "--dport", "7"],
         ["rule", "delete", "1"]]


class Instance:
    def __init__(self, bbrctl, name, ns):
        self.maps = maps_of_instance(status_of(bbrctl, name)["prog_id"])
        self.running = flows(ns, name, CONNECTIONS, gap=0, rate=BUSY_RATE)

    def advance(self, what, size=2 * MB):
        """Waits until every connection has transferred two more megabytes."""
        goals = [t.received + size for t in self.running]
        wait_until(lambda: all(t.received > g or t.errors for t, g in zip(self.running, goals)),
                   f"every connection goes on with {what}")

    def finish(self):
        for transfer in self.running:
            transfer.stop()
        for transfer in self.running:
            transfer.finish()



def without_slow_rates(bbrctl, algorithm, value):
    """Profile 0 with no rate set: at 4 kbit/s a connection does continue, but not by megabytes."""
    keys = []
    for param in bbrctl.json("show", "--defaults", "--algorithm", algorithm)["params"]:
        keys += [param] * (len(param["value"]) if isinstance(param["value"], list) else 1)
    words = [value[i:i + 4] for i in range(0, len(value), 4)]
    first = 64 + 64 * 16 // 4  # behind the generations and names of all
    assert len(words) == first + 64 * 2 * len(keys)
    for i, param in enumerate(keys):
        if param["unit"] == "bps" and param["range"][1] >= 2**32:
            words[first + i] = words[first + len(keys) + i] = bytes(4)
    return b"".join(words)


ALGORITHMS = pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])


@ALGORITHMS
@pytest.mark.parametrize("make", [contents, small_values])
def test_anything_in_the_parameters(bbrctl, load, ns, make, algorithm):
    name = load(algorithm=algorithm)
    instance = Instance(bbrctl, name, ns)
    params, verbs = instance.maps[".data.params"], itertools.cycle(VERBS)
    for i, value in enumerate(make(size_of(params))):
        write(params, without_slow_rates(bbrctl, algorithm, value) if make is small_values else value)
        instance.advance(f"{make.__name__}[{i}] as parameters")
        send_verified(ns, name)
        bbrctl("show", "--name", name)
        for verb in itertools.islice(verbs, 4):
            bbrctl("--name", name, *verb, status=None)
    bbrctl("reset", "--name", name, status=None)
    assert status_of(bbrctl, name)["params_changed"] == 0
    bbrctl("set", "--name", name, "cwnd_gain=2.5")
    assert status_of(bbrctl, name)["params_changed"] == 1
    instance.advance("the parameters set again")
    instance.finish()


@ALGORITHMS
def test_anything_in_the_subscriptions(bbrctl, load, ns, algorithm):
    name = load(algorithm=algorithm)
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


@ALGORITHMS
def test_both_at_once_again_and_again(bbrctl, load, ns, algorithm):
    name = load(algorithm=algorithm)
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


@pytest.mark.parametrize("part", ["bbr_more", "bbr_history"])
def test_anything_in_a_further_part_of_a_state(bbrctl, load, ns, part):
    """For BBR version 3: the owner of a socket may write the storages that belong to it."""
    name = load(algorithm="bbr3")
    instance = Instance(bbrctl, name, ns)
    with bpfmap.Map.of(instance.maps[part]) as more:
        for i, value in enumerate(contents(more.value_size)):
            for transfer in instance.running:
                more[struct.pack("i", transfer.sockets[0].fileno())] = value
            instance.advance(f"contents[{i}] as {part}", 200_000)
            send_verified(ns, name)
        for transfer in instance.running:
            del more[struct.pack("i", transfer.sockets[0].fileno())]
    instance.advance(f"no {part}")
    instance.finish()


def is_frozen(bbrctl, name, map_name):
    """True if the kernel refuses writes to a map of the instance."""
    frozen = maps_of_program(status_of(bbrctl, name)["prog_id"])[map_name]
    refused = run("bpftool", "map", "update", "id", frozen, "key", "hex", "0", "0", "0", "0",
                  "value", "hex", *["0"] * size_of(frozen), check=False)
    return refused.returncode != 0


def test_the_clamped_parameters_cannot_be_written(bbrctl, load, ns):
    """The algorithm computes with these; bbrctl has frozen them."""
    name = load()
    assert is_frozen(bbrctl, name, ".data.clamped")
    send_verified(ns, name)


@pytest.mark.parametrize("registered", ["bpf_bbr", "bpf_bbr3"])
def test_anything_in_the_clamped_parameters(bbrctl, request, registered, ns):
    """They are not frozen where bpftool registered the instance."""
    instance = Instance(bbrctl, request.getfixturevalue(registered), ns)
    instance.advance("the defaults")
    clamped = instance.maps[".data.clamped"]
    size = size_of(clamped) - 16
    for i, value in enumerate(contents(size)):
        write(clamped, struct.pack("QQ", 1, 1) + value)  # as if generation 0 had been clamped
        instance.advance(f"contents[{i}] as clamped parameters", 50_000)
    write(clamped, bytes(size + 16))
    instance.advance("the defaults again")
    instance.finish()


def test_the_abi_cannot_be_written(bbrctl, load, ns):
    """It is frozen, so nobody can make tools misread an instance."""
    name = load()
    assert is_frozen(bbrctl, name, ".rodata.bbr_abi")
    assert status_of(bbrctl, name)["supported"]


INDEX, LIST, TERMS = 0xffffffff, 0xfffffffe, 0xfffffffd
KEY, VALUE, MAX_RULES = 40, 48, 65536


def rule_key(fields, mark=0, prefix=288, address=bytes(16)):
    return struct.pack("<IIQIHH", prefix, fields, 0, mark, 0, 0) + address


def rule(order=0, profile=1, length=0, fields=0):
    return bytes(16) + struct.pack("<IIQIHHII", length, fields, 0, 0, 0, 0, profile, order)


def index(combinations, count):
    return rule_key(INDEX), rule(combinations, count)


def terms(*pairs):
    """An index with terms, and entries of two terms each: (kind, is_not, len, is_last, order, value)."""
    yield rule_key(INDEX), bytes(32) + struct.pack("<IHHII", len(pairs), 0, 0, 1, 0)
    yield rule_key(LIST), rule()
    for i, pair in enumerate(pairs):
        yield rule_key(TERMS, i), b"".join(struct.pack("<BBBBI", *term[:5]) + term[5] for term in pair)


NO_TERM, ANY = (0, 0, 0, 0, 0, bytes(16)), (1, 0, 0, 1, 0, bytes(16))  # any: --dst ::/0


def everywhere(order=0, profile=1):
    """The entry that a connection finds when it looks for a rule without fields."""
    return rule_key(0, prefix=160), rule(order, profile)


def random_rules(seed):
    rng = random.Random(seed)
    some = lambda: rng.choice([0, 1, 15, 64, 65535, INDEX, LIST, TERMS, rng.getrandbits(32)])  # noqa: E731
    return [(rule_key(some(), some(), rng.randrange(289), rng.randbytes(16)), rng.randbytes(VALUE)) for _ in range(300)]


# Elements of a trie, and the profile that a new connection then has.
TRIES = {
    "nothing": ([], 0),
    "no index": ([everywhere()], 0),
    "an index alone": ([index(0xffff, 0)], 0),
    "a list that ends early": ([index(1, 5), (rule_key(LIST), rule())], 0),
    "no end of rules": ([index(0xffffffff, 0xffffffff)], 0),
    "a long prefix": ([index(1, 1), (rule_key(LIST), rule(length=0xffffffff)), everywhere()], 1),
    "a prefix of 129 bits": ([index(1, 1), (rule_key(LIST), rule(length=129)), everywhere()], 1),
    "unknown fields": ([index(1, 1), (rule_key(LIST), rule(fields=0x10)), everywhere()], 1),
    "a profile that is none": ([index(1, 1), (rule_key(LIST), rule(profile=64)), everywhere(profile=64)], 0),
    "any number as profile": ([index(1, 1), (rule_key(LIST), rule(profile=LIST)), everywhere(profile=LIST)], 0),
    "a profile that is free": ([index(1, 1), (rule_key(LIST), rule(profile=9)), everywhere(profile=9)], 0),
    "a high order": ([index(1, 1), (rule_key(LIST), rule()), everywhere(order=LIST)], 1),
    "the highest order": ([index(1, 1), (rule_key(LIST), rule()), everywhere(order=INDEX)], 0),
    "a key that matches everything": ([(rule_key(0, prefix=0), rule(0xffff, 1))], 1),
    "a term": (list(terms((ANY, NO_TERM))), 1),
    "a rule of terms that is missing": ([*terms((ANY[:4] + (7, bytes(16)), NO_TERM))], 0),
    "terms without an end": ([*terms(((1, 0, 0, 0, 0, bytes(16)),) * 2)], 0),
    "more entries than there are": ([(rule_key(INDEX), bytes(32) + struct.pack("<IHHII", INDEX, 0, 0, 1, 0))], 0),
    "a kind that is none": ([*terms(((99, 0, 0, 1, 0, bytes(16)), NO_TERM))], 0),
    "a prefix term of 255 bits": ([*terms(((1, 0, 255, 1, 0, bytes(16)), NO_TERM))], 0),
    "a cgroup that is none": ([*terms(((6, 1, 0, 1, 0, b"\xff" * 16), NO_TERM))], 1),
    "a path of 255 names below none": ([*terms(((8, 0, 255, 1, 0, b"\xff" * 16), NO_TERM))], 0),
    "any terms": ([*terms(*[[(rng.randrange(256), rng.randrange(256), rng.randrange(256), 0, i, rng.randbytes(16))
                           for i in range(2)] for rng in map(random.Random, range(256))])], None),
    **{f"any bytes {seed}": (random_rules(seed), None) for seed in range(3)},
}


def put_trie(rules_map, elements):
    trie = bpfmap.Map.create(bpfmap.LPM_TRIE, KEY, VALUE, 2 * MAX_RULES + 1, bpfmap.NO_PREALLOC)
    with trie:
        for key, value in elements:
            trie[key] = value
        rules_map[bytes(4)] = struct.pack("I", trie.fd)


def test_anything_in_the_rules(bbrctl, load, ns):
    name = load()
    instance = Instance(bbrctl, name, ns)
    listener = listen(ns)
    with bpfmap.Map.of(instance.maps["bbr_rules"]) as rules, bpfmap.profiles(instance.maps) as mapped:
        mapped.copy_profile(0, 1)
        verbs = itertools.cycle(VERBS)
        for what, (elements, profile) in TRIES.items():
            mapped.set_name(1, "p1")
            put_trie(rules, elements)
            ends = connect(ns, listener, cc=name)
            counts = [mapped.connections(i) for i in range(64)]
            if profile is not None:
                expected = [CONNECTIONS] + [0] * 63
                expected[profile] += 1
                assert counts == expected, what
            assert sum(counts) == CONNECTIONS + 1, what
            Transfer(*ends, 200_000).finish()
            wait_until(lambda: mapped.connections(0) == CONNECTIONS, "the connection has ended")
            for verb in [["rule", "list"], *itertools.islice(verbs, 2)]:
                bbrctl("--name", name, *verb, status=None)
                put_trie(rules, elements)
            bbrctl("rule", "flush", "--name", name, status=None)
            assert bbrctl.json("rule", "list", "--name", name)["rules"] == []
        put_trie(rules, [everywhere()])
        assert "rule flush" in bbrctl("rule", "list", "--name", name, status=REFUSED).err
        instance.advance("any rules", 200_000)
        instance.finish()
