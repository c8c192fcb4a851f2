#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_deb.py SOURCES: builds the Debian packages of a folder with debian/ twice, in different circumstances, and compares
them; runs lintian; installs, tries and purges them in roots of Debian 12 and 13."""
import pathlib
import sys

import roots

HERE = pathlib.Path(__file__).parent


def main():
    sources = pathlib.Path(sys.argv[1]).resolve()
    made = roots.build_twice("check-deb", sources, "dpkg-buildpackage -b -uc", "*.deb", sources.parent)
    names = {path.name.split("_")[0] for path in made}
    assert names == {"bbrmon", "bbrmon-dbgsym", "bpf-bbr", "bpf-bbr-dbgsym"}, names
    packages = [path for path in made if "dbgsym" not in path.name]
    print(roots.run(["lintian", "--fail-on", "error,warning", "--info", *packages], "lintian"), "check-deb: lintian is content",
          flush=True)

    needed = roots.needed_by(*packages)
    print("check-deb: needs", *sorted(needed))
    assert {"libbpf1", "libmicrohttpd12", "libcap2", "libnghttp2-14", "libgnutls30", "libyaml-0-2", "libcrypt1"} <= needed
    for suite in "bookworm", "trixie":
        with roots.unpacked(suite, *needed) as root:
            for package in packages:
                root.copy(package)
            root.copy(HERE / "debian_packages.sh")
            root.copy(HERE / "exporter.sh")
            print(root("/root/debian_packages.sh", "/root", what=f"the packages in {suite}"), f"check-deb: {suite} done",
                  flush=True)


main()
