# SPDX-License-Identifier: GPL-2.0-only
"""
Two arms in one bottleneck: what an experiment says of their difference, and what it is.

Arms that share a queue are not independent. "Unbiased Experiments in Congested Networks" (Spang et al., IMC 2021) has
connections of one algorithm that get 150 % more while few use it, of two that are equal when everybody uses one. The
difference that counts is that between everybody in the one arm and everybody in the other; it is measured here, too.
"""
import csv
import dataclasses
import gzip
import io
import json
import statistics

import guest
import kernels
import matrix
import pool

PAIRS = {  # label -> arms: the one that is compared with, the other
    "CUBIC and BBR": ("cubic", "bpf_bbr"),
    "BBR and its profile gentle": ("bpf_bbr", "bpf_bbr:gentle"),
}
SECONDS, BLOCK, WASHOUT, BLOCKS = 60, 10, 3, 16
DESIGNS = {  # label -> seconds, options of `bbrctl experiment start`
    "everybody in the first": (SECONDS, "--share new=0%"),
    "everybody in the second": (SECONDS, "--share new=100%"),
    "ab, 5 %": (SECONDS, "--share new=5%"),
    "ab, 50 %": (SECONDS, "--share new=50%"),
    "ab, 95 %": (SECONDS, "--share new=95%"),
    "switchback": (BLOCK * BLOCKS, f"--design switchback --block {BLOCK}s --washout {WASHOUT}s"),
}
FLOWS, BYTES = 20, 300_000
RATE_MBIT, DELAY_MS, QUEUE = 20, 40, 134  # two BDPs
MODULES = ["veth", "sch_fq", "sch_netem"]
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
    variables = {"FLOWS": FLOWS, "BYTES": BYTES, "RATE": f"{RATE_MBIT}mbit", "QUEUE": QUEUE, "DELAY": f"{DELAY_MS}ms",
                 "SECONDS_OF_IT": run.duration_s,
                 "OPTIONS": f"--arm control={control} --arm new={new} --seed {run.seed} {DESIGNS[run.design][1]}"}
    lines = "".join(f"{name}='{value}'\n" for name, value in variables.items())
    script = lines + "".join((matrix.HERE / part).read_text() for part in ("path.sh", "interference.sh"))
    return guest.initramfs(kernel, script, modules=MODULES,
                           programs=["gzip", *(matrix.BUILD / name for name in ("bbrctl", "bbrmon", "flow"))])


def goodputs(outcomes):
    """arm -> Mbit/s of each connection that ended, while it had something to send"""
    lines = [line for line in outcomes.splitlines() if not line.startswith("#")]
    found = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        if row["end"] not in ("open", "seam") and int(row["busy_us"]):
            found.setdefault(row["arm"], []).append(8 * int(row["acked_bytes"]) / int(row["busy_us"]))
    return found


def execute(run, on_time=None, fresh=False, core=None):
    """What bbrmon said, and the outcomes as it writes them. (Nothing is kept: there is always a fresh run.)"""
    del on_time, fresh
    kernel = kernels.find(run.kernel)
    result = guest.run(kernel, _image(run, kernel), seed=run.seed, core=core)
    if result.status:
        raise kernels.LabError(f"{run} failed:\n{result.console}")
    start = result.console.index("{")
    return {"answer": json.loads(result.console[start:]), "outcomes": gzip.decompress(result.data).decode()}


def measure(kernel, seeds=1, pairs=None):
    """pair -> design -> results over the seeds"""
    runs = [Run(pair, design, seed, kernel) for pair in pairs or PAIRS for design in DESIGNS for seed in range(1, seeds + 1)]
    found = {}
    pool.execute_all(runs, lambda run, result: found.setdefault(run.pair, {}).setdefault(run.design, []).append(result),
                     execute=execute)
    return found


def median_goodput(results, arm):
    values = [value for result in results for value in goodputs(result["outcomes"]).get(arm, [])]
    return statistics.median(values) if values else None
