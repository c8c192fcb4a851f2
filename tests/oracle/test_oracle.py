# SPDX-License-Identifier: GPL-2.0-only
"""The algorithm against recorded callbacks of the kernel's own bbr: those in the repository, and fresh ones."""
import gzip
import json
import pathlib
import re
import subprocess

import pytest

from recording import kernels

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
RECORDINGS = sorted((HERE / "recordings").glob("*.gz"))
REPLAY = BUILD / "oracle/replay"
SANITIZED = BUILD / "asan/replay"
AS_BPF = ["-b", BUILD / "oracle/replay.bpf.o"]
KINDS = {"init", "cong_control", "cwnd_event", "set_state", "ssthresh", "undo_cwnd", "min_tso_segs",
         "sndbuf_expand"}


def replay(*words, program=REPLAY):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=300, check=False)


def total(done):
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_comparison_and_format():
    done = subprocess.run([BUILD / "oracle/test_replay"], capture_output=True, text=True, timeout=60,
                          check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0 and re.search(r"PASSED  \] [1-9]", output), output


def test_recordings_are_of_all_kernels_that_have_bbr():
    releases = set()
    for path in RECORDINGS:
        with gzip.open(path) as file:
            releases.add(re.search(rb"^release (\d+\.\d+)\.", file.read(200), re.M)[1].decode())
    assert releases == set(kernels.with_bbr())


@pytest.mark.parametrize("how", [[], AS_BPF], ids=["native", "bpf"])
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_callback_is_the_kernels(path, how):
    done = replay("-j", *how, path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = total(done)
    assert found["different"] == 0
    assert found["kinds"].keys() == KINDS and all(found["kinds"].values())
    assert found["kinds"]["cong_control"] > 1000


def _bytes(path):
    with gzip.open(path) as file:
        return file.read()


def _refused(tmp_path, data, compress=True):
    path = tmp_path / "damaged.gz"
    path.write_bytes(gzip.compress(data, 1) if compress else data)
    done = replay("-j", path, program=SANITIZED)
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    return done


def test_a_recording_that_ends_too_early_is_refused(tmp_path):
    whole = _bytes(RECORDINGS[0])
    for size in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        done = _refused(tmp_path, whole[:size])
        assert done.returncode == 2 and str(tmp_path / "damaged.gz") in done.stderr
    packed = RECORDINGS[0].read_bytes()
    for size in (0, 5, len(packed) // 2, len(packed) - 1):
        assert _refused(tmp_path, packed[:size], compress=False).returncode == 2


def test_a_damaged_recording_is_refused(tmp_path):
    packed = RECORDINGS[0].read_bytes()
    for at in range(20, len(packed), len(packed) // 40):
        damaged = bytearray(packed)
        damaged[at] ^= 0x55
        assert _refused(tmp_path, bytes(damaged), compress=False).returncode == 2, f"byte {at}"


def test_nonsense_does_no_harm(tmp_path):
    """Damage that gzip's checksum does not notice: the changed byte may not matter, or may make a number of a socket, a length
    or an input that no kernel has."""
    whole = _bytes(RECORDINGS[0])
    start = whole.index(b"\n\n") + 2
    found = set()
    for at in range(start, len(whole), (len(whole) - start) // 100):
        damaged = bytearray(whole)
        damaged[at] ^= 0x55
        found.add(_refused(tmp_path, bytes(damaged)).returncode)
    assert found <= {0, 1, 2} and found >= {1, 2}


def test_what_is_no_recording_is_refused(tmp_path):
    for data in (b"hello\n", b"\0" * 1000, b"bpf-bbr recording 2\n\n"):
        assert _refused(tmp_path, data).returncode == 2
    assert replay(tmp_path / "none").returncode == 2
    assert replay().returncode == 2
