# SPDX-License-Identifier: GPL-2.0-only
"""
Everything that can go wrong goes wrong once: bbrctl is killed before each of its system calls, and each of its calls of
bpf(2) fails with each of three errors; strace does both. Each allocation of both programs fails. `make check` tries a sample, `make check-faults` all.
"""
import bisect
import collections
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import system
import transfer
from kills import ENVIRONMENT, Traced
from system import pin, registered, wait_until
from tool import DONE, NOTHING, REFUSED, SANITIZER, Tool, sanitizer_environment

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

ROOT = pathlib.Path(__file__).resolve().parents[3]
WHOLE = os.environ.get("BBR_FAULTS") == "all"
ERRORS = "ENOMEM", "EINTR", "EPERM"


@pytest.fixture(autouse=True)
def no_time_limit(time_limit):
    if WHOLE:
        signal.alarm(0)


@pytest.fixture
def quick(build):
    """bbrctl without the sanitizers."""
    return Tool(build.parent / "bbrctl")


def some_of(list):
    """All, or every fifth; which ones depends on when bbrctl was built."""
    built = ROOT / "build/bbrctl"
    return list if WHOLE else list[int(built.stat().st_mtime) % 5 if built.exists() else 0::5]


def sample(n, size):
    """Numbers below n: all, or about as many as `size`, evenly spread."""
    return range(n) if WHOLE else range(n // size // 2, n, n // size or 1)


# ---- killed

TEXT = {"old": """
[default]
cwnd_gain = 2.5
[fast]
bw_win = 20
[both]
bw_win = 7
[rules]
rule = --dst 10.0.0.0/8 --dport 443 --profile fast
rule = --dport 7 --profile both
""", "new": """
[default]
cwnd_gain = 3
[quick]
bw_win = 22
[both]
bw_win = 8
[rules]
rule = --dst 10.0.0.0/8 --dport 443 --profile quick
rule = --dport 8 --profile both
rule = --dport 80 --profile default
"""}


def test_apply_killed_at_each_call(quick, free_name, tmp_path):
    """Profiles and rules of two instances: all of them old, or all of them new."""
    names, states, file = (free_name(), free_name()), {}, {}
    others = "".join(quick("save", "--name", i["name"]).out for i in quick.json("status"))
    for which in "old", "new":
        file[which] = tmp_path / which
        file[which].write_text("".join(f"[instance {name}]\n{TEXT[which]}" for name in names) + others)

    def state():
        return "".join(quick("save", "--name", name).out for name in names)

    for which in "new", "old":
        quick("apply", file[which])
        states[state()] = which
    applying = Traced(tmp_path, quick.path, "apply", file["new"])
    calls = applying.calls()
    quick("apply", file["old"])
    found = {}

    def kill_at(i):
        if i not in found:
            killed = applying.kill_at(calls, i)
            found[i] = states.get(state(), "a mixture")
            assert found[i] == "new" or killed, "it says that it is done"
            if found[i] != "old":
                quick("apply", file["old"])
        return found[i]

    where = applying.places()
    first = bisect.bisect_left(range(len(calls)), True, key=lambda i: kill_at(i) != "old")
    last = bisect.bisect_left(range(len(calls)), True, lo=first, key=lambda i: kill_at(i) == "new")
    for i in (*(where[k] for k in sample(len(where), 8)), *(first + k for k in sample(last - first, 10))):
        kill_at(i)
    for i in range(max(first - 2, 0), min(last + 2, len(calls))) if last - first < 20 else []:
        kill_at(i)
    found = collections.Counter(found.values())
    print(f"killed before {found.total()} of {len(calls)} system calls, {len(where)} of which follow a change:", dict(found))
    assert set(found) == {"old", "new"}, found


# ---- bpf(2) fails

class Faults:
    """An instance with profiles and rules, a namespace, a cgroup; a verb with each of its calls of bpf(2) failing in turn."""

    def __init__(self, bbrctl, name, other, ns, cgroup, tmp_path):
        self.bbrctl, self.tmp_path = bbrctl, tmp_path
        self.words = {"NAME": name, "OTHER": other, "NS": ns.name, "CGROUP": cgroup.relative, "RULED": cgroup.relative,
                      "FILE": tmp_path / "new",
                      "EXP": f"{name}_e", "OBJECT": ROOT / "build/bpf_bbr.bpf.o",
                      "WHOLE": tmp_path / "whole", "TAKEN": tmp_path / "taken"}
        (tmp_path / "new").write_text(TEXT["new"])
        (tmp_path / "whole").write_text(f"[instance {other}]\n{TEXT['new']}")
        (tmp_path / "old").write_text(TEXT["old"])
        (tmp_path / "taken").write_text(f"[instance {name}]\n{TEXT['old']}")
        self.ns, self.name, self.other = ns, name, other
        self.begin()

    def args(self, words):
        return re.sub("[A-Z]{2,}", lambda word: str(self.words[word[0]]), words).split()

    def begin(self):
        """Makes the state before."""
        self.bbrctl("experiment", "stop", self.words["EXP"], status=None)
        for name in self.name, self.other:
            self.bbrctl("detach", "--cgroup", self.words["CGROUP"], "--name", name, status=None)
            self.bbrctl("unload", "--name", name, status=None)
            pin(name).unlink(missing_ok=True)
        wait_until(lambda: not {self.name, self.other} & registered(), "both are unloaded")
        self.ns.default_congestion_control("reno")
        self.bbrctl("load", "--name", self.name)
        self.bbrctl("apply", "--name", self.name, self.tmp_path / "old")

    def back(self, undo, before):
        """Makes the state before again, with this command."""
        if undo and self.state() != before:
            self.begin() if undo == "BEGIN" else self.bbrctl(*self.args(undo))
            assert self.state() == before

    def state(self):
        """All that a verb may change. Raises what bbrctl says if it cannot be read."""
        names = {self.name, self.other}
        saved = [i for i in self.bbrctl.json("save") if i["name"] in names]
        applied = [i["name"] for i in self.bbrctl.json("status") if i["name"] in names and i["applied"]]
        experiments = [e["name"] for e in self.bbrctl.json("experiment", "list") if e["name"] == self.words["EXP"]]
        default = self.ns.run("cat", "/proc/sys/net/ipv4/tcp_congestion_control").stdout
        return (json.dumps(saved), tuple(applied), names & registered(), names & system.pins(), tuple(experiments), default)


# What each verb is called with, and what makes it undone ("" if it changes nothing).
VERBS = {
    "status": "", "status --name NAME": "", "show --name NAME": "", "save --name NAME": "", "profile list --name NAME": "",
    "rule list --name NAME": "", "rule test 10.0.0.1 --name NAME --dport 7": "", "experiment list": "",
    "set --name NAME cwnd_gain=4 bw_win=9": "set --name NAME cwnd_gain=2.5 bw_win=10",
    "profile add --name NAME extra bw_win=5": "profile delete --name NAME extra",
    "rule add --name NAME --dport 99 --profile fast": "rule delete --name NAME --dport 99",
    "rule flush --name NAME": "apply --name NAME OLD", "apply --name NAME FILE": "apply --name NAME OLD",
    "apply --name OTHER WHOLE": "unload --name OTHER", "load --name OTHER": "unload --name OTHER",
    "load --name NAME --default --netns NS": "BEGIN", "load --name OTHER --profile tsunami --set bw_win=9 --default --netns NS": "BEGIN",
    "load --name OTHER --ecn --algorithm bbr3 --default --netns NS": "BEGIN", "load --name OTHER --object OBJECT --default --netns NS": "BEGIN", "unload --name NAME": "BEGIN", "upgrade --name NAME": "BEGIN",
    "attach --cgroup CGROUP --name NAME --profile fast": "detach --cgroup CGROUP --name NAME",
    "experiment start EXP --arm a=reno --arm b=NAME:fast --cgroup CGROUP": "experiment stop EXP",
    "reset --name NAME": "set --name NAME cwnd_gain=2.5", "apply --name NAME TAKEN": "BEGIN",
    "attach --cgroup CGROUP --name NAME": "detach --cgroup CGROUP --name NAME",
    "detach --cgroup CGROUP --name NAME": "attach --cgroup CGROUP --name NAME",
    "experiment stop EXP": "experiment start EXP --arm a=reno --arm b=NAME:fast --cgroup CGROUP",
    "detach --cgroup RULED --name NAME": "attach --cgroup RULED --name NAME --profile fast",
}
AFTER_UNDO = {"detach", "experiment stop"}  # these verbs need something to take away
# What bbrctl says when it did its work, and then could not look for old marks and old code, or set defaults.
LATE = re.compile("all changes were made; run bbrctl apply again|is loaded; run the same command again")
# Each step is whole, but a kill between two of them leaves the first one: a rule and an attachment, an instance and a default.
TWO_STEPS = re.compile("^attach.*--profile|^detach --cgroup RULED|--default|^experiment")


@pytest.fixture
def faults(quick, free_name, ns, cgroup, tmp_path, verb):
    made = Faults(quick, free_name(), free_name(), ns, cgroup, tmp_path)
    made.words["OLD"] = tmp_path / "old"
    if any(verb.startswith(begin) for begin in AFTER_UNDO):
        quick(*made.args(VERBS[verb]))
    yield made
    made.begin()


def run_once(quick, faults, tmp_path, verb):
    """The states before and after the verb, the verb, which is undone again, and its system calls."""
    before, traced = faults.state(), Traced(tmp_path, quick.path, *faults.args(verb))
    calls = traced.calls()
    after = faults.state()
    faults.back(VERBS[verb], before)
    return before, after, traced, calls


@pytest.mark.parametrize("verb", some_of([verb for verb in VERBS if VERBS[verb] and not TWO_STEPS.search(verb)]))
def test_verb_killed_at_each_call(quick, faults, tmp_path, verb):
    """The old state, or what was asked for."""
    before, after, traced, calls = run_once(quick, faults, tmp_path, verb)
    where = traced.places()
    found = collections.Counter()
    for i in (where[k] for k in sample(len(where), 4)):
        killed, now = traced.kill_at(calls, i), faults.state()
        found["old" if now == before else "new" if now == after else "a mixture"] += 1
        assert now in (before, after), f"{verb}: {traced.lines[i]}: {now}, neither {before} nor {after}"
        assert killed or now == after, "it says that it is done"
        faults.back(VERBS[verb], before)
    print(f"{verb}: killed before {found.total()} of the {len(where)} system calls that follow a change:", dict(found))


@pytest.mark.parametrize("verb", some_of([verb for verb in VERBS if VERBS[verb] and TWO_STEPS.search(verb)]))
def test_verb_killed_between_its_steps(quick, faults, tmp_path, verb):
    """What a kill leaves, the same command makes whole."""
    before, after, traced, calls = run_once(quick, faults, tmp_path, verb)
    where = traced.places()
    found = collections.Counter()
    for i in (where[k] for k in sample(len(where), 12)):
        traced.kill_at(calls, i)
        now = faults.state()
        found["old" if now == before else "new" if now == after else "a step"] += 1
        again = quick(*faults.args(verb), status=None)
        assert again.status == (NOTHING if now == after else DONE) and faults.state() == after, (traced.lines[i], now, again)
        faults.back(VERBS[verb], before)
    print(f"{verb}: killed before {found.total()} of the {len(where)} system calls that follow a change:", dict(found))


@pytest.mark.parametrize("verb", some_of([*VERBS]))
def test_each_call_of_bpf_fails(bbrctl, faults, tmp_path, verb):
    """It ends with a message and the old state, or with success and what was asked for."""
    undo, before = VERBS[verb], faults.state()
    traced = Traced(tmp_path, bbrctl.path, *faults.args(verb))
    numbers = traced.calls_of_bpf()
    # libbpf asks what the kernel has, and does without what is refused: what it makes then must be found all the same.
    # A link that is made or ended is the step that matters most.
    probes = [n for n, line in enumerate(traced.lines, 1) if re.search("libbpf_|BPF_LINK_(CREATE|UPDATE|DETACH)", line)]
    after, out = faults.state(), traced.run("-e", "trace=none").stdout if not undo else ""
    assert (after != before) == bool(undo) or verb.startswith("upgrade")
    faults.back(undo, before)
    ended, wrong = collections.Counter(), []
    for k, error in enumerate(ERRORS):
        for n in {*(numbers[i] for i in sample(len(numbers), 1 + k)), *probes}:
            done = traced.fail(n, error)
            now = faults.state()
            if SANITIZER.search(done.stderr) or done.returncode not in range(4):
                kind = "crashed"
            elif done.returncode:
                kind = "refused" if now == before and re.match(r"bbrctl: \S", done.stderr) else "refused, but changed"
                if kind != "refused" and LATE.search(done.stderr):
                    kind = "done, and said what is missing"
            else:
                kind = "done" if now == after and (undo or done.stdout == out) else "done, but not what was asked"
            ended[kind] += 1
            if kind not in ("done", "refused", "done, and said what is missing"):
                wrong.append((n, error, kind, done.returncode, done.stderr, done.stdout[:300]))
                if now not in (before, after):
                    faults.begin()
            faults.back(undo, before)
    print(f"{verb}: {len(traced.lines)} calls of bpf(2) of {len(numbers)} kinds, {ended.total()} failures:", dict(ended))
    assert not wrong, "\n".join(map(str, wrong))


LOOKS = ["snapshot -j", "snapshot --summary -j", "top --batch -j --count 1", "stream -j --duration 300ms", "export --once",
         "record --duration 300ms -o REC"]


@pytest.mark.parametrize("verb", LOOKS)
def test_each_call_of_bpf_of_bbrmon_fails(bbrctl, build, free_name, ns, tmp_path, verb):
    """It ends with a message, or it has found the connections, and it leaves no subscription behind."""
    name, rec = free_name(), tmp_path / "rec"
    bbrctl("load", "--name", name)
    with transfer.listen(ns, "127.0.0.1") as listener:
        pairs = [transfer.connect(ns, listener, cc=name) for _ in range(3)]
    words = [str(rec) if word == "REC" else word for word in verb.split()]
    traced = Traced(tmp_path, build.parent / "bbrmon", *words, "--name", name)
    numbers = traced.calls_of_bpf()
    out = traced.run("-e", "trace=none").stdout
    ended, wrong = collections.Counter(), []
    for k, error in enumerate(ERRORS):
        for n in (numbers[i] for i in sample(len(numbers), 5 + k)):
            rec.unlink(missing_ok=True)
            done = traced.fail(n, error)
            found = done.stdout.count(name) == out.count(name) if "snapshot" in verb or "export" in verb else True
            if done.returncode not in (DONE, REFUSED) or SANITIZER.search(done.stderr):
                kind = "crashed"
            elif done.returncode == REFUSED:
                kind = "refused" if re.match(r"bbrmon: \S", done.stderr) else "refused without a word"
            else:
                kind = "done" if found or done.stderr else "done, but not all"
            ended[kind] += 1
            if kind not in ("done", "refused"):
                wrong.append((n, error, kind, done.returncode, done.stderr[:300], done.stdout[:300]))
    assert bbrctl.json("status", "--name", name)[0]["monitors"] == 0
    for pair in pairs:
        for sock in pair:
            sock.close()
    print(f"{verb}: {len(traced.lines)} calls of bpf(2) of {len(numbers)} kinds, {ended.total()} failures:", dict(ended))
    assert not wrong, "\n".join(map(str, wrong))


def test_too_few_descriptors(quick, free_name, ns, tmp_path):
    """A difference that cannot be looked for is not "nothing to change"."""
    name, file = free_name(), tmp_path / "conf"
    file.write_text(f"[instance {name}]\n")
    quick("load", "--name", name, "--default", "--netns", ns.name)
    quick("apply", "--name", name, file)
    differs = quick("apply", "--check", "--prune", "--name", name, file, status=None).status
    ended = {n: subprocess.run(["prlimit", f"--nofile={n}", quick.path, "apply", "--check", "--prune", "--name", name, file],
                               capture_output=True, text=True) for n in range(4, 24)}
    assert all(done.returncode in (differs, REFUSED) and done.stderr.startswith("bbrctl: ") for done in ended.values()), ended
    assert {done.returncode for done in ended.values()} == {differs, REFUSED}


# ---- no memory

def without_memory(build, command, **variables):
    return subprocess.run(command, capture_output=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": str(build.parent / "no_memory.so"), **variables})


def allocations(build, command, tmp_path):
    """The command's end when nothing fails, its allocations by their callers, and which of them are to fail."""
    log = tmp_path / "allocations"
    right = without_memory(build, command, NO_MEMORY_LOG=str(log))
    callers = log.read_text().split()
    # Allocations with the same callers are alike: the first and the last one of them fail.
    return right, callers, sorted({callers.index(c) + 1 for c in callers} | {i for c, i in {c: i for i, c in enumerate(callers, 1)}.items()})


@pytest.mark.parametrize("verb", some_of([verb for verb in VERBS if VERBS[verb]]))
def test_each_allocation_of_a_change_fails(quick, build, faults, tmp_path, verb):
    """As when a call of bpf(2) fails: the old state and a message, or what was asked for."""
    before, command = faults.state(), [quick.path, *faults.args(verb)]
    right, callers, numbers = allocations(build, command, tmp_path)
    after = faults.state()
    assert right.returncode == DONE and numbers
    faults.back(VERBS[verb], before)
    ended, wrong = collections.Counter(), []
    for k in sample(len(numbers), 6):
        done = without_memory(build, command, NO_MEMORY_AT=str(numbers[k]))
        now, said = faults.state(), done.stderr.decode()
        if done.returncode == DONE:
            kind = "done" if now == after else "done, but not what was asked"
        elif done.returncode == REFUSED and re.match(r"bbrctl: \S", said):
            kind = "refused" if now == before else "done, and said what is missing" if LATE.search(said) else "refused, but changed"
        else:
            kind = "crashed"
        ended[kind] += 1
        if kind not in ("done", "refused", "done, and said what is missing"):
            wrong.append((numbers[k], kind, done.returncode, said[:300]))
            if now not in (before, after):
                faults.begin()
        faults.back(VERBS[verb], before)
    print(f"{verb}: {len(callers)} allocations, {ended.total()} failures:", dict(ended))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("words", [
    "bbrmon report -o - REC", "bbrmon report --svg - REC", "bbrmon stream --read REC", "bbrmon -j stream --read REC",
    "bbrmon snapshot --read REC", "bbrmon snapshot --summary --read REC", "bbrmon export --read REC", "bbrmon why --read REC",
    "bbrmon top -b --speed 0 --read REC", "bbrmon record --read REC -o NEW", "bbrmon record --read REC --append -o OLD",
    "bbrmon experiment CSV", "bbrmon experiment --html - CSV", "bbrctl apply --check WHOLE", "bbrctl status", *(["bbrctl check"] if WHOLE else []),
    "bbrctl --complete bbrctl show --name ", "bbrmon --complete bbrmon stream --"])
def test_each_allocation_fails(build, tmp_path, words):
    """Each by itself, and with all after it: it ends with a status, and with a message if that is not success."""
    file = {"REC": ROOT / "tests/native/watching/recordings/abi3.rec", "CSV": ROOT / "tests/unit/experiment/recorded_connections.csv",
            "WHOLE": tmp_path / "whole", "NEW": tmp_path / "new", "OLD": tmp_path / "old"}
    file["WHOLE"].write_text(f"[instance {system.PREFIX}_m]\n{TEXT['new']}")
    command = [str(file.get(word, word)) for word in words.split(" ")]
    command[0] = build.parent / command[0]
    old = file["REC"].read_bytes()[:-7]  # a process without privileges finds its end
    file["OLD"].write_bytes(old)
    right, callers, numbers = allocations(build, command, tmp_path)
    ended, wrong = collections.Counter(), []
    for k in sample(len(numbers), 8):
        for how in "AT", "FROM":
            file["NEW"].unlink(missing_ok=True)
            file["OLD"].write_bytes(old)
            done = without_memory(build, command, **{f"NO_MEMORY_{how}": str(numbers[k])})
            said = re.match(rb"bbr(ctl|mon): \S", done.stderr)
            ended[done.returncode] += 1
            if done.returncode not in range(4) or (done.returncode not in (0, right.returncode) and not said) or b"damaged" in done.stderr:
                wrong.append((how, numbers[k], done.returncode, done.stderr[:300]))
    print(f"{words}: {len(callers)} allocations, {ended.total()} runs:", dict(ended))
    assert right.returncode in (DONE, NOTHING) and numbers and not wrong, "\n".join(map(str, wrong))
