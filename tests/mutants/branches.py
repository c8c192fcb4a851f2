#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Branch coverage of an algorithm, and of the code that it shares with others, by native programs that include it.

    branches.py [-a ALGORITHM] [-j] [-m] [NAME SOURCE... [-- ARGUMENT...] [+ NAME SOURCE... [-- ARGUMENT...]]...]

Builds each program from its sources (words that start with - are options of the compiler, such as -lz) in a temporary
folder, runs it with the arguments, and prints which outcomes of branches occurred and which did not; -j: as JSON. Without
programs it runs the unit tests. The algorithm is bbr or bbr3. -m leaves out what is impossible with mainline's constants.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

REPO = pathlib.Path(__file__).resolve().parents[2]
COMMON = REPO / "bpf" / "common"
SHARED = [REPO / "bpf/socket.h", *COMMON.glob("*.h")]


class Algorithm(NamedTuple):
    folder: pathlib.Path
    headers: list  # in which branches count
    unit: list  # sources of its unit tests


def _algorithm(name, shared=()):
    """Leaves out the headers that read the kernel's own bbr, which are BPF only."""
    folder = REPO / "bpf" / name
    headers = [path for path in folder.glob("*.h") if not path.name.endswith(".bpf.h")]
    return Algorithm(folder, sorted([*headers, *shared]), sorted((REPO / "tests/unit" / name).glob("test_*.c")))


# Shared headers count with the first algorithm.
BBR, BBR3 = _algorithm("bbr", SHARED), _algorithm("bbr3")
EXPANSION = 1  # llvm-cov's kind for the region of a macro

# Outcomes that no connection with mainline's constants reaches: (file, code) -> outcomes; (file, code, function) where
# another function has the same code.
NOT_MAINLINE = {
    ("arithmetic.h", "divisor"): ("false",),  # mainline would divide by 0
    ("probe_rtt.h", "PARAM(sk, probe_rtt_duration)"): ("false",),
    ("window.h", "SET(sk, cwnd, (s32)cwnd > 0 ? cwnd : 1)"): ("false",),
    # Asked only before 6.4, where the shell keeps the algorithm's mark of app-limited packets.
    ("window.h", "b->mode == BBR_PROBE_RTT"): ("true", "false"),
    ("window.h", "!b->probe_rtt_done_stamp"): ("true", "false"),
    # Options that mainline lacks, and conditions that are evaluated only if one is on.
    ("window.h", "PARAM(sk, start_cwnd)"): ("true",),
    ("algorithm.h", "OPTION(sk, pacing_rate)"): ("true",),
    ("window.h", "cwnd != IN(sk, cwnd)"): ("true",),
    ("window.h", "IN(sk, delivered) <= 1"): ("true", "false"),
    ("window.h", "!IN(sk, inflight)"): ("true", "false"),
    ("window.h", "IN(sk, cwnd) > 1"): ("true", "false"),
    ("algorithm.h", "!OPTION(sk, cpu_gain)"): ("false",),
    ("algorithm.h", "OPTION(sk, cpu_gain)"): ("true",),
    ("algorithm.h", "b->behind"): ("true", "false"),
    ("algorithm.h", "bbr_stays_behind(b, sk, bbr_bdp(b, sk, bw, b->pacing_gain))"): ("true", "false"),
    ("algorithm.h", "bbr_is_late(sk)"): ("true", "false"),
    ("edt.h", "IN(sk, is_cwnd_limited)"): ("true", "false"),
    ("edt.h", "IN(sk, tcp_clock_cache) > IN(sk, tcp_wstamp_ns) + wait_ns"): ("true", "false"),
    ("edt.h", "IN(sk, write_seq) - IN(sk, snd_nxt) >= IN(sk, mss)"): ("true", "false"),
    ("edt.h", "!IN(sk, is_rwnd_limited)"): ("true", "false"),
    ("inflight.h", "PARAM(sk, tso_budget)"): ("false",),
    ("inflight.h", "bbr_is_pinned(sk)"): ("true",),
    ("inflight.h", "OPTION(sk, max_cwnd)"): ("true",),
    ("model.h", "OPTION(sk, pin_bw)"): ("true",),
    ("pacing.h", "OPTION(sk, pacing_rate)"): ("true",),
    ("rate.h", "OPTION(sk, max_pacing_rate)"): ("true",),
    ("pacing.h", "bbr_is_rate_bounded(sk)"): ("true",),
    ("pacing.h", "OPTION(sk, make_up_loss)"): ("true",),
    ("pacing.h", "OPTION(sk, pacing_rate)", "bbr_bound_and_make_up"): ("false",),
    ("pacing.h", "sent < BBR_MAKE_UP_PACKETS"): ("true", "false"),
    ("pacing.h", "lost * 100ull > most * sent"): ("true", "false"),
    ("policer.h", "OPTION(sk, pin_bw)"): ("true",),
    ("policer.h", "OPTION(sk, make_up_loss)"): ("true",),
    ("policer.h", "b->lt_bw | b->lt_use_bw | b->lt_is_sampling"): ("true", "false"),
    ("policer.h", "t > BBR_MAKE_UP_MS"): ("true", "false"),
    ("probe_bw.h", "OPTION(sk, drain_to_target)"): ("true",),
    ("probe_bw.h", "OPTION(sk, ignore_loss)"): ("true",),
    ("probe_bw.h", "bbr_is_cycle_older(b, sk, b->cycle_len)"): ("true", "false"),
    ("probe_bw.h", "b->cycle_idx == BBR_PHASE_PROBE"): ("true", "false"),
    ("probe_bw.h", "b->cycle_idx == BBR_PHASE_DRAIN"): ("true", "false"),
    ("probe_rtt.h", "OPTION(sk, probe_rtt_bdp_gain)"): ("true",),
    ("probe_rtt.h", "OPTION(sk, pin_min_rtt)"): ("true",),
    ("probe_rtt.h", "b->mode == BBR_PROBE_RTT"): ("true", "false"),
    ("recovery.h", "OPTION(sk, ignore_loss)"): ("true",),
    ("recovery.h", "was_cut"): ("true", "false"),
    ("startup.h", "bbr_is_rate_bounded(sk)"): ("true",),
    ("startup.h", "bbr_bound_rate(sk, 0) >= bbr_rate_bytes_per_sec(sk, bbr_max_bw(b), BBR_UNIT)"):
        ("true", "false"),
    ("startup.h", "bbr_is_drain_in_vain(b, sk)"): ("true",),
    # Reports to monitors, which no recording requests.
    **{("report.h", code): ("true", "false") for code in (
        "!(b->steps & (1 << i))", "case BBR_R_FULL_BW", "case BBR_R_MIN_RTT_EXPIRED", "case BBR_R_PROBE_RTT_DONE",
        "default", "b->lt_use_bw", "b->lt_is_sampling", "b->round_start", "b->full_bw_reached", "b->idle_restart",
        "b->packet_conservation")},
}


class CoverageError(Exception):
    """A program does not build or run."""


class Program(NamedTuple):
    name: str
    build: list  # sources, and options of the compiler
    arguments: list


class Branch(NamedTuple):
    """A condition in the source, over all programs that it was compiled into."""
    file: str
    line: int
    column: int
    function: str
    code: str
    true: int
    false: int


def _run(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode:
        raise CoverageError(f"{pathlib.Path(command[0]).name} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def _tool(name):
    """clang, or the LLVM tool of clang's version, because the format of profiles changes."""
    clang = _run([REPO / "scripts" / "find-clang", "clang"]).strip()
    return name + clang.removeprefix("clang")


def compile_each(compiler, build, binary, algorithms, name):
    """Compiles each source of build, and links them. A source in a folder that is named as an algorithm's is of that
    algorithm, any other of the one of this name; algorithms is the folder of all of them.
    """
    objects = []
    for i, source in enumerate(word for word in build if isinstance(word, pathlib.Path)):
        own = source.parent.name if (algorithms / source.parent.name).is_dir() else name
        objects.append(f"{binary}-{i}.o")
        _run([*compiler, *(word for word in build if str(word).startswith(("-O", "-D", "-I"))),
              f"-I{algorithms / own}", "-c", source, "-o", objects[-1]])
    _run([*compiler, *objects, *(word for word in build if not isinstance(word, pathlib.Path)), "-o", binary])


def _build(program, folder, algorithm):
    binary = folder / program.name
    compile_each([_tool("clang"), "-std=gnu11", "-O0", "-g", "-fprofile-instr-generate", "-fcoverage-mapping",
                  f"-I{REPO}/include", f"-I{REPO}/bpf"], program.build, binary, REPO / "bpf", algorithm.folder.name)
    return binary


def _everything(algorithm):
    """A program with every function of the algorithm, which is never run: clang knows nothing about functions that a
    program does not use, so they would not count as uncovered.
    """
    names = [name for header in algorithm.headers
             for name in re.findall(r"^static inline [^\n(]*\b(\w+)\((?![^)]*\);)", header.read_text(), re.M)]
    includes = "".join(f'#include "{header}"\n' for header in algorithm.headers)
    return (f'#include "bbr.h"\n{includes}#include "common/clamp.h"\n'
            f"const void *const all[] = {{ {', '.join(names)} }};\n"
            "int main(void) { return 0; }\n")


def _export(folder, binaries, profiles, headers):
    merged = folder / "merged.profdata"
    _run([_tool("llvm-profdata"), "merge", "-sparse", *profiles, "-o", merged])
    objects = [word for binary in binaries[1:] for word in ("-object", binary)]
    return json.loads(_run([_tool("llvm-cov"), "export", f"-instr-profile={merged}", binaries[0], *objects,
                            *headers]))


def _source(path, start_line, start_column, end_line, end_column):
    lines = path.read_text().splitlines()[start_line - 1:end_line]
    # For a macro with arguments llvm-cov gives only the name.
    arguments = re.match(r"\((?:[^()]|\([^()]*\))*\)", lines[-1][end_column - 1:])
    lines[-1] = lines[-1][:end_column - 1 + (arguments.end() if arguments else 0)]
    return " ".join(" ".join([lines[0][start_column - 1:], *lines[1:]]).split())


def _call_sites(function):
    """File number of each macro's expansion in a function -> where the macro was called, (file, extent)."""
    sites = {}
    for *extent, _count, file, expanded, kind in function["regions"]:
        if kind == EXPANSION:
            sites[expanded] = (file, extent)
    return sites


def _branches(exported, headers):
    """The branches in the records of all functions. A function has one record for each program that its header was
    compiled into. A branch within a macro counts where the macro is called; otherwise all uses of IN() would be one.
    """
    found = {}
    for function in exported["data"][0]["functions"]:
        sites = _call_sites(function)
        for *extent, true, false, file, _expanded, _kind in function["branches"]:
            within = tuple(extent[:2])
            while file in sites:
                file, extent = sites[file]
            path = pathlib.Path(function["filenames"][file])
            if path not in headers:
                continue
            key = (path.name, extent[0], extent[1], within)
            name = function["name"].rpartition(":")[2]  # that of a static function has its source before it
            old = found.get(key, Branch(*key[:3], name, _source(path, *extent), 0, 0))
            found[key] = old._replace(true=old.true + true, false=old.false + false)
    return [found[key] for key in sorted(found)]


def measure(programs, algorithm=BBR):
    """The branches of the algorithm's headers, with the number of times that each went either way."""
    with tempfile.TemporaryDirectory(prefix="coverage-") as temporary:
        folder = pathlib.Path(temporary)
        (folder / "everything.c").write_text(_everything(algorithm))
        binaries, profiles = [_build(Program("everything", [folder / "everything.c"], []), folder, algorithm)], []
        for program in programs:
            binaries.append(_build(program, folder, algorithm))
            profiles.append(folder / (program.name + ".profraw"))
            _run([binaries[-1], *program.arguments], env={"LLVM_PROFILE_FILE": str(profiles[-1])})
        return _branches(_export(folder, binaries, profiles, algorithm.headers), algorithm.headers)


def _keys(branch):
    return (branch.file, branch.code), (branch.file, branch.code, branch.function)


def outcomes_left_out(branch, left_out):
    """Those of a branch that left_out has, which is like NOT_MAINLINE."""
    return [word for key in _keys(branch) for word in left_out.get(key, ())]


def report(branches, left_out=None):
    """Outcomes (two of each branch) by file and in total, and those that never occurred. left_out is like NOT_MAINLINE:
    its branches must exist, and its outcomes must not have occurred.
    """
    left_out = left_out or {}
    unknown = set(left_out) - {key for branch in branches for key in _keys(branch)}
    if unknown:
        raise CoverageError(f"the algorithm has no branch {unknown}")
    files, missing = {}, []
    for branch in branches:
        for word, count in (("true", branch.true), ("false", branch.false)):
            if word in outcomes_left_out(branch, left_out):
                if count:
                    raise CoverageError(f"{branch.file}:{branch.line}: was {word} after all: {branch.code}")
                continue
            entry = files.setdefault(branch.file, {"outcomes": 0, "covered": 0})
            entry["outcomes"] += 1
            entry["covered"] += count > 0
            if not count:
                missing.append({"file": branch.file, "line": branch.line, "never": word, "code": branch.code})
    total = {key: sum(entry[key] for entry in files.values()) for key in ("outcomes", "covered")}
    for entry in (*files.values(), total):
        entry["percent"] = round(100 * entry["covered"] / entry["outcomes"], 2)
    return {"files": files, "total": total, "missing": missing}


def table(found):
    """The report as text."""
    lines = [f"{'FILE':16}{'OUTCOMES':>10}{'COVERED':>9}{'%':>8}"]
    for name, entry in [*found["files"].items(), ("all", found["total"])]:
        lines.append(f"{name:16}{entry['outcomes']:10}{entry['covered']:9}{entry['percent']:8.2f}")
    lines += [f"{gap['file']}:{gap['line']}: never {gap['never']}: {gap['code']}"
              for gap in found["missing"]]
    return "\n".join(lines)


def _split(words, separator):
    groups = [[]]
    for word in words:
        if word == separator:
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def programs_of(words, algorithm=BBR):
    """The programs of the command line; all unit tests of the algorithm if there is none."""
    if not words:
        return [Program(source.stem, [source, "-lcmocka"], []) for source in algorithm.unit]
    programs = []
    for group in _split(words, "+"):
        (name, *build), *arguments = _split(group, "--")
        build = [word if word.startswith("-") else pathlib.Path(word).resolve() for word in build]
        programs.append(Program(name, build, sum(arguments, [])))
    return programs


def main():
    words = sys.argv[1:]
    flags, algorithm = set(), BBR
    if words[:1] == ["-a"]:
        algorithm = {"bbr": BBR, "bbr3": BBR3}[words[1]]
        words = words[2:]
    while words[:1] in (["-j"], ["-m"]):
        flags.add(words.pop(0))
    try:
        found = report(measure(programs_of(words, algorithm), algorithm), NOT_MAINLINE if "-m" in flags else None)
    except CoverageError as error:
        print(f"branches: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2) if "-j" in flags else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
