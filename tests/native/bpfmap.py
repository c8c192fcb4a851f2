# SPDX-License-Identifier: GPL-2.0-only
"""BPF maps by their id, without bbrctl: direct bpf(2) calls, and .data.params as bytes."""
import contextlib
import ctypes
import mmap
import os
import pathlib
import re
import struct

import system

LOOKUP, UPDATE, DELETE, CREATE, FD_BY_ID = 1, 2, 3, 0, 14
ARRAY, ARRAY_OF_MAPS, LPM_TRIE = 2, 12, 11
NO_PREALLOC = 1
ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/bpf_bbr"
PARAMS, SHARED_PARAMS = ROOT / "bpf/bbr/params.h", ROOT / "include/bpf_bbr/params.h"
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    """attributes: the bytes of union bpf_attr."""
    attr = ctypes.create_string_buffer(attributes, 128)
    done = libc.syscall(system.RunCounts.SYS_BPF[os.uname().machine], command, attr, len(attr))
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done


class Map:
    """A map that stays open until close()."""

    def __init__(self, fd, key_size, value_size):
        self.fd, self.key_size, self.value_size = fd, key_size, value_size

    @classmethod
    def of(cls, map_id):
        info = system.bpftool("map", "show", "id", map_id)
        return cls(bpf(FD_BY_ID, struct.pack("I", map_id)), info["bytes_key"], info["bytes_value"])

    @classmethod
    def create(cls, kind, key_size, value_size, entries, flags=0, inner=None, name=""):
        attributes = struct.pack("6I I 16s", kind, key_size, value_size, entries, flags,
                                 inner.fd if inner else 0, 0, name.encode())
        return cls(bpf(CREATE, attributes), key_size, value_size)

    def _element(self, command, key, value):
        buffers = ctypes.create_string_buffer(key, self.key_size), value
        bpf(command, struct.pack("I4xQQQ", self.fd, *(ctypes.addressof(b) for b in buffers), 0))

    def __getitem__(self, key):
        value = ctypes.create_string_buffer(self.value_size)
        self._element(LOOKUP, key, value)
        return value.raw

    def __setitem__(self, key, value):
        self._element(UPDATE, key, ctypes.create_string_buffer(value, self.value_size))

    def __delitem__(self, key):
        key = ctypes.create_string_buffer(key, self.key_size)
        bpf(DELETE, struct.pack("I4xQ", self.fd, ctypes.addressof(key)))  # the kernel wants no value

    def close(self):
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def parameters():
    """key: (index of its first word in struct bbr_params, number of its words)"""
    found, at = {}, 0
    shared = dict(re.findall(r"^#define (BBR_\w+)\(C\) \\\n(.*?[^\\])$", SHARED_PARAMS.read_text(), re.M | re.S))
    table = re.sub(r"^\t(BBR_\w+)\(C\)", lambda line: shared[line[1]], PARAMS.read_text(), flags=re.M)
    for key, n in re.findall(r"^\t[CO]\((\w+), (\d+),", table, re.M):
        found[key] = at, int(n)
        at += int(n)
    assert len(found) > 30
    return found


class Profiles:
    """The profiles of an instance (bpf_bbr/profiles.h), mapped into memory, and the counts in its clamped copies."""

    PROFILES, NAME_LEN = 64, 16

    def __init__(self, maps):
        """maps: the instance's maps, name: id"""
        self.maps = Map.of(maps[".data.params"]), Map.of(maps[".data.clamped"])
        self.words = parameters()
        self.params_size = 4 * sum(n for _, n in self.words.values())
        size = self.maps[0].value_size
        self.bytes = mmap.mmap(self.maps[0].fd, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        self.banks = self.PROFILES * (4 + self.NAME_LEN)
        # For aligned stores of four bytes, which no method of mmap promises.
        self.gen = (ctypes.c_uint32 * self.PROFILES).from_buffer(self.bytes)

    def name(self, index):
        at = 4 * self.PROFILES + self.NAME_LEN * index
        return self.bytes[at:at + self.NAME_LEN].split(b"\0")[0].decode()

    def set_name(self, index, name):
        at = 4 * self.PROFILES + self.NAME_LEN * index
        self.bytes[at:at + self.NAME_LEN] = name.encode().ljust(self.NAME_LEN, b"\0")

    def copy_profile(self, index, to):
        """Copies both banks, and which of them is in force."""
        start, size = self.banks, 2 * self.params_size
        self.bytes[start + size * to:start + size * (to + 1)] = self.bytes[start + size * index:
                                                                            start + size * (index + 1)]
        self.gen[to] = self.gen[index]

    def _word(self, index, bank, key, i=0):
        return self.banks + (2 * index + bank % 2) * self.params_size + 4 * (self.words[key][0] + i)

    def put(self, index, bank, key, value, i=0):
        """Writes one word into a bank, in force or not."""
        struct.pack_into("I", self.bytes, self._word(index, bank, key, i), value)

    def copy_bank(self, index, to):
        size, start = self.params_size, self.banks + 2 * index * self.params_size
        source = start + (to + 1) % 2 * size
        self.bytes[start + to % 2 * size:start + to % 2 * size + size] = self.bytes[source:source + size]

    def connections(self, index):
        return struct.unpack_from("q", self.maps[1][bytes(4)], self.maps[1].value_size // self.PROFILES * index + 16)[0]

    def close(self):
        del self.gen
        self.bytes.close()
        for m in self.maps:
            m.close()


@contextlib.contextmanager
def profiles(maps):
    opened = Profiles(maps)
    try:
        yield opened
    finally:
        opened.close()


class GracePeriod:
    """Waits, as loader/tuning/profile_map.c does, until all BPF programs that run now have ended."""

    def __init__(self):
        self.inner = Map.create(ARRAY, 4, 4, 1)
        self.outer = Map.create(ARRAY_OF_MAPS, 4, 4, 1, inner=self.inner)

    def wait(self):
        self.outer[bytes(4)] = struct.pack("I", self.inner.fd)

    def close(self):
        self.outer.close()
        self.inner.close()
