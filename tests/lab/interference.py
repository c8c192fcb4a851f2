# SPDX-License-Identifier: GPL-2.0-only
"""
Two arms in one bottleneck: what an experiment says of their difference, and what it is.

Arms that share a queue are not independent. "Unbiased Experiments in Congested Networks" (Spang et al., IMC 2021) has
connections of one algorithm that get 150 % more while few use it, of two that are equal when everybody uses one. The
difference that counts is that between everybody in the one arm and everybody in the other; it is measured here, too.
"""
import dataclasses
import json

import experiment
import guest
import kernels
import matrix
import pool

PAIRS = {  # label -> arms: the one that is compared with, the other
    "CUBIC and bpf_bbr": ("cubic", "bpf_bbr"),
    "the kernel's BBR and bpf_bbr's profile gentle": ("bbr", "bpf_bbr:gentle"),
}
SECONDS, BLOCK, WASHOUT, BLOCKS = 60, 10, 3, 16
DESIGNS = {  # label -> seconds, options of `bbrctl experiment start`
    "everybody in the first": (SECONDS, ""),  # both arms are the same
    "everybody in the second": (SECONDS, ""),
    "ab, 5 %": (SECONDS, "--share new=5%"),
    "ab, 50 %": (SECONDS, "--share new=50%"),
    "ab, 95 %": (SECONDS, "--share new=95%"),
    "switchback": (BLOCK * BLOCKS, f"--design switchback --block {BLOCK}s --washout {WASHOUT}s"),
}
FLOWS, BYTES = 20, 300_000
RATE_MBIT, DELAY_MS, QUEUE = 20, 40, 134  # two BDPs
MODULES = ["veth", "sch_fq", "sch_netem", "tcp_bbr"]
MSS_WIRE = 1514


@dataclasses.dataclass(frozen=True)
class Run:
    pair: str
    design: str
    seed: int
    kernel: str

    @property
    def duration_s(self):
        return DESIGNS[self.design][0]

    @property
    def packets(self):
        return self.duration_s * RATE_MBIT * 1e6 / 8 / MSS_WIRE

    def __str__(self):
        return f"{self.pair}, {self.design}, seed {self.seed}"


def _image(run, kernel):
    control, new = PAIRS[run.pair]
    if run.design.startswith("everybody"):
        control = new = new if run.design.endswith("second") else control
    variables = {"FLOWS": FLOWS, "BYTES": BYTES, "RATE": f"{RATE_MBIT}mbit", "QUEUE": QUEUE, "DELAY": f"{DELAY_MS}ms",
                 "SECONDS_OF_IT": run.duration_s,
                 "OPTIONS": f"--arm control={control} --arm new={new} --seed {run.seed} {DESIGNS[run.design][1]}"}
    lines = "".join(f"{name}='{value}'\n" for name, value in variables.items())
    script = lines + "".join((matrix.HERE / part).read_text() for part in ("path.sh", "interference.sh"))
    return guest.initramfs(kernel, script, modules=MODULES,
                           programs=[matrix.BUILD / name for name in ("bbrctl", "bbrmon", "flow")])


def execute(run, on_time=None, fresh=False, core=None):
    """What bbrmon says of the experiment; from the cache if all inputs are the same."""
    kernel = kernels.find(run.kernel)
    _, _, files = experiment.files_of(run, kernel, _image(run, kernel), on_time, fresh, core)
    return json.loads(files["answer.json"])


def measure(kernel, pairs=None, jobs=None, seed=1, fresh=False):
    """pair -> design -> bbrmon's answer"""
    runs = [Run(pair, design, seed, kernel) for pair in pairs or PAIRS for design in DESIGNS]
    found = {}
    pool.execute_all(runs, lambda run, answer: found.setdefault(run.pair, {}).update({run.design: answer}), jobs, fresh,
                     execute=execute)
    return found


def metric(answer, name):
    """A line of the answer, of connections of all sizes."""
    (line,) = [line for line in answer["metrics"] if line["metric"] == name and line["size"] == "all"]
    return line


def truth(answers, name):
    """The metric with everybody in the first arm, with everybody in the second, and the difference."""
    first, second = (metric(answers[f"everybody in the {which}"], name)["control"]["value"] for which in ("first", "second"))
    return first, second, second - first


def rows(answers, name, scale):
    """Of each design that compares: label, both arms, the difference, its interval, and whether the truth is in it."""
    difference = truth(answers, name)[2]
    for design, answer in answers.items():
        if design.startswith("everybody"):
            continue
        line = metric(answer, name)
        low, high = line["low"], line["high"]
        yield (design, line["control"]["value"] / scale, line["treated"]["value"] / scale, line["difference"] / scale,
               None if low is None else (low / scale, high / scale), None if low is None else low <= difference <= high)


def table(answers, name="goodput_p50", scale=1e6, unit="Mbit/s"):
    """As Markdown."""
    first, second, difference = (value / scale for value in truth(answers, name))
    title = metric(answers["switchback"], name)["title"]
    lines = [f"| {title}, {unit} | first arm | second arm | difference | 95 % interval | has the truth |", "|---|---|---|---|---|---|",
             f"| **everybody in one arm: the truth** | {first:.3g} | {second:.3g} | **{difference:+.3g}** | | |"]
    for design, control, new, found, interval, holds in rows(answers, name, scale):
        between = "none" if interval is None else f"{interval[0]:+.3g} to {interval[1]:+.3g}"
        lines.append(f"| {design} | {control:.3g} | {new:.3g} | {found:+.3g} | {between} | "
                     f"{'' if holds is None else 'yes' if holds else 'no'} |")
    return "\n".join(lines)
