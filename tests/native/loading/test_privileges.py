# SPDX-License-Identifier: GPL-2.0-only
"""
bbrmon with only the capabilities that each verb needs: without root, with one of them missing, and what a running
bbrmon keeps. And no output contains a kernel address.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from system import run, wait_until
from tool import DONE, REFUSED, SANITIZER, USAGE, Tool, sanitizer_environment, status_of
from transfer import connect, listen, send_verified

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BBR_BUILD", ROOT / "build/asan"))

# What each needs, and what it keeps if it has it: see capabilities(7).
NEEDS = {"stream": {"sys_admin"}, "snapshot": {"sys_admin", "sys_ptrace"}, "why": {"sys_admin", "sys_ptrace"}, "top": {"sys_admin"},
         "record": {"sys_admin"}, "report": set(), "experiment": set(), "export": {"sys_admin", "sys_ptrace"}}
MAY = {"record": {"dac_override"}, "experiment": {"sys_admin", "net_admin", "dac_read_search", "dac_override"}, "report": {"dac_read_search", "dac_override"},
       "top": {"sys_ptrace", "dac_read_search"}, "export": {"net_bind_service", "net_admin", "dac_read_search"}}
# Command lines that watch until they are interrupted: the instance and the kernel's own bbr; FILE may be written.
NAMES = ["--name", "NAME", "--name", "bbr"]
WATCHING = {"stream": ["--every", "ack", *NAMES], "top": ["--batch", *NAMES], "record": ["-o", "FILE", *NAMES],
            "export": ["--listen", "127.0.0.1:0", *NAMES]}
OTHER_ARGS = {"record": ["-o", "-"], "top": ["--batch"]}  # required beside --read
RECORDING = ROOT / "tests/native/watching/recordings/abi3.rec"
GUARDED = {"stream", "top", "record", "export"}  # have a child that frees their slots
BITS = {"dac_override": 1, "dac_read_search": 2, "net_bind_service": 10, "net_admin": 12, "sys_ptrace": 19, "sys_admin": 21, "perfmon": 38,
        "bpf": 39}
LOOK, CHANGE = {"sys_admin", "net_admin"}, {"sys_admin", "net_admin", "perfmon", "bpf"}
FILES = {"dac_read_search", "dac_override"}
# Command lines that read the file FILE, and what each may have meanwhile: nothing if anybody may have made the file.
READING = [
    ("bbrmon", ["stream", "--read", "FILE"], set()), ("bbrmon", ["snapshot", "--read", "FILE"], set()),
    ("bbrmon", ["why", "--read", "FILE"], set()),
    ("bbrmon", ["top", "--batch", "--read", "FILE"], set()), ("bbrmon", ["record", "-o", "OUT", "--read", "FILE"], set()),
    ("bbrmon", ["export", "--read", "FILE"], set()), ("bbrmon", ["experiment", "FILE"], set()),
    ("bbrmon", ["experiment", "--html", "OUT", "FILE"], set()),
    ("bbrctl", ["apply", "FILE"], CHANGE | FILES | {"sys_ptrace"}), ("bbrctl", ["apply", "--check", "FILE"], LOOK | FILES | {"sys_ptrace"}),
    ("bbrctl", ["apply", "--diff", "FILE"], LOOK | FILES | {"sys_ptrace"}),
    ("bbrctl", ["load", "--name", "bbrt_no", "--object", "FILE"], CHANGE | FILES | {"sys_ptrace"}),
    ("bbrctl", ["load", "--name", "bbrt_no", "--profile", "FILE"], CHANGE | FILES | {"sys_ptrace"}),
    ("bbrctl", ["profile", "add", "--name", "NAME", "--profile", "FILE", "some"], CHANGE | FILES),
    ("bbrctl", ["upgrade", "--name", "NAME", "--object", "FILE"], CHANGE | FILES | {"sys_ptrace"}),
]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
ADDRESS = re.compile(r"ffff[0-9a-f]{12}|\b1844[67]\d{15,16}\b")


def verbs():
    done = subprocess.run([BUILD / "bbrmon", "--help"], capture_output=True, text=True, check=True)
    return re.findall(r"^  ([a-z]+) ", done.stdout, re.M)


VERBS = verbs()
LONG = [verb for verb in VERBS if verb in WATCHING]


def command(directory, name, args):
    return [{"FILE": str(directory / "file"), "NAME": name}.get(arg, arg) for arg in args]


def names(caps):
    return {f"CAP_{cap.upper()}" for cap in caps}


def nobody_with(caps):
    which = ",".join(["-all", *(f"+{cap}" for cap in sorted(caps))])
    return [*NOBODY, f"--inh-caps={which}", f"--ambient-caps={which}"]


@pytest.fixture
def public():
    """A folder that everybody may use, with bbrmon in it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bbrt"))
    os.chmod(directory, 0o777)
    shutil.copy(BUILD / "bbrmon", directory)
    yield directory
    shutil.rmtree(directory)


class Running:
    """A verb in the background; it has subscribed to the instance if the verb does so."""

    def __init__(self, directory, bbrctl, name, verb, args=(), prefix=()):
        args = [*command(directory, name, WATCHING[verb]), *args]
        self.output = open(directory / "output", "w+")
        self.process = subprocess.Popen([*prefix, directory / "bbrmon", verb, *args], env=sanitizer_environment(),
                                        stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT)
        self.name, self.verb, self.bbrctl = name, verb, bbrctl

    def __enter__(self):
        if self.verb in GUARDED:
            self.wait_for(lambda: status_of(self.bbrctl, self.name)["monitors"], "it subscribes")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.output.close()

    def text(self):
        return pathlib.Path(self.output.name).read_text()

    def wait_for(self, condition, what):
        def ask():
            assert self.process.poll() is None, self.text()
            return condition()
        return wait_until(ask, what)

    def guardian(self):
        """The pid of its guardian, or None."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return next((int(pid) for pid in children if status(int(pid))["Name"] == "bbrmon-guard"), None)

    def wait_for_the_end_of_a_connection(self):
        if self.verb == "stream":
            self.wait_for(lambda: self.name in self.text() and re.search(r"\bend\b", self.text()), "events")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(60) == DONE, self.text()
        assert not SANITIZER.search(self.text()), self.text()
        return self.text()


def status(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def mask(caps):
    return sum(1 << BITS[cap] for cap in caps)


def has_just(pid, caps, bounding):
    found = status(pid)
    assert found["NoNewPrivs"] == "1"
    for which, wanted in ("Prm", caps), ("Eff", caps), ("Inh", ()), ("Amb", ()), ("Bnd", bounding):
        if wanted is not None:
            assert int(found[f"Cap{which}"], 16) == mask(wanted), (which, found)


def test_every_verb_is_in_here():
    assert set(VERBS) <= set(NEEDS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_says_what_it_needs(bbrmon, verb):
    (line,) = re.findall(r"^Needs ([^;]*);\s+gives\s+up\s+all\s+others", bbrmon(verb, "--help").out, re.M)
    needs, _, may = " ".join(line.split()).partition(" and uses, if it has them, ")
    assert set(re.findall(r"CAP_[A-Z_]+", needs)) == names(NEEDS[verb])
    assert set(re.findall(r"CAP_[A-Z_]+", may)) == names(MAY.get(verb, ()))


def test_the_service_has_what_export_needs():
    lines = (ROOT / "packaging/systemd/bbrmon-export.service").read_text().splitlines()
    for setting in "AmbientCapabilities=", "CapabilityBoundingSet=":
        (line,) = [line for line in lines if line.startswith(setting)]
        assert set(line.removeprefix(setting).split()) == names(NEEDS["export"])


@pytest.mark.parametrize("verb, missing", [(verb, cap) for verb in VERBS for cap in sorted(NEEDS[verb])])
def test_one_that_is_missing_is_named(public, verb, missing):
    """One line names it, and the next has the remedy."""
    args = command(public, "no_such", WATCHING.get(verb, []))
    for prefix in nobody_with(NEEDS[verb] - {missing}), ["setpriv", f"--bounding-set=-{missing}"]:
        err = Tool(public / "bbrmon")(verb, *args, status=REFUSED, prefix=prefix, cwd=public).err
        lacks, remedy = err.splitlines()
        assert lacks == f"bbrmon: {verb}: missing CAP_{missing.upper()}"
        assert all(name in remedy for name in names(NEEDS[verb]))


@pytest.mark.parametrize("verb", LONG)
def test_as_nobody_with_just_what_it_needs(bbrctl, public, load, ns, verb):
    """It works, and neither bbrmon nor its guardian has more than that."""
    name = load()
    with Running(public, bbrctl, name, verb, prefix=nobody_with(NEEDS[verb])) as running:
        send_verified(ns, name)
        has_just(running.process.pid, NEEDS[verb], None)  # dropping from the bounding set takes CAP_SETPCAP
        if verb in GUARDED:
            has_just(running.guardian(), {"sys_admin"}, None)
        running.wait_for_the_end_of_a_connection()
        running.stop()


@pytest.mark.parametrize("verb", LONG)
def test_root_gives_up_all_others(bbrctl, public, load, verb):
    keeps = NEEDS[verb] | MAY.get(verb, set())
    with Running(public, bbrctl, load(), verb) as running:
        has_just(running.process.pid, keeps, ())
        if verb in GUARDED:
            has_just(running.guardian(), {"sys_admin"}, ())
        running.stop()


@pytest.mark.parametrize("program, line, caps", READING, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_what_root_keeps_while_it_reads_a_file(public, load, program, line, caps):
    """The file is a pipe that stays empty, so the program waits in the middle of reading it."""
    name, pipe = load(), public / "pipe"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    line = [{"FILE": pipe, "OUT": public / "out", "NAME": name}.get(word, word) for word in line]
    with subprocess.Popen([BUILD / program, *line], env=sanitizer_environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        def waits():
            assert process.poll() is None, process.stderr.read()
            opened = {os.path.realpath(fd) for fd in pathlib.Path(f"/proc/{process.pid}/fd").iterdir()}
            return str(pipe) in opened and status(process.pid)["State"].startswith("S")
        try:
            wait_until(waits, "it waits for more of the file")
            has_just(process.pid, caps, ())
        finally:
            process.kill()
            os.close(writer)


def test_what_root_keeps_while_it_makes_a_report(public):
    """It reads its file twice, so that cannot be a pipe. It is long enough to look at the program meanwhile."""
    file = public / "recording"
    file.write_bytes(RECORDING.read_bytes() * 500)
    with subprocess.Popen([BUILD / "bbrmon", "report", "-o", public / "out", file], env=sanitizer_environment()) as process:
        def reads():
            assert process.poll() is None
            opened = {os.path.realpath(fd) for fd in pathlib.Path(f"/proc/{process.pid}/fd").iterdir()}
            return str(file) in opened and int(status(process.pid)["CapEff"], 16) == 0
        try:
            wait_until(reads, "it reads the file without privileges")
            has_just(process.pid, set(), ())
        finally:
            process.kill()


@pytest.mark.parametrize("args", [["report", "FILE"], ["report", "-o", "OUT", "FILE"], ["report", "--svg", "OUT", "FILE"],
                                  ["record", "-o", "OUT", "--read", "FILE"], ["experiment", "--html", "OUT", "FILE"]], ids=" ".join)
def test_root_writes_into_the_folder_of_somebody_else(public, args):
    """Which takes a capability: so the output is opened before the file is read. Nothing is left of an output that got nothing."""
    folder = public / "folder"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    os.chmod(folder, 0o700)
    kind = "connections.csv" if args[0] == "experiment" else "recording"
    source = ROOT / "tests/unit/experiment/recorded_connections.csv" if args[0] == "experiment" else RECORDING
    shutil.copy(source, folder / kind)
    args = [{"FILE": folder / kind, "OUT": folder / "out"}.get(arg, arg) for arg in args]
    bbrmon = Tool(public / "bbrmon")
    bbrmon(*args)
    (written,) = set(folder.iterdir()) - {folder / kind}
    assert written.stat().st_size > 100
    before = written.read_bytes()
    (folder / kind).write_text("neither of them")
    assert "neither of them" not in bbrmon(*args, status=USAGE).err
    assert written.read_bytes() == before  # it keeps what it had


SNAPSHOTS = {"": set(), "--processes": {"dac_read_search"}, "--cgroup": {"dac_read_search"}}


@pytest.mark.parametrize("option", SNAPSHOTS)
def test_snapshot_as_nobody(public, load, ns, option):
    """A snapshot shows a connection in another namespace, and root's process that has it."""
    name, needs = load(), NEEDS["snapshot"] | SNAPSHOTS[option]
    sender, _ = connect(ns, listen(ns), cc=name)
    args = ["snapshot", "-j", "--name", name, *filter(None, [option])]
    (seen,) = [json.loads(line) for line in
               Tool(public / "bbrmon")(*args, prefix=nobody_with(needs)).out.splitlines()]
    assert (seen["lport"], seen["instance"]) == (sender.getsockname()[1], name)
    if option == "--processes":
        assert str(os.getpid()) in json.dumps(seen)
    for missing in needs:
        err = Tool(public / "bbrmon")(*args, prefix=nobody_with(needs - {missing}), status=REFUSED).err
        assert f"missing CAP_{missing.upper()}\n" in err


def test_snapshot_of_one_namespace_as_nobody(public, load, ns):
    """By a name in /run/netns, which everybody may open."""
    name = load()
    sender, _ = connect(ns, listen(ns), cc=name)
    out = Tool(public / "bbrmon")("snapshot", "-j", "--netns", ns.name, prefix=nobody_with({"sys_admin"})).out
    assert sender.getsockname()[1] in [json.loads(line)["lport"] for line in out.splitlines()]


@pytest.mark.parametrize("flags", ["p", "ep"])
def test_capabilities_of_the_file(bbrctl, plain_bbrmon, public, load, ns, flags):
    """Without the sanitizers: the dynamic linker gives a privileged program no environment."""
    name = load()
    shutil.copy(plain_bbrmon.path, public / "bbrmon")
    run("setcap", f"cap_sys_admin={flags}", public / "bbrmon")
    nobody = [*NOBODY, "--inh-caps=-all", "--ambient-caps=-all"]
    with Running(public, bbrctl, name, "stream", prefix=nobody) as running:
        has_just(running.process.pid, {"sys_admin"}, None)
        has_just(running.guardian(), {"sys_admin"}, None)
        send_verified(ns, name)
        running.wait_for_the_end_of_a_connection()
        running.stop()


@pytest.mark.parametrize("verb", VERBS)
def test_a_recording_needs_none(public, verb):
    """The message is about the file, which does not exist."""
    if "--read" in Tool(public / "bbrmon")(verb, "--help").out:
        err = Tool(public / "bbrmon")(verb, *OTHER_ARGS.get(verb, []), "--read", "no_such_file", status=USAGE,
                                      cwd=public, prefix=nobody_with(())).err
        assert "no_such_file" in err and "missing" not in err


@pytest.mark.parametrize("verb", VERBS)
def test_root_reads_what_is_not_its_own(public, verb):
    """The message is about the file's content, unless the capability is missing."""
    folder = public / "folder"
    folder.mkdir()
    (folder / "file").write_text("no recording")
    for path, mode in (folder / "file", 0o600), (folder, 0o700):
        os.chmod(path, mode)
        os.chown(path, 65534, 65534)
    bbrmon = Tool(public / "bbrmon")
    args = ["report"] if verb == "report" else [verb, *OTHER_ARGS.get(verb, []), "--read"]
    if verb == "report" or "--read" in bbrmon(verb, "--help").out:
        assert "denied" not in bbrmon(*args, folder / "file", status=USAGE).err
        prefix = ["setpriv", "--bounding-set=-dac_read_search,-dac_override"]
        assert "denied" in bbrmon(*args, folder / "file", status=None, prefix=prefix).err


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", [[], ["-j"], ["-v"], ["-j", "-v"]])
def test_no_kernel_addresses(bbrctl, public, load, ns, verb, form):
    name = load()
    if "-j" in form and "--json" not in Tool(public / "bbrmon")(verb, "--help").out:
        form = [arg for arg in form if arg != "-j"]
    if verb in LONG:
        with Running(public, bbrctl, name, verb, form) as running:
            send_verified(ns, name)
            running.wait_for_the_end_of_a_connection()
            text = running.stop()
        if verb == "record":
            text += Tool(public / "bbrmon")("stream", *form, "--read", public / "file").out
    else:
        sender, _ = connect(ns, listen(ns), cc=name)
        done = Tool(public / "bbrmon")(verb, *form, status=None)
        text = done.out + done.err
        assert verb != "snapshot" or str(sender.getsockname()[1]) in text
    assert text and not ADDRESS.search(text), ADDRESS.search(text)
