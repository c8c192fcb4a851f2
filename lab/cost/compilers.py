# SPDX-License-Identifier: GPL-2.0-only
"""
Compiles bpf_bbr and bpf_bbr3 with each version of clang that Debian has, from 15 on: does a kernel accept them, and what does an
ACK cost? Installs nothing.
"""
import contextlib
import json
import pathlib
import re
import subprocess
import tempfile

from cost import cost
from runs import tables
from vm import archive
from vm.archive import LabError

REPO = pathlib.Path(__file__).parents[2]
OLDEST = 15
OBJECTS = "bpf_bbr", "bpf_bbr3"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def used():
    """The version that `make` uses."""
    name = subprocess.check_output([REPO / "scripts/find-clang", "clang"], text=True).strip()
    return int(re.search(r"clang version (\d+)", subprocess.check_output([name, "--version"], text=True))[1])


def versions():
    """The versions in all suites that the lab fetches from."""
    return sorted(version for name in archive.names("clang-[0-9]+") if (version := int(name.removeprefix("clang-"))) >= OLDEST)


def _packages(version):
    """The packages of the compiler, its headers and libraries, without those that link programs for this machine."""
    wanted = re.compile(rf"clang-{version}|libclang-common-{version}-dev|lib.*(?<!-dev)")
    return [name for name in archive.with_dependencies(f"clang-{version}") if wanted.fullmatch(name)]


def _command(version):
    """The command that starts clang with its own dynamic loader, because its C library may be newer than this system's."""
    root = archive.unpacked(f"tools/clang-{version}", lambda: _packages(version))
    loader = next(path for path in (root / "usr/lib64/ld-linux-x86-64.so.2", root / "lib64/ld-linux-x86-64.so.2",
                                    root / LIBRARIES / "ld-linux-x86-64.so.2") if path.exists())
    folders = [root / LIBRARIES, root / "lib/x86_64-linux-gnu", root / f"usr/lib/llvm-{version}/lib"]
    clang = root / f"usr/lib/llvm-{version}/bin/clang"
    return f"{loader} --library-path {':'.join(map(str, folders))} {clang} -resource-dir {_headers(root, version)}"


def _headers(root, version):
    """The folder of the compiler's own headers. By itself clang would look for it beside the dynamic loader."""
    (folder,) = {path.parent for path in root.glob(f"usr/lib/llvm-{version}/lib/clang/*/include")}
    return folder


def objects(version, build):
    """Compiles OBJECTS in the folder build. Returns name -> file."""
    paths = {name: pathlib.Path(build) / f"{name}.bpf.o" for name in OBJECTS}
    done = subprocess.run(["make", "-C", REPO, "WERROR=1", f"BUILD={build}", f"CLANG={_command(version)}", *paths.values()],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"clang {version} does not compile it:\n{done.stderr}")
    return paths


@contextlib.contextmanager
def compiled():
    """Yields version -> its objects, in a folder that is removed after the block."""
    with tempfile.TemporaryDirectory(prefix="bbr-compilers-") as folder:
        yield {version: objects(version, pathlib.Path(folder) / str(version)) for version in versions()}


def table(found):
    """The figures as text."""
    header = ["CLANG", "", *(f"{name} {what}" for name in OBJECTS for what in ("mean", "median", "x bbr", "x median"))]
    return tables.align(header, [[version, "", *(f"{named[name][key]:g}" for name in OBJECTS
                                                 for key in ("mean", "median", "ratio", "ratio_median"))]
                                 for version, named in found.items()])


def main(kernel, as_json):
    with compiled() as objects_of:
        found = cost.compilers(kernel, objects_of)
    print(json.dumps(found, indent=2) if as_json else table(found))
    return 0
