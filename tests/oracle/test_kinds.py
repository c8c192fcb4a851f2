# SPDX-License-Identifier: GPL-2.0-only
"""The algorithm as compiled for a kind of ACK against the algorithm for any ACK: kinds.c, over all recordings."""
import json
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
BUILD = REPO / "build/oracle"
RECORDINGS = {"kinds": sorted((HERE / "recordings").glob("*.gz")),
              "kinds_bbr3": sorted((HERE / "recordings").glob("*.v3r.zst"))}
KINDS = ("general", "fast_1", "fast_2", "regular")
LEAST = {("kinds_bbr3", "fast_2"): 5_000}  # in a million; of the others 10,000
# A million ACKs of version 1 take a second natively and two as BPF, those of version 3 twice as long. One million finds each of
# MISTAKES.
MILLIONS = {("kinds", "native"): 5, ("kinds", "bpf"): 2, ("kinds_bbr3", "native"): 3, ("kinds_bbr3", "bpf"): 1}

MISTAKES = {
    "a policer": ("kind.h", ".lt_is_sampling = 1, .lt_use_bw = 1", ".lt_is_sampling = 1"),
    "the state before": ("kind.h", ".prev_ca_state = 7, ", ""),
    "the state now": ("kind.h", "shell_is_open(sk) && !rs->losses", "!rs->losses"),
    "a pause": ("kind.h", ".idle_restart = 1, .has_seen_rtt", ".has_seen_rtt"),
    "the window of min_rtt": ("kind.h", " || bbr_is_min_rtt_expired(b, sk)", ""),
    "the policed rate": ("kind.h", "return !bbr_is_fast(sk) && b->lt_use_bw", "return bbr_is_general(sk) && b->lt_use_bw"),
}
# The same for version 3.
MISTAKES3 = {
    "the state before": ("kind.h", ".prev_ca_state = 7, ", ""),
    "a loss in this round": ("kind.h", ", .loss_in_round = 1", ""),
    "a pause": ("kind.h", ".idle_restart = 1, .has_seen_rtt", ".has_seen_rtt"),
    "the window of the minimum": ("kind.h", " | left_ms", ""),
    "the state now": ("kind.h", "shell_is_open(sk) ? bbr_kind_if_open(b, sk, rs) :", "true ? bbr_kind_if_open(b, sk, rs) :"),
    "a long interval": ("kind.h", "(interval | ", "(interval << 40 | "),
    "the search for the full bandwidth": ("kind.h", " && b->full_bw_now", ""),
    "what was lost before": ("kind.h", "	if (!bbr_stays_in_order(b, sk, rs))\n		return SHELL_GENERAL;\n", ""),
    "the wait for a probe": ("kind.h", " &&\n	       IN(sk, tcp_mstamp) <= b->cycle_mstamp + b->probe_wait_us;", ";"),
    "the rounds until a probe": ("kind.h", "rounds < bdp &&", ""),
    "what the network delivers until the EDT": ("kind.h", "prior_in_flight <= gone + bdp", "prior_in_flight <= bdp"),
    "a new maximum in DOWN": ("kind.h", " ||\n	    (u32)rs->delivered * BW_UNIT > (u64)b->bw_hi[1] * rs->interval_us)", ")"),
    "room for bursts": ("kind.h", " &&\n	       bdp * IN(sk, mss) >= bursts * bbr_burst_at_most(b, sk)", ""),
    "a flight that is needed": ("kind.h", " ||\n	    bbr_needs_flight(b, sk, rs))\n		return SHELL_GENERAL;", ")\n		return SHELL_GENERAL;"),
    "what stays in order": ("kind.h", " || (b->in_order && bbr_stays_in_order(b, sk, rs))", ""),
    "losses that are regular": ("bounds.h", "if (bbr_is_fast(sk))", "if (!bbr_is_general(sk))"),
    "an app-limited ACK": ("kind.h", "likely(bbr_stays_in_cruise(b, sk) && !shell_is_app_limited(b, sk, rs))", "bbr_stays_in_cruise(b, sk)"),
    "a phase that is regular": ("probe_bw.h", "if (bbr_is_fast(sk)) /* the next", "if (!bbr_is_general(sk)) /* the next"),
}

def run(*words, name="kinds", program=None):
    done = subprocess.run([program or BUILD / name, *map(str, words), *RECORDINGS[name]], capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.stdout, done.stderr
    return done, json.loads(done.stdout)


@pytest.mark.parametrize("name, how", MILLIONS)
def test_by_its_kind_an_ack_is_what_it_is_as_any(name, how):
    options = ["-b", BUILD / f"{name}.bpf.o"] if how == "bpf" else []
    millions = MILLIONS[name, how]
    done, found = run("-n", millions, "-s", 1, *options, name=name)
    assert done.returncode == 0 and found["different"] == 0, done.stderr
    assert all(found[kind] > millions * LEAST.get((name, kind), 10_000) for kind in KINDS), found


@pytest.mark.parametrize("name", RECORDINGS)
def test_natively_and_as_bpf_all_results_are_the_same(name):
    assert run("-n", 0.5, "-s", 2, name=name)[1] == run("-n", 0.5, "-s", 2, "-b", BUILD / f"{name}.bpf.o", name=name)[1]


def build_with(tmp_path, mistake, folder, sources, options):
    """Builds the fuzzer with a mistake in the algorithm of a folder."""
    file, text, becomes = mistake
    for name in ("bpf", "include"):
        shutil.copytree(REPO / name, tmp_path / name)
    path = tmp_path / "bpf" / folder / file
    source = path.read_text()
    assert source.count(text) == 1
    path.write_text(source.replace(text, becomes))
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-w", f"-I{tmp_path}/include", f"-I{tmp_path}/bpf",
                    f"-I{tmp_path}/bpf/{folder}", f"-I{HERE}",
                    *(HERE / name for name in ("kinds.c", *sources)), *options, "-lbpf", "-o", tmp_path / "kinds"],
                   check=True)
    return tmp_path / "kinds"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake, tmp_path):
    program = build_with(tmp_path, MISTAKES[mistake], "bbr", ("bbr/changes.c", BUILD / "bbr/mainline.o", BUILD / "bbr/stream.o"),
                         ['-DKINDS_H="bbr/kinds.h"', "-lz"])
    done, found = run("-f", "-n", 1, program=program)
    assert done.returncode == 1 and found["different"]


@pytest.mark.parametrize("mistake", MISTAKES3)
def test_a_mistake_in_version_3_is_found(mistake, tmp_path):
    program = build_with(tmp_path, MISTAKES3[mistake], "bbr3",
                         ("bbr3/changes.c", "bbr3/google.c", BUILD / "bbr3/v3r.o"),
                         ['-DKINDS_H="bbr3/kinds.h"', "-lzstd", "-ljson-c"])
    done, found = run("-f", "-n", 4, name="kinds_bbr3", program=program)
    assert done.returncode == 1 and found["different"]
