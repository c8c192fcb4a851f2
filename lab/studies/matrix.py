# SPDX-License-Identifier: GPL-2.0-only
"""Runs the kernel matrix: matrix.sh in the guest of each kernel; and reads its output."""
import json
import pathlib
import re

from runs.experiment import PATH, PATH_MODULES
from vm import archive, arm64, guest, kernels
from vm.initramfs import BUILD

HERE = pathlib.Path(__file__).parent
MODULES = [*PATH_MODULES, "tcp_bbr"]

# From matrix.sh: the round trip with a full queue, 40 ms and 50 packets of 3000 bytes at 10 Mbit/s; the interval of step migrate.
FULL_RTT_US, SAMPLE_US = 160000, 10000


TOOLS = ["bpftool", BUILD / "bbrctl", BUILD / "bbrmon"]
OBJECTS = {f"/{name}.bpf.o": BUILD / f"{name}.bpf.o" for name in ("bpf_bbr", "bpf_bbr3", "next_version")}
NEWER = "+debian13"  # suffix of a key: with Debian 13's bpftool and libbpf instead of the host's
NEWER_FOLDER = "/debian13"


def keys(words):
    """The keys of the matrix, from such keys and from what tests kernels: `check`, `matrix`, `flavour` or `arm64`."""
    found = []
    for word in words:
        for key in kernels.keys(word) or [word]:
            found += [key, *([key + NEWER] if word != key and kernels.TABLE[key].newer_tools else [])]
    return found


def _newer_tools():
    """The files for the guest, and the script that puts them first in PATH. Debian 13's dynamic loader starts
    each program, because the C library is newer as well."""
    root = archive.unpacked("tools/trixie", lambda: archive.with_dependencies(
        "bpftool", "libbpf1", "libcap2", "libnghttp2-14"))
    libraries = root / "usr/lib/x86_64-linux-gnu"
    files = {f"{NEWER_FOLDER}/lib/{library.name}": library.resolve()
             for library in sorted(libraries.glob("*.so*")) if library.is_file()}
    programs = {"bpftool": root / "usr/sbin/bpftool", "bbrctl": BUILD / "bbrctl",
                "bbrmon": BUILD / "bbrmon"}
    files |= {f"{NEWER_FOLDER}/{name}": program for name, program in programs.items()}
    lines = [f"mkdir -p {NEWER_FOLDER}/bin", f"PATH={NEWER_FOLDER}/bin:$PATH"]
    for name in programs:
        start = f"{NEWER_FOLDER}/lib/ld-linux-x86-64.so.2 --library-path {NEWER_FOLDER}/lib"
        lines += [f"printf '#!/bin/bash\\nexec {start} {NEWER_FOLDER}/{name} \"$@\"\\n' "
                  f">{NEWER_FOLDER}/bin/{name}", f"chmod +x {NEWER_FOLDER}/bin/{name}"]
    return files, "\n".join(lines) + "\n"


def _script(kind):
    return f"PATH_KIND={kind}\n" + "".join(part.read_text() for part in (PATH, HERE / "matrix.sh"))


def run(key):
    """Runs matrix.sh on a kernel; key may end in NEWER."""
    if key.endswith(arm64.SUFFIX):
        return arm64.run(key, _script("netem"), MODULES, ["static/bbrctl", "static/bbrmon", "static/flow"],
                         {path: source.name for path, source in OBJECTS.items()})
    kernel = kernels.find(key.removesuffix(NEWER))
    files, first = _newer_tools() if key.endswith(NEWER) else ({}, "")
    kind = "netem" if kernel.modules else "pacing"
    image = guest.initramfs(kernel, first + _script(kind), modules=MODULES, programs=[*TOOLS, BUILD / "flow"],
                            files={**OBJECTS, **files})
    return guest.run(kernel, image)


def steps(console):
    """The name of each step -> the text that it printed."""
    parts = ("\n" + console).split("\n== ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def objects(text):
    """The JSON objects among the lines of a text."""
    found = []
    for line in text.splitlines():
        if line.startswith("{") and line.endswith("}"):
            found.append(json.loads(line))
    return found


def verified(text):
    """Program -> the number of instructions that the verifier explored, from the output of bbrctl -v."""
    return {name: int(count) for name, count in
            re.findall(r"^(\w+): the verifier went through (\d+) instructions$", text, re.MULTILINE)}


def ends(text):
    return [o["end"] for o in objects(text) if "end" in o]


def mode_events(text):
    return [o for o in objects(text) if o.get("event") == "mode"]


def switches(text):
    """When the congestion control was changed, in microseconds of the flow."""
    found = [line.split()[1:] for line in text.splitlines() if line.startswith("switch ")]
    return [round((float(at) - float(began)) * 1e6) for began, at in found]


def acked(text):
    """(microseconds, bytes ACKed by then), for each time that the number grew."""
    found = []
    for line in text.splitlines():
        if line.startswith("acked "):
            t_us, total = map(int, line.split()[1:])
            if not found or total > found[-1][1]:
                found.append((t_us, total))
    return found


def longest_gap_us(series, begin, end):
    """The longest time without a new ACK that overlaps the time from begin to end."""
    times = [t for t, _ in series]
    return max(b - a for a, b in zip(times, times[1:]) if b > begin and a < end)


def rate_bps(series, begin, end):
    """The mean rate of ACKed bytes from begin to end."""
    def total(at):
        return max(sum_ for t, sum_ in series if t <= at)
    return (total(end) - total(begin)) * 8e6 / (end - begin)
