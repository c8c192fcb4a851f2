# SPDX-License-Identifier: GPL-2.0-only
"""
Makes causes that limit a flow, and asks `bbrmon why` what limits it: a confusion matrix. why.sh runs in the guest and makes one
cause after another. Seeds give other random losses, and another first phase of PROBE_BW.
"""
import collections
import dataclasses
import json
import pathlib

from runs import pool
from runs.experiment import MODULES, PATH
from vm import guest, kernels
from vm.initramfs import BUILD

HERE = pathlib.Path(__file__).parent
CCS = ("bpf_bbr", "bpf_bbr3", "bbr", "cubic")
SEEDS = 6
PROGRAMS = [BUILD / name for name in ("bbrctl", "bbrmon", "flow")]
PACKETS = 15 * 20 * 800  # of all flows of a guest, for the progress that is shown
SECONDS = 15 * 12

# What the largest share has to be. BBR alone keeps a queue of up to its own window: that is the path, too.
RIGHT = {"idle": {"application"}, "path": {"path", "queue"}}
# These are there for a part of the time only, so this share counts, too. BBR version 1 recovers from random losses for some of the
# time, and its path limits it all the same.
PARTLY = {"probe_rtt": 0.2, "losses": 0.2}
VERSION_1 = ("bpf_bbr", "bbr")
NEVER = ("policer", "cpu")  # are said only where they are


@dataclasses.dataclass(frozen=True)
class Run:
    cc: str
    seed: int
    kernel: str

    @property
    def duration_s(self):
        return SECONDS

    @property
    def packets(self):
        return PACKETS

    def __str__(self):
        return f"{self.kernel} {self.cc} seed {self.seed}"


@dataclasses.dataclass(frozen=True)
class Answer:
    run: Run
    made: str  # the cause that why.sh made
    said: dict  # bbrmon's answer

    @property
    def cause(self):
        is_partly = self.run.cc in VERSION_1 and self.said["shares"].get(self.made, 0) >= PARTLY.get(self.made, 2)
        return self.made if is_partly else self.said["cause"]

    @property
    def is_right(self):
        return self.cause in RIGHT.get(self.made, {self.made})

    @property
    def false_alarms(self):
        return [cause for cause in NEVER if self.said["shares"][cause] > 0 and cause != self.made]


def answers_of(run, console):
    """Those of the console's text."""
    made, found = None, []
    for line in console.splitlines():
        if line.startswith("@@WHY "):
            made = line.split()[1]
        elif made and line.startswith("{"):
            found.append(Answer(run, made, json.loads(line)))
    assert "@@ALL" in console, console[-2000:]
    return found


def execute(run):
    kernel = kernels.find(run.kernel)
    script = f"CC={run.cc}\n" + "".join(part.read_text() for part in (PATH, HERE / "why.sh"))
    image = guest.initramfs(kernel, script, modules=[*MODULES, "tcp_bbr"], programs=PROGRAMS)
    return answers_of(run, guest.run(kernel, image, seed=run.seed).console)


def measure(keys, ccs=CCS, seeds=SEEDS, jobs=None):
    """All answers."""
    found = []
    runs = [Run(cc, seed, key) for key in keys for cc in ccs for seed in range(1, 1 + seeds)]
    pool.execute_all(runs, lambda run, answers: found.extend(answers), jobs, execute=pool.uncached(execute))
    return found


def confusion(answers):
    """made -> Counter of what was said."""
    table = {}
    for answer in answers:
        table.setdefault(answer.made, collections.Counter())[answer.cause] += 1
    return table


def text(answers):
    """The confusion matrix as a table of Markdown, and how often bbrmon was right."""
    table = confusion(answers)
    said = sorted({cause for counts in table.values() for cause in counts})
    lines = ["| made \\ said | " + " | ".join(said) + " |", "|---" * (len(said) + 1) + "|"]
    for made, counts in table.items():
        lines.append(f"| {made} | " + " | ".join(str(counts[cause] or "") for cause in said) + " |")
    right = sum(a.is_right for a in answers)
    strictly = sum(a.said["cause"] in RIGHT.get(a.made, {a.made}) for a in answers)
    alarms = sum(bool(a.false_alarms) for a in answers)
    return "\n".join([*lines, "", f"{right} of {len(answers)} right ({100 * right / len(answers):.1f} %), {strictly} by the largest share alone; {alarms} with a share of a "
                      f"policer or the CPU where there is none"])
