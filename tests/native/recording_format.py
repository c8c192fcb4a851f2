# SPDX-License-Identifier: GPL-2.0-only
"""
Recordings, read and written by tools/recording.h's words: to compare bbrmon with, and to make files that it
does not write.
"""
import itertools
import re
import pathlib
import struct
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAGIC = b"\x89bbrrec\n"
HEAD = struct.Struct("<8sBBHIIIIIIIQQQqQ16s")
EVENT, ORIGIN, PROFILES, TOTALS, END = range(1, 6)
EVENT_SIZE = 216
KINDS = 8


def fields():
    """(name, bytes) in the order of the format, from the headers."""
    text = (ROOT / "tools/recording/recording.h").read_text()
    names = re.findall(r"X\(([\w\[\]]+)\)", text.split("#define RECORDING_FIELDS(X)")[1].split("/* clang-format on")[0])
    struct_text = (ROOT / "include/bpf_bbr/events.h").read_text().split("struct bbr_event {")[1].split("\n};")[0]
    widths = {}
    for bits, members in re.findall(r"^\t__[us](\d+) ([^;]+);", struct_text, re.M):
        for member in members.split(","):
            widths[member.strip().split("[")[0]] = int(bits) // 8
    return [(name, widths[name.split("[")[0]]) for name in names]


FIELDS = fields()
assert sum(width for _, width in FIELDS) == EVENT_SIZE - 8 - 4  # time_ns, tag


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def difference(value):
    return varint(value * 2 if value >= 0 else -value * 2 - 1)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def difference(self):
        value = self.varint()
        return -(value >> 1) - 1 if value & 1 else value >> 1

    def rest(self):
        return self.data[self.at:]


class Head:
    """Of a chunk; as it stands in the file."""
    KEYS = ("magic", "major", "minor", "size", "head_crc", "deflated", "inflated", "crc", "records", "events",
            "sampling", "interval_ns", "first_ns", "last_ns", "epoch_ns", "run", "boot_id")

    def __init__(self, data=None, **values):
        self.__dict__.update(dict.fromkeys(self.KEYS, 0), magic=MAGIC, major=1, size=HEAD.size,
                             boot_id=bytes(16))
        if data is not None:
            self.__dict__.update(zip(self.KEYS, HEAD.unpack_from(data)))
        self.__dict__.update(values)

    def pack(self, more=b""):
        """With the right checksum; `more` is what a later minor has after it."""
        self.size, self.head_crc = HEAD.size + len(more), 0
        raw = HEAD.pack(*(getattr(self, key) for key in self.KEYS)) + more
        return raw[:12] + struct.pack("<I", zlib.crc32(raw)) + raw[16:]


def chunk(head, records, more=b""):
    """A whole one, of these records."""
    raw = b"".join(records)
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    deflated = packer.compress(raw) + packer.flush()
    head.deflated, head.inflated, head.crc = len(deflated), len(raw), zlib.crc32(deflated)
    head.records, head.events = len(records), sum(is_event(r) for r in records)
    return head.pack(more) + deflated


def record(kind, body=b""):
    return varint(len(body) + 1) + bytes([kind]) + body


def is_event(data):
    reader = Reader(data)
    reader.varint()
    return reader.byte() == EVENT


def chunks(data):
    """(head, inflated bytes, offset); the last one may be cut off."""
    at = 0
    while len(data) - at >= HEAD.size:
        head = Head(data[at:])
        assert head.magic == MAGIC
        end = at + head.size + head.deflated
        unpacker = zlib.decompressobj(-15)
        raw = unpacker.decompress(data[at + head.size:end])
        if end <= len(data):
            assert zlib.crc32(data[at + head.size:end]) == head.crc
            raw += unpacker.flush()
            assert len(raw) == head.inflated
        yield head, raw, at
        at = end


def split(raw):
    """The whole records of a chunk."""
    at = 0
    while at < len(raw):
        reader = Reader(raw[at:])
        try:
            size = reader.varint()
        except IndexError:
            return
        end = at + reader.at + size
        if end > len(raw):
            return
        yield raw[at:end]
        at = end


class Decoder:
    """What the records of one chunk say."""

    def __init__(self):
        self.origins, self.conns, self.last, self.last_ns = [], [], None, 0

    def event(self, reader):
        number = reader.varint()
        if number == len(self.conns):
            origin = self.origins[reader.varint()]
            self.conns.append((origin, dict(self.last or dict.fromkeys((n for n, _ in FIELDS), 0))))
        origin, event = self.conns[number]
        event = {**event, "seq": origin["next_seq"]}
        self.last_ns = (self.last_ns + reader.difference()) % 2**64
        bits = reader.varint()
        for i, (name, width) in enumerate(FIELDS):
            if bits >> i & 1:
                event[name] = (event[name] + reader.difference()) % 2 ** (8 * width)
        event.update(time_ns=self.last_ns, instance=origin["name"], tail=reader.rest())
        assert event["size"] == EVENT_SIZE + len(event["tail"])
        origin["next_seq"] = event["seq"] + 1
        self.conns[number] = origin, event
        self.last = event
        return event

    def __call__(self, data):
        reader = Reader(data)
        reader.varint()
        kind = reader.byte()
        if kind == ORIGIN:
            origin = {"id": reader.varint(), "kernel": reader.byte() & 1, "next_seq": 0}
            self.origins.append({**origin, "name": reader.rest().decode()})
        elif kind == EVENT:
            return self.event(reader)
        return None


def events(data):
    """All whole ones, in order."""
    found = []
    for _, raw, _ in chunks(data):
        decode = Decoder()
        found += [e for e in map(decode, split(raw)) if e]
    return found


def totals(data):
    """The last ones of a file with one run: seq, acks, received by kind, drops by kind; is it the end?"""
    for _, raw, _ in chunks(data):
        for r in split(raw):
            reader = Reader(r)
            reader.varint()
            kind = reader.byte()
            if kind in (TOTALS, END):
                values = [reader.varint() for _ in range(6 + 2 * KINDS)]
    return {"seq": values[0], "acks": values[1], "received": values[6:6 + KINDS],
            "drops": values[6 + KINDS:], "end": kind == END}


def origin(number, name, kernel=0):
    return record(ORIGIN, varint(number) + bytes([kernel]) + name.encode())


class Encoder:
    """Events as records of one chunk. What is not given is as in the event before."""

    def __init__(self):
        self.conns, self.last_ns, self.next_seq = {}, 0, 0
        self.last = dict.fromkeys((n for n, _ in FIELDS), 0)

    def __call__(self, time_ns, conn, tail=b"", **values):
        number = self.conns.setdefault(conn, (len(self.conns), None))[0]
        is_new = self.conns[conn][1] is None
        before = {**(self.conns[conn][1] or self.last), "seq": self.next_seq}
        event = {**before, "conn": conn, "size": EVENT_SIZE + len(tail), **values}
        body = varint(number) + (varint(0) if is_new else b"") + difference(time_ns - self.last_ns)
        changed = [i for i, (name, _) in enumerate(FIELDS) if event[name] != before[name]]
        body += varint(sum(1 << i for i in changed))
        body += b"".join(difference(event[FIELDS[i][0]] - before[FIELDS[i][0]]) for i in changed)
        self.conns[conn] = number, event
        self.last, self.last_ns, self.next_seq = event, time_ns, event["seq"] + 1
        return record(EVENT, body + tail)


def totals_record(kind, seq, received, drops=(), acks=0, watched_ns=0):
    pad = [0] * KINDS
    received, drops = [(list(x) + pad)[:KINDS] for x in (received, drops)]
    values = itertools.chain([seq, acks, 0, watched_ns, 0, KINDS], received, drops)
    return record(kind, b"".join(map(varint, values)))
