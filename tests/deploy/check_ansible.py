#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_ansible.py TARBALL: checks the role for Ansible, with the static programs in TARBALL, in a root of Debian 12."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "package"))
import roots  # pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).parent
WORK = "root/check"


def main():
    others = roots.run([roots.ROOT / "build/bbrctl", "save"])
    with roots.unpacked("bookworm", "ansible-core", "ansible-lint", "prometheus", "iproute2") as root:
        (root.path / WORK).mkdir()
        root.copy(roots.ROOT / "packaging/ansible", WORK)
        root.copy(sys.argv[1], WORK)
        root.copy(HERE / "ansible_playbooks.sh")
        (root.path / WORK / "others.conf").write_text(others)
        print(root("/root/ansible_playbooks.sh", f"/{WORK}", f"/{WORK}/others.conf", what="the playbooks"), "check-ansible: done")


main()
