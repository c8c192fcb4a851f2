# SPDX-License-Identifier: GPL-2.0-only
"""An algorithm that nothing outside its folder knows (tests/toy/), on the running kernel."""
import json
import os
import pathlib
import sys

import pytest

import system
import tool

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/toy"))
import toy_steps  # noqa: E402


@pytest.fixture
def bpf_toy():
    """The name that the object registers itself by. It must be free, and is free again afterwards."""
    assert "bpf_toy" not in system.registered(), "somebody else has bpf_toy loaded: unload it first"
    yield "bpf_toy"
    if "bpf_toy" in system.registered():
        system.run("bpftool", "struct_ops", "unregister", "name", "bpf_toy")


def test_an_algorithm_is_a_folder(ns, free_name, bpf_toy, bbrmon, tmp_path):
    toy, bbr = free_name(), free_name()
    path = f"{ROOT}/build/toy:{ROOT}/build:{os.environ['PATH']}"
    done = ns.run("bash", ROOT / "tests/toy/toy.sh", timeout=120, check=False,
                  env={**os.environ, "PATH": path, "TOY_OBJECT": str(ROOT / "build/toy/bpf_toy.bpf.o"),
                       "TOY_NAME": toy, "BBR_NAME": bbr, "PORT": "5001", "WORK": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    toy_steps.check(done.stdout, toy, bbr)
    check_recording(bbrmon, tmp_path / "toy.rec", toy)


def check_recording(bbrmon, path, toy):
    """This bbrmon was not compiled with the toy: what can be filtered and sorted by is in the recording."""
    events = [json.loads(line) for line in bbrmon("stream", "-j", "--read", path, "acks_seen > 100").out.splitlines()]
    assert len(events) > 100 and all(e["acks_seen"] > 100 and e["instance"] == toy for e in events if "event" in e)
    rows = [json.loads(line) for line in
            bbrmon("snapshot", "-j", "--read", path, "--at", "1.6s", "--sort", "-acks_seen", "mode = FIXED").out.splitlines()]
    seen = [row["acks_seen"] for row in rows]
    assert len(seen) >= 2 and seen == sorted(seen, reverse=True)
    refused = bbrmon("stream", "--read", path, "mode = LOOSE", status=tool.USAGE).err
    assert "not a mode" in refused and "FIXED" in refused
