#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""
The fuzzers, their command lines, and their corpora. As a program:

    fuzzer.py run SECONDS [TARGET...]   search with each of them for so many seconds
    fuzzer.py add TARGET FILE...        pack files into the corpus, under their names
    fuzzer.py merge [TARGET...]         keep what each corpus and the finds of its runs reach, and pack it
    fuzzer.py coverage [FILE...]        print how many lines the corpora reach, of a room's files or of these (`make fuzz-coverage`)
"""
import argparse
import collections
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/fuzz"
TARGETS = ("algorithm", "algorithm3", "params", "tuning", "object", "events", "filter", "recording", "experiment", "verbs", "web")
OPTIONS = {
    "algorithm": ["-max_len=2048"],
    "algorithm3": ["-max_len=8192"],
    "params": ["-max_len=1024", f"-dict={HERE / 'params.dict'}"],
    "tuning": ["-max_len=1024", f"-dict={HERE / 'tuning.dict'}"],
    "object": ["-max_len=512"],
    "events": ["-max_len=2048"],
    "filter": ["-max_len=2048", f"-dict={HERE / 'filter.dict'}"],
    "recording": ["-max_len=4096"],
    "experiment": ["-max_len=4096"],
    "verbs": ["-max_len=8192"],
    "web": ["-max_len=1024", f"-dict={HERE / 'web.dict'}"],
}
# Inputs that the tests try, including the corpus: about five seconds of one CPU each. `make fuzz` is for long searches.
UNITS = {"algorithm": 200_000, "algorithm3": 100_000, "params": 4_000, "tuning": 6_000, "object": 3_000, "events": 10_000, "filter": 30_000, "recording": 3_000,
         "experiment": 1_200, "verbs": 3_000,
         "web": 10_000}

# What reads a file that somebody else may have written, or text that a user may have got from somebody, and what uses it.
READERS = ("tools/recording", "tools/layout", "tools/event", "tools/filter", "tools/conns", "tools/stream", "tools/snapshot", "tools/top",
           "tools/report", "tools/export", "tools/openmetrics.c", "experiment/results", "experiment/analysis", "loader/instance/object_open.c", "loader/machine", "loader/tuning", "lib/cgroup/pods.c", "lib/cli", "lib/address.c")


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


def llvm(tool, *arguments):
    """What a tool of the compiler's own version prints: another one cannot read its data."""
    clang = subprocess.run([ROOT / "scripts/find-clang", "clang"], capture_output=True, text=True, check=True).stdout.strip()
    path = subprocess.run([clang, f"-print-prog-name={tool}"], capture_output=True, text=True, check=True).stdout.strip()
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def reached_lines():
    """For each file: its lines of code, and how many of them the corpora reach."""
    built = BUILD.with_name("fuzz-coverage")
    for target in TARGETS:
        done = subprocess.run(command(built / target, target, "-runs=0", corpus(target)), stderr=subprocess.DEVNULL,
                              env=os.environ | {"LLVM_PROFILE_FILE": str(built / f"{target}.profraw")}).returncode
        if done:
            sys.exit(f"fuzz: {target} fails on its corpus")
    llvm("llvm-profdata", "merge", "-sparse", "-o", built / "all.profdata", *(built / f"{target}.profraw" for target in TARGETS))
    objects = [word for target in TARGETS for word in ("-object", built / target)]
    found = json.loads(llvm("llvm-cov", "export", "-summary-only", "-instr-profile", built / "all.profdata", *objects[1:]))
    return {os.path.relpath(file["filename"], ROOT) if os.path.isabs(file["filename"]) else os.path.normpath(file["filename"]):
            (file["summary"]["lines"]["count"], file["summary"]["lines"]["covered"]) for file in found["data"][0]["files"]
            if file["summary"]["lines"]["count"]}


def coverage(names):
    """A line for each room of READERS, or for each of these files or of the files in these folders."""
    sums = collections.defaultdict(lambda: (0, 0))
    for file, (lines, reached) in sorted(reached_lines().items()):
        for name in names or READERS:
            if file == name or file.startswith(f"{name}/"):
                key = file if names else name
                sums[key] = (sums[key][0] + lines, sums[key][1] + reached)
    print("| room or file | lines | reached | |\n|---|--:|--:|--:|")
    for name, (lines, reached) in sums.items():
        print(f"| {name} | {lines} | {reached} | {100 * reached / lines:.0f} % |")


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
    verb = verbs.add_parser("coverage")
    verb.add_argument("files", nargs="*")
    given = parser.parse_args()
    if given.verb == "coverage":
        return coverage(given.files)
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
