# SPDX-License-Identifier: GPL-2.0-only
"""The tests notice every mistake of the lists, and mutate.py reports a mistake that they do not notice."""
import json
import pathlib
import subprocess
import sys

import pytest

import branches
import mutants

HERE = pathlib.Path(__file__).resolve().parent
AT_LEAST = 632
BBR3_LIST, BBR3_AT_LEAST = HERE / "bbr3.txt", 1147
PLACE = "@ bpf/bbr/minmax.h minmax_running_max\n"
NOTICED = PLACE + "an equal sample is a new maximum\n- v >= m->s[0].v\n+ v > m->s[0].v\n"
HARMLESS = PLACE + "nothing is broken\n- v >= m->s[0].v\n+ !(v < m->s[0].v)\n"


def mutate(*arguments):
    return subprocess.run([sys.executable, HERE / "mutate.py", "--json", *arguments], capture_output=True,
                          text=True, timeout=1800, check=False)


@pytest.fixture
def mutate_list(tmp_path):
    def of(text):
        path = tmp_path / "mutants.txt"
        path.write_text(text)
        return mutate("--quick", "--list", path)
    return of


def test_every_mutant_is_noticed():
    result = mutate("--quick")
    assert result.returncode in (0, 1), result.stderr
    found = json.loads(result.stdout)
    assert not found["survivors"], "nobody noticed:\n" + "\n".join(found["survivors"])
    assert found["mutants"] == len(found["results"]) == len(mutants.load()) >= AT_LEAST


def test_every_mutant_of_bbr3_is_noticed():
    result = mutate("--quick", "--list", str(BBR3_LIST))
    assert result.returncode in (0, 1), result.stderr
    found = json.loads(result.stdout)
    assert not found["survivors"], "nobody noticed:\n" + "\n".join(found["survivors"])
    assert found["mutants"] == len(found["results"]) >= BBR3_AT_LEAST


@pytest.mark.parametrize("algorithm, path, decide_nothing", [
    (branches.BBR, mutants.LIST, {"bpf/socket.h"}),
    (branches.BBR3, BBR3_LIST, {"bpf/bbr3/event.h"}),
], ids=["bbr", "bbr3"])
def test_every_file_of_the_algorithm_has_mutants(algorithm, path, decide_nothing):
    files = {mutant.file for mutant in mutants.load(path)}
    headers = {str(path.relative_to(mutants.REPO)) for path in algorithm.headers}
    assert headers - files == decide_nothing


def test_who_noticed_is_reported(mutate_list):
    result = mutate_list(NOTICED)
    assert result.returncode == 0, result.stderr
    unit = json.loads(result.stdout)["results"][0]["unit"]
    assert (unit["program"], unit["tests"]) == ("test_minmax", ["an_equal_maximum_is_a_new_one"])


def test_a_survivor_is_reported(mutate_list):
    result = mutate_list(NOTICED + HARMLESS)
    assert result.returncode == 1, result.stderr
    assert json.loads(result.stdout)["survivors"] == ["minmax_running_max: nothing is broken"]
    assert "nobody noticed: minmax_running_max: nothing is broken" in result.stderr


def test_a_mutant_without_an_end_is_noticed(mutate_list):
    result = mutate_list(PLACE + "it comes to an end\n- u32 age;\n+ u32 age; while (win) ;\n")
    assert result.returncode == 0, result.stderr
    unit = json.loads(result.stdout)["results"][0]["unit"]
    assert unit["endless"] and len(unit["tests"]) == 1


@pytest.mark.parametrize("text, complaint", [
    (PLACE + "it is there\n- v >= m->s[7].v\n", "occurs 0 times"),
    (PLACE + "it is there once\n- m->s[2] = m->s[1] = sample;\n", "occurs 2 times"),
    ("@ bpf/bbr/minmax.h no_such_function\nit is there\n- v\n", "no_such_function() occurs 0 times"),
    (PLACE + "it compiles\n- v >= m->s[0].v\n+ v >= nothing\n", "does not compile"),
    (NOTICED + NOTICED, "listed twice"),
    (PLACE + "it changes something\n", "has no line with -"),
    ("it is somewhere\n- v\n", "belongs to no file"),
    (PLACE + "- v\n", "belongs to no rule"),
])
def test_a_mistake_of_the_list_is_no_catch(mutate_list, text, complaint):
    result = mutate_list(text)
    assert (result.returncode, result.stdout) == (2, "")
    assert complaint in result.stderr
