#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_deb.py SOURCES: builds the Debian packages of a folder with debian/ twice, in other circumstances, and compares them;
lintian; installs, tries and purges them in roots of Debian 12 and 13."""
import filecmp
import pathlib
import sys
import tempfile

import roots

HERE = pathlib.Path(__file__).parent
# Where the packages are built, and with what: nothing of it may be in them.
BUILDS = {
    "/root": {"umask": "022", "env": {"TZ": "UTC", "LC_ALL": "C.UTF-8"}},
    "/srv/some/where/else": {"umask": "002", "env": {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "DEB_BUILD_OPTIONS": "parallel=2"}},
}


def build(sources, where, umask, env, to):
    """The packages, in a folder of this machine."""
    with roots.unpacked_to_build() as root:
        (root.path / where.lstrip("/")).mkdir(parents=True, exist_ok=True)
        root.copy(sources, where.lstrip("/"))
        root("sh", "-euc", f"umask {umask}; cd {where}/{sources.name}; exec dpkg-buildpackage -b -uc", what="dpkg-buildpackage",
             env=env)
        for made in (root.path / where.lstrip("/")).iterdir():
            if made.is_file():
                (to / made.name).write_bytes(made.read_bytes())


def main():
    sources = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for where, how in BUILDS.items():
            made.append(pathlib.Path(folder) / str(len(made)))
            made[-1].mkdir()
            build(sources, where, to=made[-1], **how)
            print(f"check-deb: built in {where}", flush=True)
        names = sorted(path.name for path in made[0].glob("*.deb"))
        assert {name.split("_")[0] for name in names} == {"bbrmon", "bbrmon-dbgsym", "bpf-bbr", "bpf-bbr-dbgsym"}, names
        for name in names:
            if not filecmp.cmp(made[0] / name, made[1] / name, shallow=False):
                raise SystemExit(f"check-deb: the two builds of {name} differ")
            (made[0] / name).replace(sources.parent / name)
        print("check-deb: both builds are equal", *names, flush=True)

        packages = [sources.parent / name for name in names if "dbgsym" not in name]
        print(roots.run(["lintian", "--fail-on", "error,warning", "--info", *packages], "lintian"), "check-deb: lintian is content",
              flush=True)

        texts = [roots.run(["dpkg-deb", "-f", package]) for package in packages]
        needed = {name for text in texts for name in roots.dependencies(text, "Depends")}
        print("check-deb: needs", *sorted(needed))
        assert {"libbpf1", "libmicrohttpd12", "libcap2"} <= needed
        for suite in "bookworm", "trixie":
            with roots.unpacked(suite, *needed) as root:
                for package in packages:
                    root.copy(package)
                root.copy(HERE / "debian_packages.sh")
                print(root("/root/debian_packages.sh", "/root", what=f"the packages in {suite}"), f"check-deb: {suite} done",
                      flush=True)


main()
