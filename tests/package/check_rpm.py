#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_rpm.py FOLDER: builds the rpm packages of a folder with a spec twice, in different circumstances, and compares them; runs
rpmlint; checks what they need and contain. Debian's rpmbuild makes them, with Debian's names of libraries: this proves the spec
and the packages' shape, not that they build with the macros and packages of an rpm distribution, nor that they run there."""
import pathlib
import sys

import roots

HERE = pathlib.Path(__file__).parent
NEEDS = {
    "bpf-bbr": {"libbpf.so.1", "libcap.so.2", "libnghttp2.so.14"},
    "bbrmon": {"libbpf.so.1", "libmicrohttpd.so.12", "libncursesw.so.6", "libgnutls.so.30", "libyaml-0.so.2"},
}
CONTAINS = {
    "bpf-bbr": {"/usr/sbin/bbrctl", "/usr/lib/bpf-bbr/bpf_bbr.bpf.o", "/usr/lib/systemd/system/bpf-bbr.service",
                "/usr/share/man/man7/bpf_bbr.7",
                "/usr/share/man/man7/bpf_bbr3.7", "/etc/bpf-bbr/bpf-bbr.conf"},
    "bbrmon": {"/usr/sbin/bbrmon", "/usr/lib/systemd/system/bbrmon-export.service",
               "/usr/share/bpf-bbr/grafana-dashboard.json", "/usr/share/man/man8/bbrmon.8"},
}


def main():
    sources = pathlib.Path(sys.argv[1]).resolve()
    # rpm's own database is empty here, and has none of Debian's packages.
    made = roots.build_twice("check-rpm", sources, "rpmbuild -bb --nodeps --define \"_topdir $(pwd)\" "
                             "--define \"_sourcedir $(pwd)\" bpf-bbr.spec", "*.rpm", sources)
    assert len(made) == 2, made
    for package in CONTAINS:
        path = next(path for path in made if path.name.startswith(f"{package}-"))
        needs = {line.split("(")[0] for line in roots.run(["rpm", "-qp", "--requires", path]).splitlines()}
        assert NEEDS[package] <= needs, f"{package} needs {needs}"
        # Distributions of rpms compress manuals; Debian's rpmbuild does not.
        contains = {line.removesuffix(".gz") for line in roots.run(["rpm", "-qp", "--list", path]).splitlines()}
        assert CONTAINS[package] <= contains, f"{package} contains {contains}"
        print(f"check-rpm: {package} needs", *sorted(needs), flush=True)
    said = roots.run(["rpmlint", "--config", HERE.parents[1] / "packaging/rpm/rpmlint.toml", sources / "bpf-bbr.spec",
                      *made], "rpmlint")
    if "0 errors, 0 warnings" not in said:
        raise SystemExit(f"check-rpm: {said}")
    print(said, "check-rpm: done")


main()
