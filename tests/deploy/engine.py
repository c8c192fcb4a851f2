# SPDX-License-Identifier: GPL-2.0-only
"""podman of Debian 13 in a root of its own, with its own mounts, cgroups and network, so that it neither needs nor changes
anything of this machine but its BPF."""
import contextlib
import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "package"))
import roots  # pylint: disable=wrong-import-position
from progress import expect  # pylint: disable=wrong-import-position

PACKAGES = ("podman", "crun", "catatonit", "iproute2")
# Runs in new namespaces: makes the root the first mount. The machine may have version 1 of cgroups; podman gets version 2.
BECOME = """
root=$1
mount --bind "$root" "$root"
mount --make-private "$root"
for folder in dev proc sys; do mount --rbind /$folder "$root/$folder"; done
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount -t tmpfs none "$root/run"
findmnt -n -t bpf "$root/sys/fs/bpf" >/dev/null || mount -t bpf none "$root/sys/fs/bpf"
ip link set lo up
cd "$root"
pivot_root . mnt
umount -l /mnt
echo ready
exec sleep infinity
"""
# No limits: a machine with version 1 of cgroups may have no controllers left for version 2.
CONFIGURATION = {
    "containers.conf": '[containers]\npids_limit = 0\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n',
    "storage.conf": '[storage]\ndriver = "vfs"\nrunroot = "/run/containers"\ngraphroot = "/var/lib/containers"\n',
}


BBRCTL = roots.ROOT / "build/bbrctl"


def bbrctl(*arguments):
    """Runs this machine's own bbrctl, outside all containers."""
    return roots.run([BBRCTL, *arguments])


@contextlib.contextmanager
def nothing_left(name):
    """Checks that no instance of this name exists before or after the block, and that the block leaves all else as it was."""
    def state():
        return json.loads(bbrctl("-j", "status")), pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text()

    before = state()
    expect(name not in str(before), f"there is no instance {name} before")
    try:
        yield
        expect(state() == before, "all is as it was before")
    finally:
        subprocess.run([BBRCTL, "unload", "--name", name], check=False, capture_output=True)


class Engine:
    def __init__(self, root, process):
        self.root, self._enter = root, ["nsenter", f"--target={process.pid}", "--mount", "--net"]

    def __call__(self, *command, status=0, **kwargs):
        """Runs a command in the root. Returns its output, errors included. It must end with this status (None: any but 0)."""
        done = subprocess.run([*self._enter, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=300, env={"PATH": "/usr/sbin:/usr/bin", "HOME": "/root"}, **kwargs)
        if done.returncode == 0 if status is None else done.returncode != status:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def podman(self, *arguments, **kwargs):
        return self("podman", *arguments, **kwargs)

    def containers(self):
        """The process ids of running containers, by name."""
        found = json.loads(self.podman("ps", "--format", "json"))
        return {name: c["Pid"] for c in found for name in c["Names"]}

    def get(self, name, port):
        """A container's answer to GET /metrics in its own network."""
        pid = self.containers()[name]
        return roots.run(["nsenter", f"--target={pid}", "--net", sys.executable, "-c",
                          f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{port}/metrics').read().decode())"])


@contextlib.contextmanager
def started(image):
    """podman with the image loaded. It ends with the block."""
    with roots.unpacked("trixie", *PACKAGES) as root:
        for name, text in CONFIGURATION.items():
            (root.path / "etc/containers" / name).write_text(text)
        root.copy(image)
        with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "sh", "-euc", BECOME, "sh", root.path],
                              stdout=subprocess.PIPE, text=True) as process:
            try:
                if process.stdout.readline() != "ready\n":
                    raise SystemExit("no root for podman could be made")
                engine = Engine(root, process)
                try:
                    engine.podman("load", "--input", f"/root/{image.name}")
                    yield engine
                finally:
                    engine.podman("rm", "--all", "--force", "--time", "5")
                    engine.podman("pod", "rm", "--all", "--force")
            finally:
                process.kill()
