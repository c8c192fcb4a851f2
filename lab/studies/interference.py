# SPDX-License-Identifier: GPL-2.0-only
"""
Puts two arms into one bottleneck: which difference an experiment reports, and which one is true.

Arms that share a queue are not independent. In "Unbiased Experiments in Congested Networks" (Spang et al., IMC 2021), one of two
algorithms gets 150 % more while few connections use it, although both are equal when everybody uses the same one. The difference
that counts is between everybody in one arm and everybody in the other. It is measured here, too.
"""
import csv
import dataclasses
import json
import math
import statistics
import subprocess

from report import plots
from runs import experiment, pool
from studies import matrix
from vm import guest, kernels
from vm.initramfs import BUILD

PAIRS = {  # label -> arms: control, new
    "CUBIC and bpf_bbr": ("cubic", "bpf_bbr"),
    "the kernel's BBR and bpf_bbr's profile gentle": ("bbr", "bpf_bbr:gentle"),
}
SECONDS, BLOCK, WASHOUT, BLOCKS = 60, 10, 3, 16
SWITCHBACK = BLOCK * BLOCKS, f"--design switchback --block {BLOCK}s --washout {WASHOUT}s"
EVERYBODY = ("everybody in the first", "everybody in the second")
DESIGNS = {  # label -> seconds, options of `bbrctl experiment start`
    **dict.fromkeys(EVERYBODY, SWITCHBACK),  # both arms are the same
    "ab, 5 %": (SECONDS, "--share new=5%"),
    "ab, 50 %": (SECONDS, "--share new=50%"),
    "ab, 95 %": (SECONDS, "--share new=95%"),
    "switchback": SWITCHBACK,
}
METRIC, SCALE, UNIT = "goodput_p50", 1e6, "Mbit/s"
FLOWS, BYTES = 20, 300_000
RATE_MBIT, DELAY_MS, QUEUE = 20, 40, 134  # two BDPs
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


@dataclasses.dataclass(frozen=True)
class Finding:
    """The median goodput of the connections of both arms, in UNIT."""
    label: str
    control: float
    treated: float
    difference: float
    interval: tuple | None  # of the difference, 95 %; None: unknown

    def has(self, value):
        return None if self.interval is None else self.interval[0] <= value <= self.interval[1]


def _image(run, kernel):
    control, new = PAIRS[run.pair]
    if run.design in EVERYBODY:
        control = new = PAIRS[run.pair][EVERYBODY.index(run.design)]
    variables = {"FLOWS": FLOWS, "BYTES": BYTES, "RATE": f"{RATE_MBIT}mbit", "QUEUE": QUEUE, "DELAY": f"{DELAY_MS}ms",
                 "SECONDS_OF_IT": run.duration_s,
                 "OPTIONS": f"--arm control={control} --arm new={new} --seed {run.seed} {DESIGNS[run.design][1]}"}
    lines = "".join(f"{name}='{value}'\n" for name, value in variables.items())
    script = lines + "".join(part.read_text() for part in (experiment.PATH, matrix.HERE / "interference.sh"))
    return guest.initramfs(kernel, script, modules=matrix.MODULES,
                           programs=[BUILD / name for name in ("bbrctl", "bbrmon", "flow")])


def answer(outcomes):
    """What bbrmon reports for an experiment's file of outcomes."""
    said = subprocess.run([experiment.MONITOR, "experiment", "-j", "/dev/stdin"], input=outcomes, check=True, capture_output=True)
    return json.loads(said.stdout)


def execute(run, on_time=None, fresh=False):
    """An experiment's file of outcomes, from the cache if all inputs are the same, and what bbrmon reports for it."""
    kernel = kernels.find(run.kernel)
    _, _, files = experiment.files_of(run, kernel, _image(run, kernel), on_time, fresh)
    outcomes = files["outcomes.csv"]
    return {"answer": answer(outcomes), "outcomes": outcomes.decode()}


def measure(kernel, pairs=None, jobs=None, seeds=1, fresh=False):
    """pair -> design -> execute() of each seed. Only the truth has more than one seed: each design reports its own interval."""
    runs = [Run(pair, design, seed, kernel) for pair in pairs or PAIRS for design in DESIGNS
            for seed in range(1, 1 + (seeds if design in EVERYBODY else 1))]
    found = {}

    def on_result(run, result):
        found.setdefault(run.pair, {}).setdefault(run.design, []).append(result)

    pool.execute_all(runs, on_result, jobs, fresh, execute=execute)
    return found


def block_medians(outcomes):
    """
    The median goodput of each block, over the same connections as in a switchback: those that began in the block after the
    washout, up to its end. Connections that share a queue are not independent of each other; blocks nearly are.
    """
    blocks = {}
    for row in csv.DictReader(line for line in outcomes.splitlines() if not line.startswith("#")):
        if row["continued"] == "0" and int(row["busy_us"]):
            blocks.setdefault(int(row["block"]), []).append(8e6 * int(row["acked_bytes"]) / int(row["busy_us"]) / SCALE)
    return [statistics.median(values) for _, values in sorted(blocks.items())]


def student(freedom):
    """The 97.5 % quantile of Student's t, exact to 0.3 % for at least four degrees of freedom (Abramowitz and Stegun 26.7.5)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2) +
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))


def truth(runs):
    """Compares everybody in one arm with everybody in the other; the interval is Welch's, over blocks."""
    blocks = [[median for run in runs[design] for median in block_medians(run["outcomes"])] for design in EVERYBODY]
    control, treated = map(statistics.mean, blocks)
    errors = [statistics.variance(values) / len(values) for values in blocks]
    freedom = sum(errors)**2 / sum(error**2 / (len(values) - 1) for error, values in zip(errors, blocks))
    half = student(freedom) * math.sqrt(sum(errors))
    difference = treated - control
    return Finding("everybody: the truth", control, treated, difference, (difference - half, difference + half))


def _said(design, answer):
    """What bbrmon reports for connections of all sizes."""
    (line,) = [line for line in answer["metrics"] if line["metric"] == METRIC and line["size"] == "all"]
    interval = None if line["low"] is None else (line["low"] / SCALE, line["high"] / SCALE)
    return Finding(design, line["control"]["value"] / SCALE, line["treated"]["value"] / SCALE, line["difference"] / SCALE, interval)


def findings(runs):
    """The truth, and what each design reports."""
    return [truth(runs), *(_said(design, of_seeds[0]["answer"]) for design, of_seeds in runs.items() if design not in EVERYBODY)]


def table(pair, runs):
    """As Markdown."""
    true, *designs = findings(runs)
    control, new = PAIRS[pair]
    lines = [f"| median goodput, {UNIT} | {control} | {new} | difference | 95 % interval | has the truth |", "|---|---|---|---|---|---|"]
    for one in (true, *designs):
        between = "none" if one.interval is None else f"{one.interval[0]:+.2f} to {one.interval[1]:+.2f}"
        holds = {None: "", True: "yes", False: "no"}[None if one is true else one.has(true.difference)]
        lines.append(f"| {one.label} | {one.control:.2f} | {one.treated:.2f} | {one.difference:+.2f} | {between} | {holds} |")
    return "\n".join(lines)


def picture(found):
    """The text of an SVG: each pair's truth, and what each design reports."""
    return plots.differences({f"{PAIRS[pair][1]} against {PAIRS[pair][0]}":
                              [(one.label, one.difference, one.interval) for one in findings(runs)]
                              for pair, runs in found.items()}, f"difference of the median goodput, {UNIT}")


def as_json(found):
    """The contents of the table, and bbrmon's answers for each seed."""
    return {pair: {"findings": [dataclasses.asdict(one) for one in findings(runs)],
                   "answers": {design: [result["answer"] for result in of_seeds] for design, of_seeds in runs.items()}}
            for pair, runs in found.items()}
