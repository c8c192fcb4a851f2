# SPDX-License-Identifier: GPL-2.0-only
"""
Replays the corpus of each fuzzer, which reaches everything that the fuzzer is for, then fuzzes from there: as many inputs
as fuzzer.py says, or for FUZZ_SECONDS. The long search is `make fuzz`. A find is kept in build/fuzz/.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import fuzzer

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "mutants"))

import mutants  # noqa: E402
import schemata  # noqa: E402

SECONDS = int(os.environ.get("FUZZ_SECONDS", 0))
LEAST_UNITS = 1000  # by fuzzing alone

# For each rule: the file, the code that keeps it, and that code with the check forgotten.
MISTAKES = {
    "no window is 0": ("../common/window.h", "(s32)cwnd > 0 ? cwnd : 1", "cwnd"),
    "snd_cwnd_clamp": ("algorithm.h", "cwnd = min_u32(bbr_bound_cwnd(sk, cwnd), IN(sk, snd_cwnd_clamp))",
                       "cwnd = bbr_bound_cwnd(sk, cwnd)"),
    "probe_rtt_cwnd": ("algorithm.h", "cwnd = min_u32(cwnd, bbr_probe_rtt_cwnd(b, sk))", "cwnd += 0"),
    "SO_MAX_PACING_RATE": ("../common/rate.h", "min_u64(rate, IN(sk, max_pacing_rate))", "rate"),
    "max_pacing_rate": ("../common/rate.h", "min_u64(rate, OPTION(sk, max_pacing_rate) * BYTES_PER_KBIT)", "rate + 0"),
    "min_pacing_rate": ("pacing.h", "max_u64(rate, OPTION(sk, min_pacing_rate) * BYTES_PER_KBIT)", "rate + 0"),
    "pacing_rate": ("pacing.h", "rate = OPTION(sk, pacing_rate) * BYTES_PER_KBIT", "rate += 0"),
    "min_cwnd": ("inflight.h", "max_u32(cwnd, OPTION(sk, min_cwnd))", "cwnd + 0"),
    "max_cwnd": ("inflight.h", "min_u32(cwnd, OPTION(sk, max_cwnd))", "cwnd + 0"),
    "pin_bw is not 0": ("model.h", "max_u64(bw, 1)", "bw"),
    "pin_min_rtt ends PROBE_RTT": ("probe_rtt.h", "if (b->mode == BBR_PROBE_RTT) bbr_leave_probe_rtt(b, sk)",
                                   ""),
    "ignore_loss": ("recovery.h", "b->packet_conservation = 0; b->prev_ca_state", "b->prev_ca_state"),
    "no quotient by 0": ("../common/arithmetic.h", "divisor ? dividend / divisor : 0", "dividend / divisor"),
    "no interval of 0": ("policer.h", "quotient(delivered * BW_UNIT, t * USEC_PER_MSEC)",
                         "delivered * BW_UNIT / (t * USEC_PER_MSEC)"),
    "not the draining phase": ("probe_bw.h", "b->cycle_idx = last - r", "b->cycle_idx = r"),
}


def failure(target, output):
    """The report, and the command that repeats it."""
    found = re.findall(r"Test unit written to (\S+)", output)
    again = f"\nrepeat it with {fuzzer.BUILD}/{target} {found[0]}" if found else ""
    report = [line for line in output.splitlines() if not re.match(r"#\d|\\|0x..,", line)]
    return "\n".join(report[-60:]) + again


def replay(program, target):
    return subprocess.run(fuzzer.command(program, target, "-runs=0", fuzzer.corpus(target)),
                          capture_output=True, text=True, errors="replace", timeout=600)


@pytest.fixture(scope="module", params=fuzzer.TARGETS)
def target(request):
    path = fuzzer.BUILD / request.param
    assert path.is_file(), f"{path} is missing: run `make tests`, which builds it"
    return request.param


@pytest.fixture(scope="module")
def replayed(target):
    return replay(fuzzer.BUILD / target, target)


@pytest.fixture(scope="module")
def fuzzed(target, tmp_path_factory):
    """A fuzzer's run, with its output."""
    return subprocess.run(fuzzer.fuzz(target, tmp_path_factory.mktemp(target), SECONDS), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS + 600)


def test_corpus_holds(target, replayed):
    assert replayed.returncode == 0, failure(target, replayed.stderr)


def test_corpus_reaches_all(target, replayed):
    reached = dict(re.findall(r"^reached (.+): (\d+)$", replayed.stderr, re.M))
    assert reached, replayed.stderr
    assert not [what for what, times in reached.items() if times == "0"]


def test_the_same_inputs_give_the_same_archive(tmp_path):
    for target in fuzzer.TARGETS:
        inputs = fuzzer.read(fuzzer.corpus(target))
        assert inputs == fuzzer.unpack(fuzzer.archive(target))
        fuzzer.pack(dict(reversed(sorted(inputs.items()))), tmp_path / "again")
        assert fuzzer.unpack(tmp_path / "again") == inputs
        first = (tmp_path / "again").read_bytes()
        fuzzer.pack(inputs, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == first


def test_fuzzing_finds_nothing(target, fuzzed):
    output = fuzzed.stdout
    assert fuzzed.returncode == 0, failure(target, output)
    before = int(re.search(r"^#(\d+)\s+INITED", output, re.M)[1])
    after = int(re.search(r"^stat::number_of_executed_units: (\d+)$", output, re.M)[1])
    assert after - before > LEAST_UNITS, failure(target, output)


def mutant_of(rule):
    """The mutant for a rule, whose text is in one function only."""
    header, right, wrong = MISTAKES[rule]
    file = os.path.normpath(f"bpf/bbr/{header}")
    source = (fuzzer.ROOT / file).read_text()
    words = r"\s+".join(map(re.escape, right.split()))
    (function,) = {found[1] for found in re.finditer(r"^static inline [^\n(]*?(\w+)\(.*?^}$", source, re.M | re.S)
                   if re.search(words, found[0])}
    return mutants.Mutant(file, function, rule, right, wrong)


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory):
    """The fuzzer of the algorithm with all mistakes in it, and the number that selects each."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name in ("bpf", "include", "packaging", "scripts", "tests/fuzz"):
        shutil.copytree(fuzzer.ROOT / name, folder / name)
    for name in ("Makefile", "tests/tests.mk"):
        shutil.copy(fuzzer.ROOT / name, folder / name)
    numbers = schemata.write([mutant_of(rule) for rule in MISTAKES], folder)
    first = folder / "tests/fuzz/fuzz_algorithm.c"
    first.write_text(schemata.PRELUDE + first.read_text())
    program = "build/fuzz/algorithm"
    made = subprocess.run(["make", "-C", folder, program, "WARN=-w"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return folder / program, {mutant.rule: str(number) for mutant, number in numbers.items()}


@pytest.mark.parametrize("rule", [None, *MISTAKES])
def test_mistake_is_found(rule, mistaken, monkeypatch):
    """Checks the check: the algorithm fails without one of its guards, and passes with all of them."""
    program, numbers = mistaken
    monkeypatch.setenv(schemata.VARIABLE, numbers[rule] if rule else "0")
    done = replay(program, "algorithm")
    if rule:
        assert done.returncode != 0 and re.search("does not hold|runtime error", done.stderr)
    else:
        assert done.returncode == 0, failure("algorithm", done.stderr)
