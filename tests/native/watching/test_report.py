# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon report: the page, in a real browser, shows what the recording has."""
import contextlib
import html.parser
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import time
import xml.etree.ElementTree

import pytest

import netns
import recording_file as made
import tool
from browser import Browser
from system import wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, data_of
from transfer import Transfer, connect, listen

NS = 10 ** 9
CONNECTIONS = pathlib.Path(__file__).resolve().parents[2] / "unit/experiment/recorded_connections.csv"
FLOW_PLOTS = ["rate", "rtt", "inflight", "state", "losses", "interval"]
MODES = ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]
CA_STATES = ["open", "disorder", "cwr", "recovery", "loss"]
POLICER = ["off", "sampling", "detected"]
SVG = "{http://www.w3.org/2000/svg}"
UNITS = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1, "ms": 1e3, "µs": 1}
# Run in the page: all values of a plot, as its library has them, without the rows that only give all plots
# the same extent.
ROWS = """
const g = report.plots[arguments[0]], rows = [];
for (let i = 1; i < g.numRows() - 1; i++)
    rows.push([...Array(g.numColumns()).keys()].map(k => g.getValue(i, k)));
return rows;
"""


@pytest.fixture(scope="module")
def chromium():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    """The browser. Afterwards checks that nothing was wrong with the page and that it requested nothing else."""
    yield chromium
    assert not chromium.complaints()
    assert all(url.startswith("file:///") and url.endswith(".html") for url in chromium.requests())
    chromium.dark(False)


@pytest.fixture(scope="module")
def recorded(bbrctl, bbrmon, shared, tmp_path_factory):
    """A recording of each ACK of three flows that share a bottleneck with a short queue."""
    folder = tmp_path_factory.mktemp("report")
    file = folder / "real.rec"
    with contextlib.ExitStack() as stack:
        ends = [netns.Namespace() for _ in range(3)]
        for ns in ends:
            stack.callback(ns.delete)
        path = netns.Path(*ends, rate="20mbit", limit="40k")
        process = bbrmon.start("record", "--name", shared, "--every", "ack", "-o", file,
                               stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.kill)
        wait_until(lambda: tool.status_of(bbrctl, shared)["monitors"] == 1, "bbrmon subscribes")
        running = []
        for i in range(3):
            running.append(Transfer(*connect(ends[0], listen(ends[2], path.v6 if i == 1 else path.v4), cc=shared),
                                    seed=i, gap=0.2 if i == 2 else 0))
            time.sleep(0.7)  # so that there is something to see; nothing depends on how much
        for transfer in running:
            transfer.stop()
        for transfer in running:
            transfer.finish()
        wait_until(lambda: tool.status_of(bbrctl, shared)["users"] == 0, "the connections are closed")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == DONE
    return file


def events_of(bbrmon, file):
    """The events, and the summary, of `bbrmon stream --read -j`."""
    lines = [json.loads(line) for line in bbrmon("stream", "--read", file, "-j").out.splitlines()]
    return lines[:-1], lines[-1]["summary"]


def by_flow(events):
    """The events of each flow, in the order of the flows' first events."""
    flows = {}
    for e in events:
        flows.setdefault((e["instance"], e["conn"]), []).append(e)
    return list(flows.values())


@pytest.fixture(scope="module")
def real(bbrmon, recorded):
    """The page of the real recording, and the events of each of its flows."""
    bbrmon("report", recorded)
    flows = by_flow(events_of(bbrmon, recorded)[0])
    assert len(flows) == 3
    return recorded.with_name("real.rec.html"), flows


@pytest.fixture
def report(bbrmon, tmp_path):
    """Makes the page of made-up events."""
    def make(events, *args, **kwargs):
        made.write(tmp_path / "made.rec", events, **kwargs)
        bbrmon("report", tmp_path / "made.rec", *args)
        return tmp_path / "made.rec.html"
    return make


def has_state(e):
    return bool(e["pacing_gain"] or e["cwnd_gain"])


def select(browser, number):
    browser.run("const s = document.getElementById('flow'); s.value = arguments[0];"
                "s.dispatchEvent(new Event('change'))", number)


def unit_of(browser, plot):
    return UNITS[browser.text(f"#plot-{plot} h3").split("(")[1].rstrip(")")]


def same(shown, expected, scale=1.0, rel=1e-9):
    assert len(shown) == len(expected)
    for a, b in zip(shown, expected):
        if b is None:
            assert a is None
        else:
            assert a == pytest.approx(b / scale, rel=rel, abs=1e-9)


def columns(browser, plot):
    return [list(column) for column in zip(*browser.run(ROWS, plot))]


def state(e, value):
    return value if has_state(e) else None


def bdp(e):
    if not has_state(e) or not e["bw_bps"] or e["min_rtt_us"] is None:
        return None
    return e["bw_bps"] * e["min_rtt_us"] / 1e6 / 8 / e["mss_bytes"]


# A recording of real flows


def test_every_event_is_in_the_page(browser, real):
    page, flows = real
    browser.open(page)
    start_ns = min(flow[0]["time_ns"] for flow in flows)
    for number, events in enumerate(flows):
        select(browser, number)
        times = [(e["time_ns"] - start_ns) // 1000 for e in events]
        of = {plot: columns(browser, plot) for plot in FLOW_PLOTS}
        for plot in FLOW_PLOTS[:-1]:
            same(of[plot][0], times, 1e6)
        unit = unit_of(browser, "rate")
        same(of["rate"][1], [e["pacing_rate_bps"] for e in events], unit)
        same(of["rate"][2], [None if e["app_limited"] else e["delivery_rate_bps"] for e in events], unit)
        same(of["rate"][3], [e["delivery_rate_bps"] if e["app_limited"] else None for e in events], unit)
        same(of["rate"][4], [state(e, e["bw_bps"]) for e in events], unit)
        unit = unit_of(browser, "rtt")
        same(of["rtt"][1], [e["rtt_us"] for e in events], unit)
        same(of["rtt"][2], [e["srtt_us"] or None for e in events], unit)
        same(of["rtt"][3], [state(e, e["min_rtt_us"]) for e in events], unit)
        same(of["inflight"][1], [e["cwnd"] for e in events])
        same(of["inflight"][2], [e["inflight"] for e in events])
        for shown, e in zip(of["inflight"][3], events):
            # The stream's bw is rounded to bits, the page's is not.
            assert (shown is None) == (bdp(e) is None) and (shown or 0) == pytest.approx(bdp(e) or 0, abs=2e-3)
        same(of["state"][1], [state(e, MODES.index(e["mode"])) for e in events])
        same(of["state"][2], [CA_STATES.index(e["ca_state"]) for e in events])
        same(of["state"][3], [state(e, POLICER.index(e["policer"])) for e in events])
        same(of["losses"][1], [e["lost"] for e in events])
        same(of["losses"][2], [e["bytes_retrans"] for e in events], events[-1]["mss_bytes"])
        assert sum(of["interval"][1]) == events[-1]["lost"] - events[0]["lost"]


def percentile(values, percent):
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def mode_times(events):
    times = dict.fromkeys(MODES, 0)
    for before, after in zip(events, events[1:]):
        if has_state(before):
            times[before["mode"]] += after["time_ns"] - before["time_ns"]
    return times


def policers_found(events):
    states = [has_state(e) and e["policer"] == "detected" for e in events]
    return sum(now and not before for before, now in zip([False, *states], states))


def expected_totals(events):
    first, last = events[0], events[-1]
    seconds = (last["time_ns"] - first["time_ns"]) / NS
    rtts = [e["rtt_us"] for e in events if e["rtt_us"] is not None]
    grown = {key: last[key] - first[key] for key in ("bytes_acked", "bytes_sent", "bytes_retrans", "lost")}
    return {
        **grown, "mean_bps": int(grown["bytes_acked"] * 8 / seconds),
        "rtt_median_us": percentile(rtts, 50), "rtt_p95_us": percentile(rtts, 95),
        "rtt_p99_us": percentile(rtts, 99),
        "min_rtt_us": min(e["min_rtt_us"] for e in events if has_state(e) and e["min_rtt_us"] is not None),
        "mode_us": [ns // 1000 for ns in mode_times(events).values()],
        "rtos": sum(e["event"] == "rto" for e in events), "policers": policers_found(events),
        "acks": sum(e["event"] == "ack" for e in events), "events": len(events),
        "app_limited": sum(bool(e["app_limited"]) for e in events if e["event"] == "ack"),
        "start_seen": any(e["event"] == "start" for e in events), "end_seen": last["event"] == "end",
        "local": first["local"], "lport": first["lport"], "remote": first["remote"], "rport": first["rport"],
        "instance": first["instance"], "profile": last["profile"],
    }


def table(browser):
    """The cells of each row, by the headings above them."""
    heads, group = [], ""
    for text in browser.run("return [...document.querySelectorAll('#table th')]"
                            ".map(th => [th.firstChild.nodeValue, th.querySelector('small').textContent])"):
        group = text[0] or group
        heads.append(" ".join([group, text[1]]).strip())
    rows = browser.run("return [...document.querySelectorAll('#table tbody tr, #table tfoot tr')]"
                       ".map(tr => [...tr.cells].map(td => td.textContent))")
    return [dict(zip(heads, row)) for row in rows]


def number(text):
    return float(text.replace(",", ""))


def test_totals_are_those_of_the_events(browser, real):
    page, flows = real
    browser.open(page)
    for found, events in zip(data_of(page.read_text())["flows"], flows, strict=True):
        for key, value in expected_totals(events).items():
            # In the order of magnitude of an RTT, percentiles are exact to 1/128.
            assert found[key] == (pytest.approx(value, rel=1 / 128) if key.startswith("rtt_") else value), key
    *rows, everything = table(browser)
    for row, events in zip(rows, flows, strict=True):
        of = expected_totals(events)
        for head, value, unit in [
                ("bytes MB", of["bytes_acked"], 1e6), ("mean rate Mbit/s", of["mean_bps"], 1e6),
                ("min_rtt lowest, ms", of["min_rtt_us"], 1e3), ("lost packets", of["lost"], 1),
                ("retransmitted kB", of["bytes_retrans"], 1e3), ("PROBE_BW s", of["mode_us"][MODES.index("PROBE_BW")], 1e6),
                ("STARTUP s", of["mode_us"][MODES.index("STARTUP")], 1e6), ("events", of["events"], 1), ("RTOs", of["rtos"], 1),
                ("policers found", of["policers"], 1), ("app-limited %", 100 * of["app_limited"] / of["acks"], 1)]:
            assert number(row[head]) == pytest.approx(value / unit, rel=6e-4), head
    for head, key, unit in [("bytes MB", "bytes_acked", 1e6), ("lost packets", "lost", 1), ("events", "events", 1)]:
        total = sum(expected_totals(events)[key] for events in flows)
        assert number(everything[head]) == pytest.approx(total / unit, rel=6e-4)
    assert everything["dropped"] == "0"


def windows(browser):
    return browser.run("return Object.values(report.plots).map(g => g.xAxisRange())")


def area(browser, plot):
    """Where a plot draws: left, top, width, height within its element."""
    return browser.run("const a = report.plots[arguments[0]].getArea(); return [a.x, a.y, a.w, a.h]", plot)


def drag(browser, plot, begin, end, key=None):
    """Drags the mouse from one place to another, both as shares of the plot's width."""
    left, top, width, height = area(browser, plot)
    place = browser.element(f"#plot-{plot} .area")
    size = place.size
    x = lambda share: int(left + share * width - size["width"] / 2)
    y = int(top + height / 2 - size["height"] / 2)
    mouse = browser.mouse().move_to_element_with_offset(place, x(begin), y)
    if key:
        mouse.key_down(key)
    mouse.click_and_hold().move_to_element_with_offset(place, x((begin + end) / 2), y)
    mouse.move_to_element_with_offset(place, x(end), y).release()
    if key:
        mouse.key_up(key)
    mouse.perform()


def drag_up(browser, plot, begin, end):
    """Drags the mouse upwards, from one share of the plot's height to another: dygraphs zooms to the values between."""
    left, top, width, height = area(browser, plot)
    place = browser.element(f"#plot-{plot} .area")
    x = int(left + width / 2 - place.size["width"] / 2)
    y = lambda share: int(top + (1 - share) * height - place.size["height"] / 2)
    mouse = browser.mouse().move_to_element_with_offset(place, x, y(begin)).click_and_hold()
    mouse.move_to_element_with_offset(place, x, y(end)).release().perform()


@pytest.mark.parametrize("plot", ["rtt", "state", "shares"])
def test_zoom_move_and_back(browser, real, plot):
    """The mouse zooms and moves in any plot, and all plots follow."""
    browser.open(real[0])
    whole = windows(browser)
    assert len(whole) == 8 and all(window == whole[0] and window[0] == 0 for window in whole)
    end = whole[0][1]

    drag(browser, plot, 0.25, 0.5)
    zoomed = windows(browser)
    assert all(window == pytest.approx(zoomed[0]) for window in zoomed)
    assert zoomed[0] == pytest.approx([end * 0.25, end * 0.5], abs=end * 0.01)

    drag(browser, plot, 0.5, 0.25, "\ue008")  # shift
    moved = windows(browser)
    assert all(window == pytest.approx(moved[0]) for window in moved)
    assert moved[0] == pytest.approx([end * 0.3125, end * 0.5625], abs=end * 0.01)

    browser.mouse().double_click(browser.element(f"#plot-{plot} .area")).perform()
    assert windows(browser) == whole


def test_buttons_for_the_time(browser, real):
    page, flows = real
    browser.open(page)
    end = windows(browser)[0][1]
    select(browser, 2)
    browser.click("#this-flow")
    start_ns = min(flow[0]["time_ns"] for flow in flows)
    # The page's times are whole microseconds: sums of them, as below, would differ by more than one.
    life = [(e["time_ns"] - start_ns) // 1000 / 1e6 for e in (flows[2][0], flows[2][-1])]
    assert all(window == pytest.approx(life) for window in windows(browser))
    select(browser, 1)
    assert all(window == pytest.approx(life) for window in windows(browser)), "the time stays"
    half = (life[1] - life[0]) / 2
    browser.click("#earlier")
    begin = max(life[0] - half, 0)
    assert windows(browser)[0] == pytest.approx([begin, begin + 2 * half])
    browser.click("#zoom-out")
    assert windows(browser)[0] == pytest.approx([max(begin - half, 0), min(begin + 3 * half, end)])
    browser.click("#everything")
    assert all(window == [0, end] for window in windows(browser))


def test_hidden_by_its_name(browser, real):
    browser.open(real[0])
    canvas = "return report.plots.rtt.hidden_.toDataURL()"
    before = browser.run(canvas)
    browser.click("#plot-rtt .legend label:nth-child(2)")
    assert browser.run("return report.plots.rtt.visibility()") == [True, False, True]
    assert browser.run(canvas) != before
    browser.click("#plot-rtt .legend label:nth-child(2)")
    assert browser.run("return report.plots.rtt.visibility()") == [True] * 3
    assert browser.run(canvas) == before


def shown(value):
    """A number as the page writes it, with four digits."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{math.floor(value + 0.5):,}"
    return float(f"{value:.4g}")


def test_values_under_the_pointer(browser, real):
    """All plots of the flow show their values, wherever the pointer is."""
    browser.open(real[0])
    rows = browser.run(ROWS, "rtt")
    row = next(i for i in range(len(rows) // 2, len(rows)) if rows[i][1] is not None)
    x, y = browser.run("const g = report.plots.rtt; return g.toDomCoords(g.getValue(arguments[0] + 1, 0), "
                       "g.getValue(arguments[0] + 1, 1))", row)
    place = browser.element("#plot-rtt .area")
    browser.mouse().move_to_element_with_offset(place, int(x - place.size["width"] / 2),
                                                int(y - place.size["height"] / 2)).perform()
    # The row nearest to a whole pixel may be another one than the target.
    pointed = browser.run("return report.plots.rtt.getSelection()") - 1
    assert browser.text("#pointer") == f"{rows[pointed][0]:.6f} s"
    for plot in FLOW_PLOTS[:-1]:
        values = browser.run(ROWS, plot)[pointed][1:]
        texts = browser.texts(f"#plot-{plot} .value")
        if plot == "state":
            names = [MODES, CA_STATES, POLICER]
            assert texts == [names[i][value] for i, value in enumerate(values)]
        else:
            read = [t if t == "–" or "," in t else float(t) for t in texts]
            assert read == [shown(value) for value in values], plot
    browser.mouse().move_to_element(browser.element("h1")).perform()
    assert set(browser.texts("#plot-rtt .value")) == {""}


@pytest.mark.parametrize("size", [(1280, 900), (390, 800)])
def test_it_fits(browser, real, size):
    """Nothing but the table's own window is wider than the screen."""
    browser.open(real[0], size)
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    for plot in ("shares", *FLOW_PLOTS):
        assert size[0] * 0.6 < area(browser, plot)[2] < size[0]


def test_dark(browser, real):
    browser.open(real[0])
    colour = "return [getComputedStyle(document.body).backgroundColor, report.plots.rate.getColors()[0]]"
    light = browser.run(colour)
    browser.dark(True)
    wait_until(lambda: browser.run(colour)[1] != light[1], "the plots are drawn anew")
    assert browser.run(colour)[0] != light[0]


class Checker(html.parser.HTMLParser):
    """Finds elements that are not closed, or closed twice, and attributes that refer to other files."""
    VOID = {"meta", "input", "link", "br"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.scripts = [], [], 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.wrong += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"/{tag}")


def test_one_whole_file(real):
    checker = Checker()
    text = real[0].read_text()
    checker.feed(text)
    checker.close()
    assert not checker.open and not checker.wrong and checker.scripts == 3
    assert "Permission is hereby granted, free of charge" in text, "the licence of what is inside"


# Recordings that were made up


def acks(times_ns, **members):
    return [made.event(t, made.ACK, flags=made.SAMPLE, **{k: v(i) if callable(v) else v for k, v in members.items()})
            for i, t in enumerate(times_ns)]


def undone(differences):
    value, out = 0, []
    for d in differences:
        value += d or 0
        out.append(None if d is None else value)
    return out


def series(page, flow=0):
    of = data_of(page.read_text())["series"][flow]
    return {name: undone(values) for name, values in [("time_us", of["time_us"]), *of["values"].items()]}


def test_thinned_without_losing_an_extreme(browser, report):
    n = 60000
    odd = {31000: ("rtt_us", 900000), 31001: ("rtt_us", 17), 45000: ("cwnd", 77777), 12345: ("ca_state", 4),
           52000: ("mode", 3), 8000: ("inflight", 4321)}
    events = acks((NS + i * 100_000 for i in range(n)), rtt_us=lambda i: 20000 + i % 977, inflight=lambda i: i % 50,
                  cwnd=100, mode=2, lost=lambda i: i // 100, bw=lambda i: 1 << 20 | i % 4096, min_rtt_us=15000)
    for i, (key, value) in odd.items():
        events[i][key] = value
    page = report(events, "--points", "1000")
    found = series(page)
    assert 250 <= len(found["time_us"]) <= 1000
    # Each row is one whole event.
    kept = [t // 100 for t in found["time_us"]]
    for key in ("rtt_us", "inflight", "cwnd", "mode", "lost", "ca_state"):
        assert found[key] == [events[i][key] for i in kept], key
    assert set(odd) <= set(kept) and {0, n - 1} <= set(kept)
    # The extremes are kept in each interval.
    width = data_of(page.read_text())["series"][0]["interval_ns"]
    intervals, kept_rows = {}, set(kept)
    for i in range(n):
        intervals.setdefault(i * 100_000 // width, []).append(i)
    for span in intervals.values():
        here = kept_rows.intersection(span)
        assert {span[0], span[-1]} <= here
        for key in ("rtt_us", "inflight", "lost", "bw"):
            values = [events[i][key] for i in span]
            assert {min(values), max(values)} <= {events[i][key] for i in here}, key
    assert data_of(page.read_text())["flows"][0]["events"] == n
    browser.open(page)
    assert f"{len(kept):,}" in browser.text("#thinned") or str(len(kept)) in browser.text("#thinned")


def test_short_flows_are_not_thinned(report):
    page = report(acks([NS + i for i in range(1000)]), "--points", "1000")
    assert len(series(page)["time_us"]) == 1000 and data_of(page.read_text())["series"][0]["interval_ns"] == 0


def colours_at(browser, plot, seconds):
    """The colours near the upper edge of a plot, where it has no curve."""
    return browser.run(
        "const g = report.plots[arguments[0]], a = g.getArea(), copy = document.createElement('canvas');"
        "copy.width = g.hidden_.width; copy.height = g.hidden_.height;"
        "const c = copy.getContext('2d', { willReadFrequently: true }); c.drawImage(g.hidden_, 0, 0);"
        "return arguments[1].map(s => [...c.getImageData(Math.round(g.toDomXCoord(s)), a.y + 3, 1, 1).data])",
        plot, seconds)


def test_what_is_missing_is_shown(browser, report):
    """The page shows events that were dropped, and times that nobody watched."""
    times = [NS + i * NS // 100 for i in range(300)] + [NS * 6 + i * NS // 100 for i in range(400)]
    page = report(acks(times, rtt_us=100), drops=[(500, 123)], unwatched=[(300, 2 * NS)])
    data = data_of(page.read_text())["recording"]
    assert sum(data["drops"]) == data["drops_total"] == 123
    assert sum(data["unwatched_us"]) == pytest.approx(2e6, abs=500)
    browser.open(page)
    assert "123 events were dropped" in browser.text("#drops") and "nobody watched" in browser.text("#drops")
    in_drop = (data["drops"].index(123) + 0.5) * data["interval_ns"] / NS
    assert in_drop == pytest.approx((times[500] - NS) / NS, abs=0.05)
    blank, dropped, unwatched = colours_at(browser, "rtt", [1.3, in_drop, 4.3])
    assert blank[3] == 0 and dropped[3] > 0 and unwatched[3] > 0 and dropped[:3] != unwatched[:3]


def test_drops_after_the_last_event_are_shown_at_the_end(report):
    page = report(acks([NS, 2 * NS], rtt_us=100), drops=[(2, 55)])
    assert data_of(page.read_text())["recording"]["drops"][-1] == 55


def test_nothing_missing_says_nothing(browser, report):
    browser.open(report(acks([NS, 2 * NS], rtt_us=100)))
    assert not browser.driver.find_element("css selector", "#drops").is_displayed()


def test_two_runs_of_other_clocks(browser, tmp_path, bbrmon):
    """The runs have only the time of day in common, and nobody watched between them."""
    file = tmp_path / "two.rec"
    made.write(file, acks([50 * NS + i * NS // 10 for i in range(11)], rtt_us=100), run=1)
    made.write(file, acks([2 * NS + i * NS // 10 for i in range(11)], rtt_us=300), run=2, epoch_ns=10 ** 18 + 52 * NS)
    bbrmon("report", file)
    page = file.with_name("two.rec.html")
    flows = data_of(page.read_text())["flows"]
    assert [(f["start_us"], f["end_us"]) for f in flows] == [(0, 10 ** 6), (4 * 10 ** 6, 5 * 10 ** 6)]
    assert sum(data_of(page.read_text())["recording"]["unwatched_us"]) == pytest.approx(3e6, abs=1000)
    browser.open(page)
    assert "nobody watched" in browser.text("#drops")
    assert "2001-09-09 01:47:30.000 UTC" in browser.text("#about")


def rated(conn, rate_bytes, times_ns):
    """A flow of a constant rate."""
    return [made.event(t, made.ACK, conn=conn, flags=made.SAMPLE, rtt_us=1000,
                       bytes_acked=rate_bytes * (t - times_ns[0]) // NS, bytes_sent=10 ** 9) for t in times_ns]


def test_shares_and_fairness(browser, report):
    times = [NS + i * NS // 50 for i in range(501)]  # 10 s
    late = times[200:401]
    events = sorted(rated(1, 3_000_000, times) + rated(2, 1_000_000, times) + rated(3, 2_000_000, late),
                    key=lambda e: e["time_ns"])
    page = report(events)
    browser.open(page)
    data = data_of(page.read_text())
    middle = [k for k in range(200) if 4.1 < (k + 0.5) * data["recording"]["interval_ns"] / NS < 7.9]
    outer = [k for k in range(200) if 0.1 < (k + 0.5) * data["recording"]["interval_ns"] / NS < 3.9]
    shares = columns(browser, "shares")
    jain = columns(browser, "jain")
    for k in middle:
        assert [shares[i][k] for i in (1, 2, 3)] == pytest.approx([24, 8, 16], rel=1e-4)
        assert jain[1][k] == pytest.approx(36 / (3 * 14), abs=1e-3)
    for k in outer:
        assert [shares[i][k] for i in (1, 2, 3)] == pytest.approx([24, 8, 0], rel=1e-4, abs=1e-6)
        assert jain[1][k] == pytest.approx(16 / (2 * 10), abs=1e-3)
    interval = data["recording"]["interval_ns"] / NS
    assert sum(data["rate_bps"][2]) * interval / 8 == pytest.approx(2_000_000 * 4, rel=1e-4)
    assert data["recording"]["jain"] == pytest.approx(36 / (3 * 14), abs=1e-6)
    assert "0.857" in browser.text("#about")
    browser.click("#stacked")
    assert browser.run("return report.plots.shares.getOption('stackedGraph')")
    assert browser.run("return report.plots.shares.yAxisRange()[1]") > 40


def test_only_the_largest_have_curves(browser, report, bbrmon):
    times = [NS + i * NS // 50 for i in range(101)]
    events = sorted((e for conn in range(1, 8) for e in rated(conn, conn * 100_000, times)),
                    key=lambda e: e["time_ns"])
    page = report(events, "--flows", "3")
    data = data_of(page.read_text())
    assert [f["flow"] for f in data["flows"]] == [5, 6, 7] and data["recording"]["flows_total"] == 7
    assert data["others"]["flows"] == 4 and data["others"]["bytes_acked"] == 2 * 100_000 * (1 + 2 + 3 + 4)
    browser.open(page)
    others = columns(browser, "shares")[4]
    assert others[100] == pytest.approx(8, rel=1e-3)
    *_, row, everything = table(browser)
    assert row["flow"] == "4 others" and number(row["bytes MB"]) == 2
    assert number(everything["bytes MB"]) == pytest.approx(5.6)
    assert number(everything["events"]) == 707


def test_what_is_not_known_is_a_gap(browser, report, bbrmon, tmp_path):
    """The kernel's own bbr, seen from outside."""
    events = [made.event(NS + i * NS // 10, made.ACK, flags=made.KERNEL, bw=1 << 20, min_rtt_us=5000, srtt_us=6000,
                         rtt_us=5000 + i, mode=2, inflight=9) for i in range(20)]
    page = report(events, origins=[("bbr", True)])
    browser.open(page)
    rate, rtt, state_ = (columns(browser, plot) for plot in ("rate", "rtt", "state"))
    assert set(rate[2]) == set(rate[3]) == {None} and None not in rate[4]
    assert rtt[1] == pytest.approx([5 + i / 1000 for i in range(20)])
    assert set(state_[1]) == {2}
    row = table(browser)[0]
    assert row["app-limited %"] == "–" and row["mean rate Mbit/s"] == "0"
    bbrmon("report", tmp_path / "made.rec", "--svg", tmp_path / "a.svg")
    assert xml.etree.ElementTree.parse(tmp_path / "a.svg")


def test_figure_of_nothing_but_events(report, bbrmon, tmp_path):
    """Not a single RTT or rate."""
    report([made.event(NS + i, made.MODE) for i in range(3)])
    bbrmon("report", tmp_path / "made.rec", "--svg", tmp_path / "a.svg")
    assert xml.etree.ElementTree.parse(tmp_path / "a.svg")


def figure_of(bbrmon, file, *args):
    return xml.etree.ElementTree.fromstring(bbrmon("report", file, "--svg", "-", *args).out)


def test_what_is_not_there_is_no_empty_plot(browser, report, bbrmon, tmp_path):
    """Losses that were there before, and RTTs that nobody measured."""
    browser.open(report(acks([NS, 2 * NS], lost=7, bytes_retrans=9000)))
    lacks = ["RTT: not known", "Losses: nothing was lost or sent again"]
    assert browser.texts(".lack") == lacks
    assert browser.run("return Object.keys(report.plots)") == ["rate", "inflight", "state"]
    figure = figure_of(bbrmon, tmp_path / "made.rec")
    texts = ["".join(text.itertext()) for text in figure.iter(f"{SVG}text")]
    assert [text for text in texts if ": n" in text] == lacks and not any("(packets)" in t for t in texts if "Losses" in t)


def test_no_two_states_have_one_colour(browser, report, bbrmon, tmp_path):
    """On the page, and in the figure, which has as many keys as there are states in which something happens."""
    events = acks((NS + i * NS for i in range(4)), mode=lambda i: i, ca_state=lambda i: i + 1, lt_rtt_cnt=1)
    page = report(events)
    data = data_of(page.read_text())
    curves = [c for c in data["curves"][data["flows"][0]["algorithm"]] if c["lane"] == "state"]
    states = [(name, colour) for c in curves for name, colour in zip(c["names"], c["colours"]) if colour != "pale"]
    colours = [data["colours"][colour] for _, colour in states]
    assert len(states) == 4 + 4 + 2
    for look in ("light", "dark"):
        assert len({colour[look] for colour in colours}) == len(states)
    browser.open(page)
    shown = browser.run("return [...document.querySelectorAll('.colours .swatch')].map(s => s.style.background)")
    assert len(set(shown)) == len(shown) == len(states) + 1
    assert "normal: open, off" in browser.text(".colours")
    figure = figure_of(bbrmon, tmp_path / "made.rec")
    keys = [rect.get("fill") for rect in figure.findall(f"{SVG}rect") if rect.get("width") == "12"]
    assert [colour["light"] for colour in colours] == keys[-len(states):]
    drawn = {rect.get("fill") for rect in figure.iter(f"{SVG}rect") if rect.get("height") == "18"}
    assert {colour["light"] for (name, _), colour in zip(states, colours) if name in MODES[:3]} < drawn


def test_before_there_is_state(browser, report):
    """A lost SYN is reported before BBR begins: the zeros of that event are no measurements."""
    before = [made.event(NS, made.RTO, cwnd_gain=0, pacing_gain=0, min_rtt_us=0)]
    page = report(before + acks([2 * NS, 3 * NS], min_rtt_us=700, rtt_us=800, bw=1 << 20))
    found = series(page)
    assert found["min_rtt_us"] == [None, 700, 700] and found["mode"] == [None, 0, 0]
    flow = data_of(page.read_text())["flows"][0]
    assert flow["min_rtt_us"] == 700 and flow["rtos"] == 1 and flow["mode_us"][0] == 10 ** 6
    browser.open(page)
    assert columns(browser, "rtt")[3][0] is None


def test_what_the_stack_tells_after_the_end(browser, report):
    """A disconnected socket leaves recovery without BBR state: that is no flow."""
    events = acks([NS, 2 * NS], rtt_us=100, bytes_acked=lambda i: 5000 * i, inflight=7)
    events += [made.event(3 * NS, made.STOP, inflight=2 ** 32 - 48, lost=3, bytes_acked=5000),
               *(made.event(3 * NS + 1, kind, conn=2, rport=0, cwnd_gain=0, pacing_gain=0, bytes_acked=n)
                 for kind, n in ((made.RECOVERY, 5000), (made.STOP, 0)))]
    page = report(events)
    data = data_of(page.read_text())
    assert [(f["conn"], f["bytes_acked"], f["lost"]) for f in data["flows"]] == [(1, 5000, 3)]
    assert series(page)["inflight"] == [7, 7, None]
    browser.open(page)
    assert "1 connection without BBR state" in browser.text("#drops")


def test_receiving_ends_are_left_out(browser, report):
    """Receiving ends use BBR, too, but do not compete."""
    times = [NS + i * NS // 50 for i in range(101)]
    receiving = [made.event(t, made.ACK, conn=9, flags=made.SAMPLE, rtt_us=50, bytes_acked=1) for t in times]
    page = report(sorted(rated(1, 10 ** 6, times) + rated(2, 10 ** 6, times) + receiving, key=lambda e: e["time_ns"]))
    browser.open(page)
    assert data_of(page.read_text())["recording"]["jain"] == pytest.approx(1)
    assert min(j for j in columns(browser, "jain")[1] if j is not None) == pytest.approx(1, abs=1e-3)
    assert browser.texts("#plot-shares .name") == ["flow 1: 10.0.0.2:443", "flow 2: 10.0.0.2:443"]
    assert browser.text("#silent").startswith("One flow never sent payload")
    assert len(table(browser)) == 4


def test_first_pacing_rates_do_not_hide_the_others(browser, report, bbrmon, tmp_path):
    """As after a handshake of a few microseconds. The page says that it cuts them off, and can show all of them."""
    mbit = 10 ** 6 // 8
    events = acks((NS + i * NS // 100 for i in range(500)), rtt_us=10000, bw=(20 * mbit << 24) // 1000 // 10 ** 6,
                  rs_delivered=25, rs_interval_us=10000,
                  pacing_rate=lambda i: 52000 * mbit if i < 3 else 20 * mbit)
    page = report(events)
    browser.open(page)
    values = "return report.plots.rate.yAxisRange()"
    assert browser.run(values) == pytest.approx([0, 25], rel=1e-3)
    assert "cut off above 25: show all" in browser.text("#plot-rate .cut")
    assert max(columns(browser, "rate")[1]) == 52000
    browser.click("#plot-rate .cut")
    assert browser.run(values)[1] > 52000
    browser.click("#plot-rate .cut")
    assert browser.run(values) == pytest.approx([0, 25], rel=1e-3)
    # Where nothing is above it, the plot is as high as what is there: the rate is no flat line.
    top = browser.text("#plot-rate .cut")
    browser.run("setTimeWindow(arguments[0], arguments[1])", 1, 2)
    assert 20 < browser.run(values)[1] < 23 and not browser.text("#plot-rate .cut")
    # The user's own scale stays while the time does.
    drag_up(browser, "rate", 0.25, 0.75)
    assert browser.run(values) == pytest.approx([5.5, 16.5], abs=0.5)
    browser.mouse().double_click(browser.element("#plot-rate .area")).perform()
    assert browser.run(values) == pytest.approx([0, 25], rel=1e-3) and browser.text("#plot-rate .cut") == top
    bbrmon("report", tmp_path / "made.rec", "--svg", tmp_path / "a.svg")
    assert "above 25 Mbit/s cut off" in (tmp_path / "a.svg").read_text()


def test_units_are_those_of_the_values(browser, report, bbrmon, tmp_path):
    """A slow flow over a short path, on the page and in the figure."""
    events = acks([NS, 2 * NS, 3 * NS], rtt_us=900, srtt_us=900, min_rtt_us=900, rs_delivered=5, rs_interval_us=10 ** 6,
                  bw=(5 << 24) // 10 ** 6, pacing_rate=10000)
    browser.open(report(events))
    bbrmon("report", tmp_path / "made.rec", "--svg", tmp_path / "a.svg")
    text = "".join(xml.etree.ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    for plot, title in {"rate": "Rate (kbit/s)", "rtt": "RTT (µs)"}.items():
        assert browser.text(f"#plot-{plot} h3") == title and title in text
    assert max(columns(browser, "rtt")[1]) == 900


def test_names_are_only_names(browser, bbrmon, tmp_path):
    """Names of recordings and files stay text, whatever they contain."""
    file = tmp_path / "<img src=x onerror=alert(1)>&amp;'\".rec"
    made.write(file, acks([NS, 2 * NS], rtt_us=100), origins=[("</script><b>x", False)])
    page = tmp_path / "page.html"
    bbrmon("report", file, "-o", page)
    browser.open(page)
    assert browser.text("h1") == str(file)
    assert "</script><b>x" in browser.text("#flow-title")
    assert not browser.driver.find_elements("css selector", "img, b")
    figure = tmp_path / "figure.svg"
    bbrmon("report", file, "--svg", figure)
    assert "</script><b>x" in "".join(xml.etree.ElementTree.parse(figure).getroot().itertext())


def test_a_recording_that_was_cut_off(browser, report, bbrmon, tmp_path, recorded):
    """The page draws the complete records."""
    file = tmp_path / "cut.rec"
    file.write_bytes(recorded.read_bytes()[:-len(recorded.read_bytes()) // 3])
    assert "cut off" in bbrmon("report", file).err
    events = events_of(bbrmon, file)[0]
    page = file.with_name("cut.rec.html")
    assert sum(f["events"] for f in data_of(page.read_text())["flows"]) == len(events) > 0
    browser.open(page)


# The command line


def test_only_a_part(bbrmon, recorded, tmp_path, real):
    page = tmp_path / "part.html"
    flows = real[1]
    first = min(flow[0]["time_ns"] for flow in flows)
    bbrmon("report", recorded, "-o", page, "--from", "500ms", "--to", "1s")
    counts = [sum(500_000_000 <= e["time_ns"] - first <= NS for e in flow) for flow in flows]
    assert [f["events"] for f in data_of(page.read_text())["flows"]] == [n for n in counts if n]
    bbrmon("report", recorded, "-o", page, "--rport", flows[1][0]["rport"])
    assert [f["events"] for f in data_of(page.read_text())["flows"]] == [len(flows[1])]
    bbrmon("report", recorded, "-o", page, "not", "dport", flows[1][0]["rport"])
    others = [len(flow) for flow in flows if flow[0]["rport"] != flows[1][0]["rport"]]
    assert [f["events"] for f in data_of(page.read_text())["flows"]] == others


def test_to_stdout(bbrmon, recorded, real):
    assert bbrmon("report", recorded, "-o", "-").out == real[0].read_text()


def figure_titles(page, number, has_shares):
    """The titles of a flow's plots with the units that its page has, which depend on how fast the machine was."""
    at = [flow["flow"] for flow in page["flows"]].index(number)
    for panel in page["panels"]:
        if panel["id"] in ("rate", "rtt") or has_shares and panel["id"] == "shares":
            yield f"{panel['title']} ({panel['units'][at if panel['lane'] else 0]['name']})"


@pytest.mark.parametrize("args, labels", [
    ([], ["Flow 1: ", "Rate ACKed", "3: "]), (["--flow", "2"], ["Flow 2: "])])
def test_figure(bbrmon, recorded, real, tmp_path, args, labels):
    figure = tmp_path / "figure's.svg"
    done = bbrmon("report", recorded, "--svg", figure, *args)
    assert not done.err
    root = xml.etree.ElementTree.parse(figure).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = "".join(root.itertext())
    largest = max(range(3), key=lambda i: expected_totals(real[1][i])["bytes_acked"]) + 1
    for label in [*figure_titles(data_of(real[0].read_text()), int(args[1]) if args else largest, not args),
                  "Inflight (packets)", "State", "Losses (packets)", "Time (s)", "delivery rate", "pacing rate", "bw", "min_rtt",
                  "srtt", "BDP", "cwnd", "PROBE_BW", "mode", "recovery", "policer"]:
        assert label in text, label
    assert (labels[0] if args else f"Flow {largest}: ") in text and all(label in text for label in labels[1:])
    assert not list(tmp_path.glob("*.html")), "only the figure was asked for"


def test_titles_are_those_of_the_figure(browser, bbrmon, recorded, real, tmp_path):
    """Both are of the largest flow. Two plots are only on the page."""
    browser.open(real[0])
    titles = browser.texts("main h3")
    bbrmon("report", recorded, "--svg", tmp_path / "a.svg")
    text = "".join(xml.etree.ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    others = [title for title in titles if title not in text]
    assert len(titles) == 2 + len(FLOW_PLOTS) and len(others) == 2
    assert others[0] == "Jain's index of the flows present" and re.fullmatch(r"Losses in each .* ms \(packets\)", others[1])


def test_figure_and_page(bbrmon, recorded, tmp_path):
    bbrmon("report", recorded, "--svg", tmp_path / "a.svg", "-o", tmp_path / "a.html")
    assert (tmp_path / "a.svg").stat().st_size and (tmp_path / "a.html").stat().st_size


def test_no_other_program_draws_the_figure(bbrmon, recorded, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "<svg" in bbrmon("report", recorded, "--svg", "-").out
    assert not list(tmp_path.iterdir())


def test_refused(bbrmon, recorded, tmp_path):
    assert "No such file" in bbrmon("report", tmp_path / "none", status=USAGE).err
    assert "cannot write" in bbrmon("report", recorded, "-o", tmp_path / "none/a.html", status=REFUSED).err
    assert "cannot write" in bbrmon("report", recorded, "--svg", tmp_path / "none/a.svg", status=REFUSED).err
    assert "cannot write" in bbrmon("report", recorded, "-o", "/dev/full", status=REFUSED).err
    assert "cannot write" in bbrmon("report", recorded, "--svg", "/dev/full", status=REFUSED).err
    assert bbrmon("report", recorded, "--rport", "1", status=NOTHING).err
    assert bbrmon("report", recorded, "--from", "1000s", status=NOTHING).err
    (tmp_path / "text").write_text("no recording\n" * 100)
    assert bbrmon("report", tmp_path / "text", status=USAGE).err
    assert [p.name for p in tmp_path.iterdir()] == ["text"]


def test_the_recording_is_never_written_over(bbrmon, recorded, tmp_path):
    copy = tmp_path / "copy.rec"
    copy.write_bytes(recorded.read_bytes())
    (tmp_path / "link").symlink_to(copy)
    for args in (["-o", copy], ["-o", tmp_path / "link"], ["--svg", copy]):
        assert bbrmon("report", copy, *args, status=USAGE).err
    assert copy.read_bytes() == recorded.read_bytes()


def test_a_pipe_cannot_be_read_twice(bbrmon, report, tmp_path):
    report(acks([NS, 2 * NS], rtt_us=100))
    with open(tmp_path / "made.rec", "rb") as file:
        piped = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
    assert "a pipe" in bbrmon("report", "/dev/stdin", "-o", "-", stdin=piped.stdout, status=USAGE).err
    piped.stdout.close()
    piped.wait()
    with open(tmp_path / "made.rec", "rb") as file:
        assert data_of(bbrmon("report", "/dev/stdin", "-o", "-", stdin=file).out)["flows"]


def test_the_figure_and_the_page_are_two_files(bbrmon, report, tmp_path):
    report(acks([NS, 2 * NS], rtt_us=100))
    one = tmp_path / "one"
    for there in False, True:
        assert "same file" in bbrmon("report", tmp_path / "made.rec", "-o", one, "--svg", f"{tmp_path}/./one", status=USAGE).err
        assert one.exists() == there
        one.write_text("kept")
    assert one.read_text() == "kept"
    bbrmon("report", tmp_path / "made.rec", "-o", "/dev/null", "--svg", "/dev/null")


def aim(kind, place, target):
    """Puts something in the place of an output."""
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "hard link":
        place.hardlink_to(target)
    else:
        place.symlink_to(target)


@pytest.mark.parametrize("kind", ["symbolic link", "dangling link", "hard link", "pipe"])
def test_the_page_beside_a_recording_never_follows_a_link(bbrmon, report, tmp_path, kind):
    page, target = report(acks([NS, 2 * NS], rtt_us=100)), tmp_path / "target"
    page.unlink()
    if kind != "dangling link":
        target.write_text("precious")
    aim(kind, page, target)
    error = bbrmon("report", tmp_path / "made.rec", status=REFUSED).err
    assert "cannot write" in error and "-o" in error
    assert target.read_text() == "precious" if kind != "dangling link" else not target.exists()


@pytest.mark.parametrize("verb", ["report", "experiment"])
def test_a_signal_ends_waiting_for_the_reader_of_a_pipe(bbrmon, report, tmp_path, verb):
    report(acks([NS, 2 * NS], rtt_us=100))
    os.mkfifo(tmp_path / "pipe")
    args = ["made.rec", "-o"] if verb == "report" else [CONNECTIONS, "--html"]
    started = bbrmon.start(verb, *args, "pipe", cwd=tmp_path)
    wait_until(lambda: "partner" in pathlib.Path(f"/proc/{started.pid}/wchan").read_text(), "it waits for a reader")
    started.terminate()
    assert started.wait(10) == -signal.SIGTERM


@pytest.mark.parametrize("args, option", [
    (["report", "made.rec"], "-o"), (["report", "made.rec"], "--svg"), (["record", "--read", "made.rec"], "-o"),
    (["experiment", CONNECTIONS], "--html")])
def test_a_named_output(bbrmon, report, tmp_path, monkeypatch, args, option):
    """A link to something that exists is followed, as by cp; nothing is created through a link."""
    report(acks([NS, 2 * NS], rtt_us=100))
    monkeypatch.chdir(tmp_path)
    args = [*args, option]
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    assert "a link to a file that does not exist" in bbrmon(*args, link, status=REFUSED).err
    assert not target.exists()
    target.write_text("older, and longer than nothing" * 10000)
    bbrmon(*args, link)
    written = target.read_bytes()
    assert link.is_symlink() and len(written) > 300 and b"older" not in written
    bbrmon(*args, tmp_path / "new")
    assert len((tmp_path / "new").read_bytes()) == len(written)
    if args[0] != "record":  # which has a summary of its own
        assert bbrmon(*args, "/dev/stdout").out.encode() == written


@pytest.mark.parametrize("args", [
    [], ["a", "b"], ["a", "--points", "10"], ["a", "--points", "many"], ["a", "--flows", "0"], ["a", "--flow", "0"], ["a", "--flow", "1"],
    ["a", "--from", "5"], ["a", "--from", "3s", "--to", "1s"], ["a", "--every", "ack"], ["-"], ["a", "-o", "-", "--svg", "-"],
])
def test_wrong_command_lines_are_a_usage_error(bbrmon, args):
    assert bbrmon("report", *args, status=USAGE).err


def test_no_such_flow(bbrmon, recorded, tmp_path):
    assert "the report has only 3 flows" in bbrmon("report", recorded, "--svg", tmp_path / "a.svg", "--flow", "4",
                                         status=USAGE).err


def number_of(text):
    """The number of a cell, as the page shows it."""
    return float(text.split()[0].replace("−", "-"))


def test_the_page_of_an_experiment(bbrmon, browser, tmp_path):
    """It fits 1100 pixels; each metric has one name; numbers have no more digits than the interval allows; axes have labels."""
    of, page = tmp_path / "a.csv", tmp_path / "a.html"
    of.write_text(CONNECTIONS.read_text() + "# until_ns=12400000000\n# refused1=3\n# refused1_errno=16\n")
    answer = bbrmon("experiment", of, "-j", "--html", page).json()
    browser.open(page, (1100, 900))
    for element in ("html", "#differences", ".scroll"):
        assert browser.run("const e = document.querySelector(arguments[0]); return e.scrollWidth - e.clientWidth", element) <= 0
    assert ". 12 s, " in browser.text("#about")
    assert answer["arms"][1]["refused_why"] in browser.text("#missing")
    assert answer["arms"][1]["refused_why"] in bbrmon("experiment", of).out
    rows = browser.run("return [...document.querySelectorAll('#differences tr')].slice(1)"
                       ".map(tr => [...tr.cells].map(td => td.textContent))")
    shown = {m["metric"]: m for m in answer["metrics"] if m["size"] == "all"}
    assert [row[0] for row in rows] == list(shown)
    for name, _, _, difference, _, interval, could_show, verdict in rows:
        metric = shown[name]
        assert verdict == (metric["verdict"] or "")
        if metric["low"] is None:
            assert interval == "none: " + metric["no_interval"]
            continue
        low, high = interval.split(" to ")
        assert low[0] in "+−0" and high[0] in "+−0"
        digits = len(re.sub(r"[^0-9]", "", difference.split()[0]).lstrip("0"))
        assert digits <= 3 and len(re.sub(r"[^0-9]", "", could_show.split()[0]).lstrip("0")) <= 3
        assert number_of(low) <= number_of(high)
        if verdict:
            assert number_of(low) > 0 or number_of(high) < 0
    plots = browser.run("return [...document.querySelectorAll('#curves svg')].map(svg => [...svg.querySelectorAll('text')]"
                        ".map(text => text.textContent))")
    names = [curve["quantity"] for curve in answer["curves"] if curve["connections"] and curve["arm"] == answer["arms"][0]["label"]]
    assert [texts[-1] for texts in plots] == names
    for texts in plots:
        assert {"0 %", "50 %", "100 %"} <= set(texts) and sum(bool(re.search(r" (.?s|.?bit/s)$", text)) for text in texts) >= 2
