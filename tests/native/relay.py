# SPDX-License-Identifier: GPL-2.0-only
"""A path between two namespaces with a bottleneck, delay, losses or a policer, on any kernel that has tun devices."""
import pathlib
import subprocess


RELAY = pathlib.Path(__file__).resolve().parents[2] / "build/relay"
QUEUE = 10000  # packets that a device holds until the relay has read them: more than any window here


class Relay:
    """
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
