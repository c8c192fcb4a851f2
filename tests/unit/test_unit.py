# SPDX-License-Identifier: GPL-2.0-only
"""Runs the cmocka programs of this folder, and of those below it."""
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "unit"


def programs():
    return sorted(str(source.relative_to(HERE).with_suffix("")) for source in HERE.rglob("test_*.c"))


@pytest.fixture(scope="session", params=programs())
def program(request):
    path = BUILD / request.param
    assert path.exists(), f"{path} is missing: make tests"
    return subprocess.run([path], capture_output=True, text=True, timeout=300)


def test_every_rule_holds(program):
    output = program.stdout + program.stderr
    passed = re.findall(r"^\[       OK \] (\S+)", output, re.M)
    assert program.returncode == 0, output
    assert passed, "the program ran no test:\n" + output
