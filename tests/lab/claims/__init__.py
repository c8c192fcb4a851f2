# SPDX-License-Identifier: GPL-2.0-only
"""Checks the reports of the source documents against runs of their scenarios: a file for each document.

A check is a function of one Results. It returns (holds, what was measured). Its docstring is the claim.
Where the path differs from the document's, the bound is the path's: goodput is counted without headers
(1448 of 1514 bytes), and the least RTT includes a packet's own time at the bottleneck.
"""
CHECKS = {}  # scenario -> checks, in order


def claim(scenario):
    """Registers a check of a scenario."""
    def register(check):
        CHECKS.setdefault(scenario, []).append(check)
        return check
    return register


from claims import bbr3, bbr_paper, bbrmo, evaluation, quiche, textbook  # noqa: E402,F401 pylint: disable=wrong-import-position
