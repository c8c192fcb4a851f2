# SPDX-License-Identifier: GPL-2.0-only
"""Keeps guests that have booted in the lab's cache: a boot is a function of its inputs, so one is enough.

A snapshot is a folder, named after the hash of the inputs. It contains the initramfs, the guest's memory as a file (with
holes where it is zero), and the state of CPU and devices. A guest that starts from it maps the memory and writes to
private pages.
"""
import contextlib
import os
import pathlib
import shutil
import tempfile

from vm import archive, emulator, initramfs
from vm.emulator import Emulator, EmulatorError
from vm.kernels import CACHE, LabError

FOLDER = CACHE / "snapshots"
MOST = 16  # of some 150 MB; those used longest ago go
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


def _make(kernel, folder):
    (folder / "initrd").write_bytes(initramfs.base())
    with open(folder / "ram", "wb") as ram:
        ram.truncate(kernel.memory_mb << 20)
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as outside:
        outside = pathlib.Path(outside)
        emulator.write_given(outside / "given")
        command = emulator.words(kernel, folder / "initrd", outside / "given", folder / "ram", shared=True)
        with Emulator(outside, [*command, "-action", "panic=pause"]) as guest:
            guest.tell("migrate-set-capabilities", capabilities=IGNORE_FILES)
            guest.tell("cont")
            try:
                guest.wait_for("GUEST_PANICKED")
                guest.wait_for("STOP")
            except EmulatorError as error:
                raise LabError(f"the guest did not boot ({error}); its console ended with:\n" +
                               guest.console.read_text(errors="replace")[-2000:]) from error
            with open(folder / "state", "wb") as state:
                guest.pass_file("state", state)
            guest.tell("migrate", uri="fd:state")
            _migrated(guest)


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


def find(kernel):
    """The folder of the kernel's snapshot. Makes it if it is not there."""
    folder = FOLDER / emulator.boot_hash(kernel)
    with contextlib.suppress(FileNotFoundError):
        os.utime(folder)
        return folder
    with _locked():
        if not folder.exists():
            for partial in FOLDER.glob("*.partial"):  # left by a process that was killed
                shutil.rmtree(partial)
            partial = folder.with_suffix(".partial")
            partial.mkdir()
            _make(kernel, partial)
            _sync(partial)
            partial.rename(folder)
            _remove_old()
    return folder


def discard(folder):
    with _locked():
        shutil.rmtree(folder, ignore_errors=True)


def load(found, kernel, outside, given, extra=()):
    """A guest that is paused at the snapshot in the folder found. extra: more options for QEMU."""
    command = [*emulator.words(kernel, found / "initrd", given, found / "ram"), "-action", "panic=none",
               "-incoming", "defer", *extra]
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
