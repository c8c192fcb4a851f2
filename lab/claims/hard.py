# SPDX-License-Identifier: GPL-2.0-only
"""Hard places that no document describes."""
from claims import claim
from claims.results import goodput, goodputs, mbit, resent_share, words_of

BBRS = ("bpf_bbr", "bpf_bbr3", "bbr")


@claim("incast")
def all_bbrs_overflow_the_buffer(results):
    """each BBR resends 30 to 50 % of its packets, version 3 less than version 1, and CUBIC less than 20 %"""
    ratios = {cc: resent_share(results, cc) for cc in (*BBRS, "cubic")}
    found = {cc: ratio / (1 + ratio) for cc, ratio in ratios.items()}  # of all that was sent
    return (all(0.3 < found[cc] < 0.5 for cc in BBRS) and found["bpf_bbr3"] < found["bpf_bbr"] and found["cubic"] < 0.2,
            ", ".join(f"{cc} {share:.0%}" for cc, share in found.items()))


@claim("wifi")
def a_handshake_that_was_quicker_ends_startup_early(results):
    """if the handshake took a fifth of the RTT under load, version 1 has less than half of the link in 3 s, version 3 less than 60 % of
    CUBIC's goodput, and CUBIC 80 % of the link; with two fifths each BBR has 80 %"""
    at = {ms: goodputs(results, (*BBRS, "cubic"), f"delay={ms}ms") for ms in (17, 9)}
    link = results.capacity("delay=9ms")
    return (max(at[9]["bpf_bbr"], at[9]["bbr"]) < 0.5 * link and at[9]["bpf_bbr3"] < 0.6 * at[9]["cubic"] and
            at[9]["cubic"] > 0.8 * link and min(at[17][cc] for cc in BBRS) > 0.8 * link,
            "; ".join(f"{ms} ms: {words_of(rates)}" for ms, rates in at.items()))


@claim("wifi-profile")
def the_profile_wifi_mends_a_third(results):
    """with the profile wifi version 3 has 80 % of the link if the handshake took 13 of 44 ms"""
    rate = goodput(results, "bpf_bbr3", "delay=13ms")
    return rate > 0.8 * results.capacity("delay=13ms"), mbit(rate)
