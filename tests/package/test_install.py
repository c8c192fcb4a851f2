# SPDX-License-Identifier: GPL-2.0-only
"""What packagers rely on: `make install` and `make uninstall`, the version, their flags, and no trace of the build's folder."""
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = "bbrctl", "bbrmon"
FORTIFY = "-D_FORTIFY_SOURCE=2"


def make(*arguments, **variables):
    command = ["make", "-s", "-C", ROOT, *arguments, *(f"{key}={value}" for key, value in variables.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    make("install", DESTDIR=folder, PREFIX="/usr")
    return folder


def test_everything_is_installed(installed):
    found = files(installed)
    assert found >= {f"usr/sbin/{program}" for program in PROGRAMS} | {
        "usr/lib/bpf-bbr/bpf_bbr.bpf.o", "usr/lib/bpf-bbr/bpf_bbr3.bpf.o", "usr/share/man/man8/bbrctl.8",
        "usr/share/man/man8/bbrmon.8", "usr/share/man/man7/bpf_bbr.7", "usr/share/bpf-bbr/grafana-dashboard.json",
        "usr/share/doc/bpf-bbr/LICENSE", "usr/share/doc/bpf-bbr/tuning.md"}
    assert all(file.startswith(("usr/", "etc/bpf-bbr/")) for file in found)
    for file in found:
        assert (installed / file).stat().st_mode & 0o777 == (0o755 if "/sbin/" in file else 0o644), file
    assert (installed / "var/lib/bpf-bbr").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("package", ["bpf-bbr", "bbrmon"])
def test_no_link_is_dead(installed, package):
    """Of the documents of a package each link goes to another of them, and to a heading that it has."""
    folder = ROOT / "build/doc" / package
    documents = {path.name: path.read_text() for path in folder.glob("*.md")}
    if package == "bpf-bbr":
        assert documents == {path.name: path.read_text() for path in (installed / "usr/share/doc/bpf-bbr").glob("*.md")}
    anchors = {name: {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)", text, re.M)}
               for name, text in documents.items()}
    links = [(name, target) for name, text in documents.items() for target in re.findall(r"\]\(([^()]*)\)", text)
             if not re.match(r"https?:", target)]
    assert len(links) > 10
    for name, target in links:
        to, _, anchor = target.partition("#")
        assert (folder / (to or name)).is_file(), (name, target)
        assert not anchor or anchor in anchors[to or name], (name, target)
    for path in folder.glob("*.md"):  # the words are those of the sources
        source = ROOT / path.name if (ROOT / path.name).is_file() else ROOT / "docs" / path.name
        assert len(path.read_text()) > 0.97 * len(source.read_text()) - 100


def test_folders_can_be_chosen(installed, tmp_path):
    make("install", DESTDIR=tmp_path, PREFIX="/opt/x", sbindir="/opt/bin", mandir="/opt/man", sysconfdir="/opt/etc")
    moved = {"usr/sbin/": "opt/bin/", "usr/share/man/": "opt/man/", "etc/": "opt/etc/", "usr/": "opt/x/"}
    expected = {next(new + file[len(old):] for old, new in moved.items() if file.startswith(old))
                for file in files(installed)}
    assert files(tmp_path) == expected
    for unit in tmp_path.rglob("*.service"):
        assert "/usr/local/" not in unit.read_text()


def test_uninstall_removes_what_was_installed_and_nothing_else(tmp_path):
    foreign = [tmp_path / "usr" / name for name in ("sbin/other", "lib/bpf-bbr/kept", "share/man/man8/other.8")]
    for path in foreign:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not ours")
    make("install", DESTDIR=tmp_path, PREFIX="/usr")
    assert len(files(tmp_path)) > 20
    (tmp_path / "var/lib/bpf-bbr/undo").write_text("what apply --undo needs")
    make("uninstall", DESTDIR=tmp_path, PREFIX="/usr")
    assert files(tmp_path) == {path.relative_to(tmp_path).as_posix() for path in foreign}
    assert not (tmp_path / "usr/share/doc/bpf-bbr").exists() and not (tmp_path / "usr/share/bpf-bbr").exists()
    assert not (tmp_path / "var/lib/bpf-bbr").exists()


@pytest.mark.parametrize("changed", [False, True])
def test_what_the_administrator_changed_stays(tmp_path, changed):
    entry = {"DESTDIR": tmp_path, "CONFIGURATION": "/etc/bpf-bbr:docs/metrics.md"}
    file = tmp_path / "etc/bpf-bbr/metrics.md"
    make("install", **entry)
    shipped = file.read_text()
    if changed:
        file.write_text("mine")
    make("install", **entry)
    assert file.read_text() == ("mine" if changed else shipped)
    make("uninstall", **entry)
    assert file.exists() == changed


def test_one_version():
    version = re.search(r'define BBR_VERSION "(\d+\.\d+\.\d+)"', (ROOT / "include/bpf_bbr/abi.h").read_text())[1]
    for program in PROGRAMS:
        said = subprocess.run([ROOT / "build" / program, "--version"], capture_output=True, text=True, timeout=30)
        assert said.stdout == f"{program} {version}\n"
    assert re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] == version


@pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])
def test_the_manual_has_every_parameter(installed, algorithm):
    page = (installed / f"usr/share/man/man7/bpf_{algorithm}.7").read_text()
    shown = subprocess.run([ROOT / "build/bbrctl", "show", "--defaults", "--algorithm", algorithm], capture_output=True,
                           text=True, timeout=30)
    rows = [re.split(r"  +", line.strip()) for line in shown.stdout.splitlines()[1:]]
    assert len(rows) > 40
    for key, _, default, limits, unit, meaning in rows:
        named = f"{unit}, " if default[-1].isdigit() else ""
        assert f'.TP\n.BR {key} " ({named}default {default}, {limits})"\n{meaning}\n' in page


def test_no_file_tells_where_it_was_built(installed):
    where = str(ROOT).encode()
    assert not [file for file in files(installed) if where in (installed / file).read_bytes()]


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, text=True, check=True).stdout


def test_libraries_are_linked():
    """This lets package tools find them."""
    needed = re.findall(r"NEEDED.*\[(\S+)\.so", readelf("-d", ROOT / "build/bbrmon"))
    assert {"libbpf", "libmicrohttpd", "libncursesw", "libcap", "libgnutls", "libyaml-0", "libcrypt"} <= set(needed)
    assert "dlopen" not in readelf("--dyn-syms", ROOT / "build/bbrmon")


# `make check-static` builds the static ones, and then runs this.
BUILT = [f"{folder}{program}" for folder in ("", "static/") for program in PROGRAMS if not folder or (ROOT / "build/static" / program).exists()]


@pytest.mark.parametrize("program", BUILT)
def test_programs_are_hard_to_exploit(program):
    path = ROOT / "build" / program
    read = readelf("-hldn", path)
    assert "DYN (Position-Independent Executable file)" in read
    assert "GNU_RELRO" in read and re.search(r"\(FLAGS_1\) .*\bNOW\b.*\bPIE\b", read)
    assert re.search(r"GNU_STACK .* RW +0x", read) and " RWE " not in read
    assert ("INTERP" in read) != program.startswith("static/")
    called = set(re.findall(r"__\w+_(?:chk|chk_fail)\b", readelf("-s", path)))
    assert {"__stack_chk_fail", "__printf_chk", "__snprintf_chk"} <= called, called


def test_every_object_of_a_program_is_hard_to_exploit():
    """One without the mark takes it from the program. A compiler without these flags makes none."""
    if "-fcf-protection" not in (ROOT / "build/hardening").read_text().split():
        pytest.skip("the compiler does not have -fcf-protection")
    objects = [path for folder in ("experiment", "lib", "loader", "tools") for path in (ROOT / "build/obj" / folder).rglob("*.o")]
    for read in re.split(r"^File: ", readelf("-n", *objects), flags=re.M)[1:]:
        assert "x86 feature: IBT, SHSTK" in read, read
    assert len(objects) > 100


@pytest.mark.parametrize("variables, has, lacks", [
    ({}, ["-std=gnu11", "-O2"], ["-Werror"]),
    ({"WERROR": 1}, ["-std=gnu11", "-O2", "-Werror"], []),
    ({"CFLAGS": "-O1", "CPPFLAGS": "-DX"}, ["-std=gnu11", "-Iinclude", "-O1", "-DX", FORTIFY], ["-Werror", "-O2"]),
    ({"CFLAGS": "-O2 -D_FORTIFY_SOURCE=3"}, ["-D_FORTIFY_SOURCE=3"], [FORTIFY]),
    ({"CPPFLAGS": "-Wp,-D_FORTIFY_SOURCE=3"}, ["-Wp,-D_FORTIFY_SOURCE=3"], [FORTIFY]),
    ({"CFLAGS": "-g"}, ["-g"], [FORTIFY]),  # it needs the optimizer
    ({"CFLAGS": "-O0"}, ["-O0"], [FORTIFY]),
])
def test_flags_of_the_packager(variables, has, lacks):
    command = make("-n", "-W", "loader/main.c", "build/obj/loader/main.o", **variables).split()
    assert not set(has) - set(command) and not set(lacks) & set(command)


def test_flags_of_the_user_win():
    command = make("-n", "-W", "loader/main.c", "build/obj/loader/main.o", CFLAGS="-O2 -fno-stack-protector").split()
    assert command.index("-fno-stack-protector") > command.index("-fstack-protector-strong")


@pytest.mark.parametrize("kind, first", [("deb", r"bpf-bbr \((\S+)-1\) unstable; urgency=medium\n"),
                                         ("rpm", r"\* \w{3} \w{3} \d\d \d{4} a <b> - (\S+)-1\n")])
def test_packages_have_a_version(kind, first):
    """The newest in CHANGELOG.md that has one, also while that begins with what is unreleased."""
    written = subprocess.run([ROOT / "packaging/changelog", kind, "a <b>"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert re.match(first, written)[1] == newest and "Unreleased" not in written
