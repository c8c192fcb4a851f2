# SPDX-License-Identifier: GPL-2.0-only
"""BBR version 3 with ECN: it is negotiated, and marks bound the data in flight. And version 3 without its second part."""
import json
import pathlib
import socket

import pytest

from stream import check_accounts
from system import wait_until
from test_paths import end
from tool import USAGE, status_of
from transfer import MB, Transfer, connect, listen, send_verified

ROOT = pathlib.Path(__file__).resolve().parents[3]
ECN, ECN_SEEN = 8, 16  # TCPI_OPT_*
OPTIONS = 5  # their offset in struct tcp_info


def ecn_options(sock):
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[OPTIONS] & (ECN | ECN_SEEN)


def options_of(ns, name):
    """Both ends use it: as with DCTCP, a server answers a SYN that may be marked only if its own congestion control needs ECN."""
    sender, receiver = connect(ns, listen(ns, "127.0.0.1", cc=name), cc=name)
    with sender, receiver:
        return ecn_options(sender)


def mark_all(path):
    """Makes the bottleneck mark every packet."""
    router, device = path.bottleneck
    router.run("tc", "qdisc", "add", "dev", device, "clsact")
    router.run("tc", "filter", "add", "dev", device, "egress", "bpf", "direct-action",
               "obj", ROOT / "build/mark_ce.bpf.o", "sec", "tc")


def watched_flow(path, name, monitor):
    listener = listen(path.receiver, path.v4, cc=name)
    watching = monitor(name, "--every", "ack", f"dport = :{listener.getsockname()[1]}")
    Transfer(*connect(path.sender, listener, cc=name), size=8 * MB).finish()
    check_accounts(watching, end(watching))
    return watching


def test_registered_by_bpftool_it_negotiates(bpf_bbr3_ecn, bbrctl, ns):
    send_verified(ns, bpf_bbr3_ecn, 16 * MB)
    assert options_of(ns, bpf_bbr3_ecn) & ECN
    assert status_of(bbrctl, bpf_bbr3_ecn)["algorithm"] == "bbr3"


def test_only_who_asks_for_it_negotiates(load, ns):
    assert options_of(ns, load(algorithm="bbr3", options=["--ecn"])) & ECN
    assert not options_of(ns, load(algorithm="bbr3"))


def test_its_name_is_its_own(bbrctl, ns):
    assert bbrctl.json("load", "--algorithm", "bbr3", "--ecn")["name"] == "bpf_bbr3_ecn"
    try:
        assert options_of(ns, "bpf_bbr3_ecn") & ECN
    finally:
        bbrctl("unload", "--name", "bpf_bbr3_ecn")


def test_version_1_has_none(bbrctl, free_name):
    refused = bbrctl("load", "--ecn", "--name", free_name(), status=USAGE)
    assert "does not support ECN" in refused.err


def test_an_upgrade_keeps_it(bbrctl, load, ns):
    name = load(algorithm="bbr3", options=["--ecn"])
    bbrctl("upgrade", "--name", name)
    assert options_of(ns, name) & ECN
    plain = load(algorithm="bbr3")
    bbrctl("upgrade", "--name", plain, "--object", ROOT / "build/bpf_bbr3_ecn.bpf.o")
    assert not options_of(ns, plain)


def test_marks_bound_what_is_in_flight(load, monitor, new_path):
    """Without marks this queue, of some 67 packets, overflows in STARTUP."""
    path, name = new_path(limit="100k"), load(algorithm="bbr3", options=["--ecn"])
    mark_all(path)
    watching = watched_flow(path, name, monitor)
    acks = watching.of("ack")
    assert [e for e in acks if e["ecn_eligible"]]
    assert [e for e in acks if e["ecn_in_round"]]
    assert [e for e in acks if e["inflight_lo"]]
    assert watching.of("mode")[0]["reason"] == "startup_ecn"
    # The queue says whether it overflowed. The sender may count a packet as lost that only came late, on a busy machine.
    assert not path.dropped()


def test_without_marks_there_is_no_such_bound(load, monitor, new_path):
    path, name = new_path(limit="4m"), load(algorithm="bbr3", options=["--ecn"])
    watching = watched_flow(path, name, monitor)
    assert not [e for e in watching.of("ack") if e["ecn_in_round"] or e["inflight_lo"]]
    assert watching.of("mode")[0]["reason"] == "full_bw"


def test_marks_are_nothing_to_who_did_not_ask(load, monitor, new_path):
    path, name = new_path(limit="4m"), load(algorithm="bbr3")
    mark_all(path)
    watching = watched_flow(path, name, monitor)
    assert not [e for e in watching.of("ack") if e["ecn_in_round"] or e["ecn_eligible"]]


def allow_no_storage(ns):
    """No socket of the namespace gets memory for options. From Linux 6.8 on a namespace has a limit of its own."""
    done = ns.run("sysctl", "-q", "-w", "net.core.optmem_max=1", check=False)
    if done.returncode:
        pytest.skip("the limit is the whole machine's")


def test_without_memory_it_is_still_version_3(bbrmon, load, new_path):
    """It fills the path and probes, and losses bound it. Monitors have no memory for it either, but a snapshot needs none."""
    path, name = new_path(limit="20k"), load(algorithm="bbr3")
    allow_no_storage(path.sender)
    transfer = Transfer(*connect(path.sender, listen(path.receiver, path.v4), cc=name), size=8 * MB)
    seen = []

    def is_bounded():
        lines = map(json.loads, bbrmon("snapshot", "-j", "--name", name).out.splitlines())
        seen.extend(line for line in lines if "second_part" in line)
        return [s for s in seen if s["mode"] == "PROBE_BW" and (s["inflight_hi"] or s["inflight_lo"])]

    wait_until(is_bounded, "losses bound what is in flight")
    transfer.finish()
    assert not [s for s in seen if s["second_part"]]


def test_without_memory_data_is_whole(load, ns):
    name = load(algorithm="bbr3")
    allow_no_storage(ns)
    send_verified(ns, name, 64 * MB)
