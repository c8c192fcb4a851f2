# SPDX-License-Identifier: GPL-2.0-only
"""Archives for guests: the initramfs that each kernel boots, and what a run unpacks over it."""
import dataclasses
import functools
import gzip
import lzma
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

from vm.kernels import LabError

TOOLS = ["bash", "ip", "tc", "ss"]
BUILD = pathlib.Path(__file__).parents[2] / "build"
START = BUILD / "start"
BEGIN, END = "@@BEGIN", "@@END"
# Bash makes its random numbers from the time, its process id and its addresses, which are the same for each seed.
SEED_BASH = "RANDOM=$SRANDOM\n"

# The emulator can make a snapshot of the guest at each `start`: see snapshot.py. What prepare.sh prints is printed by each run, so
# that a run is the same with and without the snapshot.
INIT = f"""#!/bin/busybox sh
export PATH=/bin:/sbin HOME=/root TERM=dumb
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
mount -t tmpfs t /tmp; mount -t tmpfs t /run
mkdir -p /run/netns; rm -rf /var/run; ln -s /run /var/run
mount -t bpf b /sys/fs/bpf; mount -t cgroup2 c /sys/fs/cgroup
mount -t tracefs t /sys/kernel/tracing 2>/dev/null
ip link set lo up
stty -F /dev/ttyS1 raw 2>/dev/null
add_modules() {{ for m in /mods/*.ko; do [ -e "$m" ] && insmod "$m"; done 2>/dev/null; }}
start 0 | cpio -idu 2>/dev/null
prepared=0
if [ -e /prepare.sh ]; then
	add_modules
	/bin/bash /prepare.sh </dev/null >/prepared 2>&1
	prepared=$?
fi
start 1 | cpio -idu 2>/dev/null
[ -e /prepare.sh ] || add_modules
echo "{BEGIN} $(uname -r)"
[ ! -e /prepared ] || cat /prepared
[ $prepared = 0 ] && /bin/bash /run.sh </dev/null
echo "{END} $?"
poweroff -f
"""


def find_program(name):
    if "/" in str(name):
        if not os.path.exists(name):
            raise LabError(f"{os.path.basename(name)} is not built: make tests")
        return str(name)
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise LabError(f"the lab needs the program {name}, which is not installed")
    return path


@functools.lru_cache
def _shared_libraries(program):
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return re.findall(r"(/[^ )]+) \(0x", done.stdout)


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath(source), target)


def _add_program(root, name, present=()):
    """Adds a program and those of its libraries that are not in present."""
    path = find_program(name)
    target = root / "bin" / os.path.basename(path)
    if target.is_symlink():  # busybox's
        target.unlink()
    _copy(path, target)
    for library in _shared_libraries(path):
        if library not in present:
            _copy(library, root / library.lstrip("/"))


def _add_busybox(root):
    _add_program(root, "busybox")
    applets = subprocess.run([find_program("busybox"), "--list"], capture_output=True, text=True,
                             check=True).stdout.split()
    for applet in applets:
        # Its ip, tc and ss lack most options; the real ones come later.
        if applet not in ("busybox", "sh", *TOOLS):
            (root / "bin" / applet).symlink_to("busybox")
    (root / "bin/sh").symlink_to("bash")


def _add_module(root, kernel, index, name):
    found = sorted(kernel.modules.rglob(f"{name}.ko*")) if kernel.modules else []
    if not found:
        return
    data = found[0].read_bytes()
    if found[0].suffix == ".xz":
        data = lzma.decompress(data)
    elif found[0].suffix == ".gz":
        data = gzip.decompress(data)
    (root / "mods" / f"{index:02d}-{name}.ko").write_bytes(data)


def _padded(data):
    return data + b"\0" * (-len(data) % 4)


def _entry(name, mode, data):
    """An entry of an archive (cpio, format newc)."""
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name.encode() + b"\0") + _padded(data)


END_OF_ARCHIVE = _entry("TRAILER!!!", 0, b"")


def _entries(root):
    """Entries for everything in a folder: the same folder gives the same bytes."""
    out = []
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            mode, data = 0o120777, os.readlink(path).encode()
        elif stat.S_ISDIR(info.st_mode):
            mode, data = 0o040755, b""
        else:
            mode, data = 0o100755, path.read_bytes()
        out.append(_entry(str(path.relative_to(root)), mode, data))
    return b"".join(out)


def of_folder(root):
    """An archive with everything in a folder."""
    return _entries(root) + END_OF_ARCHIVE


@functools.lru_cache
def base():
    """The archive that every kernel boots: shell, network tools, and start."""
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        root = pathlib.Path(folder)
        for name in ("bin", "sbin", "proc", "sys", "dev", "tmp", "run", "mods", "etc", "var/run",
                     "root"):
            (root / name).mkdir(parents=True)
        _add_busybox(root)
        for name in [*TOOLS, START]:
            _add_program(root, name)
        (root / "init").write_text(INIT)
        return of_folder(root)


@functools.lru_cache
def _base_libraries():
    return {library for name in ["busybox", *TOOLS, START] for library in _shared_libraries(find_program(name))}


@functools.lru_cache(maxsize=8)
def _without_script(kernel, programs, files, modules):
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        root = pathlib.Path(folder)
        (root / "mods").mkdir()
        for name in programs:
            _add_program(root, name, _base_libraries())
        for index, name in enumerate(modules):
            _add_module(root, kernel, index, name)
        for target, source in files:
            _copy(source, root / target.lstrip("/"))
        return _entries(root)


def of_init(program):
    """An archive with one program, which needs no library and which the kernel starts as init."""
    return _entry("init", 0o100755, program.read_bytes()) + END_OF_ARCHIVE


@dataclasses.dataclass(frozen=True)
class Image:
    """What a run unpacks over the base: two archives, one after the other."""
    prepared: bytes  # empty, or has the script prepare.sh; the lab keeps the guest as it leaves it, whatever the seed
    own: bytes


@functools.lru_cache(maxsize=8)
def _prepared(kernel, programs, files, modules, prepare):
    """One object for runs that share it, so that it is joined and hashed once."""
    return _without_script(kernel, programs, files, modules) + _entry("prepare.sh", 0o100755, prepare.encode()) + END_OF_ARCHIVE


def of_run(kernel, script, programs=(), files=None, modules=(), prepare=None):
    """The image of a run on the kernel. script: text, which bash runs last; files: path in the guest -> source. prepare: what
    several runs begin with, if it takes long. It runs before, in a shell of its own, and is part of a snapshot from the second run on."""
    what = kernel, tuple(programs), tuple((files or {}).items()), tuple(modules)
    first = f"{kernel.first}\n" if kernel.first else ""
    if prepare is not None:
        prepare, first = first + prepare, ""
    run = _entry("run.sh", 0o100755, (SEED_BASH + first + script).encode()) + END_OF_ARCHIVE
    if prepare is None:
        return Image(b"", _without_script(*what) + run)
    return Image(_prepared(*what, prepare), run)
