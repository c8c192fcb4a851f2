# SPDX-License-Identifier: GPL-2.0-only
"""Network namespaces of the tests, and paths between them."""
import contextlib
import ctypes
import itertools
import os
import pathlib
import subprocess

from system import PREFIX, run

CLONE_NEWNET = 0x40000000
INITIAL = os.stat("/proc/self/ns/net").st_ino  # where the tests were started
numbers = itertools.count()
libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """An empty network namespace with its loopback up; delete() must be called."""

    def __init__(self):
        self.name = f"{PREFIX}-{next(numbers)}"
        run("ip", "netns", "add", self.name)
        try:
            self.ip("link", "set", "lo", "up")
        except BaseException:
            self.delete()
            raise

    def delete(self):
        run("ip", "netns", "del", self.name)

    @property
    def inode(self):
        return os.stat(f"/run/netns/{self.name}").st_ino

    def command(self, *args):
        """The command line that runs args in here; its process becomes that of args."""
        return ["ip", "netns", "exec", self.name, *map(str, args)]

    def run(self, *args, **kwargs):
        return run(*self.command(*args), **kwargs)

    def popen(self, *args, **kwargs):
        return subprocess.Popen(self.command(*args), **kwargs)

    def ip(self, *args):
        return run("ip", "-n", self.name, *args)

    @contextlib.contextmanager
    def entered(self):
        """
        This thread is in the namespace meanwhile, and the sockets that it makes stay there. So one process can hold both ends
        of a connection between two namespaces.
        """
        back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            setns(there)
            try:
                yield
            finally:
                setns(back)
        finally:
            os.close(there)
            os.close(back)

    def default_congestion_control(self, name):
        """Sets the namespace's own sysctl, never that of the initial namespace."""
        assert self.inode != INITIAL
        self.run("sysctl", "-q", "-w", f"net.ipv4.tcp_congestion_control={name}")


def setns(fd):
    if libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


class Link:
    """
    A veth between two namespaces: 10.77.N.1 and fd77:N::1 at the first, .2 and ::2 at the second.
    """

    def __init__(self, first, second, n=0):
        self.ends = first, second
        self.names = f"v{n}a", f"v{n}b"
        run("ip", "link", "add", self.names[0], "netns", first.name, "type", "veth",
            "peer", "name", self.names[1], "netns", second.name)
        for i, ns in enumerate(self.ends):
            ns.ip("addr", "add", f"10.77.{n}.{i + 1}/24", "dev", self.names[i])
            # Without nodad the address is not usable for a second or more.
            ns.ip("addr", "add", f"fd77:{n}::{i + 1}/64", "dev", self.names[i], "nodad")
        for i, ns in enumerate(self.ends):
            ns.ip("link", "set", self.names[i], "up")
        self.v4 = f"10.77.{n}.1", f"10.77.{n}.2"
        self.v6 = f"fd77:{n}::1", f"fd77:{n}::2"


class Path:
    """
    sender -- router -- receiver, with a token bucket as the bottleneck at the router's egress towards
    the receiver. Where the kernel has netem, the way back takes 10 ms.
    """

    def __init__(self, sender, router, receiver, rate="20mbit", limit="150k"):
        self.sender, self.receiver = sender, receiver
        near, far = Link(sender, router, 1), Link(router, receiver, 2)
        router.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        sender.ip("route", "add", "default", "via", near.v4[1])
        sender.ip("-6", "route", "add", "default", "via", near.v6[1])
        receiver.ip("route", "add", "default", "via", far.v4[0])
        receiver.ip("-6", "route", "add", "default", "via", far.v6[0])
        # One packet is one packet: there are no super-packets, which the bucket would have to segment.
        for ns, device in ((sender, near.names[0]), (router, far.names[0])):
            ns.ip("link", "set", device, "gso_max_segs", "1")
        router.run("tc", "qdisc", "add", "dev", far.names[0], "root", "tbf",
                   "rate", rate, "burst", "10k", "limit", limit)
        router.run("tc", "qdisc", "add", "dev", near.names[1], "root", "netem", "delay", "10ms",
                   check=False)
        self.bottleneck = router, far.names[0]
        self.v4, self.v6 = far.v4[1], far.v6[1]

    def dropped(self):
        """Packets that the bottleneck's queue dropped."""
        router, device = self.bottleneck
        words = router.run("tc", "-s", "qdisc", "show", "dev", device).stdout.replace(",", "").split()
        return int(words[words.index("(dropped") + 1])


RELAY = pathlib.Path(__file__).resolve().parents[2] / "build/relay"
QUEUE = 10000  # packets that a device holds until the relay has read them: more than any window here


class Relay:
    """
    A path between two namespaces, on any kernel that has tun devices.
    What sender sends to receiver meets losses (thousandths of the packets), a policer (kbit/s, and bytes of its bucket), a
    bottleneck (kbit/s, and bytes of its queue), and the delay (us). The other direction meets the delay.
    """

    def __init__(self, sender, receiver, **faults):
        assert RELAY.exists(), f"{RELAY} is missing: make tests"
        self.sender, self.receiver = sender, receiver
        self.process = subprocess.Popen([RELAY, sender.name, receiver.name, *(f"{k}={v}" for k, v in faults.items())],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"
        self.addresses = "10.78.0.1", "10.78.0.2"
        for ns, address in zip((sender, receiver), self.addresses):
            ns.ip("addr", "add", f"{address}/24", "dev", "t0")
            ns.ip("link", "set", "t0", "txqueuelen", QUEUE, "up")
        self.v4 = self.addresses[1]

    def replace_route(self, *options):
        self.sender.ip("route", "replace", "10.78.0.0/24", "dev", "t0", *options)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(10) == 0
