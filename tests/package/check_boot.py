#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_boot.py SOURCES: a newcomer's way in machines of Debian 12 and 13. Installs the packages of a folder with debian/ as
docs/install.md says, boots the machine three times, installs a later version while connections run, and at last purges the
packages."""
import ast
import json
import pathlib
import re
import shutil
import signal
import sys
import tempfile

import machine
import roots
from progress import say

HERE = pathlib.Path(__file__).parent
NEXT = "9.9.9"
SUITES = "bookworm", "trixie"


def equal(found, expected, what):
    if found != expected:
        raise machine.Failed(f"{what}: {found!r}, and not {expected!r}")


def of_the_next_version(sources, folder):
    """A copy of the sources with another version."""
    copied = shutil.copytree(sources, folder / sources.name, symlinks=True)
    for file, pattern in ("include/bpf_bbr/abi.h", r'(BBR_VERSION ")[^"]*'), ("debian/changelog", r"(\Abpf-bbr \()[^-]*"):
        text, n = re.subn(pattern, rf"\g<1>{NEXT}", (copied / file).read_text())
        equal(n, 1, f"versions in {file}")
        (copied / file).write_text(text)
    return copied


def built(sources, folder):
    """Builds the packages, without those of debug symbols, into a new folder."""
    folder.mkdir(parents=True)
    roots.build(sources, "dpkg-buildpackage -b -uc", "*_*.deb", folder)
    for path in folder.glob("*-dbgsym_*"):
        path.unlink()
    say("built", *sorted(path.name for path in folder.iterdir()))


def lines_of_the_page():
    """The commands with which docs/install.md installs packages: those before the reboot, and those after it."""
    section = (roots.ROOT / "docs/install.md").read_text().split("\n## From packages\n")[1].split("\n## ")[0]
    lines = re.findall(r"^    # (.*?)(?: +#.*)?$", section, re.M)
    equal((len(lines), lines.count("reboot")), (5, 1), "lines of docs/install.md that install")
    return lines[:lines.index("reboot")], lines[lines.index("reboot") + 1:]


def default_of(vm):
    return vm("sysctl -n net.ipv4.tcp_congestion_control")


def instance(vm):
    (only,) = json.loads(vm("bbrctl -j status"))
    return only


class During:
    """Runs guest.py with these arguments while the block runs; `said` is its result afterwards."""

    def __init__(self, vm, *arguments):
        self.vm, self.file, self.said = vm, f"/run/{arguments[0]}", None
        vm(f"touch {self.file}")
        vm(f"python3 guest.py {' '.join(arguments)} {self.file} >{self.file}.out 2>&1 & echo $! >{self.file}.pid")
        vm(f"until grep begun {self.file}.out; do {self.runs()} || {{ cat {self.file}.out; exit 1; }}; sleep 0.1; done")

    def runs(self):
        return f"kill -0 $(cat {self.file}.pid) 2>/dev/null"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if not kind:
            said = self.vm(f"rm {self.file}; while {self.runs()}; do sleep 0.1; done; cat {self.file}.out")
            self.said = ast.literal_eval(said.splitlines()[-1])


def check_connection(said):
    equal((said["congestion"], said["equal"], said["blocks"] > 10), (["bpf_bbr", "bpf_bbr"], True, True), "the connection")


def check_running(vm, state):
    if state != "running":
        raise machine.Failed(f"systemd is {state}: {vm('systemctl --failed --no-legend')}")


def check_booted(vm, state):
    """After a boot the machine is as configured, and was so before the network came up."""
    check_running(vm, state)
    began = {unit: int(vm(f"systemctl show -P ActiveEnterTimestampMonotonic {unit}")) / 1e6
             for unit in ("bpf-bbr.service", "network-pre.target", "systemd-networkd.service")}
    say("booted; active after", *(f"{seconds:.1f} s: {unit}" for unit, seconds in began.items()))
    if not 0 < began["bpf-bbr.service"] <= began["network-pre.target"] <= began["systemd-networkd.service"]:
        raise machine.Failed("the unit is not active before the network")
    check_configured(vm)


def cwnd_gain(vm):
    return json.loads(vm("bbrctl -j show cwnd_gain"))["params"][0]["value"]


def check_configured(vm):
    equal(default_of(vm), "bpf_bbr", "the default")
    equal(cwnd_gain(vm), 2.5, "cwnd_gain")
    vm("bbrctl apply --check")


def check_undo(vm):
    """What was applied, taken back and not taken out of the file stays taken back, also after a boot, until the file changes."""
    vm("sed -i 's/^cwnd_gain.*/cwnd_gain = 3/' /etc/bpf-bbr/bpf-bbr.conf && systemctl reload bpf-bbr")
    equal(cwnd_gain(vm), 3, "cwnd_gain")
    say("# bbrctl apply --undo", "\n", vm("bbrctl apply --undo 2>&1"))
    equal(cwnd_gain(vm), 2.5, "cwnd_gain that was there before")
    check_running(vm, vm.reboot("reboot"))
    equal((default_of(vm), cwnd_gain(vm)), ("bpf_bbr", 2.5), "the state before, after a boot")
    vm("bbrctl apply --undo && bbrctl apply --check")
    equal(cwnd_gain(vm), 3, "cwnd_gain again")
    vm("sed -i 's/^cwnd_gain.*/cwnd_gain = 2.5/' /etc/bpf-bbr/bpf-bbr.conf")
    check_booted(vm, vm.reboot("reboot"))
    vm("bbrctl apply --undo")
    equal(cwnd_gain(vm), 3, "cwnd_gain before the file was changed")
    vm("bbrctl apply")


def check_upgrade(vm, suite):
    before = instance(vm)
    with During(vm, "asking", "bpf_bbr") as asking, During(vm, "connection") as connection:
        vm("apt-get install ./next/*.deb")
    after = instance(vm)
    say(f"upgraded from {before['version']} to {after['version']};", asking.said)
    equal(after["version"], NEXT, "the version that is loaded")
    check_connection(connection.said)
    check_configured(vm)
    if asking.said["asked"] < 100:
        raise machine.Failed("nobody asked")
    if suite != "bookworm":  # Linux 6.1 has no links, so it cannot exchange the code under a name
        equal(after["link_id"], before["link_id"], "the link that registers the name")
        equal((asking.said["missing"], asking.said["other_default"]), (0, 0), "losses of the name, and of the default")


def check(suite, needed, folders):
    install, use = lines_of_the_page()
    with machine.made(suite, {*needed, "iproute2"}, [*folders, HERE / "guest.py"]) as vm:
        say(f"{suite}: a disk is ready")
        check_running(vm, vm.boot())
        say("first boot:", vm("uname -r"))
        equal(default_of(vm), "cubic", "the default at first")
        for line in install:
            say("#", line)
            vm(line)
        vm("sed -i 's/^;cwnd_gain.*/cwnd_gain = 2.5/' /etc/bpf-bbr/bpf-bbr.conf && systemctl reload bpf-bbr")
        check_configured(vm)
        say("# reboot")
        check_booted(vm, vm.reboot("reboot"))
        with During(vm, "connection") as connection:
            for line in use:
                said = vm(line)
                say("#", line + "\n" + said)
                if not re.search(r"^ESTAB .*127\.0\.0\.1:.*\n.*bpf_bbr", said, re.M):
                    raise machine.Failed(f"no connection that uses bpf_bbr: {said}")
        check_connection(connection.said)
        check_undo(vm)
        check_upgrade(vm, suite)
        vm("systemctl stop bpf-bbr")
        check_gone(vm)
        vm("systemctl start bpf-bbr")
        check_configured(vm)
        vm("apt-get purge bpf-bbr bbrmon")
        check_gone(vm)
        equal(vm("ls -d /etc/bpf-bbr /usr/lib/bpf-bbr /var/lib/bpf-bbr 2>/dev/null || true"), "", "what is left")
        say(f"{suite} done")


def check_gone(vm):
    equal(default_of(vm), "cubic", "the default")
    available = vm("sysctl -n net.ipv4.tcp_available_congestion_control").split()
    equal("bpf_bbr" in available, False, "bpf_bbr among what is available")
    say("gone; available are", *available)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("check-boot: told to end"))
    sources = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="bpf-bbr-boot-") as name:
        folder = pathlib.Path(name)
        built(sources, folder / "build/deb")
        built(of_the_next_version(sources, folder), folder / "next")
        needed = roots.needed_by(*(folder / "next").iterdir())
        for suite in SUITES:
            try:
                check(suite, needed, [folder / "build", folder / "next"])
            except machine.Failed as error:
                raise SystemExit(f"check-boot: {suite}: {error}") from error


main()
