#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The fuzzers, their command lines, and their corpora. As a program:

    fuzzer.py run SECONDS [TARGET...]   search with each of them for so many seconds
    fuzzer.py add TARGET FILE...        pack files into the corpus, under their names
    fuzzer.py merge [TARGET...]         keep what each corpus and the finds of its runs reach, and pack it
"""
import argparse
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/fuzz"
TARGETS = ("algorithm", "algorithm3", "params", "tuning", "events", "filter", "recording", "experiment", "verbs", "web")
OPTIONS = {
    "algorithm": ["-max_len=2048"],
    "algorithm3": ["-max_len=8192"],
    "params": ["-max_len=1024", f"-dict={HERE / 'params.dict'}"],
    "tuning": ["-max_len=1024", f"-dict={HERE / 'tuning.dict'}"],
    "events": ["-max_len=2048"],
    "filter": ["-max_len=2048", f"-dict={HERE / 'filter.dict'}"],
    "recording": ["-max_len=4096"],
    "experiment": ["-max_len=4096"],
    "verbs": ["-max_len=8192"],
    "web": ["-max_len=1024", f"-dict={HERE / 'web.dict'}"],
}
# Inputs that the tests try, including the corpus: about five seconds of one CPU each. `make fuzz` is for long searches.
UNITS = {"algorithm": 200_000, "algorithm3": 100_000, "params": 4_000, "tuning": 10_000, "events": 10_000, "filter": 30_000, "recording": 3_000,
         "experiment": 1_200, "verbs": 3_000,
         "web": 10_000}


def corpus(target):
    """The folder with the inputs. The build unpacks it from the archive."""
    return BUILD / "corpus" / target


def archive(target):
    return HERE / "corpus" / f"{target}.tar.xz"


def pack(files, path):
    """Writes an archive of files, {name: content}: the same bytes for the same files."""
    with tarfile.open(path, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as to:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            to.addfile(member, io.BytesIO(content))


def unpack(path):
    with tarfile.open(path) as of:
        return {member.name: of.extractfile(member).read() for member in of}


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def command(program, target, *arguments):
    # A unit takes microseconds; the limit is only for endless ones.
    return [program, *OPTIONS[target], "-timeout=60", "-rss_limit_mb=2048",
            f"-artifact_prefix={program}-", *arguments]


def fuzz(target, finds, seconds=None):
    """The command that fuzzes from the corpus, for so many seconds or for UNITS. New inputs go to the folder finds."""
    until = f"-max_total_time={seconds}" if seconds else f"-runs={UNITS[target]}"
    return command(BUILD / target, target, until, "-print_final_stats=1", finds, corpus(target))


def finds_of(target):
    finds = BUILD / "finds" / target
    finds.mkdir(parents=True, exist_ok=True)
    return finds


def run(seconds, targets):
    for target in targets:
        finds = finds_of(target)
        print(f"fuzz: {target} for {seconds} s, finds go to {finds.relative_to(ROOT)}", flush=True)
        status = subprocess.run(fuzz(target, finds, seconds)).returncode
        if status:
            return f"fuzz: {target} failed; repeat it with {BUILD.relative_to(ROOT)}/{target} FILE"
    return 0


def merge(target):
    """libFuzzer names an input by its hash. Another name says what the input was: such a file stays."""
    old = unpack(archive(target))
    named = {name: content for name, content in old.items() if not re.fullmatch("[0-9a-f]{40}", name)}
    with tempfile.TemporaryDirectory() as new, tempfile.TemporaryDirectory() as before:
        for name, content in old.items():
            (pathlib.Path(before) / name).write_bytes(content)
        subprocess.run(command(BUILD / target, target, "-merge=1", "-set_cover_merge=1", new, before, finds_of(target)), check=True)
        merged = read(pathlib.Path(new))
    contents = set(named.values())
    pack(named | {name: content for name, content in merged.items() if content not in contents}, archive(target))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.strip())
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("run")
    verb.add_argument("seconds", type=int)
    verb.add_argument("targets", nargs="*", default=TARGETS)
    verb = verbs.add_parser("merge")
    verb.add_argument("targets", nargs="*", default=TARGETS)
    verb = verbs.add_parser("add")
    verb.add_argument("target", choices=TARGETS)
    verb.add_argument("files", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    if given.verb == "run":
        return run(given.seconds, given.targets)
    if given.verb == "merge":
        for target in given.targets:
            merge(target)
        return 0
    path = archive(given.target)
    pack((unpack(path) if path.exists() else {}) | {file.name: file.read_bytes() for file in given.files}, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
