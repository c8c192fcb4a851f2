# SPDX-License-Identifier: GPL-2.0-only
"""The page of bbrmon report, read without a browser."""
import json

BEGIN, END = '<script type="application/json" id="data">', "</script>"


def data_of(text):
    """What the page draws. tools/report/report_json.c writes it."""
    return json.loads(text.partition(BEGIN)[2].partition(END)[0])
