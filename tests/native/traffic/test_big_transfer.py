# SPDX-License-Identifier: GPL-2.0-only
"""bpftool registers the instance, it transfers two gigabytes, and bbrmon sees each of the ACKs."""
import json
import pathlib
import subprocess
import sys

from stream import check_accounts
from system import RunCounts
from tool import status_of

SIZE = 2_000_000_000
LIMIT = 180  # seconds; only against hanging


def test_two_gigabytes_watched(bpf_bbr, bbrctl, monitor, plain_bbrmon, ns):
    peer = [sys.executable, "-I", "-c", pathlib.Path(__file__).with_name("peer.py").read_text()]
    prog_id = status_of(bbrctl, bpf_bbr)["prog_id"]
    with RunCounts() as runs:
        watching = monitor(bpf_bbr, "--every", "ack", tool_to_run=plain_bbrmon)
        before = runs.of(prog_id)
        with ns.popen(*peer, "receive", stdout=subprocess.PIPE, text=True) as receiver:
            try:
                port = json.loads(receiver.stdout.readline())["port"]
                sent = json.loads(ns.run(*peer, "send", "127.0.0.1", port, bpf_bbr, SIZE, timeout=LIMIT).stdout)
                received = json.loads(receiver.communicate(timeout=LIMIT)[0])
            finally:
                receiver.kill()
        watching.wait_for(lambda m: m.of("end"), "the connection's end")
        counted = runs.of(prog_id) - before
        summary = watching.stop()

    assert sent["cc"] == bpf_bbr
    assert (received["bytes"], received["sha256"]) == (sent["bytes"], sent["sha256"]) and sent["bytes"] == SIZE
    check_accounts(watching, summary)
    assert summary["connections"] == 1
    assert summary["acks"] == counted - 1, "the program runs once for each ACK, and once for that of the SYN"
