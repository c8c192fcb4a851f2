# SPDX-License-Identifier: GPL-2.0-only
"""Virtual machines that boot a root with systemd from a disk, and run commands. They need no network for that: a shell on
their second serial line takes the commands."""
import base64
import contextlib
import pathlib
import shutil
import socket
import subprocess
import tempfile

import roots

QEMU = "qemu-system-x86_64"
# What a root needs to boot and to take commands.
PACKAGES = {"linux-image-cloud-amd64", "initramfs-tools", "systemd-sysv", "udev", "procps", "python3-minimal"}
# lab/vm/emulator.py explains slub_debug=F, and what is left out at boot; retpolines only cost time here.
CMDLINE = ("root=/dev/vda rw console=ttyS0 panic=-1 slub_debug=F mitigations=off cryptomgr.notests "
           "initcall_blacklist=jent_mod_init,load_system_certificate_list")
MACHINE = ["-accel", "tcg,thread=multi", "-cpu", "max", "-display", "none", "-no-reboot"]
DISK_MB = 1500
BOOT_S = COMMAND_S = 1800  # ten times what the slowest takes on an idle host

SHELL = """\
exec 3<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
systemctl is-system-running --wait >&3
while read -r command <&3; do
	output=$(bash -c "$(base64 -d <<<"$command")" 2>&1 </dev/null)
	echo "$? $(base64 -w0 <<<"$output")" >&3
done
"""
UNIT = """\
[Service]
ExecStart=/bin/bash /root/shell
WorkingDirectory=/root
Environment=HOME=/root
[Install]
WantedBy=multi-user.target
"""


class Failed(Exception):
    """The machine did not do what it was told. The text has its answer."""


class Machine:
    """A machine, which runs from boot(), or start() and booted(). folder: what disk() yields. forgets: a machine loses what it
    wrote when it ends, so several may run from one disk. nic: as in qemu(1)."""

    def __init__(self, folder, name="machine", cpus=2, memory_mb=1024, nic="none", forgets=False):
        self.folder, self.name, self.process, self.line, self._socket = folder, name, None, None, None
        self._options = ["-smp", str(cpus), "-m", str(memory_mb), "-nic", nic,
                         "-drive", f"file={folder}/disk,if=virtio,format=raw,cache=unsafe,snapshot={'on' if forgets else 'off'}"]

    def boot(self):
        """Boots until systemd has started everything. Returns systemd's state: running, or degraded."""
        self.start()
        return self.booted()

    def start(self):
        """Begins to boot and returns at once; booted() waits."""
        ours, theirs = socket.socketpair()
        with theirs, open(self.folder / f"{self.name}.messages", "wb") as messages:
            # The machine ends with this program, however that ends.
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["setpriv", "--pdeathsig", "KILL", QEMU, *MACHINE, *self._options, "-kernel", self.folder / "vmlinuz",
                 "-initrd", self.folder / "initrd.img", "-append", CMDLINE,
                 "-serial", f"file:{self.folder}/{self.name}.console",
                 "-chardev", f"socket,id=shell,fd={theirs.fileno()}", "-serial", "chardev:shell"],
                stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, pass_fds=[theirs.fileno()])
        self.line = ours.makefile("rwb")
        ours.settimeout(BOOT_S)
        self._socket = ours

    def booted(self):
        """Waits for the boot. Returns what boot() returns."""
        state = self._answer("booting")
        self._socket.settimeout(COMMAND_S)
        return state

    def _answer(self, to):
        try:
            line = self.line.readline().decode().strip()
        except TimeoutError:
            line = ""
        if not line:
            said = "".join((self.folder / f"{self.name}.{what}").read_text(errors="replace") for what in ("messages", "console"))
            raise Failed(f"{self.name}: {to}: no answer, or the machine has ended\n{said[-6000:]}")
        return line

    def _tell(self, command):
        self.line.write(base64.b64encode(command.encode()) + b"\n")
        self.line.flush()

    def __call__(self, command):
        """Runs a command with bash, which must succeed. Returns its output, errors included."""
        self._tell(command)
        status, _, output = self._answer(command).partition(" ")
        output = base64.b64decode(output).decode(errors="replace").rstrip("\n")
        if status != "0":
            raise Failed(f"{self.name}: {command}: exit status {status}\n{output}")
        return output

    def reboot(self, command):
        """Runs a command that reboots the machine. Returns what boot() returns."""
        self._tell(command)
        try:
            self.process.wait(COMMAND_S)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{command}: it does not end") from error
        return self.boot()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def disk(suite, packages, files, prepare=lambda root: None):
    """A folder with the disk of a machine that was never booted: a suite of Debian, with these packages installed, and these
    files and folders in its /root. prepare() may change its root before. The folder is removed after the block."""
    with tempfile.TemporaryDirectory(prefix="bpf-bbr-machine-") as name:
        folder = pathlib.Path(name)
        with roots.unpacked(suite, *PACKAGES, *packages) as root:
            for file in files:
                root.copy(file)
            (root.path / "root/shell").write_text(SHELL)
            (root.path / "etc/systemd/system/shell.service").write_text(UNIT)
            root("systemctl", "enable", "shell.service", "systemd-networkd.service")
            root("systemctl", "mask", "getty.target")  # nobody logs in
            (root.path / "etc/apt/apt.conf.d/yes").write_text('APT::Get::Assume-Yes "true";\n')
            prepare(root)
            for file in "vmlinuz", "initrd.img":
                shutil.copy(root.path / file, folder)
            roots.run(["mke2fs", "-q", "-t", "ext4", "-d", root.path, folder / "disk", f"{DISK_MB}M"])
        yield folder


@contextlib.contextmanager
def made(suite, packages, files):
    """A machine with a disk as above. It ends with the block."""
    with disk(suite, packages, files) as folder:
        machine = Machine(folder)
        try:
            yield machine
        finally:
            machine.close()
