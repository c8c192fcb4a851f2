# SPDX-License-Identifier: GPL-2.0-only
"""Draws runs with gnuplot: each function returns the text of an SVG."""
import collections
import statistics
import subprocess

from runs import congestion_controls, metrics
from vm.kernels import LabError

WIDTH = 920  # pixels
RATES = 100  # values of a goodput curve
# A colour for each congestion control, in the order of the comparison. People who confuse red and green can tell them apart.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"]
DASHES = [1, 2, 4, 5, 3]  # of the flows of one congestion control


def _gnuplot(script):
    try:
        done = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LabError("lab report draws with gnuplot, which is not installed: apt install gnuplot-nox") from error
    if done.returncode or not done.stdout:
        raise LabError(f"gnuplot failed: {done.stderr.strip()}")
    return done.stdout[done.stdout.index("<svg"):]


def _block(name, rows):
    """A block of data, which the script calls $NAME."""
    return f"${name} << END\n" + "\n".join(" ".join(map(str, row)) for row in rows) + "\nEND\n"


def _text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _tics(labels):
    """The labels of an axis, from (label, position)."""
    return "(" + ", ".join(f"{_text(label.replace('%', '%%'))} {at}" for label, at in labels) + ")"


def _terminal(height):
    return (f"set terminal svg noenhanced size {WIDTH},{height} dynamic background 'white' font 'sans-serif,11'\n"
            "set grid lc '#dddddd'\nset border 3 lc '#888888'\nset tics nomirror\n")


def _flows(result):
    """Number of a flow -> its rows of the series, in order of time."""
    flows = collections.defaultdict(list)
    for row in result["series"]["flow"]:
        flows[row[1]].append(row)
    return flows


def _rates(rows):
    """(seconds, Mbit/s) between rows of about equal distance."""
    found, last = [], rows[0]
    for row in rows:
        if row[0] - last[0] >= (rows[-1][0] - rows[0][0]) / RATES and row is not last:
            acked = metrics.column(row, "acked_bytes") - metrics.column(last, "acked_bytes")
            found.append((row[0] / 1e6, acked * 8 / (row[0] - last[0])))
            last = row
    return found


def _column(rows, name, scale=1):
    """(seconds, value) of the rows that have a value."""
    return [(row[0] / 1e6, metrics.column(row, name) / scale) for row in rows if metrics.column(row, name)]


LANES = [  # of over_time(): title, rows of a flow -> points
    ("goodput, Mbit/s", _rates),
    ("RTT, ms", lambda rows: _column(rows, "rtt_us", 1e3)),
    ("inflight, packets", lambda rows: _column(rows, "inflight")),
]


def over_time(results):
    """results: congestion control -> one run. A line for each flow; the flows of one congestion control share a colour."""
    blocks, lanes = [], []
    end = max(result["window_us"][1] for result in results.values()) / 1e6
    for lane, (title, points) in enumerate(LANES):
        lines = []
        for n, (cc, result) in enumerate(results.items()):
            for k, (flow, rows) in enumerate(sorted(_flows(result).items())):
                data = points(rows)
                if not data:
                    continue
                name = f"d{lane}_{n}_{flow}"
                blocks.append(_block(name, data))
                label = f"title {_text(congestion_controls.label(cc))}" if lane == 0 and k == 0 else "notitle"
                lines.append(f"${name} with lines lw 1.2 lc '{COLOURS[n % len(COLOURS)]}' "
                             f"dt {DASHES[k % len(DASHES)]} {label}")
        if lines:
            lanes.append(f"set ylabel {_text(title)}\nplot [0:{end}] [0:] " + ", ".join(lines) + "\n")
    return _gnuplot("".join(blocks) + _terminal(210 * len(lanes)) +
                    "set key outside top center horizontal\nset lmargin 9\nset rmargin 3\n"
                    f"set multiplot layout {len(lanes)},1\n" +
                    "".join(lanes[:-1]) + "set xlabel 'seconds'\n" + lanes[-1])


FIGURES = [("goodput, Mbit/s", "goodput_bps", 1e6), ("median RTT, ms", "rtt_us", 1e3),
           ("retransmits", "retransmits", 1)]


def over_seeds(groups):
    """groups: congestion control -> figures over seeds (compare.over_seeds()). A dot for each seed, a bar at the
    median."""
    blocks, panels = [], []
    names = _tics((congestion_controls.label(cc), n) for n, cc in enumerate(groups))
    for panel, (title, key, scale) in enumerate(FIGURES):
        lines = []
        for n, found in enumerate(groups.values()):
            if found[key] is None:
                continue
            values = [value / scale for value in found[key]["values"]]
            # Side by side, so that equal values can be seen.
            spread = [(n + 0.3 * (i / max(len(values) - 1, 1) - 0.5), value) for i, value in enumerate(values)]
            blocks.append(_block(f"v{panel}_{n}", spread))
            blocks.append(_block(f"m{panel}_{n}", [(n - 0.25, statistics.median(values)),
                                                   (n + 0.25, statistics.median(values))]))
            colour = COLOURS[n % len(COLOURS)]
            lines += [f"$v{panel}_{n} with points pt 7 ps 0.4 lc '{colour}' notitle",
                      f"$m{panel}_{n} with lines lw 3 lc '{colour}' notitle"]
        if lines:
            panels.append(f"set title {_text(title)}\nplot [-0.6:{len(groups) - 0.4}] [0:] " +
                          ", ".join(lines) + "\n")
    return _gnuplot("".join(blocks) + _terminal(260) + f"set xtics {names} rotate by -20\n" +
                    f"set multiplot layout 1,{len(panels)}\n" + "".join(panels))


def over_points(groups):
    """groups: congestion control -> point's label -> figures over seeds. Median and range of the goodput at each point
    of a sweep."""
    labels = list(dict.fromkeys(label for points in groups.values() for label in points))
    blocks, lines = [], []
    for n, (cc, points) in enumerate(groups.items()):
        rows = [(labels.index(label), *(found["goodput_bps"][key] / 1e6 for key in ("median", "min", "max")))
                for label, found in points.items() if found["goodput_bps"]]
        blocks.append(_block(f"p{n}", rows))
        colour = COLOURS[n % len(COLOURS)]
        lines += [f"$p{n} with yerrorlines lw 1.5 pt 7 ps 0.5 lc '{colour}' title {_text(congestion_controls.label(cc))}"]
    names = _tics((label, n) for n, label in enumerate(labels))
    return _gnuplot("".join(blocks) + _terminal(340) + f"set xtics {names} rotate by -30\nset bmargin 7\n"
                    "set key outside top center horizontal\nset ylabel 'goodput, Mbit/s'\n"
                    f"plot [-0.5:{len(labels) - 0.5}] [0:] " + ", ".join(lines) + "\n")


def differences(panels, title):
    """panels: title -> (label, difference, its interval or None), the truth first. A dot for each, from top to bottom, and a
    bar if there is an interval; the truth's is also a band through all rows. A dashed line marks 0."""
    blocks, drawn = [], []
    left, gap = 0.19, 0.04  # of the width: for the labels, beside the first panel, and between panels
    width = (1 - left) / len(panels)
    for n, (name, rows) in enumerate(panels.items()):
        blocks += [_block(f"d{n}", [(difference, -row) for row, (_, difference, _) in enumerate(rows)]),
                   _block(f"i{n}", [(difference, -row, *interval) for row, (_, difference, interval) in enumerate(rows) if interval])]
        _, true, (low, high) = rows[0]
        tics = _tics((label if n == 0 else "", -row) for row, (label, _, _) in enumerate(rows))
        drawn.append(
            f"set title {_text(name)}\nset ytics {tics}\n"
            f"set lmargin at screen {left + n * width}\nset rmargin at screen {left + (n + 1) * width - gap}\n"
            f"set object 1 rectangle from {low}, graph 0 to {high}, graph 1 behind fc '{COLOURS[5]}' "
            "fs transparent solid 0.3 noborder\n"
            f"set arrow 1 from {true}, graph 0 to {true}, graph 1 nohead lc '{COLOURS[0]}'\n"
            "set arrow 2 from 0, graph 0 to 0, graph 1 nohead dt 2 lc '#555555'\n"
            f"plot [] [{0.5 - len(rows)}:0.5] " + ", ".join(
                f"${what}{n} {which} with {style} lw 2 lc '{colour}' notitle"
                for which, colour in (("every ::0::0", COLOURS[0]), ("every ::1", COLOURS[1]))
                for what, style in (("d", "points pt 7 ps 0.7"), ("i", "xerrorbars pt 7 ps 0"))) + "\n")
    return _gnuplot("".join(blocks) + _terminal(280) + f"set xlabel {_text(title)}\n"
                    f"set multiplot layout 1,{len(panels)}\n" + "".join(drawn))


def shares(groups):
    """groups: congestion control -> median share of each flow, in order. A bar for each congestion control, a part of
    it for each flow."""
    flows = max(map(len, groups.values()))
    rows = [(_text(congestion_controls.label(cc)), *(values + [0] * (flows - len(values))))
            for cc, values in groups.items()]
    lines = [f"$shares using {n + 2}:xtic(1) title 'flow {n}' lc '{COLOURS[n % len(COLOURS)]}'" for n in range(flows)]
    return _gnuplot(_block("shares", rows) + _terminal(280) +
                    "set style data histogram\nset style histogram rowstacked\nset style fill solid 0.7 border -1\n"
                    "set boxwidth 0.5\nset key outside right\nset ylabel 'share of the goodput'\n"
                    "plot [] [0:1] " + ", ".join(lines) + "\n")
