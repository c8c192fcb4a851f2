#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the mistakes of a list one at a time, and reports which test notices. `make mutants` keeps what it prints."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple

import branches
import mutants
import schemata
from mutants import REPO, MutantError

SOURCES = ("bpf", "include")
ORACLE = REPO / "tests/oracle"
REPLAY = [ORACLE / name for name in ("replay.c", "bbr/replayer.c", "bbr/mainline.c", "bbr/stream.c", "bbr3/google.c",
                                   "bbr3/v3r.c")]
REPLAY_LIBS = ["-lbpf", "-lz", "-lzstd", "-ljson-c"]
RECORDINGS = {"bbr": "*.gz", "bbr3": "*.v3r.zst"}  # of each algorithm, in the folder recordings
# Unit tests that take a tenth of a second or more, where the others take 2 ms. They run last and, where a program is compiled once for
# all mutants, with the optimizer, which makes them three times as fast.
LONG = ("test_estimate", "test_worked_cases", "test_main")
# Tests that have another name than the file.
TESTED_BY = {"bpf/bbr3/history.h": "test_estimate"}
UNIT_LIMIT_S, REPLAY_LIMIT_S = 10, 300  # of CPU time, many times what they take
TEXT = """# Mutants

Each line is a mistake that was made in a copy of the algorithm: the rule that it breaks, what was changed, the
unit tests that failed, and the number of recorded callbacks of the kernel's own BBR that replay no longer
reproduced. A test that never fails proves nothing; these do. `make check` repeats it and fails if a mistake
goes unnoticed. The list is [{list}](../{list}); this page is the output
of `tests/mutants/mutate.py{arguments}`.
"""


def algorithm_of(chosen):
    """The algorithm whose tests judge the mutants of one list. Shared code is in the list of version 1."""
    return "bbr3" if any(mutant.file.startswith("bpf/bbr3/") for mutant in chosen) else "bbr"


class Noticed(NamedTuple):
    program: str
    tests: list  # the unit tests that failed
    differing: int  # callbacks that replay did not reproduce
    endless: bool  # it did not end


class Program(NamedTuple):
    """A program that includes the algorithm and fails if a rule is broken."""
    name: str
    build: list  # options, sources, libraries
    arguments: list
    refusal: int  # exit status with which it says that it cannot judge
    limit_s: int  # of CPU time; what takes longer counts as endless


class Copy:
    """A copy of the algorithm in a folder, to make mistakes in, and the programs compiled with it, each once."""

    def __init__(self, folder, algorithm, is_shared=False):
        self.folder = pathlib.Path(folder)
        self.algorithm = algorithm
        self._is_shared = is_shared  # by many mutants
        for name in SOURCES:
            shutil.copytree(REPO / name, self.folder / name)
        self._prelude = self.folder / "prelude.h"
        self._prelude.write_text(schemata.PRELUDE)
        self._locks = collections.defaultdict(threading.Lock)

    def binary(self, program):
        path = self.folder / program.name
        with self._locks[program.name]:
            if not path.exists():
                self._compile(program, path)
        return path

    def _compile(self, program, path):
        options = ["-std=gnu11", "-w", f"-I{self.folder}/include", f"-I{self.folder}/bpf", "-include", self._prelude]
        optimized = ["-O1"] if self._is_shared and program.name in LONG else []
        try:
            branches.compile_each(["gcc", *options], [*program.build, *optimized], path, self.folder / "bpf", self.algorithm)
        except branches.CoverageError as error:
            raise MutantError(f"{program.name} does not compile:\n{error}") from error

    def notices(self, program, number):
        """Returns what fails with the mistake of this number, or None."""
        command = ["prlimit", f"--cpu={program.limit_s}", self.binary(program), *program.arguments]
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                             env={**os.environ, schemata.VARIABLE: str(number)})
        status, output = ran.returncode, ran.stdout
        if status == 0:
            return None
        if status == program.refusal:
            raise MutantError(f"{program.name} does not work:\n{output}")
        # cmocka names a failed test twice: when it fails and at the end.
        tests = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] ([a-z]\w*)$", output, re.M)))
        if not tests:  # it crashed or hung within a test
            tests = re.findall(r"^\[ RUN      \] (\w+)$", output, re.M)[-1:]
        differing = re.search(r"(\d+) different", output)
        is_endless = status in (-signal.SIGXCPU, -signal.SIGKILL)  # of the CPU limit, soft and hard
        return Noticed(program.name, tests, int(differing[1]) if differing else 0, is_endless)


def unit_programs(algorithm, mutant=None):
    """The unit tests: those for the mutant's file or function first, those of long runs last. The first one that notices
    saves the others.
    """
    def place(program):
        subject = program.name.removeprefix("test_")
        is_about = mutant and (subject in mutant.file.rpartition("/")[2] or subject in mutant.function
                               or program.name == TESTED_BY.get(mutant.file))
        return not is_about, program.name in LONG

    sources = sorted((REPO / "tests/unit" / algorithm).glob("test_*.c"))
    programs = [Program(source.stem, ["-O0", source, "-lcmocka"], [], None, UNIT_LIMIT_S) for source in sources]
    return sorted(programs, key=place)


def replay_program(algorithm):
    """The program that replays recordings; None while there is nothing to replay."""
    recordings = sorted((ORACLE / "recordings").glob(RECORDINGS[algorithm]))
    if not recordings or not all(source.exists() for source in REPLAY):
        return None
    return Program("replay", ["-O0", *REPLAY, *REPLAY_LIBS], ["-m", "0", *recordings], 2, REPLAY_LIMIT_S)


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


def _notice(mutant, copy, number, quick):
    try:
        found = (copy.notices(program, number) for program in unit_programs(copy.algorithm, mutant))
        unit = next(filter(None, found), None)
        replay = None if quick and unit else replay_program(copy.algorithm)
        return Result(mutant, unit, replay and copy.notices(replay, number), replay is not None)
    except MutantError as error:
        raise MutantError(f"{mutant.name if mutant else 'the algorithm as it is'}: {error}") from error


def run_alone(mutant, quick):
    """Runs the tests on the mutant in a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Copy(folder, algorithm_of([mutant]))
        path = copy.folder / mutant.file
        path.write_text(mutants.mutate(mutant, path.read_text()))
        return _notice(mutant, copy, 0, quick)


def _write_together(chosen, copy, pool):
    """Puts the mutants that can share one copy into it, and compiles all programs. Returns the mutants' numbers."""
    together = [mutant for mutant in chosen if schemata.is_possible(mutant)]
    numbers = schemata.write(together, copy.folder)
    try:
        list(pool.map(copy.binary, filter(None, [*unit_programs(copy.algorithm), replay_program(copy.algorithm)])))
    except MutantError:
        for mutant in together:
            run_alone(mutant, quick=True)  # the mutant that does not compile raises
        raise
    return numbers


def run_all(chosen, jobs, quick=False):
    """Returns the results in the order of the list; progress goes to stderr. quick: replay runs only if the unit tests
    notice nothing.
    """
    for mutant in chosen:  # an outdated list fails at once
        mutants.mutate(mutant, (REPO / mutant.file).read_text())
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, \
            concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        copy = Copy(folder, algorithm_of(chosen), is_shared=True)
        numbers = _write_together(chosen, copy, pool)
        original = _notice(None, copy, 0, quick=False)
        if not original.survived:
            raise MutantError(f"a test fails without any mutation: {original.unit or original.replay}")

        def result_of(mutant):
            if mutant in numbers:
                return _notice(mutant, copy, numbers[mutant], quick)
            return run_alone(mutant, quick)

        futures = {pool.submit(result_of, mutant): mutant for mutant in chosen}
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


def table(results, path):
    """The results of a list as markdown."""
    name = str(path.resolve().relative_to(REPO)) if path.resolve().is_relative_to(REPO) else str(path)
    text = TEXT.format(list=name, arguments="" if path == mutants.LIST else f" --list {name}")
    lines = [text, _summary(results), "",
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
    parser.add_argument("--list", type=pathlib.Path, default=mutants.LIST, help="other than bbr.txt")
    options = parser.parse_args()
    try:
        chosen = [mutant for mutant in mutants.load(options.list)
                  if all(word in mutant.name for word in options.words)]
        results = run_all(chosen, options.jobs, options.quick)
    except MutantError as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2
    print(as_json(results) if options.json else table(results, options.list))
    survivors = [result.mutant.name for result in results if result.survived]
    for name in survivors:
        print(f"mutate: nobody noticed: {name}", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
