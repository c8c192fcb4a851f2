# SPDX-License-Identifier: GPL-2.0-only
"""What ss(8) shows of the TCP sockets of a namespace, to compare with."""
import re

from system import run

RATES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def split(endpoint):
    """("10.0.0.1", 80) of an address as ss prints it."""
    address, _, port = endpoint.rpartition(":")
    address = address.strip("[]").partition("%")[0]
    return address.removeprefix("::ffff:"), int(port)


class Socket:
    """A line of `ss -tinmOe`."""

    def __init__(self, line):
        self.state, recv_q, send_q, local, remote, *self.words = line.split()
        self.recv_q, self.send_q = int(recv_q), int(send_q)
        self.ends = (*split(local), *split(remote))
        self.line = line

    def value(self, key):
        """The rest of the word that starts with "key:"; None if there is none."""
        for word in self.words:
            if word.startswith(f"{key}:"):
                return word[len(key) + 1:]
        return None

    def number(self, key, default=0):
        value = self.value(key)
        return default if value is None else int(value)

    def after(self, key):
        """The word after the word "key", a rate in bits per second; None if there is none."""
        if key not in self.words:
            return None
        return int(re.fullmatch(r"(\d+)bps(?:/\d+bps)?", self.words[self.words.index(key) + 1])[1])

    def bbr(self):
        """What ss shows of the kernel's bbr: bits per second, milliseconds, two gains; None if it shows nothing."""
        found = re.search(r" bbr:\(bw:(\d+)bps,mrtt:([\d.e+]+)(?:,pacing_gain:([\d.]+))?(?:,cwnd_gain:([\d.]+))?\)",
                          self.line)
        return found and [float(value or 0) for value in found.groups()]


def sockets(ns, *expression):
    """{ends: Socket} of the sockets that match."""
    out = ns.run("ss", "-tinmOeH", *expression).stdout
    found = [Socket(line) for line in out.splitlines() if line.strip()]
    assert len({s.ends for s in found}) == len(found)
    return {s.ends: s for s in found}


def ends(ns, *expression):
    """Only the ends of the sockets that match, for many sockets."""
    # Not by `ip netns exec`, which hides the cgroups.
    out = run("nsenter", f"--net=/run/netns/{ns.name}", "ss", "-tnH", *expression, check=False)
    assert not out.returncode and "bellows" not in out.stderr and "Error" not in out.stderr, (expression, out.stderr)
    words = [line.split() for line in out.stdout.splitlines()]
    return {(*split(w[3]), *split(w[4])) for w in words}
