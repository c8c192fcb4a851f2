# SPDX-License-Identifier: GPL-2.0-only
"""
Reads and writes recordings by the description in tools/recording/format.h and layout.h: to compare with bbrmon,
and to make files that bbrmon does not write. recording_file.py makes files of BBR version 1.
"""
import itertools
import pathlib
import struct
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAGIC = b"\x89bbrrec\n"
MAJOR = 2
HEAD = struct.Struct("<8sBBHIIIIIIIQQQqQ16s")
EVENT, ORIGIN, PROFILES, TOTALS, END, ALGORITHM = range(1, 7)
EVENT_SIZE = 288
KINDS = 8
COMMON, NET = 1 << 4, 1 << 5

# The members of this made-up algorithm's events: (name, bytes, bits). No tool knows it.
MEMBERS = [
    *((name, width, COMMON) for width, names in (
        (8, "bytes_acked bytes_sent bytes_retrans pacing_rate seq conn"),
        (4, "rtt_us delivered lost cwnd mss bw min_rtt_us netns rounds"),
        (2, "flags family pacing_gain cwnd_gain tail_size"),
        (1, "kind mode phase ca_state profile from to reason"),
    ) for name in names.split()),
    *((f"{end}[{i}]", 4, COMMON | NET) for end in ("laddr", "raddr") for i in range(4)),
    *((name, 2, COMMON | NET) for name in ("lport", "rport")),
    ("of a later version", 8, COMMON),
    ("colour", 1, 0),
    ("", 1, 0),
    ("weight_us", 4, 0),
]
COUNT, MICROSECONDS, FLAG, NAME = 0, 1, 6, 7
# (key, member, unit, mask, names)
FIELDS = [("mode", "mode", NAME, 0, ["WAIT", "GO"]), ("min_rtt_us", "min_rtt_us", MICROSECONDS, 0, []),
          ("round_start", "flags", FLAG, 1 << 1, []), ("colour", "colour", NAME, 0, ["red", "green"]),
          ("weight_us", "weight_us", MICROSECONDS, 0, []), ("later", "of a later version", COUNT, 0, [])]


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def difference(value):
    return varint(value * 2 if value >= 0 else -value * 2 - 1)


def string(text):
    return varint(len(text)) + text.encode()


def strings(texts):
    return varint(len(texts)) + b"".join(map(string, texts))


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

    def string(self):
        size = self.varint()
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def strings(self):
        return [self.string() for _ in range(self.varint())]

    def rest(self):
        return self.data[self.at:]


class Head:
    """The head of a chunk, as it is in the file."""
    KEYS = ("magic", "major", "minor", "size", "head_crc", "deflated", "inflated", "crc", "records", "events",
            "sampling", "interval_ns", "first_ns", "last_ns", "epoch_ns", "run", "boot_id")

    def __init__(self, data=None, **values):
        self.__dict__.update(dict.fromkeys(self.KEYS, 0), magic=MAGIC, major=MAJOR, size=HEAD.size,
                             boot_id=bytes(16))
        if data is not None:
            self.__dict__.update(zip(self.KEYS, HEAD.unpack_from(data)))
        self.__dict__.update(values)

    def pack(self, more=b""):
        """The bytes, with the right checksum. `more` is what a later minor appends."""
        self.size, self.head_crc = HEAD.size + len(more), 0
        raw = HEAD.pack(*(getattr(self, key) for key in self.KEYS)) + more
        return raw[:12] + struct.pack("<I", zlib.crc32(raw)) + raw[16:]


def chunk(head, records, more=b""):
    """A whole chunk with these records."""
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


class Algorithm:
    """The contents of a description."""

    def __init__(self, data):
        reader = Reader(data)
        self.name, self.instance, self.title = (reader.string() for _ in range(3))
        self.members = [self.member(reader) for _ in range(reader.varint())]
        self.modes = [(reader.string(), reader.strings()) for _ in range(reader.varint())]
        self.reasons = reader.strings()
        self.keys = {}
        for _ in range(reader.varint()):
            size = reader.varint()
            field = Reader(reader.data[reader.at:reader.at + size])
            reader.at += size
            key = field.string()
            self.keys[key] = self.members[field.varint()][0]
        assert not reader.rest()

    @staticmethod
    def member(reader):
        bits, name = reader.byte(), reader.string()
        offset = None if bits & COMMON else reader.varint()
        return name or f"tail+{offset}", bits & 15


class Decoder:
    """Decodes the records of one chunk. `known`: the descriptions of earlier chunks, by their checksums."""

    def __init__(self, known):
        self.known = known
        self.algorithms, self.last = [], []
        self.origins, self.conns, self.last_ns = [], [], 0

    def event(self, reader):
        number = reader.varint()
        if number == len(self.conns):
            self.conns.append([self.origins[reader.varint()], None])
        origin, event = self.conns[number]
        algorithm = self.algorithms[origin["algorithm"]]
        if event is None:
            event = self.last[origin["algorithm"]] or {name: 0 for name, _ in algorithm.members}
        event = {**event, "seq": origin["next_seq"]}
        self.last_ns = (self.last_ns + reader.difference()) % 2**64
        bits = reader.varint()
        for i, (name, width) in enumerate(algorithm.members):
            if bits >> i & 1:
                event[name] = (event[name] + reader.difference()) % 2 ** (8 * width)
        event.update(time_ns=self.last_ns, instance=origin["name"])
        origin["next_seq"] = event["seq"] + 1
        self.conns[number][1] = self.last[origin["algorithm"]] = event
        return event

    def algorithm(self, reader):
        crc = struct.unpack_from("<I", reader.data, reader.at)[0]
        reader.at += 4
        description = reader.rest()
        if description:
            assert zlib.crc32(description) == crc
            self.known[crc] = Algorithm(description)
        self.algorithms.append(self.known[crc])
        self.last.append(None)

    def __call__(self, data):
        reader = Reader(data)
        reader.varint()
        kind = reader.byte()
        if kind == ALGORITHM:
            self.algorithm(reader)
        elif kind == ORIGIN:
            origin = {"id": reader.varint(), "kernel": reader.byte() & 1, "algorithm": reader.varint(), "next_seq": 0}
            self.origins.append({**origin, "name": reader.rest().decode()})
        elif kind == EVENT:
            return self.event(reader)
        return None


def events(data):
    """All whole events, in order."""
    found, known = [], {}
    for _, raw, _ in chunks(data):
        decode = Decoder(known)
        found += [e for e in map(decode, split(raw)) if e]
    return found


def first_description(data):
    """That of the file's first algorithm."""
    _, raw, _ = next(chunks(data))
    reader = Reader(next(split(raw)))
    reader.varint()
    assert reader.byte() == ALGORITHM
    return reader.rest()[4:]


def totals(data):
    """The last totals of a file with one run: seq, acks, received by kind, drops by kind; is it the end?"""
    for _, raw, _ in chunks(data):
        for r in split(raw):
            reader = Reader(r)
            reader.varint()
            kind = reader.byte()
            if kind in (TOTALS, END):
                values = [reader.varint() for _ in range(6 + 2 * KINDS)]
    return {"seq": values[0], "acks": values[1], "received": values[6:6 + KINDS],
            "drops": values[6 + KINDS:], "end": kind == END}


def algorithm(more=b"", word=lambda place, text: text, lanes=()):
    """
    The description of the made-up algorithm; `more` is what a later minor says about each field. word() gives the text for
    each place. `lanes` are those of the last fields, which then have curves.
    """
    words = lambda place, texts: strings([word(place, text) for text in texts])
    offset, members = 0, b""
    for name, width, bits in MEMBERS:
        members += bytes([width | bits]) + string(name) + (b"" if bits & COMMON else varint(offset))
        offset += 0 if bits & COMMON else width
    fields = b""
    for (key, member, unit, mask, states), lane in zip(FIELDS, [0] * (len(FIELDS) - len(lanes)) + [*lanes]):
        place = [name for name, _, _ in MEMBERS].index(member)
        field = (string(word("key", key)) + varint(place) + varint(unit) + varint(mask) + varint(0) + varint(0) +
                 words("state", states) + string(word("text", "")) + varint(0) + string("") + varint(0) + varint(lane) +
                 string(word("curve", key) if lane else "") + more)
        fields += varint(len(field)) + field
    modes = (varint(2) + string(word("mode", "WAIT")) + strings([]) + string(word("mode", "GO")) +
             words("phase", ["up", "down"]))
    return (string(word("name", "made")) + string(word("name", "bpf_made")) + string(word("title", "made by a test")) +
            varint(len(MEMBERS)) + members + modes + words("reason", ["bored"]) + varint(len(FIELDS)) + fields)


def algorithm_record(description):
    return record(ALGORITHM, struct.pack("<I", zlib.crc32(description)) + description)


def origin_record(number, name, kernel=0):
    return record(ORIGIN, varint(number) + bytes([kernel]) + varint(0) + name.encode())


def origin(number, name, kernel=0, more=b"", description=None):
    """An origin, with the description of its algorithm."""
    return algorithm_record(description or algorithm(more)) + origin_record(number, name, kernel)


class Encoder:
    """
    Encodes events as records of one chunk with one algorithm, of these members: (name, bytes...). Those that are not given
    are as in the event before.
    """

    def __init__(self, members=MEMBERS):
        self.widths = {name: width for name, width, *_ in members}
        self.conns, self.last_ns, self.next_seq = {}, 0, {}
        self.last = dict.fromkeys(self.widths, 0)

    def __call__(self, time_ns, conn, more=b"", origin=0, **values):
        number, before = self.conns.setdefault((origin, conn), (len(self.conns), None))
        is_new = before is None
        before = {**(before or self.last), "seq": self.next_seq.get(origin, 0)}
        event = {**before, "conn": conn, "tail_size": 6, **values}
        assert set(event) == set(before)
        body = varint(number) + (varint(origin) if is_new else b"") + difference(time_ns - self.last_ns)
        changed = [(i, name) for i, name in enumerate(self.widths) if event[name] != before[name]]
        body += varint(sum(1 << i for i, _ in changed))
        for _, name in changed:
            half = 1 << 8 * self.widths[name] - 1  # the shortest difference modulo the width
            body += difference((event[name] - before[name] + half) % (2 * half) - half)
        self.conns[origin, conn] = number, event
        self.last, self.last_ns, self.next_seq[origin] = event, time_ns, event["seq"] + 1
        return record(EVENT, body + more)


def totals_record(kind, seq, received, drops=(), acks=0, watched_ns=0, unwatched_ns=0):
    pad = [0] * KINDS
    received, drops = [(list(x) + pad)[:KINDS] for x in (received, drops)]
    values = itertools.chain([seq, acks, 0, watched_ns, unwatched_ns, KINDS], received, drops)
    return record(kind, b"".join(map(varint, values)))
