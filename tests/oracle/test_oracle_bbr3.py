# SPDX-License-Identifier: GPL-2.0-only
"""BBR version 3 against recorded callbacks of Google's."""
import re
import subprocess

import pytest

from test_oracle import AS_BPF, BUILD, HERE, REPLAY, SANITIZED, replay, total

RECORDINGS = sorted((HERE / "recordings").glob("*.v3r.zst"))
MOST_BYTES = 8_000_000
KINDS = {"init", "main", "skb_marked_lost", "cwnd_event", "ssthresh", "undo_cwnd", "set_state", "tso_segs",
         "sndbuf_expand"}


@pytest.mark.parametrize("how", [[], AS_BPF], ids=["native", "bpf"])
def test_every_callback_is_googles(how):
    done = replay("-j", *how, *RECORDINGS)
    assert done.returncode == 0, done.stdout + done.stderr
    found = total(done)
    assert found["different"] == 0
    assert found["kinds"].keys() == KINDS and all(found["kinds"].values())
    assert found["kinds"]["main"] > 50_000


def test_the_sample_is_small():
    assert sum(path.stat().st_size for path in RECORDINGS) <= MOST_BYTES


def test_recordings_of_both_algorithms_can_be_replayed_at_once():
    found = total(replay("-j", RECORDINGS[0], HERE / "recordings/6.12.gz"))
    assert found["different"] == 0
    assert found["kinds"]["main"] and found["kinds"]["cong_control"]


def unpack(path):
    return subprocess.run(["zstd", "-dcq", "--long=31", path], check=True, stdout=subprocess.PIPE).stdout


def pack(data):
    return subprocess.run(["zstd", "-cq", "-1"], input=data, check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture(scope="module")
def smallest():
    return min(RECORDINGS, key=lambda path: path.stat().st_size)


def test_what_the_recorder_writes_can_be_replayed(tmp_path, smallest):
    """No kernel has version 3 here, so the records are those of a recording."""
    again = tmp_path / "again.v3r.zst"
    done = subprocess.run([BUILD / "oracle/test_recorder", BUILD / "oracle/record_bbr3.bpf.o", smallest, again],
                          capture_output=True, text=True, timeout=60, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0 and re.search(r"PASSED  \] [1-9]", output), output
    assert total(replay("-j", again)) == total(replay("-j", smallest))
    assert [path.name for path in tmp_path.iterdir()] == [again.name]


def refusal(tmp_path, data):
    """The one line with which replay refuses data that is no recording."""
    path = tmp_path / "damaged.v3r.zst"
    path.write_bytes(data)
    done = replay("-j", path, program=SANITIZED)
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith(f"{path}: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_what_is_not_there_is_refused(tmp_path):
    done = replay(tmp_path / "none.v3r.zst")
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "none.v3r.zst" in done.stderr


def test_a_recording_that_ends_too_early_is_refused(tmp_path, smallest):
    packed, whole = smallest.read_bytes(), unpack(smallest)
    for size in (4, 20, len(packed) // 2, len(packed) - 1):
        refusal(tmp_path, packed[:size])
    for size in (0, 10, whole.index(b"\n") + 1, len(whole) // 2, len(whole) - 672):
        refusal(tmp_path, pack(whole[:size]))
    assert "not complete" in refusal(tmp_path, pack(whole + whole[-672:]))


def test_a_damaged_recording_is_refused(tmp_path, smallest):
    packed = smallest.read_bytes()
    for at in range(10, len(packed), len(packed) // 20):
        damaged = bytearray(packed)
        damaged[at] ^= 0x55
        refusal(tmp_path, bytes(damaged))


def test_another_header_is_refused(tmp_path, smallest):
    whole = unpack(smallest)
    for old, new in ((b"v3-callbacks 1", b"v3-callbacks 2"), (b'"record_size": 672', b'"record_size": 671'),
                     (b'"hz": ', b'"hx": '), (b'"hz": ', b'"hz": 9999'), (b'"recorded"', b'"rexorded"'),
                     (b'"v3-callbacks 1"', b"null"), (b"{", b"[")):
        assert old in whole
        refusal(tmp_path, pack(whole.replace(old, new, 1)))


def test_differences_are_reported(tmp_path, smallest):
    """The change is in the last record's state after the callback: min_rtt_us."""
    damaged = bytearray(unpack(smallest))
    damaged[-144] ^= 1
    path = tmp_path / "changed.v3r.zst"
    path.write_bytes(pack(bytes(damaged)))
    done = replay(path)
    assert done.returncode == 1 and "min_rtt_us: kernel" in done.stdout and " 1 different" in done.stdout
    assert REPLAY.exists()
