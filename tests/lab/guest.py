# SPDX-License-Identifier: GPL-2.0-only
"""Runs a shell script in a kernel under emulation, in deterministic virtual time.

QEMU's TCG with -icount: guest time is the number of executed instructions, one nanosecond each, and
idle time is skipped. So a run is a function of kernel, initramfs and script, on any host.
"""
import ctypes
import dataclasses
import functools
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
# the last things away that differ between runs; what random numbers are left come from -seed.
ICOUNT = "shift=0,sleep=off"
MACHINE = ["-accel", "tcg,thread=single", "-icount", ICOUNT, "-smp", "1",
           "-rtc", "base=2026-01-01,clock=vm", "-cpu", "max", "-nic", "none", "-display", "none",
           "-no-reboot", "-monitor", "none"]
# slub_debug=F keeps the allocator from cmpxchg16b. TCG of QEMU 7.2 leaves bits of its operands in the
# flags, and when an interrupt comes right behind it they include VM: the return from the interrupt is a
# double fault (seen in 6.12's __kmalloc). A CPU without the instruction (cx16=off) would not do: from
# 6.18 on allocations by BPF programs need it, unless the allocator is debugged.
#
# What is left out at boot is half of its instructions: tests of ciphers, the wait for noise from the CPU's jitter, and
# the keys of signed modules, against which each module would be checked.
CMDLINE = ("console=ttyS0 panic=-1 quiet nokaslr random.trust_cpu=off random.trust_bootloader=off "
           "slub_debug=F cryptomgr.notests "
           "initcall_blacklist=jent_mod_init,load_system_certificate_list")
TOOLS = ["bash", "ip", "tc", "ss"]
BEGIN, END = "@@BEGIN", "@@END"
MEMORY_MB = 2048
PR_SET_PDEATHSIG = 1
default_core = None  # of the host, for guests of which nobody says where they run; None: any

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


class Cancelled(Exception):
    """The lab is being stopped."""


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


@functools.lru_cache(maxsize=8)
def _base(kernel, programs, files, modules):
    """All of the initramfs but the script."""
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
        for target, source in files:
            _copy(source, root / target.lstrip("/"))
        (root / "init").write_text(INIT)
        return _archive(root)


def initramfs(kernel, script, programs=(), files=None, modules=()):
    """The bytes of an initramfs that runs the script (text). files: path in the guest -> source."""
    base = _base(kernel, tuple(programs), tuple((files or {}).items()), tuple(modules))
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        root = pathlib.Path(folder)
        (root / "run.sh").write_text(script)
        return base + _archive(root)  # the kernel unpacks one after the other


def _hash(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


@functools.lru_cache
def _qemu():
    """The emulator, and what it says of itself: an input of each run."""
    path = _find_program(QEMU)
    version = subprocess.run([path, "--version"], capture_output=True, check=True).stdout
    return path, version.partition(b"\n")[0]


@functools.lru_cache
def _kernel_hash(image):
    return _hash(image.read_bytes())


def input_hash(kernel, image, memory_mb=MEMORY_MB, seed=1):
    """Of all that a run is a function of."""
    return _hash(_qemu()[1], _kernel_hash(kernel.image).encode(), image, " ".join(MACHINE).encode(),
                 CMDLINE.encode(), f"{memory_mb} {seed}".encode())


def input_parts(kernel, image):
    """The hashes of the larger parts, to see which of them made two runs differ."""
    return {"kernel": _kernel_hash(kernel.image), "initramfs": _hash(image),
            "qemu": _qemu()[1].decode()}


def _in_child(core):
    """Whatever ends the lab, SIGKILL included, ends its guest. Of a session of its own, so that Ctrl-C
    reaches the lab alone, which then ends its guests and cleans up. On one core, because the
    emulator's two threads take turns: a thread on another core is slower to wake (a fifth of all
    time, measured)."""
    os.setsid()
    if core is not None:
        os.sched_setaffinity(0, {core})
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


_running = set()
_cancelled = threading.Event()


def cancel():
    """Ends all guests; run() raises Cancelled from now on."""
    _cancelled.set()
    for process in list(_running):
        _stop(process)


def uncancel():
    """Guests may run again."""
    _cancelled.clear()


def _stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _read_console(process, lines, on_line):
    for raw in process.stdout:
        line = raw.decode(errors="replace").rstrip("\r\n")
        lines.append(line)
        if on_line:
            on_line(line)


def _debug(debug, stub, process, lines):
    """A debugger that fails leaves a guest that stands still."""
    try:
        debug(stub)
    except (OSError, RuntimeError, ValueError) as error:
        lines.append(f"the debugger failed: {error}")
        _stop(process)


def command(kernel, initrd, memory_mb, seed):
    """QEMU's command line without the serial lines: ttyS0 is the console, ttyS1 for data."""
    return [_qemu()[0], *MACHINE, "-seed", str(seed), "-m", str(memory_mb), "-kernel",
            str(kernel.image), "-initrd", str(initrd), "-append", CMDLINE]


def run(kernel, image, memory_mb=MEMORY_MB, timeout_s=1800, seed=1, on_line=None, core=None, debug=None):
    """Boots the kernel with an initramfs, on a core of the host if there is a choice to be made.
    on_line is given each line of the console as it comes. debug is given the path of the socket of QEMU's
    gdb stub, which the guest then waits for before its first instruction, in a thread of its own."""
    lines = []
    core = default_core if core is None else core
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        folder = pathlib.Path(folder)
        data = folder / "data"
        (folder / "initrd").write_bytes(image)
        stub = ["-gdb", f"unix:{folder}/gdb,server=on,wait=off", "-S"] if debug else []
        process = subprocess.Popen(
            command(kernel, folder / "initrd", memory_mb, seed) + stub +
            ["-serial", "stdio", "-serial", f"file:{data}"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=functools.partial(_in_child, core))
        _running.add(process)
        reader = threading.Thread(target=_read_console, args=(process, lines, on_line))
        reader.start()
        if debug:
            threading.Thread(target=_debug, args=(debug, folder / "gdb", process, lines)).start()
        try:
            if not _cancelled.is_set():
                process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            lines.append(f"the lab stopped the guest: it took more than {timeout_s} s of host time")
        finally:
            _stop(process)
            reader.join()
            _running.discard(process)
        if _cancelled.is_set():
            raise Cancelled
        return _result(lines, data.read_bytes() if data.exists() else b"",
                       input_hash(kernel, image, memory_mb, seed))


def shell(kernel, image, memory_mb=MEMORY_MB):
    """The same, but on this terminal, and in the host's time: where a person types, virtual time would
    run away while nobody does. Returns QEMU's exit status."""
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        initrd = pathlib.Path(folder) / "initrd"
        initrd.write_bytes(image)
        words = [word for word in command(kernel, initrd, memory_mb, 1)
                 if word not in ("-icount", ICOUNT)]
        words += ["-chardev", "stdio,id=terminal,signal=off", "-serial", "chardev:terminal"]
        return subprocess.run(words, check=False).returncode


def _result(lines, data, inputs):
    begin = next((i for i, line in enumerate(lines) if line.startswith(BEGIN)), None)
    if begin is None:
        raise LabError("the guest did not boot; its console ended with:\n" + "\n".join(lines[-20:]))
    end = next((i for i, line in enumerate(lines) if line.startswith(END)), None)
    status = int(lines[end].split()[1]) if end is not None else -1
    return Result(lines[begin].split()[1], status, "\n".join(lines[begin + 1:end]), data, inputs)
