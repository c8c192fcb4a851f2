# SPDX-License-Identifier: GPL-2.0-only
"""Measures what bpf_bbr costs: instructions of its callback and of whole transfers, against the kernel's own.

In the lab's virtual time one instruction is one nanosecond, so differences of the clock are counts of
instructions: exact, and the same on any host. See docs/cost.md.
"""
import functools
import json
import pathlib
import random
import statistics
import sys
import tempfile

from runs import compare
from studies import matrix
from vm import guest, kernels
from vm.initramfs import BUILD

HERE = pathlib.Path(__file__).parent
MODULES = ["veth", "sch_netem", "tcp_bbr"]
BYTES = 100_000_000
SHAPES = ("bursts", "packets", "losses")
TURNS, TURN_BYTES = 16, 10_000_000
TIMEOUT_S = 3 * 3600  # of a guest, on a slow and busy host
LOSSES_OF_TEN = 3  # a transfer with losses has this many tenths of the bytes of others
WATCH_TURNS = 8
IN_TURNS = "bbr", "no_telemetry", "bpf_bbr", "bpf_bbr3"
OURS = "bpf_bbr", "bpf_bbr3"
# bbr_sndbuf_expand() returns a constant: whatever is measured beyond its own instructions is the instrument.
NULL_FUNCTION, NULL_INSTRUCTIONS = "bbr_sndbuf_expand", 3
CALLBACKS = {"bbr": ["bbr_main"], "cubic": ["cubictcp_cong_avoid", "cubictcp_acked"],
             "bpf_bbr": ["cong_control"], "no_telemetry": ["cong_control"], "bpf_bbr3": ["cong_control"]}
RATIOS = {"mean": "ratio", "median": "ratio_median", "instructions": "ratio_transfer"}
STEP = "tcp_rate_gen:tcp_ack"  # the congestion control's part of an ACK, including the call and the return
# For each callback of bpf_bbr: the kernel's own, and the span of the stack that calls it once, including the call and the return.
ALL_CALLBACKS = {"cong_control": ("bbr_main", STEP), "min_tso_segs": ("bbr_min_tso_segs", "tcp_tso_segs"),
                 "sndbuf_expand": ("bbr_sndbuf_expand", "tcp_sndbuf_expand")}
NAMES = {"bbr": "the kernel's bbr", "cubic": "cubic", "bpf_bbr": "bpf_bbr, nobody watching",
         "no_telemetry": "bpf_bbr built without telemetry", "bpf_bbr3": "bpf_bbr3, nobody watching",
         "every_round": "bbrmon stream --every round", "every_ack": "bbrmon stream --every ack"}


def _console(key, variables, script, extra_files=None):
    """Runs a script in a guest, after the variables and path.sh. Returns the guest's result."""
    kernel = kernels.find(key)
    lines = [f"{name}='{value}'\n" for name, value in variables.items()]
    image = guest.initramfs(kernel, "".join(lines) + "".join((HERE / part).read_text()
                                                            for part in ("path.sh", script)),
                            modules=MODULES,
                            programs=["bpftool", *(BUILD / name for name in
                                                    ("bbrctl", "bbrmon", "cost", "write_rules"))],
                            files={f"/{name}": BUILD / name for name in
                                   ("bpf_bbr.bpf.o", "bpf_bbr3.bpf.o", "no_telemetry.bpf.o", "cost.bpf.o")} | (extra_files or {}))
    result = guest.run(kernel, image, TIMEOUT_S)
    if result.status or not result.console.endswith("== end"):
        raise kernels.LabError(f"the measurement failed on kernel {key} (it needs the modules "
                               f"{', '.join(MODULES)}):\n{result.console}")
    return result


def _turns(lines):
    """name of IN_TURNS -> for each transfer the instructions, and the mean, the median and the least of the callback"""
    found = {name: {"busy": [], "mean": [], "median": [], "min": []} for name in IN_TURNS}
    for transfer, span in zip(lines[::2], lines[1::2]):
        figures = found[transfer["transfer"]]
        figures["busy"].append(transfer["busy_ns"])
        for which in ("mean", "median", "min"):
            figures[which].append(span[which])
    if {len(figures["busy"]) for figures in found.values()} != {TURNS}:
        raise kernels.LabError(f"not each of {', '.join(IN_TURNS)} made {TURNS} transfers")
    return found


def _ways(lines):
    """name -> the mean of STEP in all transfers; none where the kernel has no such functions"""
    means = {}
    for transfer, span in zip(lines[::2], lines[1::2]):
        means.setdefault(transfer["transfer"], []).append(span["mean"])
    return {name: statistics.mean(of_each) for name, of_each in means.items()}


def _parse(console):
    """name -> {"busy": instructions of the transfer, "spans": name -> span}; "turns": _turns(); "ways": _ways()"""
    found = {}
    for name, text in matrix.steps(console).items():
        lines = matrix.objects(text)
        if not lines:
            continue
        entry = found.setdefault(name, {"spans": {}})
        if name == "turns":
            entry.update(_turns(lines))
            continue
        if name == "ways":
            entry.update(_ways(lines))
            continue
        entry["spans"] = {line["span"]: line for line in lines if "span" in line}
        # The last transfer is the one without instruments.
        last = [line for line in lines if "transfer" in line][-1]
        entry["busy"], entry["acks"] = last["busy_ns"], last["segs_in"]
    return found


def _calls(span):
    return span["calls"] + span["interrupted"]


def all_callbacks(bbr, bpf_bbr, instrument):
    """
    callback -> its instructions, those of its trampoline, and its calls for each ACK; the same for the kernel's, which has no
    trampoline. "all": the sum for an ACK. The figures of cong_control are means. Those of the others are medians, because all
    their calls take the same path, and an interrupt is no part of it. bbr and bpf_bbr: name -> span
    """
    found, total, kernels_total = {}, 0, 0
    for name, (own, around) in reversed(ALL_CALLBACKS.items()):
        which = "mean" if name == "cong_control" else "median"
        cost, kernels = bpf_bbr[name][which] - instrument, bbr[own][which] - instrument
        # Outside the callback the stack does the same for both, except for the trampoline. cong_control comes last: where its
        # span is not measured (for bpf_bbr3, and on 7.3, which has no function tcp_rate_gen), it counts with the trampoline of
        # min_tso_segs.
        if around in bpf_bbr:
            trampoline = bpf_bbr[around][which] - cost - (bbr[around][which] - kernels)
        calls, kernels_calls = (1 if name == "cong_control" else _calls(spans[around]) / _calls(spans[main])
                                for spans, main in ((bpf_bbr, "cong_control"), (bbr, "bbr_main")))
        total += calls * (cost + trampoline)
        kernels_total += kernels_calls * kernels
        found[name] = {"instructions": round(cost, 1), "trampoline": round(trampoline, 1), "calls": round(calls, 2),
                       "kernels_instructions": round(kernels, 1), "kernels_calls": round(kernels_calls, 2)}
    return found | {"all": round(total, 1), "kernels_all": round(kernels_total, 1)}


def times_as_many(callbacks, base):
    """
    The sum for an ACK of all_callbacks() to the same of base, if both are called as often as base is: two transfers differ in how
    often they send. The trampolines are the same for both.
    """
    def total(figures):
        return sum(base[name]["calls"] * (figures[name]["instructions"] + callbacks[name]["trampoline"]) for name in ALL_CALLBACKS)
    return round(total(callbacks) / total(base), 3)


def _averaged(found, name):
    """Spans of a congestion control, with the means of many transfers for its part of an ACK."""
    (callback,) = CALLBACKS[name]
    spans = dict(found[name]["spans"])
    spans[callback] = spans[callback] | {"mean": statistics.mean(found["turns"][name]["mean"])}
    if name in found["ways"]:
        spans[STEP] = {"mean": found["ways"][name]}
    return spans


def _shape(found):
    """The figures of one shape, without the cost of the instrument."""
    null = found["bbr"]["spans"][NULL_FUNCTION]
    instrument = null["mean"] - NULL_INSTRUCTIONS

    def callback(name):
        spans = [found[name]["spans"][span] for span in CALLBACKS[name]]
        return sum(span["mean"] - instrument for span in spans)

    def median(name):
        spans = [found[name]["spans"][span] for span in CALLBACKS[name]]
        return sum(span["median"] - null["median"] + NULL_INSTRUCTIONS for span in spans)

    figures = {"instrument": round(instrument, 1), "callback": {}, "transfer": {}, "turns": {}}
    for name in CALLBACKS:
        figures["callback"][name] = {
            "mean": round(callback(name), 1), "median": median(name),
            "calls": found[name]["spans"][CALLBACKS[name][0]]["calls"],
            "ratio": round(callback(name) / callback("bbr"), 3)}
    if all(own in found["bbr"]["spans"] for own, _ in ALL_CALLBACKS.values()):
        figures["all_callbacks"] = {name: all_callbacks(_averaged(found, "bbr"), _averaged(found, name),
                                                        null["median"] - NULL_INSTRUCTIONS) for name in OURS}
        figures["times_bpf_bbr"] = times_as_many(*(figures["all_callbacks"][name] for name in ("bpf_bbr3", "bpf_bbr")))
    for name in NAMES:
        figures["transfer"][name] = {
            "instructions": found[name]["busy"], "acks": found[name]["acks"],
            "ratio": round(found[name]["busy"] / found["bbr"]["busy"], 4)}
    ordinary = null["median"] - NULL_INSTRUCTIONS  # the instrument without its interrupted calls
    for name in IN_TURNS:
        turns = found["turns"][name]
        figures["turns"][name] = {
            "mean": round(statistics.mean(turns["mean"]) - ordinary, 1),
            "median": statistics.median(turns["median"]) - ordinary,
            "least": min(turns["min"]) - ordinary,
            "instructions": round(statistics.mean(turns["busy"]))}
    for name, turns in figures["turns"].items():
        for which, ratio in RATIOS.items():
            turns[ratio] = round(turns[which] / figures["turns"]["bbr"][which], 4)
        whole = compare.difference(found["turns"][name]["busy"], found["turns"]["bbr"]["busy"])
        turns["interval_transfer"] = [round(whole.low, 4), round(whole.high, 4)]
    return figures


def _bytes(shape, size):
    return size * LOSSES_OF_TEN // 10 if shape == "losses" else size


def run(key, size=BYTES, shapes=SHAPES):
    """The figures of a kernel of the lab. Each shape has a guest of its own, and stderr shows when it is done."""
    found = {"kernel": None, "bytes": size, "shapes": {}}
    for shape in shapes:
        result = _console(key, {"BYTES": _bytes(shape, size), "TURNS": TURNS, "TURN_BYTES": _bytes(shape, TURN_BYTES),
                                "SHAPE": shape}, "cost.sh")
        found["kernel"] = result.release
        found["shapes"][shape] = _shape(_parse(result.console))
        print(f"lab: {shape} measured, {len(found['shapes'])}/{len(shapes)}", file=sys.stderr, flush=True)
    return found


def prefixes(count):
    """Yields count rules with prefixes of all lengths; the first one matches."""
    rng = random.Random(count)
    yield "--dst 10.0.0.0/24"
    for _ in range(count - 1):
        address = ".".join(str(rng.randrange(1, 224) if i == 0 else rng.randrange(256)) for i in range(4))
        yield f"--dst {address}/{rng.choice((8, 12, 16, 20, 22, 23, 24, 24, 24, 28, 32, 32))}"


def combinations():
    """Yields a rule for each combination of fields; those without a local port match."""
    fields = "--dport 5001", "--sport 1", "--mark 0", "--cgroup /"
    for bits in range(16):
        yield " ".join(["--dst 10.0.0.0/24", *(f for i, f in enumerate(fields) if bits >> i & 1)])


RULES = {"none": lambda: [], **{str(n): functools.partial(prefixes, n) for n in (1, 16, 256, 4096, 65536)},
         "nested": lambda: [f"--dst 10.0.0.2/{n}" for n in range(1, 33)],
         "combinations": combinations, "4096_combinations": lambda: [*combinations(), *prefixes(4080)]}


def rules(key, size, names=tuple(RULES)):
    """Instructions of a connection's start and of an ACK with some sets of rules: name -> figures."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name in names:
            path = pathlib.Path(folder, name)
            path.write_text("".join(f"{line}\n" for line in RULES[name]()))
            files[f"/rules/{name}"] = path
        result = _console(key, {"BYTES": size, "NAMES": " ".join(names)}, "rules.sh", files)
    steps = {name: {line["span"]: line for line in matrix.objects(text) if "span" in line}
             for name, text in matrix.steps(result.console).items()}
    instrument = steps["instrument"][NULL_FUNCTION]["median"] - NULL_INSTRUCTIONS
    return {name: {"start": steps[name]["init"]["max"] - instrument,
                   "ack": round(steps[name]["cong_control"]["mean"] - instrument, 1),
                   "ack_median": steps[name]["cong_control"]["median"] - instrument,
                   "ack_least": steps[name]["cong_control"]["min"] - instrument} for name in names}


ARMS = "none", "cubic", "instance", "profile"


def experiment(key, size):
    """
    Instructions of the stack for a connection's start, and for its changes of state, the last of which is its end: without an
    experiment, and in one whose arm is one of ARMS. The least of five connections. name -> figures
    """
    result = _console(key, {"BYTES": size}, "experiment.sh")
    steps = {name: [line for line in matrix.objects(text) if "span" in line]
             for name, text in matrix.steps(result.console).items()}
    instrument = steps["instrument"][0]["median"] - NULL_INSTRUCTIONS

    def least(name, span, figure):
        return round(min(figure(line) for line in steps[name] if line["span"] == span))
    return {name: {"start": least(name, "tcp_init_transfer", lambda line: line["max"] - instrument),
                   "states": least(name, "tcp_set_state", lambda line: line["calls"] * (line["mean"] - instrument))}
            for name in ARMS}


EVERY = "transition", "round", "ack"
WATCHED = ("nobody", *(f"{every}_{count}" for every in EVERY for count in (1, 8)),
           *(f"kernel_{every}" for every in EVERY), "snapshot")


def watched(key, size, turns=WATCH_TURNS, names=WATCHED):
    """
    Instructions of an ACK: with nobody watching, with one monitor and with eight; of the program that watches the kernel's bbr,
    which also runs for segments that the receiver gets; and of a socket in a snapshot. Over all transfers of each, as in turns:
    the median of a single one varies by 8 (standard deviation), with its mix of ACKs. name -> figures
    """
    result = _console(key, {"BYTES": size, "SNAPSHOT_BYTES": 10 * size, "TURNS": turns, "NAMES": " ".join(names)}, "watch.sh")
    spans = {name: [line for line in matrix.objects(text) if "span" in line]
             for name, text in matrix.steps(result.console).items()}
    instrument = spans["instrument"][0]["median"] - NULL_INSTRUCTIONS

    def figures(lines):
        return {"transfers": len(lines), "calls": sum(line["calls"] for line in lines),
                "least": min(line["min"] for line in lines) - instrument,
                "mean": round(statistics.mean(line["mean"] for line in lines) - instrument, 1),
                **{q: statistics.median(line[q] for line in lines) - instrument for q in ("median", "p90", "p99")}}
    return {"kernel": result.release, "bytes": size, "instrument": instrument,
            "watched": {name: figures(spans[name]) for name in names}}


def compilers(key, objects, size=TURN_BYTES, turns=TURNS):
    """
    Instructions of cong_control in the objects of several compilers, against the kernel's bbr_main, in bursts. objects: version
    -> name -> file, as compiled() yields it. Returns version -> name -> "mean", "median", "ratio" and "ratio_median"
    """
    files = {f"/{name}_{version}.bpf.o": file for version, named in objects.items() for name, file in named.items()}
    result = _console(key, {"BYTES": size, "TURNS": turns, "VERSIONS": " ".join(map(str, objects))}, "compilers.sh", files)
    spans = {}
    for title, text in matrix.steps(result.console).items():
        spans.setdefault(title.split()[0], []).extend(line for line in matrix.objects(text) if "span" in line)
    instrument = spans["instrument"][0]["median"] - NULL_INSTRUCTIONS

    def figures(cc):
        return [which([span[key] - instrument for span in spans[cc]])
                for key, which in (("mean", statistics.mean), ("median", statistics.median))]
    kernels_mean, kernels_median = figures("bbr")
    found = {}
    for version, named in objects.items():
        for name in named:
            mean, median = figures(f"{name.removeprefix('bpf_')}_{version}")
            found.setdefault(version, {})[name] = {"mean": round(mean, 1), "median": median, "ratio": round(mean / kernels_mean, 3),
                                                   "ratio_median": round(median / kernels_median, 3)}
    return found


def _table_of_callbacks(algorithm, figures):
    yield f"  {'all callbacks, an ACK':34}{algorithm:>8}{'trampoline':>12}{'calls':>7}{'the kernel':>14}{'calls':>7}"
    for name in ALL_CALLBACKS:
        cost = figures[name]
        yield (f"  {name:34}{cost['instructions']:8g}{cost['trampoline']:12g}{cost['calls']:7.2f}"
               f"{cost['kernels_instructions']:14g}{cost['kernels_calls']:7.2f}")
    yield f"  {'all, with trampolines':34}{figures['all']:8.1f}{figures['kernels_all']:33.1f}"


def table(result):
    """The figures as text."""
    lines = [f"Linux {result['kernel']}, {result['bytes'] / 1e6:g} MB at 200 Mbit/s and 5 ms, in instructions"]
    for shape, figures in result["shapes"].items():
        acks = figures["transfer"]["bbr"]["acks"]
        lines += ["", f"{shape}: {acks} ACKs",
                  f"  {'callback, an ACK':34}{'mean':>8}{'median':>8}{'x bbr':>8}"]
        for name, cost in figures["callback"].items():
            lines.append(f"  {NAMES[name]:34}{cost['mean']:8.1f}{cost['median']:8}{cost['ratio']:8.3f}")
        lines.append(f"  ({figures['instrument']} for the instrument are taken off)")
        for algorithm, callbacks in figures.get("all_callbacks", {}).items():
            lines += _table_of_callbacks(algorithm, callbacks)
        if "times_bpf_bbr" in figures:
            lines.append(f"  {'bpf_bbr3 / bpf_bbr, called as often':34}{figures['times_bpf_bbr']:8.3f}")
        lines.append(f"  {'whole transfer, both ends':34}{'million':>12}{'x bbr':>8}")
        for name, cost in figures["transfer"].items():
            lines.append(f"  {NAMES[name]:34}{cost['instructions'] / 1e6:12.3f}{cost['ratio']:8.4f}")
        lines.append(f"  {f'{TURNS} transfers of {_bytes(shape, TURN_BYTES) / 1e6:g} MB each, in turns':34}"
                     f"{'mean':>8}{'median':>8}{'x bbr':>8}{'transfer':>11}{'x bbr':>8}")
        for name, cost in figures["turns"].items():
            low, high = cost["interval_transfer"]
            lines.append(f"  {NAMES[name]:34}{cost['mean']:8.1f}{cost['median']:8g}{cost['ratio']:8.3f}"
                         f"{cost['instructions'] / 1e6:11.3f}{cost['ratio_transfer']:8.4f} [{low:.4f}..{high:.4f}]")
    return "\n".join(lines)


def main(kernel, as_json, size):
    result = run(kernel, size)
    print(json.dumps(result, indent=2) if as_json else table(result))
    return 0
