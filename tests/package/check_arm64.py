#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_arm64.py TARBALL FOLDER: compiles all for arm64 in a root of Debian 12, runs unit tests and the oracle's recordings there
under QEMU's user mode, and leaves in FOLDER what the matrix needs, the image, and the tarball of static programs."""
import hashlib
import pathlib
import re
import shutil
import sys
import tempfile

import roots
from roots import archive

HERE = pathlib.Path(__file__).parent
CROSS = "aarch64-linux-gnu"
TOOLS = ["make", "gcc", "libc6-dev", f"gcc-{CROSS}", "qemu-user-static", "libc6-dev:arm64", "patch", "python3"]
FOR_TESTS = ["libcmocka-dev", "libjson-c-dev", "libmnl-dev", "libzstd-dev"]
# QEMU's user mode does not know the ioctl NS_GET_NSTYPE, which identifies a file as a network namespace.
NOT_UNDER_QEMU = {"lib/test_netns", "loader/test_machine_file"}
# The sanitizers' runtime does not run under QEMU's user mode.
MAKE = f"make -j2 CC={CROSS}-gcc NM={CROSS}-nm STRIP={CROSS}-strip HOSTCC=gcc SANITIZE="
SCRIPT = f"""
cd /src
{MAKE} all unit build/oracle/replay
{MAKE} image static-tarball
{MAKE} LDFLAGS=-static build/next_version.bpf.o
{CROSS}-gcc -static -O2 -std=gnu11 -I. -Iinclude -Ilib lab/runs/flow.c -o build/static/flow
"""


def made():
    """The archive of a root with a compiler for arm64, and the libraries for it."""
    control = (roots.ROOT / "packaging/debian/control").read_text()
    needed = set(roots.dependencies(control, "Build-Depends")) - {"debhelper-compat"}
    packages = sorted([*TOOLS, *(f"{name}:arm64" if re.match("lib(?!js-)", name) else name for name in [*needed, *FOR_TESTS])])
    wanted = archive.sources(("bookworm",), ("bookworm-security",))
    key = hashlib.sha256("\n".join([wanted, *packages]).encode()).hexdigest()[:12]
    target = archive.CACHE / "roots" / f"bookworm-arm64-{key}.tar"
    with archive.locked():
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            partial = target.with_suffix(".partial.tar")
            roots.run(["mmdebstrap", "--mode=root", "--variant=minbase", "--format=tar", "--architectures=amd64,arm64",
                       f"--include={','.join(packages)}", "bookworm", partial, "-"], "making a root with arm64", input=wanted)
            partial.rename(target)
    return target


def check_units(root):
    tests = sorted(str(path.relative_to(root.path / "src/tests/unit").with_suffix(""))
                   for path in (root.path / "src/tests/unit").glob("*/test_*.c"))
    passed, failures = 0, []
    for test in sorted(set(tests) - NOT_UNDER_QEMU):
        try:
            said = root("env", "-C", "/src", "qemu-aarch64-static", f"build/unit/{test}", what=test)
        except SystemExit as failure:
            failures.append(str(failure))
        else:
            passed += len(re.findall(r"^\[       OK \]", said, re.M))
    if failures:
        raise SystemExit("\n".join(failures))
    print(f"check-arm64: {passed} unit tests of {len(tests) - len(NOT_UNDER_QEMU)} programs pass", flush=True)


def check_oracle(root):
    """Replays recordings of amd64 kernels with the algorithm as arm64 machine code."""
    recordings = sorted((root.path / "src/tests/oracle/recordings").iterdir())
    callbacks = 0
    for path in recordings:
        said = root("qemu-aarch64-static", "/src/build/oracle/replay", f"/src/tests/oracle/recordings/{path.name}")
        total, different = re.search(r"^(\d+) callbacks, (\d+) different", said, re.M).groups()
        if int(different):
            raise SystemExit(f"check-arm64: {path.name}: {said}")
        callbacks += int(total)
    print(f"check-arm64: {callbacks} callbacks of {len(recordings)} recordings are the kernels'", flush=True)


def leave(root, folder):
    """Copies what the matrix and a release need."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "static").mkdir(parents=True)
    build = root.path / "src/build"
    for path in [*build.glob("*.bpf.o"), *(build / "static" / name for name in ("bbrctl", "bbrmon", "flow"))]:
        machine = re.search("Machine: *(.*)", roots.run(["readelf", "-h", path]))[1]
        assert machine == ("Linux BPF" if path.suffix == ".o" else "AArch64"), (path, machine)
        shutil.copy(path, folder / path.relative_to(build))
    for path in [*(build / "dist").glob("*-image-arm64.tar"), *(build / "dist").glob("*-static-arm64.tar.gz")]:
        shutil.copy(path, folder)
        print(f"check-arm64: {path.name}", flush=True)


def main():
    tarball, folder = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="bpf-bbr-root-") as path:
        roots.run(["tar", "-C", path, "-xf", made()])
        root = roots.Root(pathlib.Path(path))
        (root.path / "src").mkdir()
        roots.run(["tar", "-C", root.path / "src", "--strip-components=1", "-xf", tarball])
        root("sh", "-euc", SCRIPT, what="compiling for arm64")
        print("check-arm64: all is compiled", flush=True)
        check_units(root)
        check_oracle(root)
        leave(root, folder)


main()
