# SPDX-License-Identifier: GPL-2.0-only
"""What the Makefile promises to anyone who keeps an old build/, and scripts/deps to anyone who mistypes."""
import pathlib
import shutil
import subprocess

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
TARGET = "build/flow"  # it has one source, and takes no time


@pytest.fixture
def tree(tmp_path):
    """A copy without build/; the test may move what is in it."""
    shutil.copytree(REPO, tmp_path / "tree", symlinks=True,
                    ignore=shutil.ignore_patterns("build", ".git", "corpus", "recordings"))
    return tmp_path / "tree"


def make(tree, *targets):
    done = subprocess.run(["make", *targets], cwd=tree, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_source_may_move(tree):
    """Its dependency file still names the old place."""
    make(tree, TARGET)
    (tree / "lab/elsewhere").mkdir()
    (tree / "lab/runs/flow.c").rename(tree / "lab/elsewhere/sender.c")
    rules = tree / "tests/tests.mk"
    rules.write_text(rules.read_text().replace("lab/runs/flow.c", "lab/elsewhere/sender.c"))
    assert "lab/elsewhere/sender.c" in make(tree, TARGET)
    assert "up to date" in make(tree, TARGET)


def test_a_header_may_be_deleted(tree):
    header = tree / "lab/runs/one.h"
    header.write_text("")
    source = tree / "lab/runs/flow.c"
    before = source.read_text()
    source.write_text('#include "one.h"\n' + before)
    make(tree, TARGET)
    source.write_text(before)
    header.unlink()
    make(tree, TARGET)
    assert "up to date" in make(tree, TARGET)


def test_packages_of_a_group_that_does_not_exist_are_refused():
    done = subprocess.run([REPO / "scripts/deps", "build", "tset"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and not done.stdout
    assert "there is no group 'tset', only:" in done.stderr and "test" in done.stderr
