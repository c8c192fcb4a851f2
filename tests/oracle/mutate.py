#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the mistakes of mutants.txt one at a time, and tells which test notices. See docs/mutants.md."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import mutants
from mutants import HERE, REPO, MutantError

SOURCES = ("bpf", "include")
UNIT = sorted((REPO / "tests" / "unit" / "bbr").glob("test_*.c"))
REPLAY = [HERE / name for name in ("replay.c", "mainline.c", "stream.c")]
RECORDINGS = HERE / "recordings"
UNIT_LIMIT_S, REPLAY_LIMIT_S = 10, 300  # many times what they take
TEXT = """# Mutants

Each line is a mistake that was made in a copy of the algorithm: the rule that it breaks, what was changed, the
unit tests that failed, and the number of recorded callbacks of the kernel's own BBR that replay no longer
reproduced. A test that never fails proves nothing; these do. `make check` repeats it and fails if a mistake
goes unnoticed. The list is [tests/oracle/mutants.txt](../tests/oracle/mutants.txt); this page is the output
of `tests/oracle/mutate.py`.
"""


class Noticed(NamedTuple):
    program: str
    tests: list  # the unit tests that failed
    differing: int  # callbacks that replay did not reproduce
    endless: bool  # it did not come to an end


class Program(NamedTuple):
    """A program that includes the algorithm and fails if a rule is broken."""
    name: str
    build: list  # options, sources, libraries
    arguments: list
    refusal: int  # exit status by which it says that it cannot judge
    limit_s: int  # what takes longer has no end

    def _compile(self, folder, binary):
        compiled = subprocess.run(["gcc", "-std=gnu11", "-w", f"-I{folder}/include", f"-I{folder}/bpf",
                                   f"-I{folder}/bpf/bbr", *self.build, "-o", binary],
                                  capture_output=True, text=True, check=False)
        if compiled.returncode:
            raise MutantError(f"{self.name} does not compile:\n{compiled.stderr}")

    def notices(self, folder):
        """Compiled with the copy of the algorithm in folder: what fails? None: nothing."""
        binary = folder / self.name
        self._compile(folder, binary)
        try:
            ran = subprocess.run([binary, *self.arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, timeout=self.limit_s, check=False)
            status, output = ran.returncode, ran.stdout
        except subprocess.TimeoutExpired as expired:
            status, output = None, (expired.stdout or b"").decode()
        if status == 0:
            return None
        if status is not None and status == self.refusal:
            raise MutantError(f"{self.name} does not work:\n{output}")
        # cmocka names a failed test twice: when it fails and at the end.
        tests = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] ([a-z]\w*)$", output, re.M)))
        if not tests:  # it ended, or did not, within one
            tests = re.findall(r"^\[ RUN      \] (\w+)$", output, re.M)[-1:]
        differing = re.search(r"(\d+) different", output)
        return Noticed(self.name, tests, int(differing[1]) if differing else 0, status is None)


def unit_programs(mutant=None):
    """Those that are about the mutant's file or function come first, and that of long runs last: the first
    one that notices saves the others.
    """
    def place(program):
        subject = program.name.removeprefix("test_")
        is_about = mutant and (subject in mutant.file.rpartition("/")[2] or subject in mutant.function)
        return not is_about, subject == "main"

    programs = [Program(source.stem, ["-O0", source, "-lcmocka"], [], None, UNIT_LIMIT_S) for source in UNIT]
    return sorted(programs, key=place)


def replay_program():
    """None while there is nothing to replay."""
    recordings = sorted(RECORDINGS.glob("*"))
    if not recordings or not all(source.exists() for source in REPLAY):
        return None
    return Program("replay", ["-O0", *REPLAY, "-lbpf", "-lz"], ["-m", "0", *recordings], 2, REPLAY_LIMIT_S)


class Result(NamedTuple):
    mutant: mutants.Mutant
    unit: Noticed  # by the first unit program that failed; None: none did
    replay: Noticed
    replayed: bool

    @property
    def survived(self):
        return self.unit is None and self.replay is None

    def as_json(self):
        return {**self.mutant._asdict(), "unit": self.unit and self.unit._asdict(),
                "replay": self.replay and self.replay._asdict(), "replayed": self.replayed}


def _copy(folder):
    for name in SOURCES:
        shutil.copytree(REPO / name, folder / name)


def _notice(mutant, folder, quick):
    unit = next(filter(None, (program.notices(folder) for program in unit_programs(mutant))), None)
    replay = None if quick and unit else replay_program()
    return Result(mutant, unit, replay and replay.notices(folder), replay is not None)


def run(mutant, quick=False):
    """What the tests say to the mutant, or to the algorithm as it is if that is None. quick: replay is asked
    only if the unit tests notice nothing.
    """
    with tempfile.TemporaryDirectory(prefix="mutant-") as temporary:
        folder = pathlib.Path(temporary)
        _copy(folder)
        if mutant:
            path = folder / mutant.file
            path.write_text(mutants.mutate(mutant, path.read_text()))
        try:
            return _notice(mutant, folder, quick)
        except MutantError as error:
            raise MutantError(f"{mutant.name if mutant else 'the algorithm as it is'}: {error}") from error


def run_all(chosen, jobs, quick=False):
    """The results in the order of the list; progress goes to stderr."""
    for mutant in chosen:  # a list that has rotted fails at once
        mutants.mutate(mutant, (REPO / mutant.file).read_text())
    original = run(None)
    if not original.survived:
        raise MutantError(f"a test fails without any mutation: {original.unit or original.replay}")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(run, mutant, quick): mutant for mutant in chosen}
        try:
            for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
                word = "NOT NOTICED" if future.result().survived else "noticed"
                print(f"{count}/{len(chosen)} {word}: {futures[future].name}", file=sys.stderr)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _code(text):
    return "`" + " ".join(text.split()).replace("|", "\\|") + "`"


def _unit_cell(noticed):
    if noticed is None:
        return "not noticed"
    more = f" and {len(noticed.tests) - 1} more" if len(noticed.tests) > 1 else ""
    return f"{noticed.program}: {''.join(noticed.tests[:1]) or 'crashed'}{more}" \
        + (" (endless)" if noticed.endless else "")


def _replay_cell(result):
    if not result.replayed:
        return "-"
    if result.replay is None:
        return "0"
    return "endless" if result.replay.endless else str(result.replay.differing or "crashed")


def _summary(results):
    unit = sum(result.unit is not None for result in results)
    replay = sum(result.replay is not None for result in results)
    replayed = sum(result.replayed for result in results)
    return f"{len(results)} mutants: the unit tests noticed {unit}" \
        + (f", replay {replay} of {replayed}." if replayed else ".")


def table(results):
    """The results as markdown."""
    lines = [TEXT, _summary(results), "",
             "| rule | mutation | unit test that noticed | replay: differing callbacks |", "|---|---|---|---|"]
    for result in results:
        mutant = result.mutant
        where = mutant.function or mutant.file.rpartition("/")[2]
        becomes = _code(mutant.becomes) if mutant.becomes else "left out"
        lines.append(f"| {mutant.rule} | {where}: {_code(mutant.text)} → {becomes} "
                     f"| {_unit_cell(result.unit)} | {_replay_cell(result)} |")
    return "\n".join(lines)


def as_json(results):
    return json.dumps({"mutants": len(results), "summary": _summary(results),
                       "survivors": [result.mutant.name for result in results if result.survived],
                       "results": [result.as_json() for result in results]}, indent=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only the mutants in whose names all of these occur")
    parser.add_argument("-j", "--json", action="store_true")
    parser.add_argument("--quick", action="store_true",
                        help="ask replay only where the unit tests notice nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", type=pathlib.Path, default=mutants.LIST, help="other than mutants.txt")
    options = parser.parse_args()
    try:
        chosen = [mutant for mutant in mutants.load(options.list)
                  if all(word in mutant.name for word in options.words)]
        results = run_all(chosen, options.jobs, options.quick)
    except MutantError as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2
    print(as_json(results) if options.json else table(results))
    survivors = [result.mutant.name for result in results if result.survived]
    for name in survivors:
        print(f"mutate: nobody noticed: {name}", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
