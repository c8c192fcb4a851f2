# SPDX-License-Identifier: GPL-2.0-only
"""A root of Debian with its own mounts, processes, cgroups and network. It shares only the kernel's BPF with this machine: it
cannot change settings of the kernel, and reaches no address outside."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

# Runs in new namespaces: makes the root the first mount. What would change the machine is read-only, or shows the wanted
# value; ip_forward belongs to the network namespace. Prints the id that process 1 has on the machine.
BECOME = """
root=$1 programs=$2 name=$3 address=$4 settings=$5
read -r pid rest </proc/self/stat
mount --bind "$root" "$root"
mount --make-private "$root"
mount -t proc proc "$root/proc"
echo "$name" >"$root/proc/sys/kernel/hostname"
echo 1 >"$root/proc/sys/net/ipv4/ip_forward"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
for setting in $settings; do
	file=${setting%=*}
	echo "${setting#*=}" >"$root/run/$file"
	mount --bind "$root/run/$file" "$root/proc/sys/$(echo "$file" | tr . /)"
done
if [ -e "$root/proc/sysrq-trigger" ]; then
	mount --bind /dev/null "$root/proc/sysrq-trigger"
fi
mount -t tmpfs -o mode=755 none "$root/dev"
for device in null zero full random urandom; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s null "$root/dev/kmsg"
mount -t sysfs -o ro none "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mkdir "$root/sys/fs/cgroup/programs"
echo 0 >"$root/sys/fs/cgroup/programs/cgroup.procs"
if findmnt -n -t bpf /sys/fs/bpf >/dev/null; then
	mount --bind /sys/fs/bpf "$root/sys/fs/bpf"
else
	mount -t bpf none "$root/sys/fs/bpf"
fi
mount -t tmpfs none "$root/run"
mkdir -p "$root/opt/programs"
mount --bind "$programs" "$root/opt/programs"
mount -o remount,bind,ro "$root/opt/programs"
ip link set lo up
ip address add "$address/32" dev lo
cd "$root"
pivot_root . mnt
umount -l /mnt
mount --make-rshared /
echo "$pid"
exec catatonit -P
"""
NAMESPACES = ("--mount", "--net", "--pid", "--cgroup", "--ipc", "--uts")
# Joins a cgroup first: nsenter does not.
JOIN = ("sh", "-euc", 'echo 0 >"$0/cgroup.procs"; exec "$@"')


class Node:
    def __init__(self, root, cgroup, pid, environment):
        self.root, self.pid, self._started = root, pid, {}
        self._enter = [*JOIN, f"{cgroup}/programs", "nsenter", f"--target={pid}", *NAMESPACES]
        self._environment = {"PATH": "/opt/programs:/usr/sbin:/usr/bin", "HOME": "/root", **environment}

    def run(self, *command, **kwargs):
        """Runs a command in the node, which may fail."""
        return subprocess.run([*self._enter, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=300, env=self._environment, **kwargs)

    def __call__(self, *command, **kwargs):
        """Runs a command in the node. Returns its output, errors included."""
        done = self.run(*command, **kwargs)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{self.said()}")
        return done.stdout

    def in_its_network(self, *command, **kwargs):
        """Starts a process with the files of this machine in the node's network. The caller must wait for it."""
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "nsenter", f"--target={self.pid}", "--net", *command], **kwargs)

    def start(self, name, command):
        """Starts a program that runs until the end."""
        with open(self.root.path / f"var/log/{name}", "wb") as log:
            # pylint: disable-next=consider-using-with # it ends with process 1
            self._started[name] = subprocess.Popen([*self._enter, *command], env=self._environment, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log)

    def said(self, lines=12):
        """The last lines in the logs of the node's programs."""
        logs = {name: (self.root.path / f"var/log/{name}").read_text(errors="replace").splitlines() for name in self._started}
        return "".join(f"\n{name}:\n  " + "\n  ".join(text[-lines:]) for name, text in logs.items())

    def wait_until(self, condition, what, seconds=300):
        """Waits for condition, and fails as soon as one of the node's programs ends."""
        end = time.monotonic() + seconds
        while not condition():
            ended = [name for name, program in self._started.items() if program.poll() is not None]
            if ended or time.monotonic() > end:
                raise SystemExit(f"waited in vain: {what}; ended: {' '.join(ended) or 'no program'}{self.said()}")
            time.sleep(0.1)

    def end(self):
        """Process 1 is the last to end: the kernel ends all others first."""
        os.kill(self.pid, signal.SIGKILL)
        for program in self._started.values():
            program.wait()


def _remove(cgroup):
    for folder, _, _ in os.walk(cgroup, topdown=False):
        os.rmdir(folder)


@contextlib.contextmanager
def _cgroup(name):
    """A cgroup without processes, which is removed after the block."""
    top = re.search(r"^\S+ (\S+) cgroup2 ", pathlib.Path("/proc/mounts").read_text(), re.M)[1]
    path = pathlib.Path(top) / name
    try:
        _remove(path)  # left by a killed run
    except OSError as error:
        raise SystemExit(f"another {name} is running: {error}") from None
    path.mkdir()
    try:
        yield path
    finally:
        _remove(path)


@contextlib.contextmanager
def made(root, programs, name, address, settings, environment):
    """A node that ends with the block. programs: a folder of this machine. settings: of the kernel, as they look inside."""
    with _cgroup(name) as cgroup:
        command = [*JOIN, cgroup, "setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, "--fork", "--kill-child",
                   "sh", "-euc", BECOME, "sh", root.path, programs, name, address,
                   " ".join(f"{setting}={value}" for setting, value in settings.items())]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                pid = process.stdout.readline()
                if not pid.strip().isdigit():
                    raise SystemExit(f"no root for a node could be made: {pid}{process.stdout.read()}")
                node = Node(root, cgroup, int(pid), environment)
                try:
                    yield node
                finally:
                    node.end()
            finally:
                process.wait()
