# SPDX-License-Identifier: GPL-2.0-only
"""The rooms of the code, as docs/internals.md lists them: arrows go one way, and no room is too large to survey."""
import pathlib
import re

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
MOST_FILES = 20
TOOLS = ["event", "filter", "watch", "layout", "recording", "conns", "stream", "sockets", "top", "report", "experiment", "export"]


LAB = ["vm", "runs", "claims", "report", "studies", "cost"]


def folders(of):
    return [folder for folder in (REPO / of).iterdir() if folder.is_dir()]


def included(folder):
    """The rooms of tools/ from which the files of a folder include headers."""
    for source in folder.glob("*.[ch]"):
        yield from re.findall(r'^#include "([a-z]+)/[^"]*"', source.read_text(), re.M)


def test_every_room_of_the_tools_has_its_place():
    listed = (REPO / "docs/internals.md").read_text().split("    tools/  ")[1].split("\n\n")[0]
    first_words = re.findall(r"^      ([a-z ]+?)(?:  |$)", listed, re.M)
    assert " ".join(first_words).split() == TOOLS
    assert {folder.name for folder in folders("tools")} == set(TOOLS)


@pytest.mark.parametrize("room", TOOLS)
def test_arrows_go_up_the_list(room):
    below = TOOLS[TOOLS.index(room) + 1:]
    assert not set(included(REPO / "tools" / room)) & set(below)


def test_every_room_of_the_lab_has_its_place():
    listed = re.findall(r"^\| `([a-z]+)/` \|", (REPO / "docs/lab.md").read_text(), re.M)
    assert listed == LAB
    assert {folder.name for folder in folders("tests/lab") if any(folder.glob("*.py"))} == set(LAB)


@pytest.mark.parametrize("room", LAB)
def test_arrows_of_the_lab_go_up_the_list(room):
    below = LAB[LAB.index(room) + 1:]
    for source in (REPO / "tests/lab" / room).glob("*.py"):
        assert not set(re.findall(r"^(?:from|import) ([a-z]+)", source.read_text(), re.M)) & set(below), source


@pytest.mark.parametrize("place", ["lib", "loader", "tools", "bpf", "tests/lab", "tests/native"])
def test_a_room_can_be_overlooked(place):
    for folder in folders(place):
        files = [file for file in folder.iterdir() if file.suffix in (".c", ".h", ".py", ".sh")]
        assert len(files) <= MOST_FILES, folder
