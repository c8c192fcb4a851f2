# SPDX-License-Identifier: GPL-2.0-only
"""The rooms of the code, as docs/internals.md lists them: arrows go one way, and no folder has too many files."""
import collections
import concurrent.futures
import graphlib
import pathlib
import re
import subprocess

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
MOST_FILES = 20
INCLUDING = (".c", ".h", ".inc", ".S")
SOURCES = (".c", ".h", ".inc", ".S", ".py", ".sh")
TOOLS = ["event", "filter", "watch", "layout", "recording", "conns", "stream", "sockets", "snapshot", "why", "top", "report", "export"]
PLACES = ["lib", "loader", "tools", "bpf", "experiment"]
SEARCHED = [".", "include", "lib", "loader", "tools", "bpf"]  # in the order of the Makefile's -I options
# The build determines which file each of these is.
OF_THE_BUILD = {"algorithm.h", "bbr.h", "params.h", "kernel_bbr.bpf.h", "algorithms.h", "netns.lskel.h", "why.lskel.h", "uses.lskel.h", "snapshot_programs.h",
                "carried.inc", "probes.inc"}

CLANG = subprocess.run([REPO / "scripts/find-clang", "clang"], capture_output=True, text=True, check=True).stdout.strip()
SYSTEM = "-isystem/usr/include/" + subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True,
                                                  check=True).stdout.strip()  # where Debian keeps asm/

LAB = ["vm", "runs", "claims", "report", "studies", "cost"]


def folders(of):
    return [folder for folder in (REPO / of).iterdir() if folder.is_dir()]


def included(folder):
    """The rooms of tools/ from which the files of a folder include headers."""
    for source in folder.glob("*.[ch]"):
        yield from re.findall(r'^#include "([a-z]+)/[^"]*"', source.read_text(), re.M)


def names_included(source):
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', source.read_text(), re.M)


def file_included(source, name, root):
    """The file that a source includes by a name; None if only the build can tell."""
    found = [path for path in (folder / name for folder in [source.parent, *(root / place for place in SEARCHED)])
             if path.is_file()]
    assert found or name in OF_THE_BUILD, f"{source} includes {name}, which is nowhere"
    return found[0].resolve() if found else None


def arrows(places, root=REPO):
    """For each room of the places the other rooms of them that its files include. A place's own files are a room, too."""
    rooms = {}
    for source, found in files(places, root).items():
        room = str(pathlib.Path(source).parent)
        others = {str(pathlib.Path(file).parent) for file in found if file.split("/")[0] in places} - {room}
        if others:
            rooms.setdefault(room, set()).update(others)
    return rooms


def circle(graph):
    """The rooms, or files, of a circle: each includes the next one, and the first one is also the last. Empty if there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return []


def files(places, root=REPO):
    """For each source of the places the files that it includes."""
    return {str(source.relative_to(root)):
            {str(file.relative_to(root)) for file in [file_included(source, name, root) for name in names_included(source)]
             if file}
            for place in places for source in (root / place).rglob("*") if source.suffix in INCLUDING}


def test_no_room_is_part_of_a_circle():
    """Not even through rooms of other places."""
    graph = arrows(PLACES)
    assert {room.split("/")[0] for room in graph} == set(PLACES), "was anything read?"
    assert not circle(graph), " includes ".join(circle(graph))


def test_a_circle_is_found(tmp_path):
    """Checks the check: a circle through three rooms, one of them the place's own files."""
    texts = {"main.c": '#include "one/a.h"\n', "main.h": "", "one/a.h": '#include "two/b.h"\n', "two/b.h": "",
             "two/b.c": '#include "b.h"\n'}
    for file, text in texts.items():
        path = tmp_path / "loader" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert not circle(arrows(["loader"], tmp_path))
    (tmp_path / "loader/two/b.h").write_text('#  include "main.h"\n')
    graph = arrows(["loader"], tmp_path)
    found = circle(graph)
    assert found[0] == found[-1] and set(found) == {"loader", "loader/one", "loader/two"}
    assert all(after in graph[before] for before, after in zip(found, found[1:]))


def algorithm_words():
    """What only an algorithm may name: itself and its parameters. A key without "_" may be any word."""
    folders_of = [path.parent for path in (REPO / "bpf").glob("*/params.h")]
    keys = {key for folder in folders_of for key in re.findall(r"^\s*[CO]\((\w+),", (folder / "params.h").read_text(), re.M)}
    return {folder.name for folder in folders_of} | {key for key in keys if "_" in key}


def knows_an_algorithm(roof, root=REPO):
    """Where the files below a folder include a header of an algorithm, or name one or its parameters."""
    words = re.compile(rf"(?<![-\w])(?:{'|'.join(sorted(algorithm_words()))}|bbr-?v[1-9])(?!\w)", re.I)
    of_algorithms = [(root / "bpf" / name).resolve() for name in algorithm_words() if (root / "bpf" / name).is_dir()]
    found = []
    for source in sorted(path for path in (root / roof).rglob("*") if path.is_file()):
        included_ = [file_included(source, name, root) for name in names_included(source)] if source.suffix in INCLUDING else []
        found += [(source.name, str(file.name)) for file in included_ if file and file.parent in of_algorithms]
        found += [(source.name, word) for word in words.findall(source.read_text())]
    return found


def test_experiments_know_no_algorithm():
    assert len(algorithm_words()) > 60 and len(list((REPO / "experiment").rglob("*.c"))) > 15, "was anything read?"
    assert not knows_an_algorithm("experiment")


def test_a_roof_that_knows_an_algorithm_is_found(tmp_path):
    """Checks the check: by a header, by a name, by a parameter; the project's own name is none."""
    for file, text in {"bpf/bbr/a.h": "", "experiment/a.h": "/* bpf-bbr, bbrctl, bpf_bbr */\n"}.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    assert not knows_an_algorithm("experiment", tmp_path)
    (tmp_path / "experiment/b.c").write_text('#include "bbr/a.h"\n/* BBR, BBRv3, cwnd_gain */\n')
    assert [word for _, word in knows_an_algorithm("experiment", tmp_path)] == ["a.h", "bbr", "BBR", "BBRv3", "cwnd_gain"]


def test_no_file_is_part_of_a_circle():
    graph = files(PLACES)
    assert len(graph) > 200 and sum(map(len, graph.values())) > 500, "was anything read?"
    assert not circle(graph), " includes ".join(circle(graph))


def test_a_circle_of_files_is_found(tmp_path):
    """Checks the check: two files of one room that include each other, one of them with a folder in the name."""
    room = tmp_path / "bpf/one"
    room.mkdir(parents=True)
    (room / "a.h").write_text('#include "b.h"\n')
    (room / "b.h").write_text("")
    assert not circle(files(["bpf"], tmp_path))
    (room / "b.h").write_text('#ifdef X\n# include "one/a.h"\n#endif\n')
    found = circle(files(["bpf"], tmp_path))
    assert found[0] == found[-1] and set(found) == {"bpf/one/a.h", "bpf/one/b.h"}


def compile_alone(compiler, headers, *options):
    """What a compiler says of headers, each on its own. A static function may be declared before the shell defines it."""
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-parameter"]
    done = subprocess.run([*compiler, *warnings, "-Iinclude", "-Ibpf", *options, "-fsyntax-only", "-x", "c", *headers],
                          capture_output=True, text=True, check=False, cwd=REPO)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])
def test_every_header_of_bpf_stands_on_its_own(algorithm):
    """Nothing has to be included before it, whichever algorithm it is compiled for."""
    headers = [path for place in ("base", "common", algorithm, ".") for path in sorted((REPO / "bpf" / place).glob("*.h"))]
    native = [path for path in headers if not path.name.endswith(".bpf.h")]
    assert len(native) > 20 and len(headers) > len(native) + 10
    own = f"-Ibpf/{algorithm}"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        said = pool.map(lambda some: compile_alone([CLANG, "-target", "bpf", "-mcpu=v3", "-I."], some, own, SYSTEM,
                                                   "-Wno-undefined-internal"), [headers[::2], headers[1::2]])
        assert not "".join(said)
    assert not compile_alone(["gcc", "-std=gnu11"], native, own)


def test_a_header_that_needs_another_is_found(tmp_path):
    """Checks the check, natively and as BPF."""
    (tmp_path / "a.h").write_text('#include "base/types.h"\nstruct a { u32 a; };\n')
    (tmp_path / "b.h").write_text("struct b { u32 b; };\n")
    for compiler in ["gcc", "-std=gnu11"], [CLANG, "-target", "bpf", "-I.", SYSTEM]:
        assert not compile_alone(compiler, [tmp_path / "a.h"])
        assert "u32" in compile_alone(compiler, [tmp_path / "a.h", tmp_path / "b.h"])


def rooms_listed(place):
    """The rooms of a place in the list of docs/internals.md."""
    listed = re.split(r"\n    \S|\n\n", (REPO / "docs/internals.md").read_text().split(f"    {place}/  ")[1])[0]
    return " ".join(re.findall(r"^      ([a-z0-9 ]+?)/?(?:  |$)", listed, re.M)).split()


def test_every_room_of_the_tools_has_its_place():
    assert rooms_listed("tools") == TOOLS


@pytest.mark.parametrize("place", ["lib", "loader", "tools", "bpf", "experiment"])
def test_every_room_is_listed(place):
    assert {folder.name for folder in folders(place)} == set(rooms_listed(place))


@pytest.mark.parametrize("room", TOOLS)
def test_arrows_go_up_the_list(room):
    below = TOOLS[TOOLS.index(room) + 1:]
    assert not set(included(REPO / "tools" / room)) & set(below)


def test_every_room_of_the_lab_has_its_place():
    listed = re.findall(r"^\| `([a-z]+)/` \|", (REPO / "lab/README.md").read_text(), re.M)
    assert listed == LAB
    assert {folder.name for folder in folders("lab") if any(folder.glob("*.py"))} == set(LAB)


@pytest.mark.parametrize("room", LAB)
def test_arrows_of_the_lab_go_up_the_list(room):
    below = LAB[LAB.index(room) + 1:]
    for source in (REPO / "lab" / room).glob("*.py"):
        assert not set(re.findall(r"^(?:from|import) ([a-z]+)", source.read_text(), re.M)) & set(below), source


def too_large(place, root=REPO):
    """The rooms of a place that have too many sources. The place's own files are a room, too."""
    rooms = collections.Counter(source.parent for source in (root / place).rglob("*") if source.suffix in SOURCES)
    assert rooms, f"no source in {place}"
    return {str(room.relative_to(root)): n for room, n in rooms.items() if n > MOST_FILES}


@pytest.mark.parametrize("place", [*PLACES, "lab", "tests/native"])
def test_no_folder_has_too_many_files(place):
    assert not too_large(place)


def test_a_large_folder_is_found(tmp_path):
    """Checks the check, in a room within a room: headers count, other files do not."""
    room = tmp_path / "tools/one/two"
    room.mkdir(parents=True)
    for i in range(MOST_FILES):
        (room / f"{i}{'.h' if i % 2 else '.c'}").touch()
        (room / f"{i}.ini").touch()
    assert not too_large("tools", tmp_path)
    (room / "one_more.h").touch()
    assert too_large("tools", tmp_path) == {"tools/one/two": MOST_FILES + 1}


def test_a_name_says_whose_it_is():
    """An algorithm's names start with bbr, what the shell gives it with shell_. The contract's defaults are an algorithm's."""
    definition = re.compile(r"^(?:static[^;=\n(]*?\b(\w+)\([^;]*?\)\n\{|(?:struct|enum) (\w+) \{)", re.M)
    wrong = []
    for path in [*(REPO / "bpf").rglob("*.[ch]"), *(REPO / "tests/toy").glob("*.[ch]")]:
        source, shell = str(path.relative_to(REPO)), path.parent.name == "bpf"
        if source in ("bpf/defaults.bpf.h", "bpf/common/arithmetic.h", "bpf/common/clamp.h"):
            continue  # the defaults; what the shell uses, too
        for names in definition.findall(path.read_text()):
            name = "".join(names)
            if shell and name.startswith("bbr_"):
                wrong.append(f"{source}: {name}")
            if path.parent.name in ("bbr", "bbr3", "common", "toy") and not re.match(r"(kernel_)?bbr(_|$)|minmax|toy_", name):
                wrong.append(f"{source}: {name}")
    assert not wrong
