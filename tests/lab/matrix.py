# SPDX-License-Identifier: GPL-2.0-only
"""The kernel matrix: matrix.sh in the guest of each kernel, and what must come out of it."""
import json
import pathlib

import guest
import kernels

HERE = pathlib.Path(__file__).parent
BUILD = HERE.parents[1] / "build"
MODULES = ["veth", "sch_fq", "sch_netem"]
OLD = "5.10"  # refused


def run(key):
    kernel = kernels.find(key)
    kind = "netem" if kernel.modules else "pacing"
    script = f"PATH_KIND={kind}\n" + "".join(
        (HERE / part).read_text() for part in ("path.sh", "matrix.sh"))
    image = guest.initramfs(kernel, script, modules=MODULES,
                            programs=["bpftool", BUILD / "bbrctl", BUILD / "bbrmon", BUILD / "flow"],
                            files={"/bpf_bbr.bpf.o": BUILD / "bpf_bbr.bpf.o"})
    return guest.run(kernel, image)


def steps(console):
    """What each step printed: its name -> text."""
    parts = ("\n" + console).split("\n== ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def objects(text):
    """The JSON objects among the lines of a text."""
    found = []
    for line in text.splitlines():
        if line.startswith("{") and line.endswith("}"):
            found.append(json.loads(line))
    return found


def ends(text):
    return [o["end"] for o in objects(text) if "end" in o]


def mode_events(text):
    return [o for o in objects(text) if o.get("event") == "mode"]
