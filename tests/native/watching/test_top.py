# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon top: --batch against the events themselves, and the screen in a real terminal."""
import collections
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

import netns
from crowd import Crowd
from system import wait_until
from terminal import COLOUR, RawTerminal, Terminal
from tool import DONE, REFUSED, USAGE, Monitor, lose_reader, status_of
from transfer import Transfer, connect, listen

pytestmark = pytest.mark.machine_alone  # it watches all instances

CONNECTIONS = 4


@pytest.fixture
def terminal(tmp_path):
    with contextlib.ExitStack() as stack:
        def make(*args, **kwargs):
            made = Terminal(tmp_path, *args, **kwargs)
            stack.callback(made.close)
            return made
        yield make


@pytest.fixture(scope="module")
def recorded(bbrctl, bbrmon, shared, tmp_path_factory):
    """A recording of some connections over one bottleneck at the same time: its path and its events."""
    directory = tmp_path_factory.mktemp("top")
    path = directory / "recording"
    with contextlib.ExitStack() as stack:
        spaces = [netns.Namespace() for _ in range(3)]
        for space in spaces:
            stack.callback(space.delete)
        road = netns.Path(*spaces)
        recorder = bbrmon.start("record", "--name", shared, "--every", "ack", "-o", path,
                                stderr=subprocess.DEVNULL)
        stack.callback(recorder.wait)
        stack.callback(recorder.kill)
        monitor = Monitor(bbrmon, directory, "--name", shared, "--every", "transition")
        stack.callback(monitor.kill)
        wait_until(lambda: status_of(bbrctl, shared)["monitors"] == 2, "they watch")
        transfers = []
        for i in range(CONNECTIONS):
            listener = listen(spaces[2], [road.v4, road.v6][i % 2])
            transfers.append(Transfer(*connect(spaces[0], listener, cc=shared), seed=i))
        monitor.wait_for(lambda m: m.of("recovery") and any(e["to"] == "PROBE_BW" for e in m.of("mode")) and
                         time.monotonic_ns() - m.events[0]["time_ns"] > 3_000_000_000,
                         "losses, the bandwidth is found, and some seconds of it")
        for transfer in transfers:
            transfer.stop()
        for transfer in transfers:
            transfer.finish()
        wait_until(lambda: status_of(bbrctl, shared)["users"] == 0, "the connections end")
        monitor.stop()
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(30) == DONE
    events = [json.loads(line) for line in bbrmon("stream", "-j", "--read", path).out.splitlines()]
    events = [e for e in events if "summary" not in e]
    assert len({e["conn"] for e in events}) == CONNECTIONS
    assert {"PROBE_BW", "STARTUP"} <= {e["mode"] for e in events} and any(e["lost"] for e in events)
    return path, events


def blocks_of(out):
    """The objects of `top -j`, grouped by refresh."""
    blocks = collections.defaultdict(list)
    for line in out.splitlines():
        o = json.loads(line)
        blocks[o["refresh"]].append(o)
    return [blocks[n] for n in sorted(blocks)]


def last_before(events, conn, time_ns, is_last):
    """The state that a refresh at this time shows."""
    found = [e for e in events if e["conn"] == conn and (e["time_ns"] < time_ns or is_last)]
    return found[-1] if found else None


SAME = ("instance", "netns", "local", "lport", "remote", "rport", "profile", "mode", "cycle_idx", "bw_bps",
        "pacing_rate_bps", "min_rtt_us", "inflight", "cwnd", "lost", "bytes_retrans", "ca_state", "policer")


def test_each_row_is_its_connections_last_event(bbrmon, recorded):
    path, events = recorded
    blocks = blocks_of(bbrmon("top", "-j", "--read", path, "-i", "200ms").out)
    assert len(blocks) > 4
    times = [block[0]["time_ns"] for block in blocks]
    assert times[-1] == events[-1]["time_ns"] and times == sorted(times)
    # There is no block for an interval in which nothing happened.
    assert all(b > a and not (b - a) % 200_000_000 for a, b in zip(times[:-1], times[1:-1]))
    for block in blocks:
        is_last = block is blocks[-1]
        assert len({o["conn"] for o in block}) == len(block)
        for o in block:
            e = last_before(events, o["conn"], o["time_ns"], is_last)
            assert {k: o[k] for k in SAME} == {k: e[k] for k in SAME}
            assert o["srtt_us"] == (e["srtt_us"] or None)
            assert o["ended"] == (e["event"] == "end")
            assert o["cookie"] is None
    # Ended connections stay for five seconds, which is longer than this took.
    assert {o["conn"] for o in blocks[-1]} == {e["conn"] for e in events if e["time_ns"] > times[-1] - 5e9}


def test_rates_and_losses_are_of_the_interval(bbrmon, recorded):
    path, events = recorded
    blocks = blocks_of(bbrmon("top", "-j", "--read", path, "-i", "200ms").out)
    checked = 0
    for before, block in zip(blocks, blocks[1:]):
        rows = {o["conn"]: o for o in before}
        for o in block:
            was = rows.get(o["conn"])
            if not was:
                continue
            a = last_before(events, o["conn"], was["time_ns"], False)
            b = last_before(events, o["conn"], o["time_ns"], block is blocks[-1])
            assert o["lost_interval"] == b["lost"] - a["lost"]
            assert o["bytes_retrans_interval"] == b["bytes_retrans"] - a["bytes_retrans"]
            took = b["time_ns"] - a["time_ns"]
            if not took or was["rate_bps"] is None:
                continue
            rate = (b["delivered"] - a["delivered"]) * b["mss_bytes"] * 8e9 / took
            assert abs(o["rate_bps"] - rate) <= 1, o
            checked += 1
    assert checked > CONNECTIONS


def text_blocks(out):
    return [block.split("\n") for block in out.rstrip("\n").split("\n\n")]


def rows_of(lines):
    """The rows of a block or a screen, without the titles."""
    return [line for line in lines[3:] if line.strip()]


@pytest.mark.parametrize("width", [40, 80, 120, 200, 300])
def test_text_blocks(bbrmon, recorded, width):
    path, events = recorded
    blocks = text_blocks(bbrmon("top", "--batch", "--read", path, "--width", width).out)
    assert len(blocks) >= 2
    for block in blocks:
        assert block[0].startswith("bbrmon top") and block[1].startswith("connections ")
        assert all(len(line) <= width and "\033" not in line and "\t" not in line for line in block)
    titles = blocks[-1][2].split()
    assert titles[0] in ("REMOTE", "INSTANCE") and "MODE" in titles and "RATE" in titles
    assert ("LOCAL" in titles) == (width >= 200)
    conns = {(e["remote"], e["rport"]) for e in events}
    shown = "\n".join(rows_of(blocks[-1]))
    assert all(f":{port} " in shown for _, port in conns)


def test_the_longest_width_has_all_columns(bbrmon, recorded):
    path, _ = recorded
    block = text_blocks(bbrmon("top", "--batch", "--read", path).out)[-1]
    assert block[2].split() == ["INSTANCE", "PROFILE", "LOCAL", "REMOTE", "MODE", "SINCE", "RATE", "BW", "PACE",
                                "RTT", "MIN", "INFL/BDP", "CWND", "LOST", "+LOS", "RETR", "+RETR", "RECOVERY",
                                "POL", "NETNS", "RATE"]


@pytest.mark.parametrize("column, key", [
    ("cwnd", "cwnd"), ("bw", "bw_bps"), ("min_rtt", "min_rtt_us"), ("rate", "rate_bps"), ("time", "mode_ms")])
def test_order(bbrmon, recorded, column, key):
    path, _ = recorded
    for order, reverse in [(f"-{column}", []), (column, ["--reverse"]), (column, []), (f"-{key}", ["--reverse"])]:
        for block in blocks_of(bbrmon("top", "-j", "--read", path, "--sort", order, *reverse).out):
            # Sorting is by the start of the mode. The time in the mode of an ended connection no longer grows.
            values = [o[key] for o in block if o[key] is not None and not (o["ended"] and key == "mode_ms")]
            assert values == sorted(values, reverse=order.startswith("-") != bool(reverse))


def test_filter(bbrmon, recorded):
    path, events = recorded
    rport = events[0]["rport"]
    for block in blocks_of(bbrmon("top", "-j", "--read", path, "--filter", f":{rport}").out):
        assert {o["rport"] for o in block} == {rport}
    every = blocks_of(bbrmon("top", "-j", "--read", path, "--filter", "dst [fd77::/16]").out)
    assert {o["remote"] for block in every for o in block} == {e["remote"] for e in events if ":" in e["remote"]}
    assert not blocks_of(bbrmon("top", "-j", "--read", path, "--filter", "name no.such.name").out)


def test_a_filter_and_an_expression(bbrmon, recorded):
    """Both are of one language. The totals count what a filter hides, and not what an expression leaves out."""
    path, _ = recorded
    blocks = [text_blocks(bbrmon("top", "--batch", "--read", path, *args, "mode = STARTUP").out)
              for args in [["--filter"], []]]
    assert all("STARTUP" in row for block in blocks[0] for row in rows_of(block))
    hidden = [int(block[1].split()[1]) - len(rows_of(block)) for block in blocks[0]]
    left_out = [int(block[1].split()[1]) - len(rows_of(block)) for block in blocks[1]]
    assert max(hidden) > 0 and min(hidden) >= 0 and not any(left_out)


@pytest.mark.parametrize("expression, why", [("no.such.name", "not a condition"), ("cwnd > x", "not a number"),
                                             ("losses > 1", "rows have no samples"), (" " * 256, "longer than 255")])
def test_a_wrong_filter(bbrmon, recorded, expression, why):
    result = bbrmon("top", "--batch", "--read", recorded[0], "--filter", expression, status=USAGE)
    assert why in result.err and len(result.err.splitlines()) > 1 - ("longer" in why) and not result.out


def test_an_expression_on_the_state(bbrmon, recorded):
    """A connection is shown while its last event matches."""
    path, events = recorded
    whole = blocks_of(bbrmon("top", "-j", "--read", path, "-i", "200ms").out)
    part = blocks_of(bbrmon("top", "-j", "--read", path, "-i", "200ms", "mode", "=", "STARTUP").out)
    expected = [{o["conn"] for o in block if o["mode"] == "STARTUP"} for block in whole]
    assert [{o["conn"] for o in block} for block in part] == [conns for conns in expected if conns]
    assert any(a - b for a, b in zip(expected, expected[1:])), "none left"


def test_an_expression_and_its_short_form(bbrmon, recorded):
    path, events = recorded
    rport = events[0]["rport"]
    short = bbrmon("top", "-j", "--read", path, "--rport", rport).out
    assert short and short == bbrmon("top", "-j", "--read", path, f"dport = {rport}").out


def test_so_many_blocks(bbrmon, shared):
    assert len(text_blocks(bbrmon("top", "--batch", "--name", shared, "-i", "100ms", "-n", "3").out)) == 3


def test_a_reader_that_goes_away(bbrmon, shared):
    process = bbrmon.start("top", "--batch", "--name", shared, "-i", "100ms",
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert lose_reader(process).startswith(b"bbrmon top")


def test_output_that_cannot_be_written(bbrmon, shared):
    with open("/dev/full", "w") as full:
        process = bbrmon.start("top", "--batch", "--name", shared, "-i", "100ms",
                               stdout=full, stderr=subprocess.DEVNULL)
        assert process.wait(30) == REFUSED


@pytest.fixture
def watching(bbrmon, tmp_path):
    """Starts `top -j` in the background. Returns a function that reads the blocks so far."""
    with contextlib.ExitStack() as stack:
        def start(*args):
            out = stack.enter_context(open(tmp_path / "out", "w+"))
            process = bbrmon.start("top", "-j", *args, stdout=out, stderr=subprocess.PIPE)

            def stop():
                process.send_signal(signal.SIGTERM)
                try:
                    errors = process.communicate(timeout=30)[1]
                    assert process.returncode == DONE and b"Sanitizer" not in errors, errors
                finally:
                    process.kill()
                    process.wait()
            stack.callback(stop)
            # The last line may be incomplete, and so may the last block.
            return lambda: blocks_of((tmp_path / "out").read_text().rpartition("\n")[0])[:-1]
        yield start


def test_quiet_connections_are_there(watching, shared, ns):
    """Idle connections that are older than top are shown: ours, and one of the kernel's own bbr."""
    listener = listen(ns)
    port = listener.getsockname()[1]
    ends = [connect(ns, listener, cc=cc) for cc in (shared, "bbr")]
    for sender, receiver in ends:
        sender.sendall(b"x" * 100_000)
        left = 100_000
        while left:
            left -= len(receiver.recv(left))
    blocks = watching("--rport", port, "-i", "200ms")
    wait_until(lambda: any({o["rate_bps"] for o in block} == {0} for block in blocks()),
               "that nothing is delivered is known")
    for block in blocks():
        rows = {o["instance"]: o for o in block}
        assert set(rows) == {shared, "bbr"} and len(block) == 2
        for (sender, _), name in zip(ends, (shared, "bbr")):
            o = rows[name]
            assert (o["local"], o["lport"]) == sender.getsockname()
            assert o["cookie"] and not o["ended"] and o["cwnd"] and o["min_rtt_us"] is not None
            assert o["mode_ms"] is None
        assert rows["bbr"]["profile"] is None and rows[shared]["profile"] == "default"


def test_one_that_no_longer_matches_leaves(watching, shared, ns):
    """One of two idle connections sends more, and the next reading of its socket shows that. It leaves without having ended."""
    listener = listen(ns)
    ends = [connect(ns, listener, cc=shared) for _ in range(2)]
    sent = 100_000

    def send(sender, receiver):
        sender.sendall(b"x" * sent)
        left = sent
        while left:
            left -= len(receiver.recv(left))
    for pair in ends:
        send(*pair)
    port = listener.getsockname()[1]
    ours = [sender.getsockname()[1] for sender, _ in ends]
    blocks = watching("-i", "200ms", f"dport = {port} and bytes_acked < {3 * sent // 2}")
    wait_until(lambda: blocks() and {o["lport"] for o in blocks()[-1]} == set(ours), "both are there")
    send(*ends[0])
    wait_until(lambda: {o["lport"] for o in blocks()[-1]} == {ours[1]}, "one has left")
    assert not any(o["ended"] for block in blocks() for o in block)


def test_a_connection_that_begins_and_ends(watching, bbrctl, shared, ns):
    """A socket and its events are one row from beginning to end."""
    blocks = watching("--name", shared, "-i", "100ms")
    wait_until(lambda: status_of(bbrctl, shared)["monitors"] == 1, "bbrmon watches")
    transfer = Transfer(*connect(ns, listen(ns), cc=shared), gap=0.02)
    wait_until(lambda: any(o["conn"] and o["cookie"] and o["rate_bps"] for block in blocks() for o in block), "its row")
    transfer.stop()
    transfer.finish()
    wait_until(lambda: any(o["ended"] for block in blocks() for o in block), "its end")
    assert all(len(block) == 1 for block in blocks())
    wait_until(lambda: status_of(bbrctl, shared)["users"] == 0, "the connection is closed")


def test_who_has_a_connection(watching, shared, ns, cgroups):
    """The service that made it, the process that has it, and what limits it."""
    listener = listen(ns)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 5000)
    with cgroups.entered(""):
        sender, receiver = connect(ns, listener, cc=shared)
    sender.setblocking(False)
    sender.send(b"x" * 1_000_000)  # the receiver does not read
    blocks = watching("--name", shared, "-i", "200ms", "--columns", "+process")
    wait_until(lambda: any(o["process"] and o["rwnd_limited"] for block in blocks() for o in block), "its names")
    (row,) = blocks()[-1]
    assert row["process"].endswith(f"[{os.getpid()}]") and row["service"] == cgroups.path("").rpartition("/")[2]
    assert row["inode"] == os.fstat(sender.fileno()).st_ino and row["cgroup_id"]
    assert row["rwnd_limited"] > 0.9 and row["sndbuf_limited"] == 0
    receiver.close()


def test_processes_are_looked_up_only_if_asked_for(watching, shared, ns):
    pair = connect(ns, listen(ns), cc=shared)
    blocks = watching("--name", shared, "-i", "200ms")
    wait_until(lambda: any(o["service"] for block in blocks() for o in block), "a reading of sockets")
    assert not any(o["process"] for block in blocks() for o in block)
    assert pair


def test_groups(bbrmon, recorded):
    """Sums of the rows that there would be without --by."""
    path, _ = recorded
    rows = blocks_of(bbrmon("top", "-j", "--read", path, "-i", "200ms").out)
    groups = blocks_of(bbrmon("top", "-j", "--read", path, "-i", "200ms", "--by", "prefix").out)
    compared = 0
    for block in groups:
        of = next(b for b in rows if b[0]["time_ns"] == block[0]["time_ns"])
        assert sum(g["connections"] for g in block) == len(of)
        for g in block:
            mine = [o for o in of if (":" in o["remote"]) == (":" in g["prefix"])]
            assert g["by"] == "prefix" and g["others"] is None and g["connections"] == len(mine)
            for key in "bw_bps", "cwnd", "lost", "lost_interval", "bytes_retrans", "inflight_max":
                assert g[key] == sum(o[key] for o in mine), key
            known = [o["rate_bps"] for o in mine if o["rate_bps"] is not None]
            assert (g["rate_bps"] is None) == (not known) and abs((g["rate_bps"] or 0) - sum(known)) <= len(mine)
            compared += len(mine) > 1
    assert compared
    text = text_blocks(bbrmon("top", "--batch", "--read", path, "-i", "200ms", "--by", "prefix", "--width", "80").out)
    assert text[0][2].split()[:4] == ["GROUP", "CONNS", "RATE", "BW"] and all(len(line) <= 80 for b in text for line in b)
    one = blocks_of(bbrmon("top", "-j", "--read", path, "-i", "200ms", "--by", "prefix", "--largest", "1").out)
    assert {(g["prefix"] is None, g["others"]) for block in one for g in block} == {(False, None), (True, 1)}


def test_columns(bbrmon, recorded):
    path, _ = recorded
    block = text_blocks(bbrmon("top", "--batch", "--read", path, "--columns", "cwnd,remote,bw_bps").out)[0]
    assert block[2].split() == ["CWND", "REMOTE", "BW"]
    block = text_blocks(bbrmon("top", "--batch", "--read", path, "--columns", "+recovery", "--width", "80").out)[0]
    assert "RECOVERY" in block[2].split() and "REMOTE" in block[2].split()


@pytest.mark.parametrize("args", [
    ["extra"], ["--sort", "colour"], ["--interval", "1ms"], ["--interval", "5"], ["--batch", "--width", "39"],
    ["--batch", "--width", "0"], ["--count", "3"], ["--width", "80"], ["--columns", "rate,colour"], ["--by", "host"], ["--largest", "0"], ["--batch", "--largest", "3"], ["-j", "--largest", "3"],
    ["--read", "x", "--by", "cgroup"], ["--filter", "x" * 64], ["--batch", "-n", "0"],
])
def test_wrong_command_lines_are_a_usage_error(bbrmon, args):
    assert bbrmon("top", *args, status=USAGE).err


def test_without_a_terminal(bbrmon, shared):
    assert "--batch" in bbrmon("top", "--name", shared, status=REFUSED, stdin=subprocess.DEVNULL).err


# The screen


def show(terminal, bbrmon, path, *args, width=80, height=24, **environment):
    """Shows a recording with top in a terminal. Returns when the recording is over."""
    term = terminal(width, height, **environment)
    term.start(bbrmon.path, "top", "--read", path, "--speed", "0", *args)
    term.wait_for(lambda text: "recording, over" in text, "the end of the recording")
    return term


def quit_top(term):
    term.type("q")
    assert term.status() == DONE, term.read("err")
    assert not term.sanitizer_reports()
    wait_until(term.is_restored, "the terminal is as it was")


@pytest.fixture
def utf8(monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def last_rows(bbrmon, path, width, *args):
    """Rows of the last block of --batch: the screen must have the same."""
    return rows_of(text_blocks(bbrmon("top", "--batch", "--read", path, "--width", width, *args).out)[-1])


@pytest.mark.parametrize("width, height", [(80, 24), (120, 40), (200, 60)])
def test_the_screen_shows_the_data(terminal, bbrmon, recorded, utf8, width, height):
    path, _ = recorded
    term = show(terminal, bbrmon, path, width=width, height=height)
    lines = term.lines()
    assert rows_of(lines)[:-1] == last_rows(bbrmon, path, width)
    assert len(rows_of(lines)[:-1]) == CONNECTIONS
    assert any(block in "".join(lines) for block in "▁▂▃▄▅▆▇█")
    assert lines[-1].startswith("q quit") and len(lines) == height
    quit_top(term)


def test_it_reflows_when_resized(terminal, bbrmon, recorded, utf8):
    path, _ = recorded
    term = show(terminal, bbrmon, path)
    for width, height in (200, 60), (40, 10), (121, 33), (97, 24), (60, 8), (80, 24):
        term.resize(width, height)
        expected = last_rows(bbrmon, path, width)[:height - 4]
        lines = term.wait_for(lambda text, e=expected: rows_of(text.split("\n"))[:len(e)] == e,
                              f"the rows at {width}x{height}")
        assert all(len(line) <= width for line in lines) and len(lines) == height
        assert lines[-1].startswith("q quit")
    for width, height in (39, 24), (80, 5), (10, 3):
        term.resize(width, height)
        term.wait_for(lambda text, w=width: text.startswith("terminal too small"[:w]), "that it is too small")
    term.resize(80, 24)
    term.wait_for(lambda text: "\nconnections " in text and "q quit" in text, "the list again")
    quit_top(term)


def test_sorting_and_filtering(terminal, bbrmon, recorded, utf8):
    path, events = recorded
    term = show(terminal, bbrmon, path, "--sort", "-bw")

    def wait_for_rows(rows, what):
        term.wait_for(lambda text: rows_of(text.split("\n"))[:-1] == rows, what)

    wait_for_rows(last_rows(bbrmon, path, 80, "--sort", "-bw"), "sorted by bw")
    term.type("<")
    wait_for_rows(last_rows(bbrmon, path, 80, "--sort", "-rate"), "by the column before")
    term.type(">", ">", ">")
    wait_for_rows(last_rows(bbrmon, path, 80, "--sort", "-rtt"), "by the one two after")
    term.type("r")
    wait_for_rows(last_rows(bbrmon, path, 80, "--sort", "-rtt", "--reverse"), "the other way round")
    port = f":{events[0]['rport']}"
    term.type("/", port)
    term.wait_for(lambda text: f"filter: {port}_" in text, "what was typed")
    wait_for_rows(last_rows(bbrmon, path, 80, "--sort", "-rtt", "--reverse"), "not before it is whole")
    term.type("Enter")
    filtered = last_rows(bbrmon, path, 80, "--sort", "-rtt", "--reverse", "--filter", port)
    wait_for_rows(filtered, "filtered")
    term.type("/", " and cwnd > many", "Enter")
    term.wait_for(lambda text: "not a number" in text and f"\n  {port} and cwnd > many\n" in text
                  and f"filter: {port} and cwnd > many_" in text, "what is wrong, and the filter to go on with")
    term.type("Escape")
    wait_for_rows(filtered, "the filter before")
    term.type("/", " and cwnd > many", "Enter")
    term.wait_for(lambda text: "not a number" in text, "what is wrong")
    term.type("BSpace", "BSpace", "BSpace", "BSpace", "0 and mode != DRAIN", "Enter")
    wait_for_rows([row for row in filtered if " DRAIN " not in row], "the filter that was corrected")
    term.type("/", " and cwnd > 4000000", "Enter")
    term.wait_for(lambda text: "no connection matches" in text, "that nothing matches")
    term.type("Escape")
    wait_for_rows(last_rows(bbrmon, path, 80, "--sort", "-rtt", "--reverse"), "no filter")
    term.type("/", "abc", "BSpace", "Escape")
    wait_for_rows(last_rows(bbrmon, path, 80, "--sort", "-rtt", "--reverse"), "as before")
    term.resize(80, 8)
    term.type("/", "nothing", "Enter")
    term.wait_for(lambda text: text.startswith("bbrmon: filter, at column 1: not a condition\n  nothing\n  ^\n")
                  and text.endswith("\nfilter: nothing_"), "the beginning of a message that is too long")
    term.type("Escape")
    quit_top(term)


def test_groups_on_the_screen(terminal, bbrmon, recorded, utf8):
    """Key b groups, enter shows the connections of a group, esc goes back."""
    path, _ = recorded
    term = show(terminal, bbrmon, path, "--sort", "remote")
    every = rows_of(term.lines())[:-1]
    term.type("b")
    term.wait_for(lambda text: "GROUP" in text and "b by prefix" in text, "groups")
    term.type("Escape")
    term.resize(120, 24)
    term.wait_for(lambda text: "enter connections" in text, "what enter does")
    term.type("Enter")
    lines = term.wait_for(lambda text: "REMOTE" in text and "esc back" in text, "connections of the first group")
    assert all(("[fd77" in row) == ("[fd77" in rows_of(lines)[0]) for row in rows_of(lines)[:-1])
    term.type("Left")
    term.wait_for(lambda text: "GROUP" in text, "groups again")
    term.type("b")
    term.wait_for(lambda text: "b by netns" in text, "by namespace")
    term.type("b")
    term.resize(80, 24)
    term.wait_for(lambda text: rows_of(text.split("\n"))[:-1] == every, "each connection")
    quit_top(term)


def strip_of(events, conn, width):
    """The page's strip of modes: for each column the rarest mode in its slots. Between events the last mode continues."""
    slots, before = collections.defaultdict(set), None
    for e in (e for e in events if e["conn"] == conn):
        slot = e["time_ns"] // 500_000_000
        if before and slot - before[0] <= 10:
            for between in range(before[0] + 1, slot):
                slots[between].add(before[1])
        slots[slot].add(e["mode"])
        before = slot, e["mode"]
    first = events[-1]["time_ns"] // 500_000_000 + 1 - 120
    strip = ""
    for i in range(width):
        begin, end = i * 120 // width, (i + 1) * 120 // width
        modes = set().union(*(slots[first + n] for n in range(begin, max(end, begin + 1))))
        strip += next((mark for mode, mark in (("PROBE_RTT", "R"), ("DRAIN", "D"), ("STARTUP", "S"), ("PROBE_BW", "B"))
                       if mode in modes), " ")
    return strip


def test_the_page_of_a_connection(terminal, bbrmon, recorded, utf8):
    path, events = recorded
    term = show(terminal, bbrmon, path, "--sort", "remote", height=30)
    second = rows_of(term.lines())[1].split()[0]
    assert len({row.split()[0] for row in rows_of(term.lines())[:-1]}) == CONNECTIONS
    conn = next(e["conn"] for e in events
                if second in (f"{e['remote']}:{e['rport']}", f"[{e['remote']}]:{e['rport']}"))
    last = [e for e in events if e["conn"] == conn][-1]
    term.type("Down", "Enter")
    lines = term.wait_for(lambda text: f"> {second}" in text and "legend" not in text and "-60s" in text,
                          "its page")
    text = "\n".join(lines)
    for piece in ("ENDED", f"cwnd {last['cwnd']} ", f"lost {last['lost']} ", f"delivered {last['delivered']}",
                  f"inflight {last['inflight']} ", f"rounds {last['rounds']} ", f"mss {last['mss_bytes']}"):
        assert piece in " ".join(line + " " for line in lines), piece
    drawn = {name: next(line for line in lines if line.startswith(name)) for name in ("mode", "recovery")
             if any(line.startswith(name + " " * (9 - len(name))) for line in lines)}
    assert set(drawn) == {"mode", "recovery"}
    strip = [line for line in lines if line.startswith("mode     ")][-1][9:]
    assert strip == strip_of(events, conn, 71).rstrip() and strip.strip()
    assert any(mark in text for mark in "▁▂▃▄▅▆▇█") and "b bw  p pacing" in text
    assert any(line.rstrip().endswith("ago  end") for line in lines)
    term.type("Escape")
    term.wait_for(lambda text: "connections " in text and second in text, "the list again")
    quit_top(term)


def is_page(lines, width, height):
    """True if this is the whole page, redrawn for this size. The time axis ends at the screen's edge."""
    times = [line for line in lines if "-60s" in line]
    return len(lines) == height and lines[-1].startswith("esc back") and lines[1].startswith("mode ") and \
        bool(times) == (height >= 24) and all(len(line) == width and line.endswith("now") for line in times)


def test_the_page_at_any_size(terminal, bbrmon, recorded, utf8):
    path, _ = recorded
    term = show(terminal, bbrmon, path)
    term.type("Enter")
    for width, height in (80, 24), (200, 60), (40, 6), (61, 19), (120, 40):
        term.resize(width, height)
        term.wait_for(lambda text, w=width, h=height: is_page(text.split("\n"), w, h), f"the page at {width}x{height}")
    quit_top(term)


def test_help(terminal, bbrmon, recorded, utf8):
    term = show(terminal, bbrmon, recorded[0])
    term.type("h")
    lines = term.wait_for(lambda text: "keys and columns" in text, "the help")
    assert max(map(len, lines)) <= 80
    term.type(*["Down"] * 50)
    lines = term.wait_for(lambda text: "\nline " in text, "its end, with each column")
    assert max(map(len, lines)) <= 80
    term.resize(40, 24)
    term.type(*["Down"] * 50)
    lines = term.wait_for(lambda text: "\nline      the last seconds; an arrow is\n          beyond the scale" in text, "it wrapped")
    term.type("Up")
    term.type("h")
    term.wait_for(lambda text: "REMOTE" in text, "the list")
    quit_top(term)


@pytest.mark.parametrize("environment, args, has_colour", [
    ({}, [], True), ({"NO_COLOR": "1"}, [], False), ({}, ["--no-colour"], False), ({}, ["--no-color"], False), ({"TERM": "vt100"}, [], False),
    ({"TERM": "linux"}, [], True), ({"TERM": "xterm"}, [], True)])
def test_colour(terminal, bbrmon, recorded, utf8, environment, args, has_colour):
    path, _ = recorded
    term = show(terminal, bbrmon, path, *args, **environment)
    assert rows_of(term.lines())[:-1] == last_rows(bbrmon, path, 80)
    term.type("Enter")
    term.wait_for(lambda text: "-60s" in text, "a page")
    assert bool(COLOUR.search(term.text("-e"))) == has_colour
    quit_top(term)


def test_without_utf8(terminal, bbrmon, recorded, monkeypatch):
    path, _ = recorded
    monkeypatch.setenv("LC_ALL", "C")
    term = show(terminal, bbrmon, path, LC_ALL="C")
    assert rows_of(term.lines())[:-1] == last_rows(bbrmon, path, 80)
    assert term.text().isascii()
    term.type("Enter")
    assert "\n".join(term.wait_for(lambda text: "-60s" in text, "a page")).isascii()
    quit_top(term)


@pytest.mark.parametrize("kind", ["dumb", "no_such_terminal"])
def test_terminals_that_cannot_do_it(terminal, bbrmon, recorded, kind):
    term = terminal(80, 24, TERM=kind)
    term.start(bbrmon.path, "top", "--read", recorded[0])
    assert term.status() == REFUSED
    assert kind in term.read("err") and "--batch" in term.read("err")
    assert term.read("after") == term.read("before")


@pytest.fixture
def watch(bbrctl, terminal, shared, ns):
    """Starts a tool's top in a terminal, with one connection that stays open."""
    listener = listen(ns)
    port = listener.getsockname()[1]
    transfer = Transfer(*connect(ns, listener, cc=shared), gap=0.02)

    def start(tool, **kwargs):
        term = terminal(**kwargs)
        term.start(tool.path, "top", "--name", shared, "--interval", "100ms")
        term.wait_for(lambda text: "connections 1 " in text and f":{port} " in text, "the connection")
        return term
    yield start
    transfer.stop()
    transfer.finish()
    wait_until(lambda: status_of(bbrctl, shared)["monitors"] == 0, "it has given back its place")


@pytest.fixture
def live(watch, bbrmon):
    return watch(bbrmon)


def number_after(text, word):
    words = text.replace(",", " ").split()
    return int(words[words.index(word) + 1])


def test_pause(live):
    """The rows do not change while events are still counted."""
    live.type("p")
    paused = rows_of(live.wait_for(lambda text: "PAUSED" in text, "that it is paused"))
    first = number_after(live.lines()[0], "PAUSED")
    live.wait_for(lambda text: number_after(text, "PAUSED") > first + 10, "events that are counted")
    assert rows_of(live.lines()) == paused
    live.type("r")
    assert rows_of(live.wait_for(lambda text: "reversed" in text, "that keys work"))[:-1] == paused[:-1]
    live.type("p")
    live.wait_for(lambda text: "PAUSED" not in text and rows_of(text.split("\n"))[:-1] != paused[:-1], "news")
    quit_top(live)


def test_the_interval_can_be_changed(live):
    live.type("+")
    live.type("-", "-")
    live.wait_for(lambda text: "drops" in text, "the list")
    live.resize(120, 24)
    live.wait_for(lambda text: "every 0.5s" in text, "the interval")
    live.type("+")
    live.wait_for(lambda text: "every 0.2s" in text, "the interval")
    quit_top(live)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_an_orderly_end(live, sig):
    if sig == signal.SIGINT:
        live.type("C-c")
    else:
        os.kill(live.program("bbrmon"), sig)
    assert live.status() == DONE
    assert "1 connection, " in live.read("err") and len(live.read("err").splitlines()) == 1
    assert not live.sanitizer_reports()
    wait_until(live.is_restored, "the terminal is as it was")


def test_it_can_be_stopped(live):
    """Ctrl-Z gives the terminal to the shell; fg takes it back."""
    live.type("C-z")
    live.wait_for(lambda text: "Stopped" in text, "that it is stopped")
    assert live.tmux("display-message", "-p", "#{alternate_on}").strip() == "0"
    live.type("echo still", "_here", "Enter")
    live.wait_for(lambda text: "\nstill_here" in text, "the shell's answer")
    live.type("fg", "Enter")
    live.wait_for(lambda text: "connections 1 " in text, "the list again")
    live.type("q")
    live.wait_for(lambda text: "still_here" in text, "the shell's screen")
    assert not live.sanitizer_reports()


def close_terminal(term):
    pid = term.program("bbrmon")
    term.kill_pane()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "bbrmon ends with its terminal", timeout=5)
    assert not term.sanitizer_reports()


def test_a_terminal_that_goes_away(watch, bbrmon):
    close_terminal(watch(bbrmon, leaks=False))


def test_a_terminal_that_goes_away_while_hangups_are_ignored(bbrctl, bbrmon, terminal, shared):
    """As with nohup: top ends at the end of its input, instead of reading on for ever."""
    term = terminal(leaks=False)
    term.start("sh", "-c", f"trap '' HUP; exec {bbrmon.path} top --name {shared}")
    term.wait_for(lambda text: "\nconnections " in text, "the list")
    close_terminal(term)
    wait_until(lambda: status_of(bbrctl, shared)["monitors"] == 0, "it has given back its place")


@pytest.mark.parametrize("sig", [signal.SIGSEGV, signal.SIGABRT])
def test_a_crash_gives_the_terminal_back(plain_bbrmon, terminal, recorded, sig):
    term = show(terminal, plain_bbrmon, recorded[0])
    os.kill(term.program("bbrmon"), sig)
    assert term.status() == 128 + sig
    wait_until(term.is_restored, "the terminal is as it was")


def test_messages_are_shown_and_kept(bbrctl, bbrmon, terminal, load, ns):
    """Messages do not disturb the screen, and are still there after it."""
    name = load()
    transfer = Transfer(*connect(ns, listen(ns), cc=name), gap=0.02)
    term = terminal(120, 24)
    # A shell in between: the terminal's own shell would take the terminal back when top is stopped.
    term.start_with_stderr("sh", "-c", f"{bbrmon.path} top --name {name}; exit $?")
    term.wait_for(lambda text: "\nconnections " in text, "the list")
    top = term.program("bbrmon")
    os.kill(top, signal.SIGSTOP)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 0, "its lease runs out")
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            other = bbrmon.start("stream", "--name", name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(other.wait)
            stack.callback(other.send_signal, signal.SIGINT)
        wait_until(lambda: status_of(bbrctl, name)["monitors"] == 8, "all places are taken")
        os.kill(top, signal.SIGCONT)
        lines = term.wait_for(lambda text: "monitor slots are in use" in text, "the message")
        assert "monitor slots" in lines[-1] and lines[0].startswith("bbrmon top"), "\n".join(lines)
    quit_top(term)
    transfer.stop()
    transfer.finish()
    text = term.wait_for(lambda text: "monitor slots are in use" in text, "the message after it")
    assert not any(line.startswith("bbrmon top") for line in text)


def test_a_list_before_all_is_read(plain_bbrmon, terminal, load, link, tmp_path):
    """A reading of many connections takes a while: meanwhile those that it has found are shown, and keys are read."""
    name, n, width, height = load(), 30000, 120, 40
    crowd = Crowd(link, n, [name])
    top = RawTerminal(plain_bbrmon.path, "top", "--name", name, rows=height, columns=width)
    try:
        _, got = top.wait_for(link.v4[1].encode())  # in the first row
    finally:
        top.close()
        crowd.close()
    (tmp_path / "got").write_bytes(got)
    screen = terminal(width=width, height=height)
    screen.start("sh", "-c", f"cat {tmp_path}/got; sleep 60")
    (count,) = re.findall(r"connections (\d+) ", "\n".join(screen.wait_for(lambda t: link.v4[1] in t, "the first row")))
    assert 0 < int(count) < n
