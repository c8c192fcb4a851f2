# SPDX-License-Identifier: GPL-2.0-only
"""Checks of a bbrmon stream that several tests use, and traffic that continues while it watches."""
import collections
import signal

from system import wait_until
from tool import status_of
from transfer import flows

KINDS = {"start", "end", "ack", "mode", "recovery", "rto", "params"}


def is_in_order(events):
    """
    Each event has its own number, and each connection's events are in order. Events of connections on different CPUs may
    come in another order than their numbers: see docs/internals/bpf.md.
    """
    last = {}
    for e in events:
        if e["seq"] <= last.get(e["conn"], -1):
            return False
        last[e["conn"]] = e["seq"]
    return len({e["seq"] for e in events}) == len(events)


def check_accounts(monitor, summary):
    """The events seen and the events dropped are all that there were."""
    seen = collections.Counter(e["event"] for e in monitor.events)
    assert set(seen) <= KINDS
    assert dict(seen) == {k: n for k, n in summary["events"].items() if n and k != "total"}
    assert summary["events"]["total"] == len(monitor.events)
    assert summary["drops"]["total"] == sum(n for k, n in summary["drops"].items() if k != "total")
    assert summary["acks"] == seen["ack"] + summary["drops"]["ack"]
    assert is_in_order(monitor.events), "an event came twice, or out of order"
    assert all(e["seq"] < len(monitor.events) + summary["drops"]["total"] for e in monitor.events)


def tuples(events):
    return {(e["local"], e["lport"], e["remote"], e["rport"]) for e in events}


def tuple_of(sock):
    local, remote = sock.getsockname(), sock.getpeername()
    return local[0], local[1], remote[0], remote[1]


def wait_for_ends(monitor, n):
    monitor.wait_for(lambda m: len(m.of("end")) >= n, f"the end of {n} connections")


def endless(ns, name, n=2):
    """Flows so slow that each ACK gets an event."""
    return flows(ns, name, n, gap=0.005)


def stop_past_its_lease(bbrctl, name, monitor):
    monitor.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 0, "the lease runs out")


def go_on_watching(bbrctl, name, monitor):
    """Continues a stopped monitor, and waits for its ACKs."""
    monitor.process.send_signal(signal.SIGCONT)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "the monitor comes back")
    seen = len(monitor.of("ack"))
    monitor.wait_for(lambda m: len(m.of("ack")) > seen, "ACKs after it")
