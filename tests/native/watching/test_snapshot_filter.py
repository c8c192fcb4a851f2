# SPDX-License-Identifier: GPL-2.0-only
"""Random filter expressions: bbrmon snapshot against an evaluation in Python, and against ss where ss has them."""
import ipaddress
import json
import operator
import random
import socket

import pytest

import ss
from test_snapshot import ends_of, pair

SO_MARK = 36
PORTS = {"=": operator.eq, "==": operator.eq, "eq": operator.eq, "": operator.eq, "!=": operator.ne, "ne": operator.ne,
         "neq": operator.ne, ">=": operator.ge, "ge": operator.ge, "geq": operator.ge, "<=": operator.le, "le": operator.le,
         "leq": operator.le, ">": operator.gt, "gt": operator.gt, "<": operator.lt, "lt": operator.lt}
EQUAL = ["", "=", "==", "eq"]
DIFFERENT = ["!=", "ne", "neq"]
SIGNS = {"(", ")", "!", "&", "&&", "|", "||", "=", "==", "!=", ">=", "<=", ">", "<"}
AND, OR, NOT = ["and", "&", "&&", ""], ["or", "|", "||"], ["not", "!"]


class Expressions:
    """Makes random expressions: the text, and a function of a record. common: only what ss has as well."""

    def __init__(self, seed, records, cgroups, common):
        self.random, self.records, self.cgroups, self.common = random.Random(seed), records, cgroups, common

    def any_of(self, key):
        return self.random.choice(self.records)[key]

    def equal(self, text, test, may_differ=True):
        """A test with one of the spellings of "is" or "is not"."""
        if may_differ and self.random.random() < 0.3:
            return f"{self.random.choice(DIFFERENT)} {text}", lambda r: not test(r)
        return f"{self.random.choice(EQUAL)} {text}".strip(), test

    def host(self):
        word, key, port_key = self.random.choice([("dst", "remote", "rport"), ("src", "local", "lport")])
        address = ipaddress.ip_address(self.any_of(key))
        # ss compares the first bits of an IPv4 prefix with those of an IPv6 address: of 0.0.0.0/1 with ::1.
        fewest = 2 if self.common and address.version == 4 else 0
        bits = self.random.choice([address.max_prefixlen] * 2 + [self.random.randint(fewest, address.max_prefixlen)])
        net = ipaddress.ip_network((address, bits), strict=False)
        shown = str(net.network_address) + (f"/{bits}" if bits < address.max_prefixlen else "")
        if address.version == 6:
            prefix = f"/{bits}" if bits < 128 else ""
            shown = f"[{net.network_address}{prefix}]"
        port = self.any_of(port_key) if self.random.random() < 0.3 else None
        kind = self.random.random()
        if kind < 0.1:
            shown, net, port = "*", None, None
        elif kind < 0.2:
            shown, net, port = f":{self.any_of(port_key)}", None, 0
            port = int(shown[1:])
        elif port is not None:
            shown += f":{port}"

        def test(record):
            if port is not None and record[port_key] != port:
                return False
            if net is None:
                return True
            value = ipaddress.ip_address(record[key])
            if net.version == 4:
                return value.version == 4 and value in net
            # As in ss, an IPv6 prefix is for IPv6 sockets.
            if record["family"] != "inet6":
                return False
            return (value if value.version == 6 else ipaddress.ip_address(f"::ffff:{value}")) in net

        text, test = self.equal(shown, test, may_differ=not self.common)
        return f"{word} {text}", test

    def port(self):
        word, key = self.random.choice([("dport", "rport"), ("sport", "lport")])
        sign, port = self.random.choice(list(PORTS)), self.any_of(key) + self.random.choice([-1, 0, 0, 1])
        colon = self.random.choice(["", ":"])
        return f"{word} {sign} {colon}{port}", lambda r: PORTS[sign](r[key], port)

    def mark(self):
        mask = self.random.choice([None, 1, 2, 3, 0xf0])
        value = self.any_of("mark") & (0xffffffff if mask is None else mask)
        shown = self.random.choice([str(value), hex(value)]) + ("" if mask is None else f"/{mask:#x}")
        text, test = self.equal(shown, lambda r: r["mark"] & (0xffffffff if mask is None else mask) == value)
        return f"fwmark {text}", test

    def cgroup(self):
        path, found = self.random.choice(list(self.cgroups.items()))
        text, test = self.equal(path, lambda r: r["cgroup_id"] == found)
        return f"cgroup {text}", test

    def device(self):
        text, test = self.equal(self.random.choice(["lo", "1"]), lambda r: r["bound_ifindex"] == 1)
        return f"dev {text}", test

    def own(self):
        word, key = self.random.choice([("instance", "instance"), ("name", "instance"), ("cc", "instance"), ("profile", "profile"), ("mode", "mode")])
        value = self.any_of(key) or "default"
        text, test = self.equal(value, lambda r: r[key] == value)
        return f"{word} {text}", test

    def condition(self):
        kinds = [self.host] * 4 + [self.port] * 4 + [self.mark, self.cgroup, self.device]
        return self.random.choice(kinds if self.common else [*kinds, self.own, self.own])()

    def term(self, depth):
        kind = self.random.random()
        if depth and kind < 0.2:
            text, test = self.term(depth - 1)
            return f"{self.random.choice(NOT)} {text}", lambda r: not test(r)
        if depth and kind < 0.45:
            text, test = self.list(depth - 1)
            return f"( {text} )", test
        return self.condition()

    def list(self, depth):
        """Terms are evaluated from left to right, whatever the operators are."""
        text, test = self.term(depth)
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            more, right = self.term(depth)
            spelling = self.random.choice(self.random.choice([AND, OR]))
            text = f"{text} {spelling} {more}"
            test = self.joined(test, right, spelling in OR)
        return text, test

    @staticmethod
    def joined(left, right, is_or):
        return (lambda r: left(r) or right(r)) if is_or else (lambda r: left(r) and right(r))

    def tight(self, text):
        """Drops some of the blanks around signs: unlike ss, bbrmon needs none."""
        words = text.split()
        out = words[0]
        for word, before in zip(words[1:], words):
            may = before in SIGNS or (word in SIGNS and word not in ("!", "("))
            out += ("" if may and self.random.random() < 0.5 else " ") + word
        return out


@pytest.fixture
def various(shared, ns, cgroups, bbrmon):
    """Connections of all kinds, and their records."""
    names = [shared, "bbr"]
    cgroups.make("a")
    addresses = ["127.0.0.1", "127.0.0.2", "127.1.2.3", "::1"]
    for i in range(16):
        with cgroups.entered("a" if i % 5 == 0 else None):
            mapped = i % 7 == 3
            address = "127.0.0.1" if mapped else addresses[i % 4]
            options = [(socket.SOL_SOCKET, SO_MARK, [0, 1, 2, 0xf1][i % 4 if i % 3 else 0])]
            if i % 4 == 1:
                options.append((socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0"))
            pair(ns, names[i % 2], size=[0, 60000][i // 8], address=address,
                 to="::ffff:127.0.0.1" if mapped else None, family=socket.AF_INET6 if mapped else None,
                 accepted_cc=names[i % 3 == 0], options=options)
    records = [json.loads(line) for line in bbrmon("snapshot", "-j", "--netns", ns.name).out.splitlines()]
    assert len(records) == 32
    home = cgroups.home
    # By their whole path, as ss takes them.
    ids = {cgroups.mount / cgroups.path("a")[1:]: cgroups.id("a"),
           cgroups.mount / home[1:]: (cgroups.mount / home[1:]).stat().st_ino}
    return records, ids


def matching(bbrmon, ns, expression):
    out = bbrmon("snapshot", "-j", "--netns", ns.name, *expression).out
    return {ends_of(json.loads(line)) for line in out.splitlines()}


def test_against_python(plain_bbrmon, ns, various):
    records, cgroups = various
    some = 0
    for seed in range(150):
        expressions = Expressions(seed, records, cgroups, common=False)
        text, test = expressions.list(3)
        expected = {ends_of(r) for r in records if test(r)}
        shown = expressions.tight(text) if seed % 2 else text
        words = [shown] if seed % 3 else shown.split()
        assert matching(plain_bbrmon, ns, words) == expected, shown
        some += 0 < len(expected) < len(records)
    assert some > 60, "these expressions choose all or nothing"


def test_against_ss(plain_bbrmon, ns, various):
    """All sockets of the namespace use BBR, so both must choose the same."""
    records, cgroups = various
    assert ss.ends(ns) == {ends_of(r) for r in records}
    some = 0
    for seed in range(1000, 1100):
        text, _ = Expressions(seed, records, cgroups, common=True).list(3)
        of_ss = ss.ends(ns, *text.split())
        assert matching(plain_bbrmon, ns, text.split()) == of_ss, text
        some += 0 < len(of_ss) < len(records)
    assert some > 40, "these expressions choose all or nothing"


def test_the_order_of_operators_is_that_of_ss(bbrmon, ns, various):
    """ss evaluates from left to right, contrary to its manual."""
    records, _ = various
    one, two, three = sorted({r["lport"] for r in records})[:3]  # IPv4 and IPv6 sockets may have the same port
    for text in (f"sport = :{one} or sport = :{two} and sport = :{three}", f"sport = :{one} or sport = :{two} sport = :{three}",
                 f"sport = :{one} and sport = :{two} or sport = :{three}"):
        assert matching(bbrmon, ns, [text]) == ss.ends(ns, *text.split())
    assert not matching(bbrmon, ns, [f"sport = :{one} or sport = :{two} and sport = :{three}"])
    assert matching(bbrmon, ns, [f"sport = :{one} or ( sport = :{two} and sport = :{three} )"])


def test_addresses_as_they_are_shown(bbrmon, shared, link):
    """A link-local address with its device, by index as bbrmon shows it and by name as people write it."""
    near, far = link.ends
    device = link.names[0]
    for side, name, address in (near, device, "fe80::1"), (far, link.names[1], "fe80::2"):
        side.ip("addr", "add", f"{address}/64", "dev", name, "nodad")
    index = near.run("cat", f"/sys/class/net/{device}/ifindex").stdout.strip()
    with far.entered():
        listener = socket.create_server(("::", 0), family=socket.AF_INET6)
    with listener, near.entered(), socket.socket(socket.AF_INET6) as client:
        client.setsockopt(socket.SOL_TCP, socket.TCP_CONGESTION, shared.encode())
        client.connect(("fe80::2", listener.getsockname()[1], 0, int(index)))
        lines = bbrmon("snapshot", "--netns", near.name, "-HO").out.splitlines()
        address = next(word for line in lines for word in line.split() if "%" in word)
        assert address.split("]")[0] == "[fe80::1" and f"]%{index}:" in address
        (ends,) = matching(bbrmon, near, [f"src {address}"])
        for text in (address, f"dst fe80::2%{device}", f"dst [fe80::2%{device}]:{listener.getsockname()[1]}",
                     f"src fe80::1%{index}", f"src = fe80::%{device}/10", "dst != fe80::3%1"):
            assert matching(bbrmon, near, [text]) == {ends}, text
        for text in "dst fe80::2%lo", "src fe80::1%1", f"dst != fe80::2%{device}", f"dst fe80::1%{device}":
            assert not matching(bbrmon, near, [text]), text


def test_names_of_services(bbrmon, ns):
    assert matching(bbrmon, ns, ["dport = :http or dport != https"]) == set()
