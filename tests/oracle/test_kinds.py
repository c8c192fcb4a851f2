# SPDX-License-Identifier: GPL-2.0-only
"""The algorithm as compiled for a kind of ACK against itself as it is for any: kinds.c, over all recordings."""
import json
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
BUILD = REPO / "build/oracle"
RECORDINGS = sorted((HERE / "recordings").glob("*.gz"))
KINDS = "ordinary", "lossless", "cycling", "calm", "any"
# Natively a million ACKs take a second, as BPF two. One million finds each of MISTAKES; docs/cost.md says how many were tried.
MILLIONS = {"native": 5, "bpf": 2}

MISTAKES = {
    "a policer": ("kind.h", ".lt_is_sampling = 1, .lt_use_bw = 1", ".lt_is_sampling = 1"),
    "the state before": ("kind.h", ".prev_ca_state = 7, ", ""),
    "the state now": ("kind.h", "IN(sk, ca_state) == TCP_CA_Open && !rs->losses", "!rs->losses"),
    "a pause": ("kind.h", ".idle_restart = 1, .has_seen_rtt", ".has_seen_rtt"),
    "the window of min_rtt": ("kind.h", " && !bbr_is_min_rtt_expired(b, sk)", ""),
    "the policed rate": ("bbr.h", "return !bbr_is_lossless(sk) && b->lt_use_bw", "return !sk->kind && b->lt_use_bw"),
}


def run(*words, program=BUILD / "kinds"):
    done = subprocess.run([program, *map(str, words), *RECORDINGS], capture_output=True, text=True, timeout=600,
                          check=False)
    assert done.stdout, done.stderr
    return done, json.loads(done.stdout)


@pytest.mark.parametrize("how", ["native", "bpf"])
def test_by_its_kind_an_ack_is_what_it_is_as_any(how):
    options = ["-b", BUILD / "kinds.bpf.o"] if how == "bpf" else []
    done, found = run("-n", MILLIONS[how], "-s", 1, *options)
    assert done.returncode == 0 and found["different"] == 0, done.stderr
    assert all(found[kind] > MILLIONS[how] * 10_000 for kind in KINDS), found


def test_natively_and_as_bpf_all_results_are_the_same():
    assert run("-n", 0.5, "-s", 2)[1] == run("-n", 0.5, "-s", 2, "-b", BUILD / "kinds.bpf.o")[1]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake, tmp_path):
    file, text, becomes = MISTAKES[mistake]
    for name in ("bpf", "include"):
        shutil.copytree(REPO / name, tmp_path / name)
    path = tmp_path / "bpf/bbr" / file
    source = path.read_text()
    assert source.count(text) == 1
    path.write_text(source.replace(text, becomes))
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-w", f"-I{tmp_path}/include", f"-I{tmp_path}/bpf", HERE / "kinds.c",
                    BUILD / "mainline.o", BUILD / "stream.o", "-lbpf", "-lz", "-o", tmp_path / "kinds"], check=True)
    done, found = run("-n", 1, program=tmp_path / "kinds")
    assert done.returncode == 1 and found["different"]
