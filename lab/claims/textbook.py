# SPDX-License-Identifier: GPL-2.0-only
"""Document 004, a chapter of a textbook: table 2-3, throughput over a long distance."""
from claims import claim
from claims.results import goodputs, words_of

SAYS = {"0%": {"reno": 195, "cubic": 147, "westwood": 344, "bpf_bbr": 340},
        "1.5%": {"reno": 1.13, "cubic": 1.23, "westwood": 2.46, "bpf_bbr": 160},
        "3%": {"reno": 0.65, "cubic": 0.78, "westwood": 0.97, "bpf_bbr": 132}}  # Mbit/s


def _rates(results, loss):
    return goodputs(results, SAYS[loss], f"loss={loss}")


@claim("toonk", fails="Westwood's slow start overflows the buffer, and from then on it has a third of the link")
def all_use_a_clean_path(results):
    """without loss each has 147 to 344 of 350 Mbit/s"""
    rates = _rates(results, "0%")
    return min(rates.values()) > 140e6, words_of(rates)


def _above_cubic(rates):
    """How many times CUBIC's rate BBR has."""
    return rates["bpf_bbr"] / rates["cubic"]


@claim("toonk")
def with_loss_bbr_is_a_hundred_times_above_cubic(results):
    """at 1.5 % and 3 % loss BBR has at least 130 and 169 times as much as CUBIC"""
    found = {loss: _above_cubic(_rates(results, loss)) for loss in ("1.5%", "3%")}
    return all(times >= int(_above_cubic(SAYS[loss])) for loss, times in found.items()), \
        ", ".join(f"{times:.0f} times at {loss}" for loss, times in found.items())


@claim("toonk", fails="with loss Westwood has as much as Reno and CUBIC; the document does not describe its path")
def westwood_is_above_reno_and_cubic(results):
    """at 1.5 % and 3 % loss Westwood has more than Reno and CUBIC, and less than a twentieth of BBR"""
    rates = [_rates(results, loss) for loss in ("1.5%", "3%")]
    return all(max(rate["reno"], rate["cubic"]) < rate["westwood"] < rate["bpf_bbr"] / 20 for rate in rates), \
        "; ".join(map(words_of, rates))
