#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_boot.py SOURCES: a newcomer's way in machines of Debian 12 and 13. Installs the packages of a folder with debian/ as
docs/install.md says, boots the machine, installs a later version while connections run, and purges the packages. Then comes a day of
work, with the file and the commands of README.md."""
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


# ---- a day of work

INSIDE, BACKUP, ROUTED, ELSEWHERE = "10.0.0.7", "203.0.113.7", "198.51.100.7", "198.18.0.7"
ALL = INSIDE, BACKUP, ROUTED, ELSEWHERE
CONTAINER = "docker-{}.scope"
FIRST, SECOND = "0123456789ab" + "0" * 52, "ba9876543210" + "0" * 52
CONF = "/etc/bpf-bbr/bpf-bbr.conf"
# The rest of the world, beyond a router, comes after the network's programs have started.
FILES = {
    "/root/world": """\
ip netns add world
ip netns exec world sysctl -w net.ipv4.tcp_congestion_control=cubic
ip link add near type veth peer name far netns world
ip -n world addr add 192.0.2.2/25 dev far
ip -n world link set lo up
ip -n world link set far up
""" + "".join(f"ip -n world addr add {address}/32 dev lo\n" for address in ALL),
    "/etc/systemd/system/world.service": """\
[Unit]
After=systemd-networkd.service
[Service]
ExecStartPre=/bin/bash -e /root/world
ExecStart=ip netns exec world python3 /root/guest.py serve
[Install]
WantedBy=multi-user.target
""",
    "/etc/systemd/network/near.network": "[Match]\nName=near\n[Network]\nAddress=192.0.2.1/25\nGateway=192.0.2.2\n",
}
# Those of the README, one that is in no file, and a program that chooses for itself.
SERVICES = {"web": ALL, "backup": ALL, "sync": ALL, "other": ALL, "chooser": (f"{ROUTED}=reno",)}


def put(vm, path, text):
    vm(f"cat >{path} <<'end of file'\n{text.rstrip()}\nend of file")


def section_of_the_readme():
    """Its file, and its commands by what they begin with."""
    section = (roots.ROOT / "README.md").read_text().split("\n## Configure a machine: one file, five commands\n")[1].split("\n## ")[0]
    commands = re.findall(r"^\| `(.*?)` \|", section, re.M)
    equal(len(commands), 5, "commands of the README")
    return "".join(f"{line}\n" for line in re.findall(r"^ {4}(.*)|^$", section, re.M)).strip() + "\n", commands


class Day:
    """A machine with services, the world and containers."""

    def __init__(self, vm):
        self.vm = vm
        self.file, (self.install, self.enable, self.check, self.reload, self.undo) = section_of_the_readme()

    def __call__(self, command):
        """Runs one of the README's commands as it stands there; check may find something."""
        said = self.vm(f"{command} || [ $? = 3 ]" if command == self.check else command)
        say("#", command + "\n" + said)
        return said

    def prepare(self):
        for path, text in FILES.items():
            put(self.vm, path, text)
        for name, addresses in SERVICES.items():
            put(self.vm, f"/etc/systemd/system/{name}.service",
                f"[Service]\nExecStartPre=rm -f /run/{name}\nExecStart=python3 /root/guest.py service /run/{name} {' '.join(addresses)}\n"
                "[Install]\nWantedBy=multi-user.target\n")
        self.vm(f"systemctl daemon-reload && systemctl restart systemd-networkd && systemctl enable --now world {' '.join(SERVICES)}")
        self.container(FIRST)

    def container(self, name):
        self.vm(f"systemd-run --quiet --scope --unit={CONTAINER.format(name)} unshare --net sleep infinity >/dev/null 2>&1 </dev/null &")
        self.vm(f"until grep -qs . /sys/fs/cgroup/system.slice/{CONTAINER.format(name)}/cgroup.procs; do sleep 0.1; done")

    def restart(self, *names):
        self.vm(f"systemctl restart {' '.join(names or SERVICES)}")

    def uses(self, name):
        """What the connections of a service use, by their addresses."""
        return ast.literal_eval(self.vm(f"until [ -e /run/{name} ]; do sleep 0.2; done; cat /run/{name}"))

    def expect(self, what, **services):
        for name, expected in services.items():
            equal(self.uses(name), dict(zip(ALL, expected)), f"{what}: {name}")
        equal(self.uses("chooser"), {ROUTED: "reno"}, f"{what}: chooser")

    def expect_as_in_the_file(self, what):
        """Services of which nobody knows when they were started."""
        cubic, one, three = "cubic", "bpf_bbr", "bpf_bbr3"
        self.vm("until ip route show proto 66 | grep -q congctl; do sleep 0.1; done")
        self.restart("other")
        # INSIDE, BACKUP, ROUTED, ELSEWHERE
        self.expect(what, web=(three,) * 4, backup=(one,) * 4, sync=(cubic, one, one, one), other=(cubic, cubic, one, cubic))
        profiles = {(c["cgroup"].split("/")[-1], c["remote"]): c["profile"]
                    for c in map(json.loads, self.vm("bbrmon snapshot -j --cgroup").splitlines()) if c["event"] == "state"}
        equal({where for where, profile in profiles.items() if profile != "default"}, {("backup.service", BACKUP)}, what)
        equal(profiles["backup.service", BACKUP], "gentle", what)
        self.vm("bbrctl apply --check")
        say(what)

    def expect_as_before_the_file(self, what):
        self.restart()
        self.expect(what, **{name: ("bpf_bbr",) * 4 for name in ("web", "backup", "sync", "other")})
        equal((default_of(self.vm), self.vm("ip route show proto 66")), ("bpf_bbr", ""), what)
        say(what)

    def found(self):
        """What check says of connections; and of containers, by the beginning of their names."""
        answer = json.loads(self.vm(f"{self.check} -j 2>/dev/null || [ $? = 3 ]"))
        others = [f for f in answer["off"] if f["kind"] != "connections"]
        equal(others, [], "what else is off")
        container = {ns["inode"]: ns["container"] for ns in answer["in_namespaces"]}
        uses = {(f["why"], f["uses"], f["meant"], f["route"] or (f["cgroup"] or "").split("/")[-1], f["connections"]) for f in answer["off"]}
        return uses, {container[f["inode"]]: f["command"] for f in answer["also"]
                      if f["kind"] == "other_default" and container[f["inode"]]}


def day_of_work(vm):
    day = Day(vm)
    day.prepare()
    day.expect("at first", **{name: ("cubic",) * 4 for name in ("web", "backup", "sync", "other")})

    # BBR for all, as the configuration of the package proposes.
    day(day.install)
    vm(f"sed -i 's/^;default_in/default_in/' {CONF}")
    day(day.enable)
    day(day.check)
    uses, containers = day.found()
    equal(uses, {("opened_before", "cubic", "bpf_bbr", "", 16), ("chosen", "reno", "bpf_bbr", "", 1)}, "what check found")
    equal(list(containers), ["docker " + FIRST[:12]], "containers that check names")
    day.container(SECOND)
    day.restart()
    equal(day.found()[0], {("chosen", "reno", "bpf_bbr", "", 1)}, "what check found")
    day.expect("BBR for all", **{name: ("bpf_bbr",) * 4 for name in ("web", "backup", "sync", "other")})

    # The file of the README, for services that were started under CUBIC.
    vm(f"systemctl stop bpf-bbr && systemctl restart {' '.join(SERVICES)}")
    day.expect("BBR for none", **{name: ("cubic",) * 4 for name in ("web", "backup", "sync", "other")})
    vm("systemctl start bpf-bbr")
    put(vm, CONF, day.file)
    day(day.reload)
    day(day.check)
    uses, containers = day.found()
    equal(uses, {("opened_before", "cubic", "bpf_bbr3", "web.service", 4), ("opened_before", "cubic", "bpf_bbr", "backup.service", 4),
                 ("opened_before", "cubic", "bpf_bbr", "sync.service", 3), ("opened_before", "cubic", "bpf_bbr", "198.51.100.0/24", 1),
                 ("chosen", "reno", "bpf_bbr", "198.51.100.0/24", 1)}, "what check found")
    equal(list(containers), ["docker " + SECOND[:12]], "containers that check names")
    vm(containers["docker " + SECOND[:12]])
    day.restart()
    day.expect_as_in_the_file("as in the file, after a reload and a restart of the services")
    uses, containers = day.found()
    equal((uses, containers), ({("chosen", "reno", "bpf_bbr", "198.51.100.0/24", 1)}, {}), "what check found")
    vm("systemctl restart bpf-bbr && systemctl restart systemd-networkd")
    day.restart()
    day.expect_as_in_the_file("as in the file, after a restart of bpf-bbr and of the network")

    check_running(vm, vm.reboot("reboot"))
    day.expect_as_in_the_file("as in the file, after a boot")
    equal(day.found()[0], {("chosen", "reno", "bpf_bbr", "198.51.100.0/24", 1)}, "what check found")

    # And back: it was BBR for all.
    day(day.undo)
    day.expect_as_before_the_file("as before the file, after an undo")
    check_running(vm, vm.reboot("reboot"))
    day.expect_as_before_the_file("as before the file, after an undo and a boot")
    equal(day.found()[0], {("chosen", "reno", "bpf_bbr", "", 1)}, "what check found")
    day(day.undo)
    day.restart()
    day.expect_as_in_the_file("as in the file, after one more undo")


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
        day_of_work(vm)
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
