# SPDX-License-Identifier: GPL-2.0-only
"""Runs QEMU so that a guest is a function of its inputs: QEMU's command line, its processes, its monitor.

TCG with -icount: guest time is the number of executed instructions, one nanosecond each, and idle time is
skipped.
"""
import contextlib
import ctypes
import functools
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from vm import cores, initramfs
from vm.kernels import CACHE, LabError

QEMU = "qemu-system-x86_64"
# One CPU and one thread make it deterministic. nokaslr removes the last difference between runs. The CPU has no random
# numbers of its own, so the only ones are those that start.c seeds. -seed is for the emulator's own random numbers.
# la57=off: the emulator walks four levels of the page table, not five, each time that its TLB does not know a page.
ICOUNT = "shift=0,sleep=off"
CPU = "max,rdrand=off,rdseed=off,erms=off,la57=off"
GIVEN_MB = 64  # memory of a PCI device, through which the guest gets the data of its run: see start.c
MACHINE = ["-rtc", "base=2026-01-01,clock=vm", "-seed", "1", "-nic", "none",
           "-display", "none", "-no-reboot", "-machine", "pc,memory-backend=ram",
           "-device", "ivshmem-plain,memdev=given,master=on,addr=0x1f", "-device", "pvpanic"]
# The boot skips half of its instructions: tests of ciphers, the wait for noise from the CPU's jitter, and the keys of
# signed modules, against which each module would be checked.
#
# norandmaps: a program is at the same addresses each time, so TCG translates bash and its libraries once, not once for
# each process. init_on_alloc=0, psi=0 and a CPU without erms (where a `rep movsb` counts one instruction for each byte)
# save a sixth of the instructions of a flow.
CMDLINE = ("console=ttyS0 panic=-1 quiet nokaslr random.trust_bootloader=off cryptomgr.notests "
           "initcall_blacklist=jent_mod_init,load_system_certificate_list norandmaps init_on_alloc=0 psi=0")
# Some emulators corrupt the CPU's flags after cmpxchg16b: see flags.c. If an interrupt comes then, the return from it is a double
# fault (seen in 6.12's __kmalloc). Their guests get a CPU without the instruction. From 6.18 on, BPF programs then get memory only
# from caches that are debugged (kmalloc_nolock()), so those of kmalloc() are.
NO_CMPXCHG16B = "cx16=off"
DEBUG_KMALLOC = "slub_debug=F,kmalloc-*"
FLAGS = initramfs.BUILD / "flags"
WARP = initramfs.BUILD / "warp.so"  # makes the emulator quicker, and changes nothing that the guest sees: warp.c
FLAGS_S = 600  # it takes three; the host may be busy
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
ANSWER_S = 600  # a monitor that is silent for this long never answers


class EmulatorError(LabError):
    """The emulator ended, or refused a command."""


class Cancelled(Exception):
    """The lab is being stopped."""


@functools.lru_cache(maxsize=4)  # runs that follow each other often have one archive
def _digest(part):
    return hashlib.sha256(part).digest()


def hash_of(*parts):
    return hashlib.sha256(b"".join(map(_digest, parts))).hexdigest()


@functools.lru_cache
def path_and_version():
    """The emulator's path and its version, which is an input of each run."""
    path = initramfs.find_program(QEMU)
    version = subprocess.run([path, "--version"], capture_output=True, check=True).stdout
    return path, version.partition(b"\n")[0]


@functools.lru_cache
def kernel_hash(image):
    return hash_of(image.read_bytes())


def _lose_flags(kernel):
    """Runs flags.c in a guest, and returns its answer."""
    with tempfile.TemporaryDirectory(prefix="bbr-lab-") as folder:
        folder = pathlib.Path(folder)
        (folder / "initrd").write_bytes(initramfs.of_init(FLAGS))
        write_given(folder / "given")
        # The allocator must not use the instruction before flags.c does.
        command = _words(kernel, folder / "initrd", folder / "given", CPU, f"{CMDLINE} slub_debug=F")
        with Emulator(folder, command) as guest:
            guest.tell("cont")
            guest.wait(FLAGS_S)
            console = guest.console.read_text(errors="replace")
    for answer, lost in (("flags: lost", True), ("flags: kept", False)):
        if answer in console:
            return lost
    raise LabError(f"the guest does not report whether the emulator keeps its flags; its console ended with:\n{console[-2000:]}")


@functools.lru_cache
def loses_flags(kernel):
    """True if the emulator corrupts the CPU's flags. The lab tests this once; the cache keeps the answer."""
    known = CACHE / "loses_flags" / hash_of(path_and_version()[1], FLAGS.read_bytes())
    if not known.exists():
        answer = str(_lose_flags(kernel))
        known.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=known.parent, delete=False) as new:
            new.write(answer)
        os.rename(new.name, known)
    return known.read_text() == "True"


def cpu_and_cmdline(kernel):
    """QEMU's word for the CPU, and the kernel's command line."""
    return (f"{CPU},{NO_CMPXCHG16B}", f"{CMDLINE} {DEBUG_KMALLOC}") if loses_flags(kernel) else (CPU, CMDLINE)


def _machine(kernel):
    """Two CPUs take turns in one thread, too."""
    return ["-accel", "tcg,thread=single", "-icount", ICOUNT, "-smp", str(kernel.cpus), "-m", str(kernel.memory_mb), *MACHINE]


@functools.lru_cache
def boot_hash(kernel):
    """The hash of everything that a boot depends on."""
    return hash_of(path_and_version()[1], kernel_hash(kernel.image).encode(), initramfs.base(),
                   " ".join([*_machine(kernel), *cpu_and_cmdline(kernel)]).encode())


def _file_memory(name, size_mb, path, shared):
    path = str(path).replace(",", ",,")
    return ["-object", f"memory-backend-file,id={name},size={size_mb}M,mem-path={path},"
                       f"share={'on' if shared else 'off'}"]


def words(kernel, initrd, given, ram=None, shared=False):
    """QEMU's command line without its serial lines. ram and given are files. If they are shared, the guest writes to them;
    if not, its writes are private. If ram is None, the guest gets fresh memory."""
    return _words(kernel, initrd, given, *cpu_and_cmdline(kernel), ram, shared)


def _words(kernel, initrd, given, cpu, line, ram=None, shared=False):
    memory = (_file_memory("ram", kernel.memory_mb, ram, shared) if ram else
              ["-object", f"memory-backend-ram,id=ram,size={kernel.memory_mb}M"])
    return [path_and_version()[0], *_machine(kernel), "-cpu", cpu, *memory, *_file_memory("given", GIVEN_MB, given, shared),
            "-kernel", str(kernel.image), "-initrd", str(initrd), "-append", line]


def write_given(file, seed=0, prepared=b"", own=b""):
    """Writes the file that start.c reads."""
    data = b"".join(number.to_bytes(8, "little") for number in (seed, len(prepared), len(own))) + prepared + own
    if len(data) > GIVEN_MB << 20:
        raise LabError(f"a guest can be given {GIVEN_MB} MB of programs and files, not {len(data) >> 20}")
    with open(file, "wb") as out:
        out.write(data)
        out.truncate(GIVEN_MB << 20)


_running = set()
_cancelled = threading.Event()


def cancel():
    """Ends all guests; from now on waiting for one raises Cancelled."""
    _cancelled.set()
    for emulator in list(_running):
        emulator.stop()


def uncancel():
    """Lets guests run again."""
    _cancelled.clear()


@functools.lru_cache
def _warn_of_scheduling(error):
    print(f"lab: the emulator gets no real-time priority ({error.strerror}): on a busy host one input may give two "
          "results", file=sys.stderr)


class Emulator:
    """A guest that is paused before its first instruction. close() ends it."""

    def __init__(self, folder, command):
        """folder: for the console, QEMU's messages, and the output of ttyS1."""
        self.console, self.data, self._messages = (folder / name for name in ("console", "data", "messages"))
        self._core, self._place = cores.take()
        self._lab = os.getpid()
        ours, theirs = socket.socketpair()
        with open(self._messages, "wb") as messages, theirs:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [*command, "-S", "-serial", f"file:{self.console}", "-serial", f"file:{self.data}",
                 "-chardev", f"socket,id=monitor,fd={theirs.fileno()}", "-mon", "chardev=monitor,mode=control"],
                stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, pass_fds=[theirs.fileno()],
                env={**os.environ, "LD_PRELOAD": str(initramfs.find_program(WARP))},
                preexec_fn=self._in_child)
        ours.settimeout(ANSWER_S)
        self._socket, self._answers = ours, ours.makefile("rb")
        _running.add(self)
        try:
            self._line()  # its greeting
            self.tell("qmp_capabilities")
            self._schedule()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stop()
        _running.discard(self)
        self._answers.close()
        self._socket.close()
        self._place.close()

    def _in_child(self):
        """Makes the guest end when the lab ends, even by SIGKILL, and even if the lab ended before prctl(). The guest gets its
        own session, so that Ctrl-C reaches only the lab, which then ends its guests and cleans up. Many kernels share the CPU
        among sessions: so the session, too, gets the lab's niceness, or a lab under nice(1) would be in everybody's way."""
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self._lab:
            os._exit(1)
        os.setsid()
        with contextlib.suppress(OSError):
            pathlib.Path("/proc/self/autogroup").write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))
        os.sched_setaffinity(0, {self._core})

    def _schedule(self):
        """Gives the emulator real-time priority. Its two threads take turns: while the CPU is halted the main loop advances
        the clock, with warp.c once in 4,096 times. QEMU marks the CPU as halted before it has counted the last
        instructions. If the main loop looks in between, it moves the clock too far. Only the CPU's thread wakes the main
        loop, so the main loop must run as soon as it is woken and never later: on the same core, with priority."""
        try:
            os.sched_setscheduler(self.process.pid, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        except PermissionError as error:
            _warn_of_scheduling(error)

    def messages(self):
        return self._messages.read_text(errors="replace")

    def _line(self):
        try:
            line = self._answers.readline()
        except TimeoutError as error:
            raise EmulatorError(f"the emulator says nothing for {ANSWER_S} s") from error
        except ConnectionResetError:
            line = b""
        if _cancelled.is_set():
            raise Cancelled
        if not line:
            self.process.wait()
            raise EmulatorError(f"the emulator ended: {self.messages().strip() or self.process.returncode}")
        return json.loads(line)

    def tell(self, command, **arguments):
        """Sends a command to the monitor, and returns its answer."""
        return self._tell(command, arguments, [])

    def pass_file(self, name, file):
        """Passes an open file; later commands refer to it by the name."""
        self._tell("getfd", {"fdname": name}, [file.fileno()])

    def _tell(self, command, arguments, fds):
        request = json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n"
        try:
            socket.send_fds(self._socket, [request], fds)
        except OSError as error:
            if _cancelled.is_set():
                raise Cancelled from error
            raise EmulatorError(f"the emulator ended: {self.messages().strip() or error}") from error
        while True:
            line = self._line()
            if "error" in line:
                raise EmulatorError(f"the emulator refuses {command}: {line['error']['desc']}")
            if "return" in line:
                return line["return"]

    def wait_for(self, event, *statuses):
        """Waits for the event, with one of these statuses if any are given, and returns it."""
        while True:
            line = self._line()
            if line.get("event") == event and (not statuses or line["data"]["status"] in statuses):
                return line

    def wait(self, timeout_s):
        """Waits until the guest has ended; raises subprocess.TimeoutExpired."""
        if not _cancelled.is_set():
            self.process.wait(timeout_s)
        if _cancelled.is_set():
            raise Cancelled

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
