#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""check_rollout.py TARBALL [FACTOR]: rolls out the static programs in the tarball over three virtual machines of Debian 12, with
the role, the playbook, the units and the alerts of packaging/, by Ansible over ssh. Prometheus reads what `bbrmon export`
serves on each. The times in the alerts, and the playbook's wait for them, are divided by FACTOR, by default 10.

Machines, Prometheus and Ansible are in a network namespace of their own, which has only its loopback."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from prometheus import ADDRESS, Prometheus

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "package"))
import machine  # pylint: disable=wrong-import-position
import roots  # pylint: disable=wrong-import-position
from progress import expect, say, wait_until  # pylint: disable=wrong-import-position

ANSIBLE = roots.ROOT / "packaging/ansible"
PACKAGES = {"openssh-server", "python3", "iproute2", "iperf3"}
MACHINES = "first", "second", "third"
MEMORY_MB = 512
SSH = {name: 2200 + i for i, name in enumerate(MACHINES)}  # ports on loopback
METRICS = {name: 10200 + i for i, name in enumerate(MACHINES)}
WATCH_S = 1200  # the playbook's
SEEN_S = 600  # the longest until Prometheus sees the current state
CLONE_NEWNET = 0x40000000

# The transfers have their own profile. The default one is for the machine's other traffic, to Ansible and Prometheus.
CONFIGURATION = """[instance bpf_bbr]
default_in = /proc/1/ns/net
[wan]
{}
[rules]
rule = --dst 10.0.2.1/32 --profile wan
"""
OLD = CONFIGURATION.format("")
# This sends at twice the path's rate despite all losses, and does not look for a policer.
BAD = CONFIGURATION.format("pacing_rate = 8mbit\npin_bw = 8mbit\nignore_loss = 1")
GOOD = CONFIGURATION.format("cwnd_gain = 2.5")
ALERT = "BbrRetransmitsTooMuch"

NETWORK = "[Match]\nName=en*\n[Network]\nAddress=10.0.2.15/24\n"
# All that a rollout would change, and who has logged in.
STATE = """
bbrctl save
cat /etc/bpf-bbr/bpf-bbr.conf
stat --format='%n %i %y %z' /etc/bpf-bbr /etc/bpf-bbr/* /usr/local/sbin/*
sysctl -n net.ipv4.tcp_congestion_control
systemctl show --property=InvocationID,ActiveState bpf-bbr bbrmon-export sshd
journalctl --quiet --identifier=sshd --output=cat | grep --count Accepted
"""


def limit_s(factor):
    """The limit of the whole check: four batches wait for alerts."""
    return 5400 + 4 * WATCH_S // factor


@contextlib.contextmanager
def process(*command, **kwargs):
    """A process that ends with the block, with all that it has started. It also ends with this program, however that ends."""
    with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *map(str, command)], stdin=subprocess.DEVNULL, start_new_session=True,
                          **kwargs) as running:
        try:
            yield running
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def into_a_network_of_its_own():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise SystemExit("check-rollout: needs root")
    roots.run(["ip", "link", "set", "lo", "up"])


class Ansible:
    """Runs playbooks with the three machines as inventory, and a file of variables for each configuration."""

    def __init__(self, folder, tarball, factor):
        self.folder = folder
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1",
                             "ANSIBLE_CONFIG": str(folder / "ansible.cfg"), "ANSIBLE_ROLES_PATH": str(ANSIBLE / "roles"),
                             "ANSIBLE_PIPELINING": "1", "ANSIBLE_TIMEOUT": "120", "ANSIBLE_GATHERING": "smart",
                             "ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(folder / "facts")}
        (folder / "ansible.cfg").touch()
        (folder / "site.yml").write_text("- hosts: bpf_bbr\n  roles: [bpf_bbr]\n")
        (folder / "machines").write_text("\n".join([
            "[bpf_bbr]", *(f"{name} ansible_port={port}" for name, port in SSH.items()), "[bpf_bbr:vars]",
            "ansible_host=127.0.0.1", "ansible_user=root", "ansible_python_interpreter=/usr/bin/python3",
            f"ansible_ssh_common_args='{' '.join(self._ssh_options())}'"]))
        for name, configuration in ("old", OLD), ("bad", BAD), ("good", GOOD):
            (folder / f"{name}.json").write_text(json.dumps({
                "bpf_bbr_tarball": str(tarball), "bpf_bbr_config": configuration, "bpf_bbr_prometheus": f"http://{ADDRESS}",
                "bpf_bbr_watch": WATCH_S // factor}))

    def _ssh_options(self):
        return ["-F", "none", "-i", str(self.folder / "key"), "-o", f"UserKnownHostsFile={self.folder}/known", "-o", "HostKeyAlias=machine"]

    def tunnel(self, name):
        """A command that forwards a machine's metrics to here: they are served on its loopback only."""
        return ["ssh", *self._ssh_options(), "-N", "-L", f"127.0.0.1:{METRICS[name]}:127.0.0.1:10227", "-p", SSH[name], "root@127.0.0.1"]

    def __call__(self, playbook, configuration):
        """Runs a playbook. Returns whether it succeeded, its output, and the seconds that it took."""
        said, begun = [], time.monotonic()
        with process("ansible-playbook", "-i", "machines", "-e", f"@{configuration}.json", playbook, cwd=self.folder,
                     env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as playing:
            for line in playing.stdout:
                said.append(line)
                if re.match(r"PLAY|TASK|fatal|[a-z]+ +: ok=", line):
                    say("   ", line.strip(" *\n")[:160])
            return playing.wait() == 0, "".join(said), int(time.monotonic() - begun) + 1


def expect_configured(vm, configuration):
    vm("bbrctl apply --check")
    found = vm("sysctl -n net.ipv4.tcp_congestion_control; cat /etc/bpf-bbr/bpf-bbr.conf")
    if found.strip() != f"bpf_bbr\n{configuration}".strip():
        raise SystemExit(f"check-rollout: {vm.name} is not as configured: {found}")


def alerted(prometheus, seconds):
    """The machines on which ALERT fired in this time. Other alerts may fire: on a busy host a machine's metrics may be late."""
    fired = prometheus.fired(seconds)
    say("alerts that fired:", ", ".join(f"{name} on {where}" for name, where in sorted(fired)) or "none")
    return {where for name, where in fired if name == ALERT}


def bad_profile(vms, ansible, prometheus):
    first, *others = vms
    before, before_others = first("bbrctl save"), [vm(STATE) for vm in others]
    well, said, seconds = ansible(ANSIBLE / "rollout.yml", "bad")
    resent = prometheus.resent_percent("first", seconds)
    expect(alerted(prometheus, seconds) == {"first"},
           f"a bad profile on the first machine, which resends up to {resent:.0f} % there, fires {ALERT}", said)
    expect(not well and ALERT in said.partition("taken back on first: ")[2], "the alert stops the rollout, and Ansible says so", said)
    expect_configured(first, OLD)
    expect(first("bbrctl save") == before, "it is taken back: the first machine is as it was before")
    expect([vm(STATE) for vm in others] == before_others, "the other two were never touched: nobody has logged in, nothing is newer")


def good_profile(vms, ansible, prometheus):
    well, said, seconds = ansible(ANSIBLE / "rollout.yml", "good")
    expect(well, "a good profile gets through", said)
    for vm in vms:
        expect_configured(vm, GOOD)
        expect(re.search(r"\b2\.5\b", vm("bbrctl show --profile wan cwnd_gain")), f"it has reached the {vm.name} machine")
    resent = prometheus.resent_percent("first", seconds)
    expect(not alerted(prometheus, seconds), f"no {ALERT}: the first machine has resent at most {resent:.1f} % of the same transfers")


def check(folder, disk, tarball, factor):
    ansible, prometheus = Ansible(folder, tarball, factor), Prometheus(folder, METRICS, factor)
    with contextlib.ExitStack() as stack:
        vms = [machine.Machine(disk, name, cpus=1, memory_mb=MEMORY_MB, forgets=True,
                               nic=f"user,restrict=on,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{port}-:22") for name, port in SSH.items()]
        for vm in vms:
            stack.callback(vm.close)
            vm.start()
        for vm in vms:
            expect(vm.booted() == "running", f"the {vm.name} machine has booted: {vm('uname -r')}")

        well, said, _ = ansible("site.yml", "old")
        expect(well, "the role installs on all three", said)
        for vm in vms:
            expect_configured(vm, OLD)
            say(f"the {vm.name} machine uses bpf_bbr; memory used, in MB:", vm("free --mega | awk '/Mem/ { print $3 \" of \" $2 }'"))
        vms[0](f"bash rollout_path.sh {limit_s(factor)} >/run/path 2>&1 &"
               "until grep begun /run/path; do kill -0 $! || exit 1; sleep 0.1; done")
        for name in MACHINES:
            stack.enter_context(process(*ansible.tunnel(name)))
        stack.enter_context(process(*prometheus.command()))
        wait_until(lambda: prometheus.reads() == len(MACHINES), "Prometheus reads the metrics of all three", SEEN_S)
        sent = 'sum(rate(bbr_sent_bytes_total{instance="first:10227"}[30s]))'
        wait_until(lambda: prometheus(f"{sent} > 125000"), "transfers run on the first machine", SEEN_S)

        bad_profile(vms, ansible, prometheus)
        wait_until(lambda: not prometheus.fire(), "the alert is over", SEEN_S)
        good_profile(vms, ansible, prometheus)


def main():
    tarball, factor = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["10"])[0])
    for number, why in (signal.SIGTERM, "told to end"), (signal.SIGALRM, f"not done after {limit_s(factor)} s"):
        signal.signal(number, lambda *_, why=why: sys.exit(f"check-rollout: {why}"))
    signal.alarm(limit_s(factor))
    with tempfile.TemporaryDirectory(prefix="bpf-bbr-rollout-") as name:
        folder = pathlib.Path(name)
        roots.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"])

        def prepare(root):
            (root.path / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
            (root.path / "root/.ssh/authorized_keys").write_text((folder / "key.pub").read_text())
            (root.path / "etc/systemd/network/user.network").write_text(NETWORK)
            (folder / "known").write_text("machine " + (root.path / "etc/ssh/ssh_host_ed25519_key.pub").read_text())

        with machine.disk("bookworm", PACKAGES, [HERE / "rollout_path.sh", roots.ROOT / "lab/runs/path.sh"], prepare) as disk:
            say("a disk for three machines is ready")
            into_a_network_of_its_own()
            try:
                check(folder, disk, tarball, factor)
            except machine.Failed as error:
                raise SystemExit(f"check-rollout: {error}") from error
    say(f"done; the alerts were {factor} times as fast as those of packaging/prometheus")


main()
