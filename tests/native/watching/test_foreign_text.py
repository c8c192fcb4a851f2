# SPDX-License-Identifier: GPL-2.0-only
"""
No text of a recording or of an experiment's file becomes code: names by a grammar, which every renderer prints. What it
prints is parsed, and a trap is set wherever something could be run.
"""
import json
import os
import pathlib
import random
import re
import xml.etree.ElementTree

import pytest
from prometheus_client.parser import text_string_to_metric_families

import recording_format as fmt
from browser import Browser
from tool import DONE, data_of

SEEDS = 8
CONNECTIONS = pathlib.Path(__file__).resolve().parents[2] / "unit/experiment/recorded_connections.csv"
SVG = "{http://www.w3.org/2000/svg}"
# Of what a description may have, for a shell, gnuplot, JavaScript, Prometheus, a spreadsheet, a format, a path.
ALLOWED = ["'", ";", "); system('touch pwned'); print('", "x'; system('touch pwned'); print '", "#trap()", "%s%n%99999d",
           "=1+1", "@SUM(A1)", "+1", "-2", "../../pwned", "*/ trap() /*", "//", "__proto__", "constructor", "trap()", "time",
           "hasOwnProperty", "0", "1", "END", "?", "!pwned", "[0]", "a" * 200, "", " ", "lost", "mode", "dropped", "rtt_us", "time_us"]
# And of what it may not have.
REFUSED = ["</script><script>trap()</script>", "<img src=x onerror=trap()>", '"', "\\", "`touch pwned`", "$(touch pwned)", "&lt;",
           "\x1b[2J", "\x1b]0;pwned\x07", "\x9b31m", "\n", "\r", "\t", "\x7f", "\u202e", "é", "a\0b", "<!--", "]]>", "{", "|"]
# What is in names of instances, words of ASCII, and of profiles, which end at the first byte that none may have.
NAMES = [*ALLOWED, *REFUSED, "<b>", '"', "\\", "`touch pwned`", "$(touch pwned)", "</script>", "\u202ea", "a\u2028b"]
FILE = "made\n</script>\u202e\u2028 \"'$(touch pwned)`touch pwned`<img src=x onerror=trap()>\\;.rec".replace("/", "")
KEY = re.compile(r"[\w.-]+", re.ASCII)
KINDS = {"ack": 2, "mode": 3}
ADDRESSES = [{"family": 2, "raddr[0]": 0, "raddr[2]": 0xffff, "raddr[3]": 0x0a000002},
             {"family": 10, "raddr[0]": 0x20010db8, "raddr[2]": 0, "raddr[3]": 7}]


class Grammar:
    """Texts for each place of a recording, of one to three pieces."""

    def __init__(self, seed, pieces, names=None):
        self.chance, self.pieces, self.names = random.Random(seed), pieces, names or pieces

    def text(self, most=255, pieces=None):
        return "".join(self.chance.choices(pieces or self.pieces, k=self.chance.randint(1, 3)))[:most]

    def key(self):
        return "".join(KEY.findall(self.text(60))) or "key"

    def word(self, place, text):
        if place == "name":
            return self.key()[:15]
        if place == "key":  # half keep theirs, so that the common curves find values
            return self.key() if self.chance.random() < 0.5 else text
        return self.text()

    def recording(self):
        """Two connections of an instance, with ACKs and steps from mode to mode; what the names are that are shown."""
        description = fmt.algorithm(word=self.word, lanes=[4, 2, 5])
        instance = "".join(c for c in self.text(15, self.names) if "!" <= c <= "~") or "one"
        encode, records = fmt.Encoder(), [fmt.origin(7, instance, description=description)]
        profiles = [self.text(15, self.names).encode()[:15].replace(b"\0", b"") for _ in range(4)]
        records.append(fmt.record(fmt.PROFILES, fmt.varint(0) + b"".join(p + b"\0" for p in profiles)))
        for i in range(24):
            records.append(encode(10 ** 9 + i * 5_000_000, 1 + i % 2, kind=KINDS["mode" if i % 5 == 4 else "ack"],
                                  mss=1448, mode=i // 6 % 2, phase=i % 2, ca_state=i % 5, profile=i % 4, to=1, colour=i % 2,
                                  rport=443, lport=4000 + i % 2, bytes_acked=i * 9000, bytes_sent=i * 9000, rtt_us=5000,
                                  cwnd=10 + i, weight_us=i, pacing_gain=256, min_rtt_us=4000, **ADDRESSES[i % 2]))
        records.append(fmt.totals_record(fmt.END, 24, [0, 0, 20, 4], acks=20, watched_ns=10 ** 9))
        shown = [re.match(rb"[\w.-]*", p).group().decode() or None for p in profiles]
        return fmt.chunk(fmt.Head(run=1, sampling=1), records), instance, shown


@pytest.fixture
def trapped(tmp_path, monkeypatch):
    """A folder with nothing but a recording's name in it: any command or file that a text makes leaves something there."""
    programs, place = tmp_path / "programs", tmp_path / "place"
    programs.mkdir()
    place.mkdir()
    for name in ("gnuplot", "sh", "bash", "touch", "trap"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >{place}/pwned\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.chdir(place)
    yield place
    assert not {p.name for p in place.iterdir()} - {FILE, FILE + ".html", "copy.rec", "some.csv", "page.html"}


@pytest.fixture(scope="module")
def browser():
    started = Browser()
    yield started
    started.close()


def assert_is_for_a_terminal(text):
    assert all(c in "\n\tµ" or " " <= c <= "~" for c in text), repr(text)


def once(pairs):
    """Of two members with one key, which one counts?"""
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


def assert_is_json(text):
    for line in text.splitlines():
        json.loads(line, object_pairs_hook=once)
    assert_is_for_a_terminal(text)


def assert_is_a_figure(text):
    """Only shapes and words; all attributes are numbers, colours, paths and our classes."""
    values = re.compile(r"#?[-\w. %()]*", re.ASCII)
    for e in xml.etree.ElementTree.fromstring(text).iter():
        assert e.tag in {SVG + tag for tag in ("svg", "style", "rect", "path", "text")}
        assert set(e.attrib) <= {"width", "height", "viewBox", "class", "x", "y", "d", "fill", "stroke", "transform",
                                 "stroke-dasharray"}
        assert all(values.fullmatch(value) for value in e.attrib.values())
        assert e.tag != SVG + "style" or not re.search("url|import", e.text)


def assert_is_a_page(browser, page, names):
    """Nothing of it runs, and each name is there as it is."""
    browser.driver.get("about:blank")
    browser.open(page)
    assert browser.run("return document.scripts.length") == len(re.findall("<script", page.read_text()))
    assert not browser.driver.find_elements("css selector", "img, iframe, object, embed, [onerror], [onload]")
    assert browser.run("return typeof window.trap") == "undefined"
    assert not browser.complaints()
    shown = browser.run("return document.body.textContent")
    for name in names:
        assert name in shown, name


def shown_names(lines, key):
    return {json.loads(line).get(key) for line in lines.splitlines() if not line.startswith('{"summary"')}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_recording_with_any_names(bbrmon, browser, trapped, seed):
    data, instance, profiles = Grammar(seed, ALLOWED, NAMES).recording()
    pathlib.Path(FILE).write_bytes(data)
    for args in (["stream"], ["top", "-b", "--speed", "0"], ["snapshot"], ["snapshot", "-O"], ["snapshot", "-s"],
                 ["snapshot", "--by", "prefix"], ["why"], ["why", "--by", "netns"]):
        shown = bbrmon(*args, "--read", FILE)
        assert_is_for_a_terminal(shown.out + shown.err)
        assert shown.out and ("--by" in args or instance[:8] in shown.out)
    for args in (["stream", "-j"], ["top", "-b", "-j", "--speed", "0"], ["snapshot", "-j"], ["why", "-j"],
                 ["snapshot", "-j", "--by", "prefix"], ["why", "-j", "--by", "prefix"]):
        lines = bbrmon(*args, "--read", FILE).out
        assert_is_json(lines)
        assert "--by" in args or shown_names(lines, "instance") == {in_json(instance)}
        assert "--by" in args or shown_names(lines, "profile") <= {*profiles, None}
    assert shown_names(bbrmon("stream", "-j", "--read", FILE).out, "profile") == set(profiles)
    families = list(text_string_to_metric_families(bbrmon("export", "--by", "prefix", "--read", FILE).out))
    assert "bbr_connections" in {f.name for f in families}
    assert all(f.name.startswith(("bbr", "process")) for f in families)
    labels = [s.labels for f in families for s in f.samples]
    assert {of["bbr_instance"] for of in labels if "bbr_instance" in of} == {instance}
    assert {of["profile"] or None for of in labels if "profile" in of} <= {*profiles, None}
    bbrmon("record", "--read", FILE, "-o", "copy.rec")
    assert bbrmon("stream", "-j", "--read", "copy.rec").out == bbrmon("stream", "-j", "--read", FILE).out
    assert_is_a_figure(bbrmon("report", FILE, "--svg", "-").out)
    said = bbrmon("report", FILE)
    assert_is_for_a_terminal(said.out + said.err)
    page = trapped / (FILE + ".html")
    data = data_of(page.read_text())
    curves = data["curves"][data["flows"][0]["algorithm"]]
    names = [name for c in curves for name in [c["name"], *c.get("names", [])]]
    assert_is_a_page(browser, page, [*names, in_json(instance), *(f["profile"] or "" for f in data["flows"])])
    for shown in browser.run("return [document.title, document.getElementById('title').textContent]"):
        assert shown.startswith('"made\\x0a') and "\\xe2\\x80\\xae\\xe2\\x80\\xa8 " in shown and "<img src=x" in shown
        assert_is_for_a_terminal(shown.replace("–", "-"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_names_that_a_description_may_not_have(bbrmon, trapped, seed):
    """Its events are left out, and a message says so; the text is not in it."""
    pathlib.Path(FILE).write_bytes(Grammar(seed, REFUSED).recording()[0])
    for args in (["stream", "--read", FILE], ["top", "-b", "--speed", "0", "--read", FILE], ["export", "--read", FILE],
                 ["report", FILE]):
        shown = bbrmon(*args, status=None)
        assert_is_for_a_terminal(shown.out + shown.err)
        assert "damaged" in shown.err or "left out" in shown.err, shown


def in_json(name):
    """As lib/cli/text.h says: what begins with a quote is quoted."""
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"' if name.startswith('"') else name


@pytest.mark.parametrize("seed", range(SEEDS))
def test_an_experiments_file_with_any_names(bbrmon, browser, trapped, seed):
    grammar = Grammar(seed, [*ALLOWED, *(p for p in REFUSED if p.isascii() and p.isprintable())])
    head, rows = CONNECTIONS.read_text().split("number,", 1)
    names = [grammar.text(15) or "x" for _ in range(3)]
    for key, name in zip(("name", "arm0", "arm1"), names):
        head = re.sub(rf"^# {key}=.*$", lambda _, key=key, name=name: f"# {key}={name}", head, flags=re.M)
    pathlib.Path("some.csv").write_text(head + "number," + rows)
    assert_is_for_a_terminal(bbrmon("experiment", "./some.csv").out)
    assert json.loads(bbrmon("experiment", "-j", "./some.csv").out)["name"] == in_json(names[0])
    bbrmon("experiment", "./some.csv", "--html", "page.html", status=DONE)
    assert_is_a_page(browser, trapped / "page.html", map(in_json, names))
