# SPDX-License-Identifier: GPL-2.0-only
"""Runs one point of a scenario with one congestion control and one seed, in one guest."""
import dataclasses
import io
import os
import pathlib
import shlex
import struct
import tarfile
import tempfile

from runs import congestion_controls, metrics, scenario
from vm import guest, kernels
from vm.initramfs import BUILD
from vm.kernels import LabError

HERE = pathlib.Path(__file__).parent
PATH = HERE / "path.sh"  # makes a path of network namespaces
RESULTS = kernels.CACHE / "results"
BUILT_IN = {"cubic", "reno"}
PATH_MODULES = ["veth", "sch_fq", "sch_netem", "sch_ingress", "cls_matchall", "act_mirred"]  # those of path.sh
MODULES = PATH_MODULES + ["sch_fq_codel", "sch_tbf", "sch_codel", "sch_prio", "cls_u32", "act_police"]
LOADER, MONITOR = BUILD / "bbrctl", BUILD / "bbrmon"
PROGRAMS = [LOADER, MONITOR, BUILD / "flow", BUILD / "recorder"]
FILES = {"/recorder.bpf.o": BUILD / "recorder.bpf.o"}
STALL = BUILD / "stall.bpf.o"
ETHERNET = 14  # bytes of its header, which a qdisc counts
# A second, so that a guest's CPU, which takes a nanosecond for each instruction, is idle some of it: one flow of version 1
# without losses passes 50,800 packets of 1500 bytes, 48,000 of 3000 and 40,100 of 9000.
MOST_PACKETS = 35000
UNLIMITED = 1000000  # packets: for a qdisc that must not drop
# By default the kernel gives TCP 128 MB of a guest's 2 GB. With a large BDP, sender and receiver have more in their queues, and
# from then on the receiver's window is four packets.
LARGE_BDP, TCP_MEM = 8e6, "300000 350000 400000"  # bytes; pages: net.ipv4.tcp_mem


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    point: object  # scenario.Point
    cc: str
    seed: int
    kernel: str  # key
    compared: tuple = ()  # what this run is compared with: each of their runs loads all of these
    recorded: bool = False  # by bbrmon record, each ACK of its BBR flows

    @property
    def duration_s(self):
        return self.point["duration"] / 1e6

    @property
    def packets(self):
        return packets_of(self.point)

    def __str__(self):
        parts = [self.point.scenario, self.point.label, self.cc, f"seed {self.seed}"]
        return " ".join(part for part in parts if part)


def packets_per_second(point):
    """The packets a second of a link that is always busy."""
    return point["link.rate"] / 8 / (point["path.mtu"] * point["path.gso"] + ETHERNET)


def packets_of(point):
    """The number of packets of a run if the link was always busy."""
    return min(packets_per_second(point), MOST_PACKETS) * point["duration"] / 1e6


def warnings(points):
    """Yields a line for each point that may be limited by something which its scenario does not say."""
    for point in points:
        packets = packets_per_second(point)
        if packets > MOST_PACKETS:
            yield f"{point.scenario} {point.label}".strip() + f": its link carries {packets:.0f} packets a second. Above " \
                f"{MOST_PACKETS} a guest's CPU may be the limit, not the link; a larger path.mtu needs fewer packets"


def ccs_of(point, cc):
    """The congestion control of each flow, if cc is the one compared."""
    return [flow["cc"] or cc for flow in point.flows]


def flow_ccs(run):
    return ccs_of(run.point, run.cc)


def used_ccs(point, cc):
    """The congestion controls of all flows, including those that a flow changes to."""
    return {*ccs_of(point, cc), *(_step_cc(step, cc) for flow in point.flows
                                  for step in flow["pattern"] if step[0] == "cc")}


def loaded_ccs(run):
    """The congestion controls in the guest: the same in all runs of a comparison, which differ only in the flows' choice."""
    return {name for cc in {run.cc, *run.compared} for name in used_ccs(run.point, cc)}


def _step_cc(step, compared):
    return compared if step[1] == scenario.COMPARED else step[1]


def uses_bbr(run):
    """True if it has a flow that bbrmon can show."""
    return any(cc == "bbr" or congestion_controls.is_ours(cc) for cc in used_ccs(run.point, run.cc))


def _percent(value):
    return f"{value * 100:g}%"


def _netem_loss(loss, burst=1.0):
    """netem's words for random loss; bursts use the two states of a simple Gilbert model with the same mean."""
    if not loss:
        return ""
    if burst <= 1 or loss == 1:
        return f" loss random {_percent(loss)}"
    return f" loss gemodel {_percent(min(loss / (burst * (1 - loss)), 1))} {_percent(1 / burst)}"


def _bottleneck(verb, point, values):
    """The queue of r1: netem; or, if it marks, tbf around codel, which then does nothing but mark. If the sender's CPU is not
    always there, all of the guest stands still without it. Then the delay is here as well: netem computes when a packet arrives
    from when it was sent, so one that arrives meanwhile is ACKed at the end of the pause, when the sender would see its ACK."""
    rate, queue = values["link.rate"], values["link.queue"]
    packet = point["path.mtu"] + ETHERNET
    if not point["link.ecn"]:
        delay = ""
        if point["sender.cpu"]:
            delay = f" delay {values['path.delay']}us"
            queue += round(_bdp(point) / packet)
        return [f"tc -n rtr qdisc {verb} dev r1 root handle 1: netem rate {rate}bit limit {queue}{delay}"]
    codel = f"codel limit {queue} target 1000s interval 2000s ecn ce_threshold {point['link.ecn']}us"
    tbf = f"tbf rate {rate}bit burst {2 * packet} limit {queue * packet}"
    return [f"tc -n rtr qdisc {verb} dev r1 root handle 1: {tbf}",
            f"tc -n rtr qdisc {verb} dev r1 parent 1:1 handle 2: {codel}"]


def _wan(verb, point, values):
    """The losses and the reordering before the bottleneck."""
    words = f"netem limit {UNLIMITED}"
    if point["path.reorder"]:
        words += f" delay {point['path.reorder_by']}us reorder {_percent(point['path.reorder'])}"
    words += _netem_loss(values["path.loss"], point["path.loss_burst"])
    return [f"tc -n wan qdisc {verb} dev a1 root handle 1: {words}"]


def _return_netem(point, values, delay):
    words = f"netem limit {UNLIMITED} delay {delay}us"
    if point["path.jitter"]:
        # A rate makes netem keep the order; this one delays an ACK by less than a nanosecond.
        words += f" {point['path.jitter']}us rate 1000gbit"
    words += _netem_loss(values["path.ack_loss"])
    if point["path.ack_aggregation"]:
        words += f" slot {point['path.ack_aggregation']}us {point['path.ack_aggregation']}us"
    return words


def _return(verb, point, values):
    """The delay, at the receiver. Each flow with its own delay has a band, selected by its port."""
    usual = _return_netem(point, values, 0 if point["sender.cpu"] else values["path.delay"])
    own = {n: flow["delay"] for n, flow in enumerate(point.flows) if flow["delay"]}
    if not own:
        return [f"tc -n rcv qdisc {verb} dev c0 root handle 1: {usual}"]
    bands = len(own) + 1
    lines = []
    if verb == "add":
        lines.append(f"tc -n rcv qdisc add dev c0 root handle 1: prio bands {bands} "
                     "priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0")
    lines.append(f"tc -n rcv qdisc {verb} dev c0 parent 1:1 {usual}")
    if verb == "add":
        for band, (flow, delay) in enumerate(own.items(), 2):
            lines += [f"tc -n rcv qdisc add dev c0 parent 1:{band} "
                      f"{_return_netem(point, values, delay)}",
                      "tc -n rcv filter add dev c0 parent 1: protocol ip u32 "
                      f"match ip sport {5201 + flow} 0xffff flowid 1:{band}"]
    return lines


def _policer(point):
    if not point["policer.rate"]:
        return []
    return ["tc -n rtr filter add dev r0 ingress pref 1 matchall action police "
            f"rate {point['policer.rate']}bit burst {point['policer.burst']} conform-exceed drop/continue"]


def _needs_wan(point):
    return bool(point["path.loss"] or point["path.reorder"] or
                any("path.loss" in values for _, values in point.changes))


def _changes(point):
    values = dict(point.values)
    for when, change in point.changes:
        values.update(change)
        places = []
        if {"link.rate", "link.queue"} & change.keys():
            places += _bottleneck("change", point, values)
        if "path.loss" in change:
            places += _wan("change", point, values)
        if {"path.delay", "path.ack_loss"} & change.keys():
            places += _return("change", point, values)
        for line in places:
            yield f"at {when // 1000} {line}"


def _ms(us):
    return max(us // 1000, 1)


def _steps(flow, compared, duration):
    """The flow's pattern, as arguments of flow.c."""
    if flow["udp"]:
        return f"rate:{flow['udp'] // 1000}:{_ms(duration)}"
    words = []
    for step in flow["pattern"] or [("send", duration)]:
        name, *numbers = step
        if name == "bytes":
            words.append(f"bytes:{numbers[0]}")
        elif name == "rate":
            words.append(f"rate:{numbers[0] // 1000}:{_ms(numbers[1])}")
        elif name == "cc":
            words.append(f"cc:{congestion_controls.word(_step_cc(step, compared))}")
        else:
            words.append(f"{name}:{_ms(numbers[0])}")
    return " ".join(words * flow["repeat"])


def _flow_line(run, number, flow):
    duration = flow["duration"] or run.point["duration"] - flow["start"]
    words = [f"flow_to {number} -s {flow['start'] // 1000}"]
    if flow["udp"]:
        words.append("-u")
    else:
        words.append(f"-C {congestion_controls.word(flow['cc'] or run.cc)}")
    if flow["max_rate"]:
        words.append(f"-m {flow['max_rate'] // 1000}")
    if flow["mss"]:
        words.append(f"-M {flow['mss']}")
    if flow["connections"] > 1:
        words.append(f"-n {flow['connections']}")
    words.append(_steps(flow, run.cc, duration))
    return " ".join(words)


def receivers_of(run):
    """The congestion controls of the receivers, as words of the shell: that of its flow if this negotiates ECN, otherwise none."""
    words = [congestion_controls.word(cc) if congestion_controls.needs_ecn(cc) else "''" for cc in flow_ccs(run)]
    return words if any(word != "''" for word in words) else []


def _bdp(point):
    """The bandwidth-delay product of the path, in bytes."""
    return point["link.rate"] / 8 * point["path.delay"] / 1e6


def _or_fail(line):
    return f"{line} || fail {shlex.quote(line)}"


def hosts_line(point):
    """The line that makes the hosts and the wires between them. Nothing of it is random."""
    wan = "wan" if _needs_wan(point) else ""
    return _or_fail(f"make_path {point['path.mtu']} {point['path.gso']} {point['sender.qdisc']} {wan}")


def path_lines(point, receivers=()):
    """The lines that give the path between the hosts its queues and delays, with receivers at its end."""
    values = point.values
    sysctls = [shlex.quote(f"net.ipv4.{name}={value}") for name, value in point.sysctls.items()]
    lines = [*([f"sysctl -qw net.ipv4.tcp_mem='{TCP_MEM}'"] if _bdp(point) > LARGE_BDP else []),
             f"tune {point['receiver.buffer']} {1 if point['link.ecn'] else 0} {' '.join(sysctls)}",
             *_bottleneck("add", point, values),
             *(_wan("add", point, values) if _needs_wan(point) else []),
             *_return("add", point, values),
             *_policer(point),
             " ".join([f"serve {len(point.flows)}", *receivers])]
    if point["sender.cwnd_clamp"]:
        lines.append(f"clamp_cwnd {point['sender.cwnd_clamp']}")
    if point["uptime"]:
        lines.append(f"wait_for_uptime {point['uptime'] // 1000000}")
    return [*map(_or_fail, lines)]


def _load_line(name, params):
    """The line that loads an algorithm. The first word of a profile is its name, the others are values that it needs."""
    profile, *needs = params.get("profile", "default").split()
    values = {**dict(need.split("=", 1) for need in needs), **params}
    values.pop("profile", None)
    return " ".join(["load", *congestion_controls.load_options(name),
                     *([f"--profile={profile}"] if profile != "default" else []),
                     *(shlex.quote(f"--set={key}={value}") for key, value in values.items())])


def load_lines(run):
    """The lines that load the congestion controls that are not the kernel's own, ours with the parameters of the point."""
    lines = []
    for cc in sorted(loaded_ccs(run)):
        if congestion_controls.is_ours(cc):
            lines.append(_load_line(cc, run.point.params.get(cc, {})))
        elif congestion_controls.is_built_here(cc):
            lines.append(f"load --object={congestion_controls.guest_path(cc)} "
                         f"--name={congestion_controls.name_of_object(cc)}")
        elif congestion_controls.is_object(cc):
            lines.append(f"register {congestion_controls.guest_path(cc)}")
    return lines


def _stall_lines(point):
    """The lines that take the CPU away for a part of each period. The first begins at a random time: what a flow gets depends on
    where in a period it starts."""
    if not 0 < point["sender.cpu"] < 1:
        return []
    period_ns = point["sender.cpu_period"] * 1000
    packet = struct.pack("<QQ", round(period_ns * (1 - point["sender.cpu"])), period_ns) + bytes(48)
    octal = "".join(f"\\{byte:03o}" for byte in packet)
    return [f"sleep_us $((RANDOM * {point['sender.cpu_period']} / 32768))",
            f"printf '{octal}' >/tmp/stall && bpftool prog loadall /{STALL.name} /sys/fs/bpf/stall pinmaps /sys/fs/bpf/stall_maps && "
            "bpftool -j prog run pinned /sys/fs/bpf/stall/start data_in /tmp/stall | grep -q '\"retval\":0,' || fail stall"]


def flow_lines(run):
    """The lines for what happens on the path: its changes, and the flows."""
    return [*_changes(run.point),
            *(_flow_line(run, n, flow) for n, flow in enumerate(run.point.flows))]


def words():
    """The definitions of the commands that a script uses."""
    return "".join(part.read_text() for part in (PATH, HERE / "scenario.sh"))


def prepare(run):
    """The script that loads the congestion controls and the recorder, and makes the hosts: once for all runs that have the same."""
    return words() + "\n".join([*load_lines(run), hosts_line(run.point), "load_recorder"]) + "\n"


def script(run):
    """The script that the guest runs after prepare(). All runs of a comparison have the same processes in their guests: a program
    that watches one of them watches all."""
    point = run.point
    lines = path_lines(point, receivers_of(run))
    if is_streamed(run):
        lines.append(f"stream_bbr {point['stream']}")
    if run.recorded:
        lines.append("record_bbr")
    lines += [f"record {point['measure_from'] // 1000} {point['duration'] // 1000} "
              f"{point['sample'] // 1000}",
              *_stall_lines(point),
              *flow_lines(run),
              "collect"]
    return words() + "\n".join(lines) + "\n"


def is_streamed(run):
    return run.point["stream"] != "none"


def programs_of(run):
    """The programs of a guest, besides those of the system. What does not run is left out: the result does not depend on it, and
    a comparison of others' congestion controls needs nothing of this project but the lab."""
    loads = any(congestion_controls.is_ours(cc) or congestion_controls.is_built_here(cc) for cc in loaded_ccs(run))
    unused = [*([] if loads else [LOADER]), *([] if is_streamed(run) or run.recorded else [MONITOR])]
    return [program for program in PROGRAMS if program not in unused]


def modules(run):
    """The kernel modules that a run needs."""
    return MODULES + sorted(f"tcp_{cc}" for cc in loaded_ccs(run) - BUILT_IN
                            if congestion_controls.is_kernels(cc))


def _image(run, kernel):
    if not kernel.modules:
        raise LabError(f"kernel {run.kernel} comes without its modules, so no path can be made there (Debian's archive has lost those "
                       "of some kernels)")
    files = [cc for cc in loaded_ccs(run) if congestion_controls.is_file(cc)]
    stalls = {f"/{STALL.name}": STALL} if _stall_lines(run.point) else {}
    bpftool = ["bpftool"] if stalls or any(map(congestion_controls.is_object, files)) else []
    return guest.initramfs(kernel, script(run), programs=programs_of(run) + bpftool, modules=modules(run), prepare=prepare(run),
                           files={**FILES, **stalls, **{congestion_controls.guest_path(cc): cc for cc in sorted(files)}})


def unpack(data):
    """File name -> bytes, from the archive that the guest left."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        for member in archive:
            if member.isfile():
                files[member.name.removeprefix("./")] = archive.extractfile(member).read()
    return files


def _execute(run, kernel, image, on_time):
    """Runs the guest. Returns the release of its kernel, and the archive of the files that it left."""
    def on_line(line):
        if line.startswith("@@T ") and on_time:
            on_time(int(line.split()[1]) / 1e3)

    result = guest.run(kernel, image, seed=run.seed, on_line=on_line)
    console = [line for line in result.console.splitlines() if not line.startswith("@@T ")]
    if result.status != 0 or not result.data or any("scenario: " in line for line in console):
        raise LabError(f"{run}: the run failed in the guest:\n  " + "\n  ".join(console[-15:]))
    return result.release, result.data


def in_guest(run, on_time=None):
    """Runs the guest of a run without the cache. Returns the release of its kernel, and the archive of the files that it left."""
    kernel = kernels.find(run.kernel)
    return _execute(run, kernel, _image(run, kernel), on_time)


def _cache_file(inputs):
    return RESULTS / inputs[:2] / inputs


def _cached(file):
    release, _, data = file.read_bytes().partition(b"\n")
    return release.decode(), data


def store(file, data):
    """Writes a file of a cache: all of it or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as partial:
        partial.write(data)
    os.replace(partial.name, file)


def files_of(run, kernel, image, on_time=None, fresh=False):
    """Returns the hash of the inputs, the release of the kernel, and file name -> bytes of what the guest left; from the cache
    if all inputs are the same. Stores a new result as soon as the guest has ended. on_time() gets the virtual time in seconds,
    as it passes."""
    inputs = guest.input_hash(kernel, image, seed=run.seed)
    file = _cache_file(inputs)
    if file.exists() and not fresh:
        release, data = _cached(file)
    else:
        release, data = _execute(run, kernel, image, on_time)
        store(file, release.encode() + b"\n" + data)
    return inputs, release, unpack(data)


def cached(runs):
    """Yields those of the runs whose results are in the cache. Runs that differ only in their seed have one image; they should
    follow each other."""
    what = image = None
    for run in runs:
        kernel = kernels.find(run.kernel)
        if what != (run.point, run.cc, run.compared, run.kernel, run.recorded):
            what = run.point, run.cc, run.compared, run.kernel, run.recorded
            image = _image(run, kernel)
        if _cache_file(guest.input_hash(kernel, image, seed=run.seed)).exists():
            yield run


def execute(run, on_time=None, fresh=False):
    """Returns the result of a run. "recording", if there is one, is bbrmon's."""
    kernel = kernels.find(run.kernel)
    image = _image(run, kernel)
    inputs, release, files = files_of(run, kernel, image, on_time, fresh)
    recording = {"recording": files.pop("bbr.rec")} if run.recorded else {}
    found = metrics.of_run(run.point, flow_ccs(run),
                           {name: text.decode(errors="replace") for name, text in files.items()})
    return {**recording, "scenario": run.point.scenario, "title": run.point["title"], "source": run.point["source"],
            "says": run.point["says"], "point": run.point.label, "cc": run.cc,
            "seed": run.seed, "kernel": run.kernel, "release": release,
            "inputs": {"all": inputs, **guest.input_parts(kernel, image)}, **found}


SHELL = """
cat <<TEXT
The path of {name}: namespaces snd, rtr, rcv. Receivers listen on 10.0.2.1 from port 5201 on:
  {hints}
Leave with exit.
TEXT
setsid -c bash --norc -i </dev/ttyS0 >/dev/ttyS0 2>&1
"""


def shell(found, key):
    """Runs an interactive guest with the path of a scenario's first point. Returns QEMU's status."""
    kernel = kernels.find(key)
    point = next(found.points())
    cc = "bpf_bbr" if congestion_controls.is_ours("bpf_bbr") else "cubic"
    hints = [f"ip netns exec snd flow -c 10.0.2.1 -p 5201 -C {cc} send:5000 &",
             *(["bbrmon stream --every round"] if MONITOR.exists() else [])]
    run = Run(point, cc, 1, key)
    text = prepare(run) + "\n".join(path_lines(point, receivers_of(run))) + SHELL.format(name=found.name, hints="\n  ".join(hints))
    ours = [program for program in PROGRAMS if program.exists()]
    image = guest.initramfs(kernel, text, programs=[*ours, "bpftool"], files=FILES, modules=modules(run))
    return guest.shell(kernel, image)
