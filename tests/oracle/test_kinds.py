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
KINDS = {"kinds": ("ordinary", "lossless", "cycling", "calm", "any"), "kinds_bbr3": ("cruising", "lowering", "starting", "recovering_cruise", "recovering_startup", "recovering", "ordinary", "lossless", "any")}
LEAST = {"lowering": 5_000}  # in a million; of other kinds 10,000
# A million ACKs of version 1 take a second natively and two as BPF, those of version 3 twice as long. One million finds each of
# MISTAKES; docs/cost.md says how many were tried.
MILLIONS = {("kinds", "native"): 5, ("kinds", "bpf"): 2, ("kinds_bbr3", "native"): 3, ("kinds_bbr3", "bpf"): 1}

MISTAKES = {
    "a policer": ("kind.h", ".lt_is_sampling = 1, .lt_use_bw = 1", ".lt_is_sampling = 1"),
    "the state before": ("kind.h", ".prev_ca_state = 7, ", ""),
    "the state now": ("kind.h", "bbr_is_open(sk) && !rs->losses", "!rs->losses"),
    "a pause": ("kind.h", ".idle_restart = 1, .has_seen_rtt", ".has_seen_rtt"),
    "the window of min_rtt": ("kind.h", " && !bbr_is_min_rtt_expired(b, sk)", ""),
    "the policed rate": ("bbr.h", "return !bbr_is_lossless(sk) && b->lt_use_bw", "return !sk->kind && b->lt_use_bw"),
}
# The same for version 3.
MISTAKES3 = {
    "the state before": ("kind.h", ".prev_ca_state = 7, ", ""),
    "a loss in this round": ("kind.h", ", .loss_in_round = 1", ""),
    "a pause": ("kind.h", ".idle_restart = 1, .has_seen_rtt", ".has_seen_rtt"),
    "the window of the minimum": ("kind.h", " | left_ms", ""),
    "the state now": ("kind.h", " || !bbr_is_open(sk)", ""),
    "a long interval": ("kind.h", "(interval | ", "(interval << 40 | "),
    "the search for the full bandwidth": ("probe_bw.h", " && b->full_bw_now", ""),
    "the last round of STARTUP": ("startup.h", "b->full_bw_cnt + 1u < PARAM", "b->full_bw_cnt < PARAM"),
    "the search in STARTUP": ("startup.h", " && !b->full_bw_now && !b->new_gains &&", " && !b->new_gains &&"),
    "what was lost before": ("algorithm.h", "if (!bbr_stays_in_order(b, sk, rs))", "if (!b->initialized)"),
    "the wait for a probe": ("probe_bw.h", " &&\n	       IN(sk, tcp_mstamp) <= b->cycle_mstamp + b->probe_wait_us;", ";"),
    "the rounds until a probe": ("probe_bw.h", "rounds < bdp &&", ""),
    "what the network delivers until the EDT": ("probe_bw.h", "prior_in_flight <= gone + bdp", "prior_in_flight <= bdp"),
    "a new maximum in DOWN": ("probe_bw.h", " ||\n	    (u32)rs->delivered * BW_UNIT > (u64)b->bw_hi[1] * rs->interval_us)", ")"),
    "room for bursts": ("probe_bw.h", " &&\n	       bdp * IN(sk, mss) >= bursts * bbr_burst_at_most(b, sk)", ""),
    "losses in the loss round that ends": ("algorithm.h", "bbr_newly_lost(b, sk) || rs->losses || b->loss_in_round", "rs->losses"),
    "a flight that is asked for": ("algorithm.h", " &&\n			       !bbr_is_flight_asked_in_recovery(b, sk, rs)", ""),
    "what stays in order": ("algorithm.h", "return b->in_order ? BBR_MAIN_ANY : bbr_main_of_no_kind(sk);", "return bbr_main_of_no_kind(sk);"),
    "a cut of the bounds": ("bounds.h", "(bbr_is_recovering(sk) && bbr_is_staying(sk))", "bbr_is_recovering(sk)"),
    "an inflight_hi that may rise": ("algorithm.h", " || b->inflight_hi == BBR_COUNT_NONE)", " || true)"),
    "the end of a loss round": ("model.h", "bbr_is_staying(sk) && bbr_update_loss_round(", "0 && bbr_update_loss_round("),
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
    assert all(found[kind] > millions * LEAST.get(kind, 10_000) for kind in KINDS[name]), found


@pytest.mark.parametrize("name", KINDS)
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
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-w", f"-I{tmp_path}/include", f"-I{tmp_path}/bpf", f"-I{HERE}",
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
