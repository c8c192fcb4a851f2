#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_rpm.py FOLDER: builds the rpm packages of a folder with a spec twice, in other circumstances, and compares them; rpmlint;
what they need and contain. Debian's rpmbuild makes them, with Debian's names of libraries: it proves the spec and the packages'
shape, not that they build with the macros and the packages of a distribution of rpms, nor that they run there."""
import filecmp
import pathlib
import sys
import tempfile

import roots

HERE = pathlib.Path(__file__).parent
BUILDS = {
    "/root": {"umask": "022", "env": {"TZ": "UTC", "LC_ALL": "C.UTF-8"}},
    "/srv/some/where/else": {"umask": "002", "env": {"TZ": "Pacific/Kiritimati", "LC_ALL": "C"}},
}
NEEDS = {
    "bpf-bbr": {"libbpf.so.1", "libcap.so.2"},
    "bbrmon": {"libbpf.so.1", "libmicrohttpd.so.12", "libncursesw.so.6"},
}
CONTAINS = {
    "bpf-bbr": {"/usr/sbin/bbrctl", "/usr/lib/bpf-bbr/bpf_bbr.bpf.o", "/usr/lib/systemd/system/bpf-bbr.service",
                "/usr/share/man/man7/bpf_bbr.7",
                "/usr/share/man/man7/bpf_bbr3.7", "/etc/bpf-bbr/bpf-bbr.conf"},
    "bbrmon": {"/usr/sbin/bbrmon", "/usr/lib/systemd/system/bbrmon-export.service",
               "/usr/share/bpf-bbr/grafana-dashboard.json", "/usr/share/man/man8/bbrmon.8"},
}


def build(sources, where, umask, env, to):
    """The packages, in a folder of this machine."""
    with roots.unpacked_to_build() as root:
        (root.path / where.lstrip("/")).mkdir(parents=True, exist_ok=True)
        root.copy(sources, where.lstrip("/"))
        # rpm's own database is empty here, and knows none of Debian's packages.
        root("sh", "-euc", f"umask {umask}; cd {where}/{sources.name}; exec rpmbuild -bb --nodeps "
             "--define \"_topdir $(pwd)\" --define \"_sourcedir $(pwd)\" bpf-bbr.spec", what="rpmbuild", env=env)
        for made in (root.path / where.lstrip("/") / sources.name / "RPMS").rglob("*.rpm"):
            (to / made.name).write_bytes(made.read_bytes())


def main():
    sources = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for where, how in BUILDS.items():
            made.append(pathlib.Path(folder) / str(len(made)))
            made[-1].mkdir()
            build(sources, where, to=made[-1], **how)
            print(f"check-rpm: built in {where}", flush=True)
        names = sorted(path.name for path in made[0].glob("*.rpm"))
        assert len(names) == 2, names
        for name in names:
            if not filecmp.cmp(made[0] / name, made[1] / name, shallow=False):
                raise SystemExit(f"check-rpm: the two builds of {name} differ")
            (sources / name).write_bytes((made[0] / name).read_bytes())
        print("check-rpm: both builds are equal", *names, flush=True)
        for package in CONTAINS:
            path = next(path for path in made[0].glob(f"{package}-*.rpm"))
            needs = {line.split("(")[0] for line in roots.run(["rpm", "-qp", "--requires", path]).splitlines()}
            assert NEEDS[package] <= needs, f"{package} needs {needs}"
            # Distributions of rpms compress manuals; Debian's rpmbuild does not.
            contains = {line.removesuffix(".gz") for line in roots.run(["rpm", "-qp", "--list", path]).splitlines()}
            assert CONTAINS[package] <= contains, f"{package} contains {contains}"
            print(f"check-rpm: {package} needs", *sorted(needs), flush=True)
        said = roots.run(["rpmlint", "--config", HERE.parents[1] / "packaging/rpm/rpmlint.toml", sources / "bpf-bbr.spec",
                          *made[0].glob("*.rpm")], "rpmlint")
        if "0 errors, 0 warnings" not in said:
            raise SystemExit(f"check-rpm: {said}")
        print(said, "check-rpm: done")


main()
