# SPDX-License-Identifier: GPL-2.0-only
"""The output of a long check: a line for each thing that was seen, with the seconds so far, and at last the one that failed."""
import pathlib
import sys
import time

CHECK = pathlib.Path(sys.argv[0]).stem.replace("_", "-")
BEGUN = time.monotonic()


def say(*words):
    print(f"{CHECK}: {time.monotonic() - BEGUN:4.0f} s:", *words, flush=True)


def expect(condition, what, why=""):
    if not condition:
        raise SystemExit(f"{CHECK}: not so: {what}\n{why[-6000:]}".rstrip())
    say(what)


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{CHECK}: waited in vain: {what}")
        time.sleep(0.1)
    say(what)
