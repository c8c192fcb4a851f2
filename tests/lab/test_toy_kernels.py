# SPDX-License-Identifier: GPL-2.0-only
"""An algorithm that nothing outside its folder knows (tests/toy/), on the oldest and the newest kernel."""
import pathlib
import sys

import pytest

from vm import guest, kernels

TOY = pathlib.Path(__file__).resolve().parents[1] / "toy"
BUILD = TOY.parents[1] / "build"
sys.path.insert(0, str(TOY))
import toy_steps  # noqa: E402

SUPPORTED = kernels.keys(kernels.CHECK)
ENVIRONMENT = "export TOY_OBJECT=/bpf_toy.bpf.o TOY_NAME=lab_toy BBR_NAME=lab_bbr PORT=5001 WORK=/tmp\n"


@pytest.mark.parametrize("key", [SUPPORTED[0], SUPPORTED[-1]])
def test_an_algorithm_is_a_folder(key):
    kernel = kernels.find(key)
    image = guest.initramfs(kernel, ENVIRONMENT + (TOY / "toy.sh").read_text(),
                            programs=["bpftool", BUILD / "toy/bbrctl", BUILD / "toy/bbrmon", BUILD / "flow"],
                            files={"/bpf_toy.bpf.o": BUILD / "toy/bpf_toy.bpf.o"})
    result = guest.run(kernel, image)
    assert result.status == 0, result.console
    toy_steps.check(result.console, "lab_toy", "lab_bbr")
