# SPDX-License-Identifier: GPL-2.0-only
"""Computes the figures of a run from what its guest recorded (recorder.c, bbrmon, tc).

All times count from the start of the run. Figures of flows cover the window from measure_from to the end;
retransmits and drops cover the whole run.
"""
import json

from runs import congestion_controls
from vm import kernels

FLOW_COLUMNS = ["t_us", "flow", "acks", "rtt_min_us", "rtt_max_us", "rtt_us", "srtt_us", "min_rtt_us",
                "cwnd", "inflight", "lost", "retrans", "acked_bytes", "rate_bps", "pacing_bps",
                "ca_state"]
QUEUE_COLUMNS = ["t_us", "packets", "bytes", "drops", "sent_packets", "sent_bytes"]
BBRS = ("bpf_bbr", "bbr", "bpf_bbr3", "bbr3_estimates.bpf.o")  # the recorder knows their modes
MODES = ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]
PROBE_RTT = 3


def column(row, name):
    """The value of a column in a row of the series "flow"."""
    return row[FLOW_COLUMNS.index(name)]


def jain(values):
    """Jain's index of fairness: 1 if all are equal, 1/n if one has everything; None if the sum is 0."""
    total = sum(values)
    return total ** 2 / (len(values) * sum(v * v for v in values)) if total else None


def percentile(values, percent):
    """The smallest value that this percentage of all values does not exceed; None if there are no values."""
    ordered = sorted(values)
    return ordered[max(-(-len(ordered) * percent // 100) - 1, 0)] if ordered else None


def read_recording(text):
    """Kind of line -> the values of each line."""
    kinds = {"flow": [], "mode": [], "queue": [], "rtt": [], "end": []}
    for line in text.splitlines():
        kind, *values = json.loads(line)
        kinds[kind].append(values)
    if len(kinds["end"]) != 1:
        raise kernels.LabError("the recording of the run was cut off")
    dropped = kinds["end"][0][1]
    if dropped:
        raise kernels.LabError(f"the recorder lost {dropped} ACKs; shorten the run or slow it down")
    return kinds


def value_at(rows, t_us, name):
    """The value of a column at a time, from one flow's rows; 0 before the first row."""
    value = 0
    for row in rows:
        if row[0] > t_us:
            break
        value = column(row, name)
    return value


def probe_rtt_times(changes, end_us):
    """[from, to] of each PROBE_RTT, from one flow's changes of mode (t_us, flow, mode)."""
    times, since = [], None
    for t_us, _, mode in changes:
        if since is not None:
            times.append([since, t_us])
        since = t_us if mode == PROBE_RTT else None
    if since is not None:
        times.append([since, end_us])
    return times


def _flow(point, cc, number, kinds, files):
    flow = point.flows[number]
    end = min(flow["start"] + flow["duration"], point["duration"]) if flow["duration"] else \
        point["duration"]
    begin = max(flow["start"], point["measure_from"])
    rows = [row for row in kinds["flow"] if row[1] == number]
    acked = value_at(rows, end, "acked_bytes") - value_at(rows, begin, "acked_bytes")
    rtt = next((r for r in kinds["rtt"] if r[0] == number), None)
    found = {
        "flow": number, "cc": cc, "start_us": flow["start"], "end_us": end,
        "acked_bytes": acked,
        "goodput_bps": round(acked * 8e6 / (end - begin)) if end > begin else None,
        "rtt_us": dict(zip(("acks", "min", "median", "p95", "max"), rtt[1:])) if rtt else None,
        "retransmits": column(rows[-1], "retrans") if rows else 0,
    }
    lost = [line["lost"] for line in _lines(files.get(f"flow.{number}")) if "lost" in line]
    if lost:
        found["connection_lost"] = lost[0]  # the reason; it sent nothing more
    if congestion_controls.label(cc) in BBRS:
        changes = [c for c in kinds["mode"] if c[1] == number]
        found["probe_rtt_us"] = probe_rtt_times(changes, end)
    return found


def _link(point, kinds):
    queue = [row for row in kinds["queue"] if row[0] >= point["measure_from"]]
    waiting = [row[1] for row in queue]
    sent = queue[-1][5] - queue[0][5] if queue else 0
    seconds = (queue[-1][0] - queue[0][0]) / 1e6 if queue else 0
    return {
        "rate_bps": point["link.rate"],
        "sent_bps": round(sent * 8 / seconds) if seconds else None,
        "queue_packets": {"mean": sum(waiting) / len(waiting), "median": percentile(waiting, 50),
                          "p95": percentile(waiting, 95), "max": max(waiting)} if waiting else None,
        "drops": queue[-1][3] if queue else 0,
    }


def _qdisc_drops(text, device):
    return sum(q.get("drops", 0) for q in json.loads(text or "[]")
               if q.get("dev") == device and q.get("root"))


def _policer_drops(text):
    """The drops of the policer: they are in the action's stats, because tc prints null for what it has no JSON for."""
    total = 0
    for rule in json.loads(text or "[]"):
        for action in rule.get("options", {}).get("actions", []):
            if action["kind"] == "police":
                total += action["stats"]["drops"]
    return total


def _lines(text):
    return [json.loads(line) for line in (text or "").splitlines() if line.startswith("{")]


def of_run(point, ccs, files):
    """The figures and series of a run. ccs: the congestion control of each flow."""
    kinds = read_recording(files["recording"])
    flows = [_flow(point, cc, n, kinds, files) for n, cc in enumerate(ccs) if not point.flows[n]["udp"]]
    goodput = [flow["goodput_bps"] or 0 for flow in flows]
    total = sum(goodput)
    for flow in flows:
        flow["share"] = (flow["goodput_bps"] or 0) / total if total else None
    received = [line["received"] for line in _lines(files.get("received"))]
    link = _link(point, kinds)
    link["lost"] = _qdisc_drops(files.get("qdisc.wan"), "a1")
    link["policer_drops"] = _policer_drops(files.get("policer"))
    return {
        "window_us": [point["measure_from"], point["duration"]],
        "rtprop_us": point["path.delay"],
        "flows": flows,
        "goodput_bps": total,
        "jain": jain(goodput),
        "received_bytes": sum(r["bytes"] for r in received),
        "wrong_bytes": sum(r["wrong_bytes"] for r in received),
        "link": link,
        "series": {"columns": {"flow": FLOW_COLUMNS, "queue": QUEUE_COLUMNS,
                               "mode": ["t_us", "flow", "mode"]},
                   "flow": kinds["flow"], "queue": kinds["queue"],
                   "mode": [c for c in kinds["mode"] if congestion_controls.label(ccs[c[1]]) in BBRS]},
        "bbrmon": _lines(files.get("bbrmon")),
        "processes": sorted(files.get("processes", "").split("\n")[:-1]),
    }
