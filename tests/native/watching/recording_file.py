# SPDX-License-Identifier: GPL-2.0-only
"""Made-up recordings in the format of ABI 2 (tools/layout/abi2.h)."""
import struct
import zlib

MAJOR = 2
EVENT, ORIGIN, TOTALS, END = 1, 2, 4, 5
START, STOP, ACK, MODE, RECOVERY, RTO = range(6)
CHUNK_EVENTS = 4000

# Members of ABI 2's struct bbr_event, and their bits.
FIELDS = {
    "bytes_acked": 64, "delivered": 32, "rtt_us": 32, "rs_interval_us": 32, "rs_acked": 32,
    "rs_delivered": 32, "inflight": 32, "srtt_us": 32, "bytes_sent": 64, "rs_prior_inflight": 32,
    "pacing_rate": 64, "bw": 32, "cwnd": 32, "flags": 16, "max_bw": 32, "rounds": 32, "kind": 8,
    "extra_acked": 32, "cycle_idx": 8, "pacing_gain": 16, "min_rtt_us": 32, "mode": 8, "from": 8, "to": 8,
    "reason": 8, "full_bw": 32, "full_bw_cnt": 8, "cwnd_gain": 16, "prior_cwnd": 32, "ssthresh": 32,
    "lost": 32, "rs_losses": 32, "bytes_retrans": 64, "ca_state": 8, "lt_bw": 32, "lt_rtt_cnt": 8, "mss": 32,
    "seq": 64, "params_gen": 32, "profile": 8, "conn": 64, "rport": 16, "lport": 16,
    "raddr3": 32, "raddr2": 32, "raddr1": 32, "raddr0": 32, "laddr3": 32, "laddr2": 32, "laddr1": 32,
    "laddr0": 32, "netns": 32, "family": 16, "size": 16, "major": 8, "minor": 8,
    **{f"pad{i}": 8 for i in range(6)},
}
NONE = 0xffffffff  # an unknown RTT
UNLIMITED = 2 ** 64 - 1
APP_LIMITED, SAMPLE, KERNEL = 1, 1 << 8, 1 << 9
LT_USE_BW = 1 << 6
USUAL = {
    "size": 216, "major": MAJOR, "family": 2, "mss": 1000, "cwnd": 10, "pacing_gain": 256, "cwnd_gain": 512,
    "laddr2": 0xffff, "raddr2": 0xffff, "laddr3": 0x0a000001, "raddr3": 0x0a000002, "lport": 1000,
    "rport": 443, "rtt_us": NONE, "min_rtt_us": NONE, "pacing_rate": UNLIMITED, "netns": 1,
}


def event(time_ns, kind, conn=1, origin=0, **members):
    """An event. members are those of struct bbr_event; the others are USUAL or 0."""
    assert set(members) <= set(FIELDS)
    return {**dict.fromkeys(FIELDS, 0), **USUAL, "lport": 1000 + conn, **members,
            "time_ns": time_ns, "origin": origin, "kind": kind, "conn": conn}


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _difference(value):
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _record(kind, body):
    return _varint(len(body) + 1) + bytes([kind]) + body


def _shortest(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _totals(kind, events, drops, unwatched_ns):
    received = [sum(e["kind"] == k for e in events) for k in range(8)]
    numbers = [len(events) + drops, received[ACK], 0, 10 ** 9, unwatched_ns, 8, *received, drops, *[0] * 7]
    return _record(kind, b"".join(map(_varint, numbers)))


def _event(e, conns, latest, seqs, before_ns):
    """conns: the last event of each connection; latest: the last event of all; seqs: the next number of each origin."""
    key = e["origin"], e["conn"]
    base = {**(conns.get(key) or latest or dict.fromkeys(FIELDS, 0)), "seq": seqs.get(e["origin"], 0)}
    is_new = key not in conns
    conns[key] = e
    bits, differences = 0, b""
    for i, (name, width) in enumerate(FIELDS.items()):
        difference = _shortest(e[name] - base[name], width)
        if difference:
            bits |= 1 << i
            differences += _difference(difference)
    seqs[e["origin"]] = e["seq"] + 1
    return _record(EVENT, _varint(list(conns).index(key)) + (_varint(e["origin"]) if is_new else b"") +
                   _difference(e["time_ns"] - before_ns) + _varint(bits) + differences)


def _chunk(run, epoch_ns, boot_id, origins, events, totals):
    body = b"".join(_record(ORIGIN, _varint(number) + bytes([is_kernel]) + name.encode())
                    for number, (name, is_kernel) in enumerate(origins, 1))
    conns, seqs, latest = {}, {}, None
    for e in events:
        body += _event(e, conns, latest, seqs, latest["time_ns"] if latest else 0)
        latest = e
    body += totals
    packed = zlib.compressobj(6, zlib.DEFLATED, -15)
    data = packed.compress(body) + packed.flush()
    times = [e["time_ns"] for e in events]
    head = struct.pack("<8sBBHIIIIIIIQQQqQ16s", b"\x89bbrrec\n", 1, 0, 96, 0, len(data), len(body),
                       zlib.crc32(data), len(origins) + len(events) + 1, len(events), 1, 0, times[0], times[-1],
                       epoch_ns, run, boot_id)
    return head[:12] + struct.pack("<I", zlib.crc32(head)) + head[16:] + data


def write(path, events, origins=(("bbr_test", False),), drops=(), unwatched=(), run=1, epoch_ns=10 ** 18,
          boot_id=bytes(16)):
    """
    Appends a run. A boot_id of zeros is an unknown one. drops and unwatched are lists of (index, number): so many
    events, or nanoseconds, are missing before the event of this index.
    """
    events = [{**e, "seq": i} for i, e in enumerate(events)]
    cuts = sorted({*range(0, len(events), CHUNK_EVENTS), *(i for i, _ in (*drops, *unwatched)), len(events)})
    with open(path, "ab") as f:
        for begin, end in zip(cuts, cuts[1:]):
            missing = (sum(n for i, n in drops if i <= end), sum(n for i, n in unwatched if i <= end))
            kind = END if end == len(events) else TOTALS
            f.write(_chunk(run, epoch_ns, boot_id, origins, events[begin:end], _totals(kind, events[:end], *missing)))
