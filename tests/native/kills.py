# SPDX-License-Identifier: GPL-2.0-only
"""bbrctl killed at moments that are spread over its run time."""
import random
import subprocess
import time

TRIES = 20


def start(bbrctl, *args):
    return bbrctl.start(*args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def duration_of(bbrctl, *args):
    """How long bbrctl takes for this on this machine now."""
    begin = time.monotonic()
    bbrctl(*args)
    return time.monotonic() - begin


def kill_after(bbrctl, delay, *args):
    process = start(bbrctl, *args)
    time.sleep(delay)
    process.kill()
    process.wait()


def delays(longest, seed):
    """Delays from zero to a little more than `longest`, evenly spread with some randomness."""
    rng = random.Random(seed)
    return [longest * 1.1 * (i + rng.random()) / TRIES for i in range(TRIES)]
