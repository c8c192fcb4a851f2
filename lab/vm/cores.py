# SPDX-License-Identifier: GPL-2.0-only
"""
Chooses the core of the host that a guest runs on. All labs of this machine that share a cache, in whatever process, spread
their guests: each guest has a place on its core. A guest takes the second place of a core only when no core has a first place
left. A place is a locked file, so a lab that is killed leaves none taken.
"""
import fcntl
import itertools
import os

from vm.archive import CACHE, cache_error

FOLDER = CACHE / "cores"


def _locked(path):
    """The open file, or None if another guest has it."""
    file = open(path, "w", encoding="ascii")  # pylint: disable=consider-using-with
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def take():
    """Returns a core's number, and the file to close when the guest has ended."""
    cores = sorted(os.sched_getaffinity(0))
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for place in itertools.count():
            for core in cores:
                if file := _locked(FOLDER / f"{core}.{place}"):
                    return core, file
    except OSError as error:
        raise cache_error(error) from error
