# SPDX-License-Identifier: GPL-2.0-only
"""
Compares whole transfers of bpf_bbr3 with those of Google's version 3. Recordings of the latter (tests/oracle/bbr3) contain their
path, in the words of scenario.sh. bpf_bbr3 uses the same path on a stock kernel, over many seeds: is Google's rate among ours?

The kernels differ, so the random numbers do, too. A recording is one draw, and each seed is another.
"""
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess

from runs import experiment, metrics, pool
from vm import guest, kernels

OURS = "bpf_bbr3"
BITS = 8e-6  # of a byte, in Mbit
WITH_ECN = re.compile(r"tune \d+ [^0]")
SENDS = re.compile(r"flow_to (\d+) -s (\d+) -C (\w+) send:(\d+)$")


@dataclasses.dataclass(frozen=True)
class Recording:
    name: str
    commands: tuple  # of its first point
    duration_s: float
    goodput: float  # Mbit/s, of all flows with version 3 together


@dataclasses.dataclass(frozen=True)
class Run:
    recording: Recording
    seed: int
    kernel: str

    @property
    def duration_s(self):
        return self.recording.duration_s

    @property
    def packets(self):
        return self.recording.goodput * self.duration_s / (1514 * BITS)

    def __str__(self):
        return f"{self.recording.name} seed {self.seed}"


def _stream(path):
    return subprocess.Popen(["zstd", "-dc", "--long=31", path], stdout=subprocess.PIPE)


def _acked(source, head, duration_s):
    """
    Bytes that the sockets of the first point had ACKed while its flows sent, by snd_una at their first and last ACK of that time.
    The time begins with the first of all ACKs, which is that of a handshake. (Data that was in the sockets at the end was still
    sent later.)
    """
    place = {name: (offset, offset + width) for name, offset, width, _ in head["fields"]}
    span, end = {}, None

    def field(record, name):
        return int.from_bytes(record[slice(*place[name])], "little")

    while record := source.read(head["record_size"]):
        if head["kinds"][field(record, "kind")] != "main":
            continue
        now, una = field(record, "tcp_mstamp"), field(record, "snd_una")
        end = end or now + duration_s * 1e6
        if now <= end:
            first, _ = span.setdefault(field(record, "cookie"), (una, una))
            span[field(record, "cookie")] = first, una
    return sum((last - first) % 2**32 for first, last in span.values())


def read(path):
    """Reads a recording. Returns None unless it has one point, whose flows send all the time, without ECN or special settings."""
    path = pathlib.Path(path)
    with _stream(path) as process:
        head = json.loads(process.stdout.readline())
        commands = head["points"][0]["commands"]
        flows = [SENDS.match(command) for command in commands if command.startswith("flow_to ")]
        usable = len(head["points"]) == 1 and all(flows) and {flow[3] for flow in flows} in ({"bbr"}, {"bbr", "cubic"})
        if not usable or any(command.startswith(("ecnlow", "wait_for_uptime", "clamp_cwnd")) or WITH_ECN.match(command)
                             for command in commands):
            process.kill()
            return None
        duration = max(int(flow[2]) + int(flow[4]) for flow in flows) / 1e3
        acked = _acked(process.stdout, head, duration)
    return Recording(path.name.partition(".v3r")[0], tuple(commands), duration, acked * BITS / duration)


def script(run):
    """The script of a run: the recording's commands, with bpf_bbr3 in place of bbr and the lab's recorder."""
    lines = []
    for command in run.recording.commands:
        lines.append(command.replace("-C bbr ", f"-C {OURS} "))
        if command.startswith("tune "):
            lines.append(f"load --algorithm bbr3 --name {OURS}")
        if command.startswith("serve "):
            lines += ["load_recorder", f"record 0 {round(run.duration_s * 1000)} 1000"]
    return experiment.words() + "\n".join([*lines, "collect"]) + "\n"


def goodput(recording, text):
    """Mbit/s of all flows of bpf_bbr3 together, by their last ACKs in the text of the lab's recorder. A flow counts from its
    first byte on, as in _acked(). Its socket is reset at its end, so no ACK comes later."""
    last = {row[1]: row for row in metrics.read_recording(text)["flow"]}
    flows = filter(None, map(SENDS.match, recording.commands))
    ours = [int(flow[1]) for flow in flows if flow[3] == "bbr"]
    return sum(metrics.column(last[n], "acked_bytes") for n in ours if n in last) * BITS / recording.duration_s


def execute(run):
    """Mbit/s of all flows of bpf_bbr3 together."""
    kernel = kernels.find(run.kernel)
    image = guest.initramfs(kernel, script(run), programs=["tar", "gzip", "killall", *experiment.PROGRAMS],
                            modules=experiment.MODULES, files=experiment.FILES)
    result = guest.run(kernel, image, seed=run.seed)
    if result.status or "scenario: " in result.console:
        raise kernels.LabError(f"{run} failed:\n{result.console}")
    return goodput(run.recording, experiment.unpack(result.data)["recording"])


def measure(paths, kernel, seeds, jobs=None):
    """recording -> Mbit/s over the seeds"""
    recordings = [found for found in map(read, paths) if found]
    runs = [Run(recording, seed, kernel) for recording in recordings for seed in range(1, seeds + 1)]
    found = {recording: [] for recording in recordings}
    pool.execute_all(runs, lambda run, goodput: found[run.recording].append(goodput), jobs, execute=pool.uncached(execute))
    return found


def table(found):
    """As Markdown."""
    lines = ["| recording | Google's | bpf_bbr3, median | least | most | Google's is among them |", "|---|---|---|---|---|---|"]
    for recording, ours in found.items():
        among = min(ours) <= recording.goodput <= max(ours)
        lines.append(f"| {recording.name} | {recording.goodput:.2f} | {statistics.median(ours):.2f} | {min(ours):.2f} | "
                     f"{max(ours):.2f} | {'yes' if among else 'no'} |")
    return "\n".join(lines)
