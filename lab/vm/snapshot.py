# SPDX-License-Identifier: GPL-2.0-only
"""Keeps guests in the lab's cache that have booted, and those that have then done what several runs begin with: both are
functions of their inputs, so once is enough.

A snapshot is a folder, named after the hash of the inputs. It contains the initramfs, the guest's memory as a file (with
holes where it is zero), and the state of CPU and devices. A guest that starts from it maps the memory and writes to
private pages.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from vm import archive, emulator, initramfs
from vm.emulator import Emulator, EmulatorError
from vm.kernels import CACHE, LabError

FOLDER = CACHE / "snapshots"
MOST = 24  # of some 150 MB; those used longest ago go
MOST_SEEN = 1000  # names of what was prepared once
GIVEN_BLOCK = b"0000:00:1f.0/given"  # the name of the device's memory in a state; its size and its place follow
IGNORE_FILES = [{"capability": name, "state": True} for name in ("x-ignore-shared", "events")]


@contextlib.contextmanager
def _locked():
    """Lets one process make snapshots while the others wait: making one needs a core for some seconds."""
    with archive.locked("snapshots.lock"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        yield


def _migrated(guest):
    event = guest.wait_for("MIGRATION", "completed", "failed")
    if event["data"]["status"] == "failed":
        raise EmulatorError("the emulator could not move the guest's state")


def _forget_place(state):
    """QEMU compares the place of memory that is in a file with the place in the state, and has not read yet where the guest put its
    devices. So the state must say what a new emulator has: the memory of a device is nowhere."""
    data = bytearray(state.read_bytes())
    block = GIVEN_BLOCK + (emulator.GIVEN_MB << 20).to_bytes(8, "big")
    place = data.find(block) + len(block)
    if place < len(block):
        raise LabError("the emulator writes its state in another format than the lab knows")
    data[place:place + 8] = bytes(8)
    state.write_bytes(data)


def _keep(guest, folder):
    """Lets the guest go on to its next `start`, and keeps its state there."""
    guest.tell("cont")
    try:
        guest.wait_for("GUEST_PANICKED")
        guest.wait_for("STOP")
    except EmulatorError as error:
        raise LabError(f"the guest ended before its script ({error}); its console ended with:\n" +
                       guest.console.read_text(errors="replace")[-2000:]) from error
    with open(folder / "state", "wb") as state:
        guest.pass_file("state", state)
    guest.tell("migrate", uri="fd:state")
    _migrated(guest)
    _forget_place(folder / "state")


def _boot(kernel, folder):
    (folder / "initrd").write_bytes(initramfs.base())
    with open(folder / "ram", "wb") as ram:
        ram.truncate(kernel.memory_mb << 20)
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as outside:
        outside = pathlib.Path(outside)
        emulator.write_given(outside / "given")
        command = emulator.words(kernel, folder / "initrd", outside / "given", folder / "ram", shared=True)
        with Emulator(outside, [*command, "-action", "panic=pause"]) as guest:
            guest.tell("migrate-set-capabilities", capabilities=IGNORE_FILES)
            _keep(guest, folder)


def _prepare(kernel, booted, archive_, folder):
    """Makes a snapshot of what comes of a booted guest that gets the archive."""
    subprocess.run(["cp", "--sparse=always", booted / "initrd", booted / "ram", booted / "state", folder], check=True)
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as outside:
        outside = pathlib.Path(outside)
        emulator.write_given(outside / "given", prepared=archive_)
        with load(folder, kernel, outside, outside / "given", shared=True) as guest:
            _keep(guest, folder)


def _sync(folder):
    """Writes a folder to the disk: a crash of the host must not leave a complete folder with half of its bytes."""
    for path in (*folder.iterdir(), folder):
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def _remove_old():
    """Removes the least recently used snapshots. Guests that run from one are not disturbed: they have its files open."""
    found = sorted((path for path in FOLDER.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for path in found[:-MOST]:
        shutil.rmtree(path)
    for path in sorted(FOLDER.glob("*.seen"), key=lambda path: path.stat().st_mtime)[:-MOST_SEEN]:
        path.unlink()


def _find(name, make):
    """The folder of that name. make(folder) makes its files if it is not there."""
    folder = FOLDER / name
    with contextlib.suppress(FileNotFoundError):
        os.utime(folder)
        return folder
    with _locked():
        if not folder.exists():
            for partial in FOLDER.glob("*.partial"):  # left by a process that was killed
                shutil.rmtree(partial)
            partial = folder.with_suffix(".partial")
            partial.mkdir()
            make(partial)
            _sync(partial)
            partial.rename(folder)
            _remove_old()
    return folder


def _was_seen(name):
    """False for the first who asks."""
    try:
        (FOLDER / f"{name}.seen").touch(exist_ok=False)
    except FileExistsError:
        return True
    return False


def _names(kernel, prepared):
    boot = emulator.boot_hash(kernel)
    return boot, emulator.hash_of(boot.encode(), prepared)


def find(kernel, prepared=b""):
    """The folder of the kernel's snapshot. Makes it if it is not there. After the boot; or after what the archive prepares, but not
    for the first run that has the archive: there may be no other."""
    boot, name = _names(kernel, prepared)
    booted = _find(boot, lambda folder: _boot(kernel, folder))
    if not prepared or not _was_seen(name):
        return booted
    return _find(name, lambda folder: _prepare(kernel, booted, prepared, folder))


def discard(kernel, prepared=b""):
    """Removes what find() returns, and what that was made from."""
    with _locked():
        for name in _names(kernel, prepared):
            shutil.rmtree(FOLDER / name, ignore_errors=True)


def load(found, kernel, outside, given, extra=(), shared=False):
    """A guest that is paused at the snapshot in the folder found. extra: more options for QEMU. shared: the guest writes to the
    snapshot's own memory, and stops at its next `start`."""
    command = [*emulator.words(kernel, found / "initrd", given, found / "ram", shared),
               "-action", "panic=pause" if shared else "panic=none", "-incoming", "defer", *extra]
    guest = Emulator(outside, command)
    try:
        guest.tell("migrate-set-capabilities", capabilities=IGNORE_FILES)
        with open(found / "state", "rb") as state:
            guest.pass_file("state", state)
        guest.tell("migrate-incoming", uri="fd:state")
        _migrated(guest)
    except OSError as error:
        guest.close()
        raise EmulatorError(str(error)) from error
    except BaseException:
        guest.close()
        raise
    return guest
