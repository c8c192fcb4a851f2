# SPDX-License-Identifier: GPL-2.0-only
"""Several seeds of one thing: median and spread; and whether bpf_bbr is the kernel's bbr."""
import statistics

# What counts as the same, of the kernel's own median: goodput, RTT, retransmits.
TOLERANCE = {"goodput_bps": 0.02, "rtt_us": 0.05, "retransmits": 0.10}


def _of_flows(result, *keys):
    """The median over the flows of a figure, None if no flow has it."""
    values = []
    for flow in result["flows"]:
        for key in keys:
            flow = flow and flow[key]
        if flow is not None:
            values.append(flow)
    return statistics.median(values) if values else None


def figures(result):
    """The scalars of one run that are compared and printed."""
    queue = result["link"]["queue_packets"] or {}
    return {
        "goodput_bps": result["goodput_bps"],
        "rtt_min_us": _of_flows(result, "rtt_us", "min"),
        "rtt_us": _of_flows(result, "rtt_us", "median"),
        "rtt_p95_us": _of_flows(result, "rtt_us", "p95"),
        "rtt_max_us": _of_flows(result, "rtt_us", "max"),
        "retransmits": sum(flow["retransmits"] for flow in result["flows"]),
        "queue_packets": queue.get("mean"),
        "drops": result["link"]["drops"],
        "lost": result["link"]["lost"],
        "policer_drops": result["link"]["policer_drops"],
        "jain": result["jain"],
        "probe_rtts": sum(len(flow.get("probe_rtt_us", [])) for flow in result["flows"]),
    }


def over_seeds(results):
    """Figure -> median, min, max of it over the runs that have it."""
    table = [figures(result) for result in results]
    found = {}
    for key in table[0]:
        values = [row[key] for row in table if row[key] is not None]
        found[key] = {"median": statistics.median(values), "min": min(values),
                      "max": max(values)} if values else None
    return found


def same(ours, kernels):
    """For each figure of TOLERANCE: is ours the same as the kernel's? (verdict, reason)."""
    verdicts = {}
    for key, tolerance in TOLERANCE.items():
        a, b = ours[key], kernels[key]
        if a is None or b is None:
            verdicts[key] = (a is b, "not measured")
            continue
        ratio = a["median"] / b["median"] if b["median"] else (1.0 if not a["median"] else float("inf"))
        if abs(ratio - 1) <= tolerance:
            verdicts[key] = (True, f"{ratio:.3f}")
        elif b["min"] <= a["median"] <= b["max"]:
            verdicts[key] = (True, f"{ratio:.3f} (spread)")
        else:
            verdicts[key] = (False, f"{ratio:.3f}")
    return verdicts
