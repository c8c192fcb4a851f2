# SPDX-License-Identifier: GPL-2.0-only
"""A peer that lies: what the study makes of its connections, and a sample of them on three kernels; `lab peers` has 1,000 seeds."""
import pytest

from studies import peers

GOOD = {"errno": 0, "bytes": peers.BYTES, "wrong_packets": 0, "least_cwnd_packets": 1, "least_pacing_bytes_per_s": 1, "us": 1, "waited_us": 0}


def connections(**times):
    return [{**GOOD, "cc": cc, "seed": seed, "us": us} for cc, values in times.items() for seed, us in enumerate(values)]


@pytest.mark.parametrize("fault", [{"errno": 104}, {"bytes": peers.BYTES - 1}, {"wrong_packets": 1}, {"least_cwnd_packets": 0},
                                   {"least_pacing_bytes_per_s": 0}])
def test_what_counts_as_a_fault(fault):
    assert peers.faults([GOOD]) == [] and peers.faults([GOOD, GOOD | fault]) == [GOOD | fault]


@pytest.mark.parametrize("factor, found", [(1, []), (1.02, ["bpf_bbr"]), (0.5, [])])
def test_slower_than_the_kernels(factor, found):
    """Of pairs, so a delay of 2 % shows beside times that differ much."""
    times = [10 ** 6 * (1 + seed % 17) for seed in range(60)]
    ours = {cc: times for cc in peers.CCS} | {"bpf_bbr": [us * factor for us in times]}
    assert peers.slower(connections(**ours)) == found


def test_a_table():
    text = peers.table({"6.12": (connections(**{cc: [10 ** 6, 2 * 10 ** 6, 70 * 10 ** 6] for cc in peers.CCS}), ["WARNING: x"])})
    head, *rows = [line.split() for line in text.splitlines()]
    assert len(rows) == len(peers.CCS) and rows[0][:5] == ["6.12", "bpf_bbr", "3", "3", "2"]
    assert rows[0][-4:] == ["1.00", "1.000", "0", "1"] and rows[-1][-2:] == ["0", "1"], head


@pytest.mark.parametrize("key", peers.KERNELS)
def test_a_sample(key):
    found, warnings = peers.execute(peers.Run(key, 1, 3))
    assert warnings == [] and peers.faults(found) == []
    # The lies are believed: the RTT that they make is of seconds, and ECN is on.
    assert any(c["at_switch"]["rto_us"] > 4_000_000 for c in found) and all(c["at_switch"]["ecn"] for c in found)
