# SPDX-License-Identifier: GPL-2.0-only
"""Made-up recordings of BBR version 1, with the description that recordings/abi3.rec has of it."""
import pathlib

import recording_format as fmt
from recording_format import END, TOTALS

START, STOP, ACK, MODE, RECOVERY, RTO = range(6)
CHUNK_EVENTS = 4000
NONE = 0xffffffff  # an unknown RTT
UNLIMITED = 2 ** 64 - 1
APP_LIMITED, SAMPLE, KERNEL = 1, 1 << 8, 1 << 9
DESCRIPTION = fmt.first_description((pathlib.Path(__file__).parent / "recordings/abi3.rec").read_bytes())
MEMBERS = fmt.Algorithm(DESCRIPTION).members
USUAL = {
    "tail_size": 24, "family": 2, "mss": 1000, "cwnd": 10, "pacing_gain": 256, "cwnd_gain": 512,
    "laddr[2]": 0xffff, "raddr[2]": 0xffff, "laddr[3]": 0x0a000001, "raddr[3]": 0x0a000002, "lport": 1000,
    "rport": 443, "rtt_us": NONE, "min_rtt_us": NONE, "pacing_rate": UNLIMITED, "netns": 1,
}


def event(time_ns, kind, conn=1, origin=0, **members):
    """An event. members are those of the description; the others are USUAL or 0."""
    return {**dict.fromkeys((name for name, _ in MEMBERS), 0), **USUAL, "lport": 1000 + conn, **members,
            "time_ns": time_ns, "origin": origin, "kind": kind, "conn": conn}


def _totals(kind, events, drops, unwatched_ns):
    received = [sum(e["kind"] == k for e in events) for k in range(fmt.KINDS)]
    return fmt.totals_record(kind, len(events) + drops, received, [drops], acks=received[ACK], watched_ns=10 ** 9,
                             unwatched_ns=unwatched_ns)


def _chunk(head, origins, events, totals):
    encode = fmt.Encoder(MEMBERS)
    records = [fmt.algorithm_record(DESCRIPTION),
               *(fmt.origin_record(number, name, is_kernel) for number, (name, is_kernel) in enumerate(origins, 1)),
               *(encode(**e) for e in events), totals]
    return fmt.chunk(fmt.Head(first_ns=events[0]["time_ns"], last_ns=events[-1]["time_ns"], sampling=1, **head), records)


def write(path, events, origins=(("bbr_test", False),), drops=(), unwatched=(), run=1, epoch_ns=10 ** 18,
          boot_id=bytes(16)):
    """
    Appends a run. A boot_id of zeros is an unknown one. drops and unwatched are lists of (index, number): so many
    events, or nanoseconds, are missing before the event of this index.
    """
    events = [{**e, "seq": i} for i, e in enumerate(events)]
    cuts = sorted({*range(0, len(events), CHUNK_EVENTS), *(i for i, _ in (*drops, *unwatched)), len(events)})
    head = {"run": run, "epoch_ns": epoch_ns, "boot_id": boot_id}
    with open(path, "ab") as f:
        for begin, end in zip(cuts, cuts[1:]):
            missing = (sum(n for i, n in drops if i <= end), sum(n for i, n in unwatched if i <= end))
            kind = END if end == len(events) else TOTALS
            f.write(_chunk(head, origins, events[begin:end], _totals(kind, events[:end], *missing)))
