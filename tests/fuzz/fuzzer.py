# SPDX-License-Identifier: GPL-2.0-only
"""The fuzzers, and their command lines. As a program: runs each of them for so many seconds."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/fuzz"
TARGETS = ("algorithm", "algorithm3", "params", "tuning", "events", "filter", "recording")
OPTIONS = {
    "algorithm": ["-max_len=2048"],
    "algorithm3": ["-max_len=8192"],
    "params": ["-max_len=1024", f"-dict={HERE / 'params.dict'}"],
    "tuning": ["-max_len=1024", f"-dict={HERE / 'tuning.dict'}"],
    "events": ["-max_len=2048"],
    "filter": ["-max_len=2048", f"-dict={HERE / 'filter.dict'}"],
    "recording": ["-max_len=4096"],
}
# Inputs that the tests try, including the corpus: about five seconds of one CPU each. `make fuzz` is for long searches.
UNITS = {"algorithm": 200_000, "algorithm3": 100_000, "params": 4_000, "tuning": 10_000, "events": 10_000, "filter": 30_000, "recording": 3_000}


def corpus(target):
    return HERE / "corpus" / target


def command(program, target, *arguments):
    # A unit takes microseconds; the limit is only for endless ones.
    return [program, *OPTIONS[target], "-timeout=60", "-rss_limit_mb=2048",
            f"-artifact_prefix={program}-", *arguments]


def fuzz(target, finds, seconds=None):
    """The command that fuzzes from the corpus, for so many seconds or for UNITS. New inputs go to the folder finds."""
    until = f"-max_total_time={seconds}" if seconds else f"-runs={UNITS[target]}"
    return command(BUILD / target, target, until, "-print_final_stats=1", finds, corpus(target))


def main(seconds):
    for target in TARGETS:
        finds = BUILD / "finds" / target
        finds.mkdir(parents=True, exist_ok=True)
        print(f"fuzz: {target} for {seconds} s, finds go to {finds.relative_to(ROOT)}", flush=True)
        status = subprocess.run(fuzz(target, finds, seconds)).returncode
        if status:
            return f"fuzz: {target} failed; repeat it with {BUILD.relative_to(ROOT)}/{target} FILE"
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
