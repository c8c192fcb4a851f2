# SPDX-License-Identifier: GPL-2.0-only
"""The names of congestion controls that a run can use:

- ours: bpf_bbr, bpf_bbr3, ... for each object that is built;
- a file: NAME.bpf.o, which bpftool can register or this tree has built, or tcp_NAME.ko, a module of the guest's kernel;
- any other name: one that the kernel has, built in or as its module tcp_NAME.
"""
import pathlib
import re

from vm.initramfs import BUILD

MODULE_FILE = re.compile(r"(?:.*/)?tcp_(\w+)\.ko")


def is_object(cc):
    return cc.endswith(".bpf.o")


def is_built_here(cc):
    """True for an object for comparisons, such as bbr3_estimates.bpf.o. bbrctl loads it, even on kernels whose table of operations
    does not match it, where bpftool refuses it."""
    return is_object(cc) and pathlib.Path(cc).parent == BUILD


def name_of_object(cc):
    """The name of the instance of an object that is built here."""
    return pathlib.Path(cc).name.removesuffix(".bpf.o")


def is_file(cc):
    return is_object(cc) or cc.endswith(".ko")


def is_ours(cc):
    return bool(re.fullmatch(r"bpf_\w+", cc)) and (BUILD / f"{cc}.bpf.o").exists()


def is_missing(cc):
    """True if it has the name of one of ours, which is not built."""
    return cc.startswith("bpf_") and not is_file(cc) and not is_ours(cc)


def is_kernels(cc):
    return not is_file(cc) and not is_ours(cc)


def load_options(cc):
    """The options of bbrctl load for one of ours: bpf_NAME, or bpf_NAME_ecn, which negotiates ECN."""
    algorithm = cc.removeprefix("bpf_").removesuffix("_ecn")
    return [f"--algorithm={algorithm}", *(["--ecn"] if cc.endswith("_ecn") else [])]


def needs_ecn(cc):
    """True if it negotiates ECN by itself. Then its SYN is marked, and a listener refuses ECN unless its own cc does so, too."""
    return cc == "dctcp" or cc.endswith("_ecn")


def guest_path(cc):
    """The path of a file in the guest."""
    name = pathlib.Path(cc).name
    return f"/mods/99-{name}" if name.endswith(".ko") else f"/objects/{name}"


def word(cc):
    """The name that a flow uses for it, as a word of the guest's shell. The guest knows an object's name only after it
    has registered it: scenario.sh writes it into a file."""
    if is_built_here(cc):
        return name_of_object(cc)
    if is_object(cc):
        return f'"$(<{guest_path(cc)}.name)"'
    module = MODULE_FILE.fullmatch(cc)
    return module.group(1) if module else cc


def label(cc):
    """The name in tables and in file names."""
    return pathlib.Path(cc).name


def parse(value):
    """Checks a name or the path of a file, and returns it. Raises ValueError."""
    if is_file(value):
        if value.endswith(".ko") and not MODULE_FILE.fullmatch(value):
            raise ValueError(f"{value!r} is not named tcp_NAME.ko, as modules of congestion controls are")
        if not pathlib.Path(value).is_file():
            raise ValueError(f"{value!r} is not there")
        return str(pathlib.Path(value).resolve())
    if not re.fullmatch(r"\w+", value):
        raise ValueError(f"{value!r} is not a congestion control: a name, an object NAME.bpf.o, or tcp_NAME.ko")
    return value
