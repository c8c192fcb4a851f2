# SPDX-License-Identifier: GPL-2.0-only
"""Runs a shell script in a kernel under emulation, in deterministic virtual time.

QEMU's TCG with -icount: guest time is the number of executed instructions, one nanosecond each, and
idle time is skipped. So a run is a function of kernel, initramfs and script, on any host.
"""
import ctypes
import dataclasses
import gzip
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading

from kernels import LabError

QEMU = "qemu-system-x86_64"
# One CPU and one thread: that is what makes it deterministic. nokaslr and the two random options take
# the last things away that differ between runs.
MACHINE = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", "1", "-seed", "1",
           "-rtc", "base=2026-01-01,clock=vm", "-cpu", "max", "-nic", "none", "-display", "none",
           "-no-reboot", "-monitor", "none"]
# slub_debug=F keeps the allocator from cmpxchg16b. TCG of QEMU 7.2 leaves bits of its operands in the
# flags, and when an interrupt comes right behind it they include VM: the return from the interrupt is a
# double fault (seen in 6.12's __kmalloc). A CPU without the instruction (cx16=off) would not do: from
# 6.18 on allocations by BPF programs need it, unless the allocator is debugged.
CMDLINE = ("console=ttyS0 panic=-1 quiet nokaslr random.trust_cpu=off random.trust_bootloader=off "
           "slub_debug=F")
TOOLS = ["bash", "ip", "tc", "ss"]
BEGIN, END = "@@BEGIN", "@@END"
PR_SET_PDEATHSIG = 1

INIT = f"""#!/bin/busybox sh
export PATH=/bin:/sbin HOME=/root TERM=dumb
mount -t proc p /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev
mount -t tmpfs t /tmp; mount -t tmpfs t /run
mkdir -p /run/netns; rm -rf /var/run; ln -s /run /var/run
mount -t bpf b /sys/fs/bpf; mount -t cgroup2 c /sys/fs/cgroup
mount -t tracefs t /sys/kernel/tracing 2>/dev/null
for m in /mods/*.ko; do [ -e "$m" ] && insmod "$m"; done 2>/dev/null
ip link set lo up
stty -F /dev/ttyS1 raw 2>/dev/null
echo "{BEGIN} $(uname -r)"
/bin/bash /run.sh </dev/null
echo "{END} $?"
poweroff -f
"""


@dataclasses.dataclass
class Result:
    release: str  # uname -r
    status: int  # of the script; -1: the guest did not come to its end
    console: str  # what the script printed
    data: bytes  # what it wrote to /dev/ttyS1
    inputs: str  # hash of all that the run is a function of


def _shared_libraries(program):
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return re.findall(r"(/[^ )]+) \(0x", done.stdout)


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(os.path.realpath(source), target)


def _find_program(name):
    if "/" in str(name):
        return str(name)
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise LabError(f"the lab needs the program {name}, which is not installed")
    return path


def _add_program(root, name):
    path = _find_program(name)
    target = root / "bin" / os.path.basename(path)
    if target.is_symlink():  # busybox's
        target.unlink()
    _copy(path, target)
    for library in _shared_libraries(path):
        _copy(library, root / library.lstrip("/"))


def _add_busybox(root):
    _add_program(root, "busybox")
    applets = subprocess.run([_find_program("busybox"), "--list"], capture_output=True, text=True,
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


def _cpio_header(inode, mode, nlink, size, name, device=(0, 0)):
    fields = [inode, mode, 0, 0, nlink, 0, size, 0, 0, *device, len(name) + 1, 0]
    header = b"070701" + b"".join(b"%08x" % field for field in fields)
    return header + name + b"\0"


def _padded(data):
    return data + b"\0" * (-len(data) % 4)


def _archive(root):
    """The folder as an initramfs (cpio, format newc): the same folder gives the same bytes."""
    out = []
    paths = sorted(path.relative_to(root) for path in root.rglob("*"))
    for inode, path in enumerate(paths, 1):
        info = (root / path).lstat()
        if stat.S_ISLNK(info.st_mode):
            mode, data = 0o120777, os.readlink(root / path).encode()
        elif stat.S_ISDIR(info.st_mode):
            mode, data = 0o040755, b""
        else:
            mode, data = 0o100755, (root / path).read_bytes()
        out.append(_padded(_cpio_header(inode, mode, 1, len(data), str(path).encode())))
        out.append(_padded(data))
    out.append(_padded(_cpio_header(0, 0, 1, 0, b"TRAILER!!!")))
    return b"".join(out)


def initramfs(kernel, script, programs=(), files=None, modules=()):
    """The bytes of an initramfs that runs the script (text). files: path in the guest -> source."""
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        root = pathlib.Path(folder)
        for name in ("bin", "sbin", "proc", "sys", "dev", "tmp", "run", "mods", "etc", "var/run",
                     "root"):
            (root / name).mkdir(parents=True)
        _add_busybox(root)
        for name in [*TOOLS, *programs]:
            _add_program(root, name)
        for index, name in enumerate(modules):
            _add_module(root, kernel, index, name)
        for target, source in (files or {}).items():
            _copy(source, root / target.lstrip("/"))
        (root / "run.sh").write_text(script)
        (root / "init").write_text(INIT)
        return _archive(root)


def _hash(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def _die_with_parent():
    """In the child: whatever ends the lab, SIGKILL included, ends its guest."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _read_console(process, lines):
    for raw in process.stdout:
        lines.append(raw.decode(errors="replace").rstrip("\r\n"))


def run(kernel, image, memory_mb=2048, timeout_s=600):
    """Boots the kernel with an initramfs."""
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        folder = pathlib.Path(folder)
        (folder / "initrd").write_bytes(image)
        command = [QEMU, *MACHINE, "-m", str(memory_mb), "-kernel", str(kernel.image),
                   "-initrd", str(folder / "initrd"), "-append", CMDLINE, "-serial", "stdio",
                   "-serial", f"file:{folder / 'data'}"]
        inputs = _hash(kernel.image.read_bytes(), image, " ".join(MACHINE).encode(),
                       CMDLINE.encode(), str(memory_mb).encode())
        lines = []
        process = subprocess.Popen([_find_program(QEMU), *command[1:]], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   preexec_fn=_die_with_parent)
        try:
            reader = threading.Thread(target=_read_console, args=(process, lines))
            reader.start()
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _stop(process)
            reader.join()
        data = folder / "data"
        return _result(lines, data.read_bytes() if data.exists() else b"", inputs)


def _result(lines, data, inputs):
    begin = next((i for i, line in enumerate(lines) if line.startswith(BEGIN)), None)
    if begin is None:
        raise LabError("the guest did not boot; its console ended with:\n" + "\n".join(lines[-20:]))
    end = next((i for i, line in enumerate(lines) if line.startswith(END)), None)
    status = int(lines[end].split()[1]) if end is not None else -1
    return Result(lines[begin].split()[1], status, "\n".join(lines[begin + 1:end]), data, inputs)
