# SPDX-License-Identifier: GPL-2.0-only
"""Runs the matrix on Debian's arm64 kernels, in a machine that QEMU emulates, with our programs from build/arm64 and Debian's own
tools. Time is virtual, as on the other kernels, but each run boots."""
import gzip
import lzma
import pathlib
import re
import shutil
import subprocess
import tempfile

from vm import archive, guest, initramfs, kernels
from vm.archive import LabError

BUILD = initramfs.BUILD / "arm64"
QEMU = "qemu-system-aarch64"
MACHINE = ["-machine", "virt", "-cpu", "max,pauth-impdef=on", "-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
           "-smp", "1", "-m", "1536", "-rtc", "base=2026-01-01,clock=vm", "-seed", "1", "-nic", "none", "-display", "none",
           "-monitor", "none", "-no-reboot"]
CMDLINE = "console=ttyAMA0 panic=-1 quiet nokaslr cryptomgr.notests"
SUFFIX = "+arm64"  # of the keys of these kernels
TOOLS = {"busybox-static": "usr/bin/busybox", "bash": "usr/bin/bash", "iproute2": "usr/bin/ip usr/sbin/tc usr/bin/ss",
         "bpftool": "usr/sbin/bpftool"}
LIBRARIES = "usr/lib/aarch64-linux-gnu"
INIT = re.sub(r"^(stty|start) .*\n", "", initramfs.INIT, flags=re.MULTILINE)  # an initramfs has all of a run
TIMEOUT_S = 2400


def _unpacked(folder, suite, packages):
    """The folder of the cache with these arm64 packages and everything that they need, unpacked. Runs none of their programs."""
    target = archive.CACHE / "arm64" / folder
    with archive.locked():
        if not target.exists():
            partial = target.with_name(target.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)
            target.parent.mkdir(exist_ok=True)
            base = suite.removesuffix("-backports")
            sources = archive.sources(dict.fromkeys((base, suite)), (f"{base}-security",))
            done = subprocess.run(["mmdebstrap", "--mode=root", "--variant=extract", "--architectures=arm64",
                                   f"--include={','.join(packages)}", base, partial, "-"],
                                  input=sources, capture_output=True, text=True, check=False)
            if done.returncode:
                raise LabError(f"mmdebstrap cannot unpack {' '.join(packages)}:\n{done.stderr[-2000:]}")
            partial.rename(target)
    return target


def _kernel(key):
    """Returns the kernel's image and the folder of its modules."""
    name, _, suite = kernels.TABLE[key].package.partition("/")
    root = _unpacked(f"kernel-{key.removesuffix(SUFFIX)}", suite, [f"{name}/{suite}" if suite.endswith("-backports") else name])
    images = [*root.glob("boot/vmlinuz-*"), *root.glob("usr/lib/modules/*/vmlinuz")]
    folders = [*root.glob("usr/lib/modules/*/kernel"), *root.glob("lib/modules/*/kernel")]
    return images[0], folders[0]


def _add_program(root, tools, path):
    """Adds a program with the libraries that it needs, directly or indirectly."""
    shutil.copy(path, root / "bin" / pathlib.Path(path).name)
    wanted, known = [path], set()
    while wanted:
        said = subprocess.run(["readelf", "-dl", wanted.pop()], capture_output=True, text=True, check=True).stdout
        for name in {*re.findall(r"\(NEEDED\).*\[(.*)\]", said), *re.findall(r"interpreter: /lib/(.*)\]", said)} - known:
            known.add(name)
            library = (tools / LIBRARIES / name).resolve()
            shutil.copy(library, root / "lib" / name)
            wanted.append(library)


def _add_modules(root, folder, names):
    unpack = {".xz": lzma.decompress, ".gz": gzip.decompress, ".ko": bytes}
    for i, name in enumerate(names):
        (found,) = folder.rglob(f"{name}.ko*")
        (root / f"mods/{i:02d}-{name}.ko").write_bytes(unpack[found.suffix](found.read_bytes()))


def _archive(kernel_modules, script, modules, programs, files):
    """An initramfs with all of these."""
    tools = _unpacked("tools", "trixie", TOOLS)
    with tempfile.TemporaryDirectory(prefix="bbr-arm64-") as folder:
        root = pathlib.Path(folder)
        for name in "bin", "sbin", "proc", "sys", "dev", "tmp", "run", "mods", "etc", "var/run", "root", "lib":
            (root / name).mkdir(parents=True)
        for paths in TOOLS.values():
            for path in paths.split():
                _add_program(root, tools, tools / path)
        for path in programs:
            _add_program(root, tools, path)
        for name, source in files.items():
            shutil.copy(source, root / name.lstrip("/"))
        # The names come from the host's busybox, which is another version.
        for applet in subprocess.run([initramfs.find_program("busybox"), "--list"], capture_output=True, text=True,
                                     check=True).stdout.split():
            if applet != "sh" and not (root / "bin" / applet).exists():
                (root / "bin" / applet).symlink_to("busybox")
        (root / "bin/sh").symlink_to("bash")
        _add_modules(root, kernel_modules, modules)
        (root / "init").write_text(INIT)
        (root / "run.sh").write_text(script)
        return initramfs.of_folder(root)


def _read(console):
    lines = console.read_text(errors="replace").splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith(initramfs.BEGIN)), None)
    if begin is None:
        raise LabError("the guest did not reach its script; its console ended with:\n" + "\n".join(lines[-20:]))
    end = next((i for i, line in enumerate(lines) if line.startswith(initramfs.END)), None)
    status = int(lines[end].split()[1]) if end is not None else -1
    return guest.Result(lines[begin].split()[1], status, "\n".join(lines[begin + 1:end]), b"", "")


def run(key, script, modules, programs, files):
    """Runs a script on a kernel for arm64 of the lab's table. programs, and the values of files (by their path in the guest), are in build/arm64."""
    for name in [*programs, *files.values()]:
        if not (BUILD / name).exists():
            raise LabError(f"{BUILD / name} is missing: make check-arm64 makes it")
    image, folder = _kernel(key)
    made = _archive(folder, script, modules, [BUILD / name for name in programs],
                    {path: BUILD / name for path, name in files.items()})
    with tempfile.TemporaryDirectory(prefix="bbr-arm64-") as work:
        work = pathlib.Path(work)
        (work / "initrd").write_bytes(made)
        command = [initramfs.find_program(QEMU), *MACHINE, "-kernel", image, "-initrd", work / "initrd", "-append", CMDLINE,
                   "-serial", f"file:{work}/console"]
        try:
            subprocess.run(["setpriv", "--pdeathsig", "KILL", *map(str, command)], timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise LabError(f"kernel {key} took more than {TIMEOUT_S} s of host time") from error
        return _read(work / "console")
