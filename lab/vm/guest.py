# SPDX-License-Identifier: GPL-2.0-only
"""Runs a shell script in a kernel under emulation, in deterministic virtual time.

A run is a function of kernel, image and seed, on any host. It starts from a booted kernel, or from one that has done what
several runs begin with: see snapshot.py.
"""
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from vm import emulator, initramfs as archives, snapshot
from vm.emulator import Cancelled, Emulator, EmulatorError, cancel, uncancel  # pylint: disable=unused-import
from vm.initramfs import BEGIN, END
from vm.kernels import LabError

LOOK_S = 0.05  # how often the console is read


@dataclasses.dataclass
class Result:
    release: str  # uname -r
    status: int  # of the script; -1: the guest did not reach its end
    console: str  # what the script printed
    data: bytes  # what it wrote to /dev/ttyS1
    inputs: str  # hash of everything that the run depends on


initramfs = archives.of_run


def input_hash(kernel, image, seed=1):
    """The hash of everything that a run depends on."""
    return emulator.hash_of(emulator.boot_hash(kernel).encode(), image.prepared, image.own, str(seed).encode())


def input_parts(kernel, image):
    """Hashes of the larger parts, to see which of them made two runs differ."""
    return {"kernel": emulator.kernel_hash(kernel.image), "initramfs": emulator.hash_of(archives.base(), image.prepared, image.own),
            "qemu": emulator.path_and_version()[1].decode()}


def _lines(guest):
    """Yields the console's lines as they come, until the emulator has ended."""
    rest, ended = b"", False
    with open(guest.console, "rb") as console:
        while not ended:
            ended = guest.process.poll() is not None  # before the last read
            new = console.read()
            *whole, rest = (rest + new).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
            if not new and not ended:
                time.sleep(LOOK_S)
    if rest:
        yield rest.decode(errors="replace")


def _read_console(guest, lines, on_line):
    for line in _lines(guest):
        lines.append(line)
        if on_line:
            on_line(line)


def _debug(debug, stub, guest, lines):
    """Runs the debugger. If it fails, the guest would stay paused, so it is stopped."""
    try:
        debug(stub)
    except (OSError, RuntimeError, ValueError) as error:
        lines.append(f"the debugger failed: {error}")
        guest.stop()


def _booting(kernel, _image, folder, given, extra):
    """A guest that is paused before its first instruction."""
    (folder / "initrd").write_bytes(archives.base())
    command = [*emulator.words(kernel, folder / "initrd", given), "-action", "panic=none", *extra]
    return Emulator(folder, command)


def _loaded(kernel, image, folder, given, extra):
    """A guest that is paused at the snapshot. A snapshot that cannot be loaded is made again, once."""
    try:
        return snapshot.load(snapshot.find(kernel, image.prepared), kernel, folder, given, extra)
    except EmulatorError as error:
        print(f"lab: a snapshot of kernel {kernel.key} cannot be loaded and is made again: {error}",
              file=sys.stderr, flush=True)
        snapshot.discard(kernel, image.prepared)
    return snapshot.load(snapshot.find(kernel, image.prepared), kernel, folder, given, extra)


def run(kernel, image, timeout_s=1800, seed=1, on_line=None, debug=None, boot=False):
    """Runs an image (from initramfs()) on the kernel. on_line() gets each line of the console as it comes. debug() runs in a
    thread of its own and gets the path of the socket of QEMU's gdb stub; the guest stays paused until the debugger continues it.
    boot: without a snapshot, which gives the same result."""
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        folder = pathlib.Path(folder)
        given = folder / "given"
        emulator.write_given(given, seed, image.prepared, image.own)
        stub = ["-gdb", f"unix:{folder}/gdb,server=on,wait=off"] if debug else []
        with (_booting if boot else _loaded)(kernel, image, folder, given, stub) as guest:
            lines = []
            reader = threading.Thread(target=_read_console, args=(guest, lines, on_line))
            reader.start()
            try:
                if debug:
                    threading.Thread(target=_debug, args=(debug, folder / "gdb", guest, lines)).start()
                else:
                    guest.tell("cont")
                guest.wait(timeout_s)
            except subprocess.TimeoutExpired:
                lines.append(f"the lab stopped the guest: it took more than {timeout_s} s of host time")
            finally:
                guest.stop()
                reader.join()
        return _result(lines, guest, input_hash(kernel, image, seed))


def shell(kernel, image):
    """Like run(), but on this terminal and in the host's time: virtual time would run away while the user does not type.
    Returns QEMU's exit status."""
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        folder = pathlib.Path(folder)
        (folder / "initrd").write_bytes(archives.base())
        emulator.write_given(folder / "given", 1, image.prepared, image.own)
        words = [word for word in emulator.words(kernel, folder / "initrd", folder / "given")
                 if word not in ("-icount", emulator.ICOUNT)]
        words += ["-action", "panic=none", "-monitor", "none", "-chardev", "stdio,id=terminal,signal=off",
                  "-serial", "chardev:terminal"]
        return subprocess.run(words, check=False).returncode


def _result(lines, guest, inputs):
    begin = next((i for i, line in enumerate(lines) if line.startswith(BEGIN)), None)
    if begin is None:
        raise LabError("the guest did not reach its script; its console ended with:\n" +
                       "\n".join([*lines[-20:], guest.messages()]))
    end = next((i for i, line in enumerate(lines) if line.startswith(END)), None)
    status = int(lines[end].split()[1]) if end is not None else -1
    return Result(lines[begin].split()[1], status, "\n".join(lines[begin + 1:end]), guest.data.read_bytes(), inputs)
