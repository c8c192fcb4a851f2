# SPDX-License-Identifier: GPL-2.0-only
"""Figures as text for people."""
from runs import compare, congestion_controls


ITSELF_SEEDS = 20  # ten in each half: fewer say nothing


def align(header, rows):
    """Aligns columns: the first two are text, on the left; the others are numbers, on the right."""
    widths = [max(len(str(row[n])) for row in [header, *rows]) for n in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [str(cell).ljust(width) if n < 2 else str(cell).rjust(width)
                 for n, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def number(value, scale=1.0):
    if value is None:
        return "-"
    value = value / scale
    if value >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _median(found, key, scale=1.0, spread=False):
    entry = found[key]
    if entry is None:
        return "-"
    text = number(entry["median"], scale)
    if spread and entry["min"] != entry["max"]:
        text += f" [{number(entry['min'], scale)}..{number(entry['max'], scale)}]"
    return text


HEADER = ["POINT", "CC", "Mbit/s", "RTT min", "median", "p95", "max ms", "RETRANS", "QUEUE", "DROPS",
          "LOST", "JAIN", "PROBE_RTT"]


def _row(label, cc, found):
    return [label, cc, _median(found, "goodput_bps", 1e6, True), _median(found, "rtt_min_us", 1e3),
            _median(found, "rtt_us", 1e3, True), _median(found, "rtt_p95_us", 1e3),
            _median(found, "rtt_max_us", 1e3), _median(found, "retransmits", 1, True),
            _median(found, "queue_packets"), _median(found, "drops"),
            number(found["lost"]["median"] + found["policer_drops"]["median"]),
            _median(found, "jain"), _median(found, "probe_rtts")]


def scenario_table(groups):
    """groups: (label of the point, cc) -> figures over seeds."""
    return align(HEADER, [_row(label or "-", congestion_controls.label(cc), found) for (label, cc), found in groups.items()])


def verdict_of(name, found):
    """(words, does it differ?)"""
    if found is None:
        return f"{name} cannot be compared", False
    tolerance = compare.TOLERANCE[name]
    verdict = found.verdict(tolerance)
    if found.only_means_differ(tolerance):
        detail = f" (means {_ratio(found.means)})"
    else:
        detail = "" if verdict == "same" else f" (sees {100 * found.visible:.0f} %)"
    return f"{name} {_ratio(found)} {verdict}{detail}", verdict == "differs"


def _ratio(found):
    return f"{found.ratio:.3f} [{found.low:.3f}..{found.high:.3f}] p {found.probability:.3f}"


def _compared(what, label, pairs):
    """(line, does something differ?)"""
    verdicts = [verdict_of(name, found) for name, found in pairs.items()]
    return (f"{what}{' at ' + label if label else ''}: " + ", ".join(words for words, _ in verdicts),
            any(differs for _, differs in verdicts))


def verdict_lines(groups, ours="bpf_bbr", kernels="bbr"):
    """
    (line, does something differ?) for each point that has both. From ITSELF_SEEDS seeds on, the kernel's is also compared
    with itself: what does the comparison say of two samples of one thing?
    """
    for label in dict.fromkeys(label for label, _ in groups):
        if (label, ours) not in groups or (label, kernels) not in groups:
            continue
        its = groups[label, kernels]
        yield _compared(f"{ours} / {kernels}", label, compare.against(groups[label, ours], its))
        if compare.seeds_of(its) >= ITSELF_SEEDS:
            line, _ = _compared(f"{kernels} / itself, later seeds / earlier ones", label, compare.against(*compare.halves(its)))
            yield line, False
