# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon experiment: the same answer live and from a file, and nothing is lost while it follows."""
import contextlib
import csv
import io
import json
import pathlib
import signal
import socket

import pytest

from experiments import Server, arms, new_name, short_connection
from exporter import Exporter
from system import wait_until
from test_experiment import client
from tool import NOTHING, USAGE, data_of
from transfer import Transfer, connect, listen

pytestmark = pytest.mark.machine_alone  # it watches all instances

AB = arms(old="cubic", new="reno")
CONNECTIONS = pathlib.Path(__file__).resolve().parents[2] / "unit/experiment/recorded_connections.csv"


class Sink(Server):
    """Reads all that each connection sends, then closes the connection."""

    def take(self, conn):
        with conn:
            while conn.recv(65536):
                pass


@pytest.fixture
def sink(ns):
    sink = Sink(ns, "127.0.0.1")
    yield sink
    sink.close()


def transfer(sink, size):
    """A transfer; both ends are closed in order, so the outcome is complete when this returns."""
    with socket.create_connection(("127.0.0.1", sink.port)) as sock:
        sock.sendall(bytes(size))
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(1) == b""


def transfers(ns, cgroup, sink, sizes):
    with client(ns, cgroup):
        for size in sizes:
            transfer(sink, size)


# So many give each arm enough for an interval, whatever is drawn: with 40 one arm once in a hundred runs had too few.
SIZES = [1000, 20_000, 200_000, 2_000_000] * 25
SAME = "name", "design", "drawn_by", "arms", "units", "n_units", "prefixes", "metrics", "curves"


def ended(bbrmon, name):
    return sum(arm["ended"] for arm in bbrmon.json("experiment", name)["arms"])


def test_live_and_from_a_file(bbrmon, experiments, ns, cgroup, sink, tmp_path):
    name, path, page = experiments.start(cgroup, *AB), tmp_path / "a.csv", tmp_path / "a.html"
    transfers(ns, cgroup, sink, SIZES)
    wait_until(lambda: ended(bbrmon, name) == len(SIZES), "all to have ended")
    live = bbrmon("experiment", name, "-j", "-w", path, "--html", page).json()
    assert live["design"] == "ab" and live["units"] == "connections" and live["prefixes"] == 1
    assert [arm["cc"] for arm in live["arms"]] == ["cubic", "reno"]
    assert sum(arm["connections"] for arm in live["arms"]) == len(SIZES) == live["outcomes"]
    assert live["overwritten"] == live["lost"] == live["open"] == 0
    assert "switchback" in live["warning"]
    metrics = {(m["metric"], m["size"]): m for m in live["metrics"]}
    assert metrics["rtt_min", "all"]["low"] is not None
    assert sum(metrics["rtt_min", "all"][arm]["connections"] for arm in ("control", "treated")) == len(SIZES)
    counts = [metrics["first_16k_p50", "all"][arm]["connections"] for arm in ("control", "treated")]
    assert sum(counts) == sum(size > 16_384 for size in SIZES)
    assert sum(metrics["timeouts", "1m"][arm]["connections"] for arm in ("control", "treated")) == SIZES.count(2_000_000)
    for m in live["metrics"]:
        assert (m["low"] is None) == (m["no_interval"] is not None)
        if m["verdict"]:
            assert m["low"] > 0 or m["high"] < 0
        elif m["low"] is not None:
            assert m["low"] <= 0 <= m["high"]

    again = bbrmon.json("experiment", path)
    assert {key: again[key] for key in SAME} == {key: live[key] for key in SAME}
    assert data_of(page.read_text())["metrics"] == live["metrics"]
    text = bbrmon("experiment", path).out
    assert "\nretransmitted " in text and name in text and live["warning"] in text
    assert "cubic" in bbrmon("experiment", name).out

    rows = list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))
    assert sorted(int(row["acked_bytes"]) for row in rows) == sorted(SIZES)
    assert {row["end"] for row in rows} == {"closed"}
    assert {row["remote"] for row in rows} == {"127.0.0.1"}
    assert {row["remote_port"] for row in rows} == {str(sink.port)}


def test_a_connection_that_spans_seams(bbrmon, experiments, ns, cgroup, tmp_path):
    """In a switchback it counts again in each block, from the end of the washout to the seam, with the block's arm."""
    outside, path, block, washout = listen(ns), tmp_path / "a.csv", 2_000_000_000, 500_000_000
    name = experiments.start(cgroup, *AB, "--design", "switchback", "--block", "2s", "--washout", "500ms")
    with client(ns, cgroup):
        ends = connect(ns, outside)
    running = Transfer(*ends, gap=0.02)
    wait_until(lambda: experiments.status(name)["outcomes"] >= 5, "some blocks to begin")
    running.stop()
    running.finish()
    for end in ends:
        end.close()
    wait_until(lambda: not bbrmon.json("experiment", name)["open"], "its end")
    bbrmon("experiment", name, "-w", path)
    rows = list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))
    counted, before = {}, [row for row in rows if row["continued"] == "1"]
    for options in ([], ["--continued"]):
        answer = bbrmon.json("experiment", path, *options)
        assert answer["continued"] == len(before) and answer["continued_counted"] == bool(options)
        assert answer["continued_acked_bytes"] == sum(int(row["acked_bytes"]) for row in before)
        (timeouts,) = [m for m in answer["metrics"] if m["metric"] == "timeouts" and m["size"] == "all"]
        counted[bool(options)] = timeouts["control"]["connections"] + timeouts["treated"]["connections"]
    assert counted == {False: len(rows) - len(before), True: len(rows)}
    assert f"Left out: {len(before)} parts of connections" in bbrmon("experiment", path).out
    assert f"Counted: {len(before)} parts of connections" in bbrmon("experiment", path, "--continued").out
    assert len(rows) >= 4 and len({row["connection"] for row in rows}) == 1
    assert [row["end"] for row in rows[:-1]] == ["seam"] * (len(rows) - 1) and rows[-1]["end"] != "seam"
    assert {row["continued"] for row in rows[1:]} == {"1"}
    assert [int(row["block"]) for row in rows] == list(range(int(rows[0]["block"]), int(rows[0]["block"]) + len(rows)))
    assert {row["arm"] for row in rows} == {"0", "1"}
    for row in rows:
        begin, last, of = int(row["begin_ns"]), int(row["last_ns"]), int(row["block"])
        assert of * block + washout <= begin < last < (of + 1) * block + washout
        assert int(row["acked_bytes"]) > 0 or row is rows[-1]  # it ended as soon as that block had begun
    assert all(int(a["last_ns"]) < int(b["begin_ns"]) for a, b in zip(rows, rows[1:]))


def test_files_that_are_other_ones(bbrmon, experiments, ns, cgroup, sink, tmp_path):
    name, path, other = experiments.start(cgroup, *AB), tmp_path / "a.csv", tmp_path / "b.csv"
    transfers(ns, cgroup, sink, SIZES[:8])
    wait_until(lambda: ended(bbrmon, name) == 8, "all to have ended")
    bbrmon("experiment", name, "-w", path)
    lines = path.read_text().splitlines(keepends=True)
    answer = bbrmon.json("experiment", path)["metrics"]
    head = next(i for i, line in enumerate(lines) if not line.startswith("#"))

    # A column and a key of a later version, and the columns in another order.
    read = list(csv.reader(line for line in lines if not line.startswith("#")))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [["later", *reversed(row)] if i == 0 else ["?", *reversed(row)] for i, row in enumerate(read)])
    other.write_text("# of_later=1\n" + "".join(line for line in lines if line.startswith("#")) + out.getvalue())
    assert bbrmon.json("experiment", other)["metrics"] == answer

    # The writer was killed.
    other.write_text("".join(lines)[:-20])
    cut = bbrmon.json("experiment", other)
    assert cut["cut_off"] and sum(arm["ended"] for arm in cut["arms"]) == 7
    assert "ends within a line" in bbrmon("experiment", other).out

    for wrong in (lines[:head], lines[1:], [*lines[:-1], "1,2,3\n"], [*lines, lines[-1].replace(",", ",x", 1)],
                  [line.replace("arms=2", "arms=9") for line in lines], [lines[0], lines[0].replace("=", "=x")],
                  [line.replace("timeouts", "timeout") for line in lines]):
        other.write_text("".join(wrong))
        assert str(other) in bbrmon("experiment", other, status=USAGE).err, wrong


def test_following_a_ring_that_goes_round(bbrmon, experiments, ns, cgroup, sink, tmp_path):
    name, path = experiments.start(cgroup, *AB, "--keep", 1024), tmp_path / "a.csv"
    bbrmon_runs = bbrmon.start("experiment", name, "--follow", "-w", path, "-j",
                               stdout=(tmp_path / "out").open("w"))
    n = 0
    with client(ns, cgroup):
        for _ in range(5):
            for _ in range(500):
                short_connection("127.0.0.1", sink.port)
            n += 500
            wait_until(lambda: path.exists() and path.read_text().count("\n") > n, "all to be in the file")
    experiments.bbrctl("experiment", "stop", name)
    assert bbrmon_runs.wait(30) == 0
    followed = json.loads((tmp_path / "out").read_text())
    assert sum(arm["ended"] for arm in followed["arms"]) == n and followed["overwritten"] == 0
    assert {key: bbrmon.json("experiment", path)[key] for key in SAME} == {key: followed[key] for key in SAME}


def test_what_was_overwritten_is_counted(bbrmon, experiments, ns, cgroup, sink):
    name = experiments.start(cgroup, *AB, "--keep", 1024)
    with client(ns, cgroup):
        for _ in range(1500):
            short_connection("127.0.0.1", sink.port)
    shown = bbrmon.json("experiment", name)
    assert shown["outcomes"] == 1500 and shown["overwritten"] == 476
    assert sum(arm["ended"] for arm in shown["arms"]) == 1024


def test_an_interrupt_ends_following(bbrmon, experiments, cgroup, tmp_path):
    name = experiments.start(cgroup, *AB)
    running = bbrmon.start("experiment", name, "-f", "-w", tmp_path / "a.csv")
    wait_until((tmp_path / "a.csv").exists, "the file")
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 0
    assert name in bbrmon("experiment", tmp_path / "a.csv").out


def test_export(bbrmon, experiments, ns, cgroup, sink, tmp_path):
    name = experiments.start(cgroup, *AB, "--share", "new=30%")
    with contextlib.closing(Exporter(bbrmon, tmp_path)) as exporter:
        exporter.close = exporter.kill
        exporter.scrape()
        transfers(ns, cgroup, sink, SIZES)
        s = exporter.wait_for(lambda s: s.sum("bbr_experiment_ended_connections_total", experiment=name) == len(SIZES),
                              "all have ended")
        assert s.sum("bbr_experiment_acked_bytes_total", experiment=name) == sum(SIZES)
        assert s.sum("bbr_experiment_failed_connections_total", experiment=name) == 0
        got = {x.labels["arm"]: x.value for x in s.of("bbr_experiment_connections_total", experiment=name)}
        assert got == experiments.counts(name)
        assert s.sum("bbr_experiment_share_ratio", experiment=name, arm="new") == 0.3
        assert not s.of("bbr_experiment_step", experiment=name)
        experiments.bbrctl("experiment", "pause", name)
        exporter.wait_for(lambda s: s.sum("bbr_experiment_paused", experiment=name) == 1, "it is paused")
        experiments.bbrctl("experiment", "stop", name)
        exporter.wait_for(lambda s: not s.of("bbr_experiment_paused", experiment=name), "it is gone")


def test_outputs_that_exclude_each_other(bbrmon, tmp_path):
    path, link, page = tmp_path / "a.csv", tmp_path / "link.csv", tmp_path / "a.html"
    path.write_bytes(CONNECTIONS.read_bytes())
    link.hardlink_to(path)
    for to in path, link:
        assert "would overwrite it" in bbrmon("experiment", path, "--html", to, status=USAGE).err
        assert path.read_bytes() == CONNECTIONS.read_bytes()
    for words in ("-j --html -", "-j -w -", "-w - --html -"):
        assert "stdout" in bbrmon("experiment", new_name(), *words.split(), status=USAGE).err
    for other in page, f"{tmp_path}/./a.html":
        assert "same file" in bbrmon("experiment", new_name(), "-w", other, "--html", page, status=USAGE).err
    assert not page.exists()
    json.loads(bbrmon("experiment", path, "-j", "--html", page).out)
    assert data_of(page.read_text())


def test_what_does_not_exist(bbrmon, tmp_path):
    assert "no experiment" in bbrmon("experiment", new_name(), status=NOTHING).err
    bbrmon("experiment", tmp_path / "none.csv", status=USAGE)
    (tmp_path / "a.csv").write_text("")
    bbrmon("experiment", tmp_path / "a.csv", status=USAGE)
    bbrmon("experiment", tmp_path / "a.csv", "--follow", status=USAGE)
