# SPDX-License-Identifier: GPL-2.0-only
"""The runs of a scenario as the checks see them, and measurements that several checks share."""
import statistics

from runs import metrics
from runs.experiment import ETHERNET

HEADERS = 52  # bytes of IP and TCP with timestamps


def payload(mtu):
    """The share of data in a full packet, by the bytes that take time at the bottleneck."""
    return (mtu - HEADERS) / (mtu + ETHERNET)


PAYLOAD = payload(1500)
SEGMENT_BITS = 1448 * 8
BBRS = ("bpf_bbr", "bbr")


class Results:
    """The runs of one scenario; of() returns them with their series, one for each seed."""

    def __init__(self, points, load):
        self.points = {point.label: point for point in points}
        self._load = load  # (label, cc) -> results

    def of(self, cc, label=""):
        return self._load(label, cc)

    def both(self, label=""):
        """The runs of bpf_bbr and of the kernel's bbr."""
        return [result for cc in BBRS for result in self.of(cc, label)]

    def capacity(self, label=""):
        """Bits per second of data that the bottleneck carries."""
        return self.points[label]["link.rate"] * payload(self.points[label]["path.mtu"])


def median_of(results, get):
    return statistics.median(get(result) for result in results)


def goodput(results, cc, label=""):
    return median_of(results.of(cc, label), lambda r: r["goodput_bps"])


def goodputs(results, ccs, label=""):
    return {cc: goodput(results, cc, label) for cc in ccs}


def words_of(rates):
    return ", ".join(f"{cc} {mbit(rate)}" for cc, rate in rates.items())


def resent_share(results, cc, label=""):
    """The share of retransmits in the segments of all flows. Retransmits count over the whole run, so the goodput must, too."""
    def of(result):
        return (sum(flow["retransmits"] for flow in result["flows"]) * SEGMENT_BITS * 1e6 /
                (result["goodput_bps"] * (result["window_us"][1] - result["window_us"][0])))
    return median_of(results.of(cc, label), of)


def rows_between(result, begin_us, end_us, kind="flow"):
    return [row for row in result["series"][kind] if begin_us <= row[0] < end_us]


def of_column(rows, name):
    return [metrics.column(row, name) for row in rows]


def acked_rate(result, begin_us, end_us):
    """Bits per second that the flows had acknowledged between two times."""
    total = 0
    for flow in {row[1] for row in result["series"]["flow"]}:
        rows = [row for row in result["series"]["flow"] if row[1] == flow]
        total += (metrics.value_at(rows, end_us, "acked_bytes") -
                  metrics.value_at(rows, begin_us, "acked_bytes"))
    return total * 8e6 / (end_us - begin_us)


def usual(result, name):
    """The median of a column in the measured window."""
    return statistics.median(of_column(rows_between(result, *result["window_us"]), name))


def ms(us):
    return f"{us / 1000:.1f} ms"


def mbit(bps):
    return f"{bps / 1e6:.2f} Mbit/s"
