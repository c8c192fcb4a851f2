# SPDX-License-Identifier: GPL-2.0-only
"""
Every verb shows a recording of ABI 3 as it is kept here.

recordings/abi3.rec has two runs. The first has each ACK of eleven connections over a path of 4 Mbit/s that becomes a
policer of 1 Mbit/s; the second has the first ACK of each round of nine IPv6 connections. Some connections are of
bpf_rec, with profiles and a change of parameters, some of the kernel's own bbr; the receiver was gone for a while.
recordings/abi3.json.xz has the exit status and the output of each command line.
"""
import json
import lzma
import os
import pathlib
import re
import shutil
import sys
import tempfile

import pytest

from tool import USAGE, Tool, data_of

HERE = pathlib.Path(__file__).parent / "recordings"
CUT_AT = 28011  # in the middle of a chunk

COMMANDS = [
    "stream --read {}",
    "stream -j --read {}",
    "stream -j --read {} --every round --name bpf_rec",
    "stream --read {} --every 100ms --name bbr",
    "stream -j --read {} --every transition --local 10.99.1.0/24 --rport 5205",
    "stream --read {} --remote fd99::/16 --count 50",
    "top --batch --read {}",
    "top --batch -j --read {} --interval 500ms",
    "top --batch --read {} --sort min_rtt --filter name=bpf_rec",
    "snapshot --read {}",
    *(f"snapshot {args} --read {{}} --at {at}" for at in ("2s", "5s", "10.5s") for args in ("-O", "-j", "--summary")),
    "snapshot --read {} --at 5s --sort bw_bps,-lport dport = :5201",
    "export --read {}",
    "report -o - {}",
    "report -o - {} --from 1s --to 4s --name bpf_rec",
]


def run(tool, directory, name, command):
    """What is kept of a command. Of a report this is what is drawn, not how."""
    here = {"cwd": directory}  # messages contain the file's name
    command = command.replace("--sort min_rtt", "--sort -min_rtt")  # top, too, sorts upwards without a "-"
    result = tool(*command.format(name).split(), status=None, **here)
    out = result.out
    if command.startswith("report"):
        out = {key: value for key, value in data_of(out).items() if key in ("recording", "flows", "series")}
    return [result.status, out, result.err]


def cases():
    return [(name, command) for name in ("abi3.rec", "cut.rec") for command in COMMANDS]


@pytest.fixture(scope="session")
def expected():
    return json.loads(lzma.decompress((HERE / "abi3.json.xz").read_bytes()))


@pytest.fixture(scope="session")
def directory(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("old"))


def prepare(directory):
    shutil.copy(HERE / "abi3.rec", directory)
    (directory / "cut.rec").write_bytes((HERE / "abi3.rec").read_bytes()[:CUT_AT])
    return directory


@pytest.fixture(autouse=True)
def same_place(monkeypatch):
    for name, value in {"TZ": "UTC", "LC_ALL": "C"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("name, command", cases())
def test_shown_as_before(bbrmon, expected, directory, name, command):
    now, before = run(bbrmon, directory, name, command), expected[command.format(name)]
    if command.startswith("export"):  # it says which version the tool has
        now, before = ([status, re.sub(r"^bbrmon_build_info.*", "", out, flags=re.M), err] for status, out, err in (now, before))
    if "-j" in command:  # later versions added keys, of which this recording knows nothing
        now = [now[0], without_new_keys(now[1], before[1]), now[2]]
    assert now == before


def without_new_keys(now, before):
    def trimmed(line, like):
        line, like = json.loads(line), json.loads(like)
        assert all(value is None for key, value in line.items() if key not in like)
        return json.dumps({key: value for key, value in line.items() if key in like})

    lines = now.splitlines(), before.splitlines()
    assert [json.dumps(json.loads(line)) for line in lines[1]] == list(map(trimmed, *lines))
    return before if len(lines[0]) == len(lines[1]) else now


def read(bbrmon, directory, name):
    return [json.loads(line) for line in bbrmon("stream", "-j", "--read", name, cwd=directory).out.splitlines()]


@pytest.mark.parametrize("name", ["abi3.rec", "cut.rec"])
def test_recorded_anew(bbrmon, directory, name):
    """A copy has all that the old recording has, and is whole."""
    bbrmon("record", "--read", name, "-o", "copy.rec", cwd=directory)
    *events, last = read(bbrmon, directory, name)
    assert last["summary"]["cut_off"] == (name == "cut.rec")
    last["summary"]["cut_off"] = False
    assert read(bbrmon, directory, "copy.rec") == [*events, last]


def test_appended_to(bbrmon, directory):
    """New records after an old recording are read together with it."""
    shutil.copy(directory / "abi3.rec", directory / "both.rec")
    bbrmon("record", "--read", "abi3.rec", "-o", "both.rec", "--append", cwd=directory)
    data, old = (directory / "both.rec").read_bytes(), (HERE / "abi3.rec").read_bytes()
    assert data.startswith(old) and len(data) > len(old)
    once, twice = (read(bbrmon, directory, name)[:-1] for name in ("abi3.rec", "both.rec"))
    assert [{**e, "conn": None} for e in twice] == [{**e, "conn": None} for e in once] * 2


@pytest.mark.parametrize("condition", ["dev lo", "dev nosuch0", "src fe80::1%nosuch0"])
def test_no_device_is_looked_up_here(bbrmon, directory, condition):
    """A device of this machine has nothing to do with a recording, which may be of another."""
    refused = bbrmon("snapshot", "--read", "abi3.rec", condition, status=USAGE, cwd=directory).err
    assert refused.startswith("bbrmon: snapshot: filter: recordings have no")


if __name__ == "__main__":  # writes what a version prints: PYTHONPATH=. test_old_recordings.py BBRMON
    os.environ.update(TZ="UTC", LC_ALL="C")
    with tempfile.TemporaryDirectory() as made:
        tool, where = Tool(sys.argv[1]), prepare(pathlib.Path(made))
        kept = {command.format(name): run(tool, where, name, command) for name, command in cases()}
    (HERE / "abi3.json.xz").write_bytes(lzma.compress(json.dumps(kept).encode(), preset=9 | lzma.PRESET_EXTREME))
