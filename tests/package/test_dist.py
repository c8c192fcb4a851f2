# SPDX-License-Identifier: GPL-2.0-only
"""The tarball, the lists of the programs' components, and the signature."""
import hashlib
import json
import pathlib
import re
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make(folder, *arguments, **variables):
    command = ["make", "-s", *arguments, *(f"{key}={value}" for key, value in variables.items())]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def dist(folder, to, target="dist", **variables):
    done = make(folder, target, DIST=to, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(to.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    return dist(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git is to be compared with")
def test_a_tarball_has_all_sources_and_nothing_else(tarball):
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    with tarfile.open(tarball) as archive:
        members = archive.getmembers()
    name = tarball.name.removesuffix(".tar.gz")
    assert {m.name for m in members} == {f"{name}/{file}" for file in known if file}
    assert len({m.mtime for m in members}) == 1 and {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "", "")}
    assert {m.mode & 0o022 for m in members} == {0}


def test_without_git_the_same_bytes(tarball, tmp_path):
    """The unpacked sources make the same tarball, whatever their times and modes."""
    subprocess.run(["tar", "-C", tmp_path, "-xf", tarball, "--touch"], check=True, timeout=60)
    unpacked = next(tmp_path.iterdir())
    subprocess.run(["chmod", "-R", "g+w,o-r", unpacked], check=True)
    (unpacked / "build").mkdir()
    (unpacked / "build/left").touch()
    again = dist(unpacked, tmp_path / "again")
    assert again.read_bytes() == tarball.read_bytes()
    wanted = make(unpacked, "-n", "all")
    assert wanted.returncode == 0 and "git" not in wanted.stderr, wanted.stderr


def test_what_the_programs_are_made_of(tmp_path):
    tarball = dist(ROOT, tmp_path, "sbom")
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    stem = str(tarball).removesuffix(".tar.gz")
    texts = [pathlib.Path(f"{stem}.{kind}.json").read_text() for kind in ("spdx", "cdx")]
    spdx, cyclonedx = map(json.loads, texts)
    assert spdx["spdxVersion"] == "SPDX-2.3" and cyclonedx["bomFormat"] == "CycloneDX"
    own, *parts = spdx["packages"]
    assert own["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest}]
    assert cyclonedx["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    listed = {(p["name"], p["versionInfo"], p["licenseDeclared"]) for p in parts}
    assert listed == {(c["name"], c["version"], c["licenses"][0]["expression"]) for c in cyclonedx["components"]}
    identifiers = {p["SPDXID"] for p in spdx["packages"]} | {"SPDXRef-DOCUMENT"}
    assert all(r["spdxElementId"] in identifiers and r["relatedSpdxElement"] in identifiers for r in spdx["relationships"])
    # Every library that the programs are linked with is listed.
    families = {"ncursesw": "ncurses", "tinfo": "ncurses", "z": "zlib", "c": "glibc", "m": "glibc", "cap": "libcap",
                "bpf": "libbpf", "nghttp2": "nghttp2", "elf": "libelf", "microhttpd": "libmicrohttpd", "yaml-0": "libyaml", "crypt": "libxcrypt"}
    linked = subprocess.run(["readelf", "-d", ROOT / "build/bbrctl", ROOT / "build/bbrmon"], capture_output=True, text=True,
                            check=True).stdout
    linked = {families.get(name, name) for name in re.findall(r"NEEDED.*\[lib(.+?)\.so", linked)}
    assert len(linked) > 5 and linked <= {name for name, *_ in listed}
    dist(ROOT, tmp_path, "sbom")
    assert [pathlib.Path(f"{stem}.{kind}.json").read_text() for kind in ("spdx", "cdx")] == texts


def test_a_release_is_signed(tmp_path):
    key, to = tmp_path / "key", tmp_path / "dist"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "somebody", "-f", key], check=True, timeout=60)
    assert make(ROOT, "release", DIST=to).returncode != 0
    dist(ROOT, to, "release", SIGNING_KEY=key)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"releases@bpf-bbr {key.with_suffix('.pub').read_text()}")
    sums = to / "SHA256SUMS"

    def verify():
        with open(sums, "rb") as text:
            return subprocess.run(["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "releases@bpf-bbr", "-n", "bpf-bbr", "-s",
                                   f"{sums}.sig"], stdin=text, capture_output=True, timeout=60).returncode
    assert verify() == 0
    assert subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=to, capture_output=True, timeout=60).returncode == 0
    assert len(sums.read_text().splitlines()) == 3
    sums.write_text(sums.read_text().replace("0", "1"))
    assert verify() != 0
