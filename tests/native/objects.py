# SPDX-License-Identifier: GPL-2.0-only
"""BPF objects that differ, in description or code, from what was built."""
import pathlib
import re
import struct

import system

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME_LEN = 16


def constant(name):
    """A constant of abi.h."""
    text = (ROOT / "include/bpf_bbr/abi.h").read_text()
    return int(re.search(rf"^#define {name} (\w+)", text, re.M)[1], 0)


def padded(name):
    return name.encode().ljust(NAME_LEN, b"\0")


class Object:
    """The bytes of an object, which can be changed."""

    # Offsets in struct bbr_abi.
    MAJOR, PARAMS_SIZE, WATCH_SIZE, EVENT_SIZE, ALGORITHM, TAIL_SIZE = 4, 8, 12, 16, 40, 56

    def __init__(self, path):
        self.data = bytearray(path.read_bytes())
        self.abi = self.section(".rodata.bbr_abi")[0]
        assert struct.unpack_from("<I", self.data, self.abi)[0] == constant("BBR_ABI_MAGIC")

    def section(self, name):
        """The offset and size of a section in the file."""
        table, = struct.unpack_from("<40xQ", self.data)
        size, count, strings = struct.unpack_from("<58xHHH", self.data)
        headers = [struct.unpack_from("<II8x8xQQ", self.data, table + i * size) for i in range(count)]
        for at_name, _, at, length in headers:
            start = headers[strings][2] + at_name
            if self.data[start:self.data.index(0, start)] == name.encode():
                return at, length
        raise AssertionError(f"no section {name}")

    def put(self, member, value, kind="I"):
        struct.pack_into(f"<{kind}", self.data, self.abi + member, value)
        return self

    def get(self, member):
        return struct.unpack_from("<I", self.data, self.abi + member)[0]

    def major(self, major):
        return self.put(self.MAJOR, major, "H")

    def algorithm(self, name):
        return self.put(self.ALGORITHM, padded(name), f"{NAME_LEN}s")

    def name(self, name):
        """Sets the name that bpftool registers it by."""
        at, size = self.section(".struct_ops")
        place = self.data.index(padded("bpf_bbr"), at, at + size)
        self.data[place:place + NAME_LEN] = padded(name)
        return self

    def broken(self):
        """Makes an object that no kernel takes: its first instruction is invalid."""
        at, _ = self.section("struct_ops/cong_control")
        self.data[at] = 0xff
        return self

    def write(self, path):
        path.write_bytes(self.data)
        return path


def register(path):
    """Registers an object without bbrctl."""
    system.run("bpftool", "struct_ops", "register", path)


def compile_bpf(path, text):
    """Compiles an object from a few lines of C."""
    source = path.with_suffix(".c")
    source.write_text(text)
    system.run(system.run(ROOT / "scripts/find-clang", "clang").stdout.strip(), "-O2", "-target", "bpf",
               f"-I{ROOT}/include", "-isystem", f"/usr/include/{system.run('cc', '-print-multiarch').stdout.strip()}",
               "-c", source, "-o", path)
    return path
