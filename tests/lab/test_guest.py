# SPDX-License-Identifier: GPL-2.0-only
"""The laboratory itself: a run is a function of its inputs."""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import pytest

from studies import repeat
from vm import emulator, guest, kernels, snapshot
from vm.initramfs import BUILD

LAB = pathlib.Path(guest.__file__).parents[1]

SCRIPT = """
flow -l 5001 &
sleep 0.1
flow -c 127.0.0.1 -p 5001 -C reno -m 20000 -i 20 send:500 pause:100 bytes:100000
echo data >/dev/ttyS1
date +%s
exit 3
"""


@pytest.fixture(scope="module")
def kernel():
    return kernels.find("6.12")


def image(kernel, script=SCRIPT):
    return guest.initramfs(kernel, script, programs=[BUILD / "flow"])


def test_same_inputs_same_bytes(kernel):
    assert image(kernel) == image(kernel)
    first, second = (guest.run(kernel, image(kernel)) for _ in range(2))
    assert first == second
    assert first.status == 3 and first.data == b"data\n"
    assert '"wrong_bytes":0' in first.console
    assert first.console.splitlines()[-1].startswith("17672256")  # the first of January 2026


# What a run prepares goes on in it: files, processes, namespaces, BPF programs.
PREPARE = """
echo prepared $RANDOM
bbrctl load --name prepared
ip netns add apart
ip netns exec apart ip link set lo up
ip netns exec apart flow -l 5001 &
date +%s.%N
"""
PREPARED = """
ip netns exec apart flow -c 127.0.0.1 -p 5001 -C prepared bytes:100000
date +%s.%N
head -c 8 /dev/urandom | od -An -tx8
"""


def prepared_image(kernel, prepare=PREPARE, script=PREPARED):
    return guest.initramfs(kernel, script, programs=[BUILD / "flow", BUILD / "bbrctl"], prepare=prepare)


def test_a_boot_gives_what_its_snapshot_gives(kernel):
    assert guest.run(kernel, image(kernel)) == guest.run(kernel, image(kernel), boot=True)


def test_what_is_prepared_gives_what_its_boot_gives(kernel, no_snapshots):
    """Once for all seeds, whose random numbers are their own all the same."""
    first, same, other = (guest.run(kernel, prepared_image(kernel), seed=seed) for seed in (1, 1, 2))
    assert first == same == guest.run(kernel, prepared_image(kernel), boot=True)
    assert len(snapshots(no_snapshots)) == 2  # the boot's, and, from the second run on, that of what is prepared
    assert first.status == 0 and '"cc":"prepared"' in first.console and '"received_bytes":100000' in first.console
    one, two = (result.console.splitlines() for result in (first, other))
    assert one[0].startswith("prepared ") and one[:3] == two[:3] and one[-1] != two[-1]


def test_what_fails_to_be_prepared_is_shown_by_each_run(kernel):
    for _ in range(2):
        result = guest.run(kernel, prepared_image(kernel, "echo no such thing\nexit 7\n"))
        assert (result.status, result.console) == (1, "no such thing")


def test_a_guest_that_ends_while_it_prepares(kernel):
    for _ in range(2):
        with pytest.raises(kernels.LabError, match="(?s)the guest (did not reach|ended before) its script.*so far"):
            guest.run(kernel, prepared_image(kernel, "echo so far >/dev/console\nsleep 1\npoweroff -f\nsleep 1000\n"))


def test_busy_host_same_bytes(kernel):
    """For more runs: lab/lab repeat 200."""
    assert list(repeat.hashes(2, kernel.key).values()) == [2]


# Each of the 2,000 pauses ends with a timer while the CPU is halted.
PAUSES = """
mkfifo /fifo
exec 9<>/fifo
for i in {1..2000}; do read -r -t 0.001 -u 9; done
date +%s.%N
"""


def with_thread_switches(kernel, script):
    """What the guest leaves, and the emulator's thread switches."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = guest.run(kernel, image(kernel, script))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw


def test_the_emulator_is_quicker_than_qemu_alone_and_gives_the_same_bytes(kernel, tmp_path, monkeypatch):
    """warp.c: the CPU's thread moves the clock of a halted CPU. With an empty library that is QEMU's main loop's."""
    quick, switches = with_thread_switches(kernel, PAUSES)
    empty = tmp_path / "empty.so"
    subprocess.run(["cc", "-shared", "-o", empty, "-x", "c", "/dev/null"], check=True)
    monkeypatch.setattr(emulator, "WARP", empty)
    plain, plain_switches = with_thread_switches(kernel, PAUSES)
    assert quick == plain
    assert plain_switches > 10_000 and switches < plain_switches / 4, (switches, plain_switches)


RANDOM = """
head -c 8 /dev/urandom | od -An -tx8
echo $RANDOM
cat /proc/sys/kernel/random/uuid
for i in {1..64}; do ip link add v$i type veth; done
cat /sys/class/net/v*/address
"""


def without_cmpxchg16b(kernel):
    """Whether the guest's CPU lacks the instruction, and its kernel does without it."""
    cpu, cmdline = emulator.cpu_and_cmdline(kernel)
    return emulator.NO_CMPXCHG16B in cpu, emulator.DEBUG_KMALLOC in cmdline


def test_the_settings_for_lost_flags_are_there_where_they_are_lost(kernel, tmp_path, monkeypatch):
    assert subprocess.run(emulator.FLAGS, check=False).returncode == 0  # this machine's CPU keeps them
    monkeypatch.setattr(emulator, "CACHE", tmp_path)
    emulator.loses_flags.cache_clear()
    loses = emulator.loses_flags(kernel)
    if b"version 7.2." in emulator.path_and_version()[1]:
        assert loses
    assert without_cmpxchg16b(kernel) == (loses, loses)
    (known,) = (tmp_path / "loses_flags").iterdir()
    known.write_text(str(not loses))
    emulator.loses_flags.cache_clear()
    assert without_cmpxchg16b(kernel) == (not loses, not loses)
    emulator.loses_flags.cache_clear()


def test_random_numbers_are_those_of_the_seed(kernel):
    image = guest.initramfs(kernel, RANDOM, modules=["veth"])
    first, same, other = (guest.run(kernel, image, seed=seed) for seed in (1, 1, 2))
    assert first == same and first.inputs != other.inputs
    pairs = list(zip(first.console.splitlines(), other.console.splitlines(), strict=True))
    assert len(pairs) == 3 + 128 and not [one for one, two in pairs if one == two]


@pytest.fixture
def no_snapshots(tmp_path, monkeypatch):
    """An empty folder for snapshots."""
    monkeypatch.setattr(snapshot, "FOLDER", tmp_path)
    return tmp_path


MAKE = "import pathlib, sys; from vm import kernels, snapshot; snapshot.FOLDER = pathlib.Path(sys.argv[1]); " \
       "snapshot.find(kernels.find(sys.argv[2]))"


def make(folder, kernel, temporary):
    return subprocess.Popen([sys.executable, "-c", MAKE, folder, kernel.key], cwd=LAB,
                            env={**os.environ, "TMPDIR": str(temporary)})


def snapshots(folder):
    return [path for path in folder.iterdir() if path.is_dir()]


def test_makers_of_a_snapshot_at_once_and_one_that_is_killed(kernel, no_snapshots, tmp_path_factory):
    expected = guest.run(kernel, image(kernel), boot=True)
    temporary = tmp_path_factory.mktemp("tmp")  # the killed one leaves its folder there
    killed = make(no_snapshots, kernel, temporary)
    deadline = time.monotonic() + 600
    while not list(no_snapshots.glob("*.partial/ram")):
        assert killed.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    makers = [make(no_snapshots, kernel, temporary) for _ in range(2)]
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert all(path.suffix == ".partial" for path in snapshots(no_snapshots))
    assert [maker.wait() for maker in makers] == [0, 0]
    (made,) = snapshots(no_snapshots)
    inode = made.stat().st_ino
    assert guest.run(kernel, image(kernel)) == expected
    assert made.stat().st_ino == inode
    assert sum(file.stat().st_blocks * 512 for file in made.iterdir()) < 256 << 20


# A lab that is killed right after it has made its guest's process.
ORPHAN = """import os, sys, time
from vm import emulator
guest = object.__new__(emulator.Emulator)
guest._lab, guest._core = os.getpid(), min(os.sched_getaffinity(0))
if os.fork():
    os._exit(0)
while os.getppid() == guest._lab:
    time.sleep(0.01)
guest._in_child()
print("it goes on without the lab")"""


def test_a_guest_whose_lab_was_killed_before_it_began_ends():
    done = subprocess.run([sys.executable, "-c", ORPHAN], cwd=LAB, capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


NICE = """import os
from vm import emulator
os.nice(7)
guest = object.__new__(emulator.Emulator)
guest._lab, guest._core = os.getppid(), min(os.sched_getaffinity(0))
guest._in_child()
print(open("/proc/self/autogroup").read())"""


@pytest.mark.skipif(not os.path.exists("/proc/self/autogroup"), reason="this kernel does not share the CPU among sessions")
def test_a_guest_is_as_nice_as_the_lab():
    done = subprocess.run([sys.executable, "-c", NICE], cwd=LAB, capture_output=True, text=True, check=True,
                          preexec_fn=lambda: os.setpriority(os.PRIO_PROCESS, 0, 0))
    assert done.stdout.split()[-1] == "7", done


@pytest.mark.parametrize("file", ["state", "ram", "initrd"])
def test_a_damaged_snapshot_is_made_again(kernel, tmp_path, capsys, monkeypatch, file):
    expected = guest.run(kernel, image(kernel))
    good = snapshot.find(kernel)

    def copy(_kernel, folder):
        subprocess.run(["cp", "-a", *good.iterdir(), folder], check=True)

    monkeypatch.setattr(snapshot, "FOLDER", tmp_path)
    monkeypatch.setattr(snapshot, "_boot", copy)
    damaged = snapshot.find(kernel) / file
    if file == "initrd":
        damaged.unlink()
    else:
        with open(damaged, "r+b") as cut:
            cut.truncate(damaged.stat().st_size // 2)
    assert guest.run(kernel, image(kernel)) == expected
    assert "lab: a snapshot of kernel 6.12 cannot be loaded and is made again: " in capsys.readouterr().err
    assert guest.run(kernel, image(kernel)) == expected
    assert not capsys.readouterr().err


def test_what_is_prepared_from_a_damaged_boot(kernel, no_snapshots, capsys):
    image = prepared_image(kernel, "echo prepared\n", "echo run\n")
    expected = guest.run(kernel, image)
    (boot,) = snapshots(no_snapshots)
    os.truncate(boot / "state", 1000)
    assert guest.run(kernel, image) == expected and expected.console == "prepared\nrun"
    assert "lab: a snapshot of kernel 6.12 cannot be loaded and is made again: " in capsys.readouterr().err
    assert guest.run(kernel, image) == expected and len(snapshots(no_snapshots)) == 2
    assert not capsys.readouterr().err


def test_a_snapshot_that_is_always_damaged_is_an_error(kernel, tmp_path, monkeypatch):
    def make_nothing(_kernel, folder):
        for name in ("initrd", "ram", "state"):
            (folder / name).touch()

    monkeypatch.setattr(snapshot, "FOLDER", tmp_path)
    monkeypatch.setattr(snapshot, "_boot", make_nothing)
    with pytest.raises(kernels.LabError, match="the emulator (ended|could not)"):
        guest.run(kernel, image(kernel))


def test_snapshots_used_longest_ago_go(kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "FOLDER", tmp_path)
    monkeypatch.setattr(snapshot, "_boot", lambda *_: None)
    for n in range(snapshot.MOST + 1):
        (tmp_path / str(n)).mkdir()
        os.utime(tmp_path / str(n), (n, n))
    made = snapshot.find(kernel)
    assert {path.name for path in snapshots(tmp_path)} == {
        made.name, *(str(n) for n in range(2, snapshot.MOST + 1))}


def test_other_inputs_another_hash(kernel):
    short = "exit 0\n"
    one = guest.run(kernel, image(kernel, short))
    other = guest.run(kernel, image(kernel, short + "# a comment\n"))
    assert one.status == other.status == 0
    assert one.inputs != other.inputs


def test_a_guest_that_does_not_come_to_its_end(kernel):
    result = guest.run(kernel, image(kernel, "echo so far\npoweroff -f\nsleep 1000\n"))
    assert result.status == -1
    assert result.console.startswith("so far")


def test_unknown_kernel():
    with pytest.raises(kernels.LabError, match="known are 5.10, 6.1"):
        kernels.find("5.4")


def test_own_kernel(kernel):
    own = kernels.find(f"{kernel.image}:{kernel.modules}")
    assert (own.image, own.modules) == (kernel.image, kernel.modules)
