# SPDX-License-Identifier: GPL-2.0-only
"""Checks the reports of the source documents against runs of their scenarios: a file for each document.

A check is a function of one Results. It returns (holds, what was measured). Its docstring is the claim.
Where the path differs from the document's, the bound is the path's: goodput is counted without headers
(1448 of 1514 bytes), and the least RTT includes a packet's own time at the bottleneck.
"""
CHECKS = {}  # scenario -> checks, in order


def claim(scenario, fails=""):
    """Registers a check of a scenario. `fails` says in a sentence why a claim of a document is known not to hold here: it is
    reported as failing, but `lab all` does not end with an error for it. If it holds after all, that is an error."""
    def register(check):
        check.fails = fails
        CHECKS.setdefault(scenario, []).append(check)
        return check
    return register


def words_of(check):
    """The claim, in a line."""
    return " ".join(check.__doc__.split())


def verdict(check, holds):
    """(what to print before the claim, is this what we expect?)"""
    if holds:
        return ("holds, although it is known to fail", False) if check.fails else ("holds", True)
    return ("FAILS, as known", True) if check.fails else ("FAILS", False)


from claims import bbr3, bbr_paper, bbrmo, evaluation, hard, quiche, robust, textbook  # noqa: E402,F401 pylint: disable=wrong-import-position
