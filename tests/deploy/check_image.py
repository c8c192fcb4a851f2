#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_image.py IMAGE TARBALL: makes the image again from the sources in TARBALL, and tries it in podman, with and without
what it needs of the host."""
import filecmp
import os
import pathlib
import sys
import tempfile

import engine  # makes roots importable
import roots
from engine import bbrctl
from progress import expect, wait_until

NAME = "bbrimage"
CAPABILITIES = "--cap-drop=all", "--cap-add=sys_admin,bpf,perfmon,net_admin"
BPFFS = "--volume=/sys/fs/bpf:/sys/fs/bpf"
CONFIGURATION = f"[instance {NAME}]\n[default]\ncwnd_gain = 2.5\n"


def loaded():
    return NAME in bbrctl("status")


def make_again(image, tarball):
    """Makes the image from the tarball of `make dist`, elsewhere, and with another time zone, language and umask."""
    with tempfile.TemporaryDirectory(prefix="bpf-bbr-image-") as folder:
        roots.run(["tar", "-C", folder, "--strip-components=1", "-xf", tarball])
        environment = {**os.environ, "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "MAKEFLAGS": "-j2"}
        roots.run(["sh", "-euc", f"umask 077; make -C {folder} image"], "make image", env=environment)
        again = pathlib.Path(folder) / "build/dist" / image.name
        expect(filecmp.cmp(image, again, shallow=False), "an image that is made elsewhere has the same bytes")


def check(podman, image):
    def run(*arguments, **kwargs):
        return podman("run", "--rm", "--network=none", *arguments, **kwargs)

    # Without the host's bpffs, what is loaded would end with the container.
    for command in (["load", "--name", NAME], ["apply", "--name", NAME, "-"], ["apply", "--hold", "--name", NAME, "-"]):
        said = run("--interactive", *CAPABILITIES, image, "bbrctl", *command, input=CONFIGURATION, status=2)
        expect("-v /sys/fs/bpf:/sys/fs/bpf" in said and not loaded(), f"without bpffs {' '.join(command[:2])} refuses, with the remedy")
    said = run("--interactive", *CAPABILITIES, f"{BPFFS}:ro", image, "bbrctl", "load", "--name", NAME, status=2)
    expect("read-only" in said and not loaded(), "a read-only bpffs is refused")

    run(*CAPABILITIES, BPFFS, image, "bbrctl", "load", "--name", NAME)
    expect(loaded(), "with four capabilities and bpffs an instance is loaded, and outlives the container")
    metrics = run("--cap-drop=all", "--cap-add=sys_admin,sys_ptrace", "--pid=host", image, "bbrmon", "export", "--once")
    expect(f'bbr_instance="{NAME}"' in metrics, "bbrmon export knows it")
    metrics = run("--user=65532", "--cap-drop=all", "--cap-add=sys_admin,sys_ptrace", "--pid=host", image, "bbrmon", "export", "--once")
    expect(f'bbr_instance="{NAME}"' in metrics, "and so it does when it is not root")
    expect("usage:" in run("--user=65532", "--cap-drop=all", image, "bbrmon", "report", "--help"), "it starts without capabilities")
    run(*CAPABILITIES, BPFFS, image, "bbrctl", "unload", "--name", NAME)
    expect(not loaded(), "another container has unloaded it")

    podman("run", "--detach", "--name=holder", "--network=none", *CAPABILITIES, "--pid=host", BPFFS,
           "--volume=/root/bpf-bbr.conf:/etc/bpf-bbr/bpf-bbr.conf:ro", image, "bbrctl", "apply", "--hold", "--name", NAME)
    wait_until(loaded, "the holder applies")
    expect("2.5" in bbrctl("show", "--name", NAME, "cwnd_gain"), "apply --hold has applied the file")
    podman("stop", "--time=30", "holder")
    expect(podman("wait", "holder").strip() == "0" and not loaded(), "stopped, it has taken away what it applied")


def main():
    image, tarball = map(pathlib.Path, sys.argv[1:])
    make_again(image, tarball)
    with engine.nothing_left(NAME), engine.started(image) as started:
        (started.root.path / "root/bpf-bbr.conf").write_text(CONFIGURATION)
        (name,) = started.podman("images", "--format={{.Repository}}:{{.Tag}}").split()
        check(started.podman, name)


main()
