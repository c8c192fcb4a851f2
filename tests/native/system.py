# SPDX-License-Identifier: GPL-2.0-only
"""The tests' view of the running system: commands, BPF objects, leftovers of tests."""
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import platform
import subprocess
import time

# Prefix of every name that a test gives. It contains our process id, so it never matches anybody else's.
PREFIX = f"bbrt{os.getpid()}"

is_alone = False  # do no other tests use the machine? See machine()

MARK = "BBR_TESTS"  # environment variable of every process that the tests start

MAP_NAMES = {".data.params", ".data.watch", ".rodata.bbr_abi", "bbr_rings", "bbr_conns",
             ".data.clamped", "bbr_rules", "bbr_defaults", ".rodata.bbr_att", ".data.assigned",
             ".rodata.bbr_exp", ".data.bbr_exp", "bbr_outcomes", "bbr_exp_log", "bbr_exp_conns", "bbr_arms"}


def run(*args, timeout=60, check=True, **kwargs):
    """Runs a command that must succeed (unless check is False), and captures its output as text."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=timeout, **kwargs)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(map(str, args))}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done


def wait_until(condition, what, timeout=30):
    """Calls condition until it is true, and returns its value. For what happens soon, but not at once."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"waited {timeout} s in vain: {what}"
        time.sleep(0.02)
    return answer


def bpftool(*args, timeout=60):
    """The JSON that bpftool prints."""
    out = run("bpftool", "-j", *args, timeout=timeout).stdout
    return json.loads(out) if out.strip() else None


def registered():
    """The names of the congestion controls that sockets can use now."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as f:
        return set(f.read().split())


def struct_ops():
    """id: name of the struct_ops maps, registered or still held by sockets."""
    return {o["id"]: o["name"] for o in bpftool("struct_ops", "list")}


def maps():
    """id: name of all maps with one of our names, whoever made them."""
    return {m["id"]: m["name"] for m in bpftool("map", "list") if m.get("name") in MAP_NAMES}


def program(prog_id):
    """What bpftool shows of a program; None if there is no such id."""
    done = run("bpftool", "-j", "prog", "show", "id", prog_id, check=False)
    return None if done.returncode else json.loads(done.stdout)


def maps_of_program(prog_id):
    """name: id of the maps that a program uses."""
    ids = (program(prog_id) or {}).get("map_ids", [])
    return {m["name"]: m["id"] for m in bpftool("map", "list") if m["id"] in ids and "name" in m}


def maps_of_instance(prog_id):
    """name: id of the maps of all programs that share .data.params with this one."""
    params = maps_of_program(prog_id).get(".data.params")
    ids = {i for p in bpftool("prog", "list") if params in p.get("map_ids", []) for i in p["map_ids"]}
    return {m["name"]: m["id"] for m in bpftool("map", "list") if m["id"] in ids and "name" in m}


def map_exists(map_id):
    return run("bpftool", "map", "show", "id", map_id, check=False).returncode == 0


class RunCounts:
    """
    The kernel counts the runs of BPF programs while this is open. It does so for the file descriptor, which
    ends with us: no sysctl is touched.
    """

    BPF_ENABLE_STATS = 32
    SYS_BPF = {"x86_64": 321, "aarch64": 280}

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        attr = ctypes.create_string_buffer(128)  # type 0: BPF_STATS_RUN_TIME
        number = self.SYS_BPF.get(platform.machine())
        assert number, f"the number of bpf(2) on {platform.machine()} is missing here"
        self.fd = libc.syscall(number, self.BPF_ENABLE_STATS, attr, ctypes.c_uint(len(attr)))
        assert self.fd >= 0, f"BPF_ENABLE_STATS: {os.strerror(ctypes.get_errno())}"
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    @staticmethod
    def of(prog_id):
        return program(prog_id).get("run_cnt", 0)


def cgroup_mount():
    """The mount point of cgroup v2; a hybrid system has it below the folder of the others."""
    with open("/proc/self/mounts") as f:
        for line in f:
            _, where, kind, *_ = line.split()
            if kind == "cgroup2":
                return pathlib.Path(where)
    raise AssertionError("no cgroup v2 is mounted")


BPFFS = pathlib.Path("/sys/fs/bpf")
PINS = BPFFS / "bpf_bbr"  # of the links by which bbrctl registers instances

# Prefix of a command: it sees no bpffs, and cannot make one that would stay.
NO_BPFFS = ["unshare", "-m", "sh", "-c", f'umount -l {BPFFS} 2>/dev/null; exec "$@"', "sh"]


def pin(name):
    return PINS / name.replace(".", "-")


def pins():
    return {path.name for path in PINS.iterdir()} if PINS.is_dir() else set()


def has_bpffs():
    with open("/proc/self/mounts") as f:
        return any(line.split()[1:3] == [str(BPFFS), "bpf"] for line in f)


def unmount_bpffs():
    """Unmounts bpffs unless somebody has something in it: pins do not keep a bpffs from being unmounted."""
    with open("/run/bbrctl.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if has_bpffs() and not [p for p in BPFFS.iterdir() if p.suffix != ".debug"]:
            run("umount", BPFFS)


def namespaces():
    return {line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines() if line.strip()}


def processes(prefix=PREFIX):
    """The processes that tests of this prefix started, whoever is their parent now: their environment has a mark."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"{MARK}={prefix}".encode() in f.read().split(b"\0"):
                    found.add(int(pid))
        except OSError:  # it has ended, or is a zombie
            pass
    return found


def maps_held_by(pid):
    """Ids of the BPF maps that a process has open."""
    found = set()
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = info.read_text()
        except FileNotFoundError:  # closed meanwhile: a monitor opens the maps of instances while it looks for them
            continue
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        if "map_id" in fields:
            found.add(int(fields["map_id"]))
    return found


def is_ours(name):
    return name == "bpf_bbr" or name.startswith("bbrt")


def maps_of_ours(bbrctl):
    """
    (id, name) of the maps with our names that no instance of somebody else uses: such an instance has maps of
    the same names.
    """
    assert is_alone, "give this test the mark machine_alone"
    others = set()
    for instance in bbrctl.json("status"):
        if not is_ours(instance["name"]):
            others |= set(maps_of_instance(instance["prog_id"]).values())
    return {(i, name) for i, name in maps().items() if i not in others}


@contextlib.contextmanager
def locked(what, how=fcntl.LOCK_EX):
    """Excludes tests in other processes, of this run and of others."""
    with open(f"/run/lock/bbr-tests-{what}", "w") as lock:
        fcntl.flock(lock, how)
        yield lock


@contextlib.contextmanager
def promptly():
    """This thread gets a CPU as soon as it can run, as on an idle machine. For what has to be quicker than somebody else."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


@contextlib.contextmanager
def machine(alone):
    """Test processes share the machine, or one has it alone. Nobody else may begin while one waits to have it alone."""
    global is_alone
    with locked("machine", fcntl.LOCK_UN) as lock:
        with locked("turn"):
            fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        is_alone = alone
        yield
        is_alone = False


class Traces:
    """What tests may have left in the kernel by now."""

    def __init__(self, bbrctl):
        self.struct_ops = {(i, n) for i, n in struct_ops().items() if is_ours(n)}
        self.namespaces = {n for n in namespaces() if n.startswith("bbrt")}
        self.congestion_controls = {n for n in registered() if is_ours(n)}
        self.cgroups = {path.name for path in cgroup_mount().glob("bbrt*")}
        self.pins = {n for n in pins() if is_ours(n)}
        self.bpffs = has_bpffs()
        self.processes = processes()
        with open("/proc/sys/net/ipv4/tcp_congestion_control") as f:
            self.default = f.read()
        self.maps = maps_of_ours(bbrctl)

    def since(self, before):
        """What exists now and did not exist before, in words; empty if there is nothing."""
        new = []
        for what in "struct_ops", "namespaces", "congestion_controls", "maps", "cgroups", "pins", "processes":
            extra = getattr(self, what) - getattr(before, what)
            if extra:
                new.append(f"{what}: {sorted(extra)}")
        if self.default != before.default:
            new.append(f"default congestion control: {self.default}")
        return new
