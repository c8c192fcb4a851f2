# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon export: what it counts, how Prometheus gets it, and hostile clients."""
import collections
import contextlib
import http.client
import itertools
import json
import pathlib
import random
import re
import signal
import socket
import ssl
import subprocess
import time

import pytest

import bpfmap
import system
from crowd import BYTES, Crowd
from cgroups import Cgroup
from experiments import Experiments, arms
from exporter import OPENMETRICS, Certificates, Exporter, Prometheus, Usage, basic, classic, holders
from system import run, wait_until
from tool import DONE, REFUSED, USAGE, Tool, status_of
from transfer import MB, Transfer, connect, listen, send_verified, set_cc

alone = pytest.mark.machine_alone  # what connections do; the others are about pages and passwords

ROOT = pathlib.Path(__file__).resolve().parents[3]
DASHBOARD = ROOT / "docs/grafana-dashboard.json"
MODES = ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]
RULES_TOLD, SERIES_MAX, NETNS_MAX = 100, 256, 32  # as the man page says
SERIES = {"bbr": 63, "bbr3": 118}  # of each instance, profile and namespace, as the man page says
SERIES_OF_GROUP = 7
SCRAPE_TIMEOUT = 10  # seconds, Prometheus' own
LEASE = 3  # seconds, of a monitor's subscription


@pytest.fixture
def export(bbrmon, bbrctl, tmp_path):
    """Starts `bbrmon export` on an instance, and returns when it is subscribed."""
    numbers = itertools.count()
    with contextlib.ExitStack() as stack:
        def start(name, *args, **kwargs):
            before = status_of(bbrctl, name)["monitors"]
            started = Exporter(bbrmon, tmp_path, "--name", name, *args, number=next(numbers), **kwargs)
            stack.callback(started.kill)
            wait_until(lambda: status_of(bbrctl, name)["monitors"] > before, "bbrmon subscribes")
            return started
        yield start


@pytest.fixture
def prometheus(tmp_path):
    with contextlib.ExitStack() as stack:
        def start(exporter, **options):
            started = Prometheus(tmp_path, exporter, **options)
            stack.callback(started.close)
            return started
        yield start


def ended(name, n=1):
    return lambda s: s.sum("bbr_connections_ended_total", bbr_instance=name) >= n


def pairs_of(events):
    """(first, last) event of each connection."""
    by_conn = collections.defaultdict(list)
    for e in events:
        by_conn[e["conn"]].append(e)
    return [(list_[0], list_[-1]) for list_ in by_conn.values()]


def lint(text):
    done = run("promtool", "check", "metrics", input=text, check=False)
    assert not done.returncode and not done.stderr and not done.stdout, done.stdout + done.stderr


@alone
def test_counters_are_what_the_stream_says(load, monitor, export, new_path):
    """Counters include losses, recoveries and PROBE_RTT, by a bottleneck with a short queue."""
    path = new_path(rate="20mbit", limit="30k")
    name = load("min_rtt_win=300ms", "probe_rtt_duration=50ms")
    stream, exporter = monitor(name, "--every", "1s"), export(name)
    for i in range(2):
        with listen(path.receiver, path.v4) as listener:
            sender, receiver = connect(path.sender, listener, cc=name)
            Transfer(sender, receiver, 4 * MB, seed=i).finish()
    stream.wait_for(lambda m: len(m.of("end")) >= 2, "the ends")
    s = exporter.wait_for(ended(name, 2), "the ends are counted")
    summary = stream.stop()
    assert summary["drops"]["total"] == 0 == s.sum("bbrmon_dropped_events_total")
    netns = path.sender.name
    own = {"bbr_instance": name, "profile": "default", "netns": netns}
    for metric, key in {"bbr_sent_bytes_total": "bytes_sent", "bbr_acked_bytes_total": "bytes_acked",
                        "bbr_retransmitted_bytes_total": "bytes_retrans",
                        "bbr_lost_packets_total": "lost"}.items():
        expected = sum(last[key] - first[key] for first, last in pairs_of(stream.events))
        assert expected > 0 and s.sum(metric, **own) == expected, metric
    assert s.sum("bbr_connections_started_total", **own) == 2 == s.sum("bbr_connections_ended_total", **own)
    entered = collections.Counter(e["to"] for e in stream.of("mode"))
    assert entered["PROBE_RTT"] > 0
    for mode in MODES:
        assert s.sum("bbr_mode_transitions_total", mode=mode, **own) == entered[mode]
    recoveries = [e for e in stream.of("recovery") if e["to"] == "recovery"]
    assert recoveries and s.sum("bbr_recoveries_total", **own) == len(recoveries)
    assert s.sum("bbr_retransmission_timeouts_total", **own) == len(stream.of("rto"))
    # From each connection's first event to its last, whatever the modes.
    lived = sum(last["time_ns"] - first["time_ns"] for first, last in pairs_of(stream.events))
    seconds = {mode: s.sum("bbr_mode_seconds_total", mode=mode, **own) for mode in MODES}
    assert sum(seconds.values()) == pytest.approx(lived / 1e9, abs=1e-6)
    assert seconds["PROBE_RTT"] > 0 and seconds["STARTUP"] > 0
    for kind in "start", "end", "mode", "recovery", "rto":
        assert s.sum("bbrmon_events_total", kind=kind) == summary["events"][kind], kind
    # The program's own count, which bbrmon reads twice a second.
    exporter.wait_for(lambda s: s.sum("bbrmon_acks_total") == summary["acks"], "all ACKs are told of")
    check_histograms(s, own, s.sum("bbrmon_events_total", kind="ack"))
    assert not s.sum("bbr_connections", bbr_instance=name)


def check_histograms(s, own, samples):
    for metric in "bbr_rtt_min_rtt_ratio", "bbr_bandwidth_bytes_per_second", "bbr_pacing_rate_bytes_per_second":
        buckets = [(float(b.labels["le"]), b.value) for b in s.of(f"{metric}_bucket", **own)]
        assert buckets == sorted(buckets) and buckets[-1][0] == float("inf")
        assert [n for _, n in buckets] == sorted(n for _, n in buckets)
        count = s.sum(f"{metric}_count", **own)
        assert 0 < count <= samples and buckets[-1][1] == count
        assert s.sum(f"{metric}_sum", **own) > 0
    assert s.sum("bbr_bandwidth_bytes_per_second_count", **own) == samples


@pytest.fixture(name="watched")
def _watched(monitor, export):
    """Sends over a path, while a stream and an exporter see each ACK. Returns them, and the metrics at the end."""
    def watch(path, name, size):
        every = "--every", "ack"
        stream, exporter = monitor(name, *every), export(name, *every)
        with listen(path.receiver, path.v4) as listener:
            sender, receiver = connect(path.sender, listener, cc=name)
            Transfer(sender, receiver, size).finish()
        stream.wait_for(lambda m: m.of("end"), "the end")
        s = exporter.wait_for(ended(name), "the end is counted")
        assert stream.stop()["drops"]["total"] == 0 == s.sum("bbrmon_dropped_events_total")
        return stream, exporter, s
    return watch


@alone
def test_sampled_values_are_those_of_the_stream(load, watched, new_path):
    """Each ACK, so that both see the same ones. To BBR a slow bottleneck with a short queue is a policer."""
    name = load()
    stream, _, s = watched(new_path(rate="4mbit", limit="4k"), name, 2 * MB)
    acks = stream.of("ack")
    rtts = [e["rtt_us"] / e["min_rtt_us"] for e in acks if e["rtt_us"] is not None and e["min_rtt_us"]]
    policers = ["off", *(e["policer"] for e in stream.events)]
    found = sum(now == "detected" != before for before, now in zip(policers, policers[1:]))
    assert s.sum("bbr_policer_detections_total", bbr_instance=name) == found > 0
    values = {
        "bbr_rtt_min_rtt_ratio": rtts,
        "bbr_bandwidth_bytes_per_second": [e["bw_bps"] / 8 for e in acks if e["bw_bps"]],
        "bbr_pacing_rate_bytes_per_second": [e["pacing_rate_bps"] / 8 for e in acks if e["pacing_rate_bps"]],
    }
    for metric, expected in values.items():
        assert s.sum(f"{metric}_count", bbr_instance=name) == len(expected) > 0, metric
        assert s.sum(f"{metric}_sum", bbr_instance=name) == pytest.approx(sum(expected), rel=1e-5), metric
        for bucket in s.of(f"{metric}_bucket", bbr_instance=name):
            le = float(bucket.labels["le"])
            assert bucket.value == sum(v <= le for v in expected), (metric, le)


def exchange(sender, receiver, size):
    """Sends size bytes over a connection that stays open."""
    chunk = bytes(50_000)
    for _ in range(size // len(chunk)):
        sender.sendall(chunk)
        left = len(chunk)
        while left:
            left -= len(receiver.recv(left))


def open_connection(ns, cc, address="127.0.0.1"):
    with listen(ns, address) as listener:
        return connect(ns, listener, cc=cc)


def close(*sockets):
    for sock in sockets:
        sock.close()


def alive(name, n):
    return lambda s: s.sum("bbr_connections", bbr_instance=name) == n


@alone
def test_the_past_of_a_connection_is_not_counted(load, export, ns):
    name = load()
    sender, receiver = open_connection(ns, name)
    exchange(sender, receiver, 8 * MB)
    exporter = export(name)
    s = exporter.wait_for(alive(name, 1), "it is found")
    assert s.sum("bbr_acked_bytes_total", bbr_instance=name) == 0 == s.sum("bbr_connections_started_total")
    exchange(sender, receiver, 2 * MB)
    close(sender, receiver)
    s = exporter.wait_for(ended(name), "its end is counted")
    assert 2 * MB <= s.sum("bbr_acked_bytes_total", bbr_instance=name) <= 2 * MB + 1  # the FIN
    assert s.sum("bbr_connections_started_total", bbr_instance=name) == 0


def counters(samples):
    """All samples that may only grow."""
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for s in samples.samples
            if s.name.endswith(("_total", "_bucket", "_count", "_sum"))}


def check_growth(before, after):
    old, new = counters(before), counters(after)
    assert set(old) <= set(new), "a counter has gone"
    assert not [(k, v, new[k]) for k, v in old.items() if new[k] < v], "a counter decreased"
    return after


@alone
def test_an_instance_tells_its_algorithm(load, export):
    one, three = load(), load(algorithm="bbr3")
    names = {one: "bbr", three: "bbr3"}
    s = export(one, "--name", three).wait_for(lambda s: all(s.of("bbr_instance_info", bbr_instance=name) for name in names),
                                              "both are found")
    for name, algorithm in names.items():
        (info,) = s.of("bbr_instance_info", bbr_instance=name)
        assert info.labels["algorithm"] == algorithm and info.labels["version"]


@alone
def test_version_3_has_its_bounds_and_no_policer(load, watched, new_path):
    name = load(algorithm="bbr3")
    stream, exporter, s = watched(new_path(rate="20mbit", limit="30k"), name, 4 * MB)
    lint(exporter.text(accept="text/plain"))
    for metric, key, unit in [("bw_hi_bytes_per_second", "bw_hi_bps", 8), ("bw_lo_bytes_per_second", "bw_lo_bps", 8),
                              ("inflight_hi_packets", "inflight_hi", 1), ("inflight_lo_packets", "inflight_lo", 1)]:
        expected = [e[key] / unit for e in stream.of("ack") if e[key]]
        assert s.sum(f"bbr_{metric}_count", bbr_instance=name) == len(expected) > 0, metric
        assert s.sum(f"bbr_{metric}_sum", bbr_instance=name) == pytest.approx(sum(expected), rel=1e-5), metric
        assert metric.endswith(s.families[f"bbr_{metric}"].unit)
    assert not s.of("bbr_policer_detections_total")
    assert len([x for x in s.samples if x.labels.get("bbr_instance") == name and "netns" in x.labels]) == SERIES["bbr3"]


@alone
def test_counters_outlive_connections_and_instances(bbrctl, bbrmon, load, export, ns):
    """An instance is unloaded while a connection uses it, and loaded again under the same name."""
    name = load()
    exporter = export(name)
    sender, receiver = open_connection(ns, name)
    exchange(sender, receiver, 2 * MB)
    first = exporter.wait_for(alive(name, 1), "the connection is found")
    bbrctl("unload", "--name", name)
    exchange(sender, receiver, 2 * MB)
    second = exporter.wait_for(lambda s: not s.of("bbr_instance_info", bbr_instance=name), "it is unloaded")
    assert check_growth(first, second).sum("bbr_connections", bbr_instance=name) == 1
    bbrctl("load", "--name", name)
    assert exporter.wait_for(lambda s: s.of("bbr_instance_info", bbr_instance=name), "it is loaded again")
    wait_until(lambda: status_of(bbrctl, name)["monitors"] > 0, "it is followed again")
    send_verified(ns, name, MB)
    third = check_growth(second, exporter.wait_for(ended(name), "the new one's end"))
    close(sender, receiver)
    last = check_growth(third, exporter.wait_for(ended(name, 2), "the old one's end"))
    # Each connection counts its FIN, and none its SYN, which came before.
    assert last.sum("bbr_acked_bytes_total", bbr_instance=name) == 5 * MB + 2
    assert last.sum("bbr_connections_started_total", bbr_instance=name) == 2
    assert not last.sum("bbr_connections", bbr_instance=name)


@alone
def test_a_switched_connection_counts_where_it_is(load, monitor, bbrmon, bbrctl, tmp_path, ns):
    one, other = load(), load()
    exporter = Exporter(bbrmon, tmp_path, "--name", one, "--name", other)
    try:
        for name in one, other:
            wait_until(lambda: status_of(bbrctl, name)["monitors"] > 0, "bbrmon subscribes")
        sender, receiver = open_connection(ns, one)
        exchange(sender, receiver, 2 * MB)
        set_cc(sender, other)
        exchange(sender, receiver, 3 * MB)
        close(sender, receiver)
        s = exporter.wait_for(ended(other), "the end")
        assert s.sum("bbr_acked_bytes_total", bbr_instance=one) == 2 * MB
        assert s.sum("bbr_acked_bytes_total", bbr_instance=other) == 3 * MB + 1
        for name in one, other:
            assert s.sum("bbr_connections_ended_total", bbr_instance=name) == 1
            assert s.sum("bbr_connections_started_total", bbr_instance=name) == 1
    finally:
        exporter.kill()


@alone
def test_the_kernels_own(load, bbrmon, tmp_path, ns):
    """bbrmon only reads the kernel's own bbr, so it counts what changed from one scrape to the next."""
    exporter = Exporter(bbrmon, tmp_path)
    try:
        own = {"bbr_instance": "bbr", "netns": ns.name, "profile": ""}
        listener = listen(ns, cc="reno")
        staying, ending = (connect(ns, listener, cc="bbr") for _ in range(2))
        exporter.wait_for(lambda s: s.sum("bbr_connections", **own) == 2, "they are found")
        exchange(*ending, 2 * MB)
        exporter.wait_for(lambda s: s.sum("bbr_acked_bytes_total", **own) == 2 * MB, "its bytes are counted")
        close(*ending)
        s = exporter.wait_for(lambda s: s.sum("bbr_connections", **own) == 1, "one has gone")
        assert s.sum("bbr_connections_ended_total", **own) == 1
        assert s.sum("bbr_mode_seconds_total", **own) > 0
        close(*staying)
    finally:
        exporter.kill()


@alone
def test_dropped_events_are_accounted_for(bbrctl, load, export, ns):
    """A ring of one page fills while bbrmon is stopped."""
    name = load()
    exporter = export(name, "--every", "ack", "--ring", "4k")
    sender, receiver = open_connection(ns, name)
    exporter.process.send_signal(signal.SIGSTOP)
    exchange(sender, receiver, 4 * MB)
    exporter.process.send_signal(signal.SIGCONT)
    s = exporter.wait_for(lambda s: s.sum("bbrmon_dropped_events_total", kind="ack") > 0, "drops are counted")
    exchange(sender, receiver, MB)
    close(sender, receiver)

    def accounted(s):
        acks = s.sum("bbrmon_events_total", kind="ack") + s.sum("bbrmon_dropped_events_total", kind="ack") + \
            s.sum("bbrmon_dropped_events_total", kind="unknown")
        return acks == s.sum("bbrmon_acks_total") > 0
    check_growth(s, exporter.wait_for(accounted, "each ACK was received or dropped"))


@alone
def test_a_lost_end_is_noticed(bbrctl, load, export, ns):
    """The end event was dropped, but the next reading of all connections shows that this one is gone."""
    name = load()
    exporter = export(name, "--ring", "4k", "--every", "ack")
    watched = open_connection(ns, name)
    others = [open_connection(ns, name) for _ in range(2)]
    exporter.wait_for(alive(name, 3), "they are found")
    exporter.process.send_signal(signal.SIGSTOP)
    exchange(*others[0], 4 * MB)  # the ring is full
    close(*watched)
    exporter.process.send_signal(signal.SIGCONT)
    exporter.wait_for(lambda s: s.sum("bbrmon_dropped_events_total", kind="end") == 1, "the end was dropped")
    s = exporter.wait_for(ended(name), "the end is noticed")
    assert s.sum("bbr_connections", bbr_instance=name) == 2


@alone
def test_time_that_nobody_watched(bbrctl, load, export, ns):
    """
    Unwatched time counts for no mode, because the mode is unknown. The program goes on to watch for a stopped exporter until
    its lease has run out.
    """
    name = load()
    exporter = export(name)
    watching = status_of(bbrctl, name)["monitors"]
    began = time.monotonic()
    sender, receiver = open_connection(ns, name)
    exporter.wait_for(alive(name, 1), "it is found")
    exporter.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: pathlib.Path(f"/proc/{exporter.process.pid}/stat").read_text().split()[2] == "T", "it stops")
    stopped = time.monotonic()

    def nobody_watches():
        exchange(sender, receiver, 50_000)  # the program checks the lease when it runs
        return status_of(bbrctl, name)["monitors"] < watching and time.monotonic() - stopped > LEASE + 1
    wait_until(nobody_watches, "the lease runs out")
    gap = time.monotonic() - stopped
    exporter.process.send_signal(signal.SIGCONT)
    s = exporter.wait_for(lambda s: s.sum("bbrmon_unwatched_seconds_total") > 0, "it was not watched")
    lived = time.monotonic() - began
    assert 0 < s.sum("bbr_mode_seconds_total", bbr_instance=name) < lived - (gap - LEASE)


@alone
def test_rules(bbrctl, load, export, ns, cgroups, write_rules):
    """Rules by address, port, mark and cgroup: the first match counts. There are more rules than get their own series."""
    name = load()
    cgroups.make("a")
    cgroups.make("a/b")
    bbrctl("profile", "add", "p", "bw_win=12", "--name", name)
    exporter = export(name)
    listeners = [listen(ns, a) for a in ("127.0.0.1", "127.0.0.2", "127.0.0.3", "::1")]
    ports = [str(li.getsockname()[1]) for li in listeners]
    rules = [["--dst", "127.0.0.1/32", "--dport", ports[0]], ["--mark", "7"],
             ["--cgroup", cgroups.path("a")], ["--dst", "::/0", "--dport", ports[3]], ["--dst", "127.0.0.0/24"]]
    rules = [f"{' '.join(rule)} --profile 1" for rule in rules]
    rules += [f"--dport {i + 1} --profile 0" for i in range(RULES_TOLD)]
    write_rules(name, [*rules, "--dst 127.1.0.0/16 --profile 0"])
    pairs = [connect(ns, listeners[0], cc=name), connect(ns, listeners[1], cc=name), connect(ns, listeners[3], cc=name)]
    with cgroups.entered("a/b"):
        pairs.append(connect(ns, listeners[1], cc=name))
    for mark in 7, 7:
        pairs.append(connect_marked(ns, listeners[1], name, mark))
    with listen(ns, "127.1.0.1") as late, listen(ns, "127.2.0.1") as none:
        pairs += [connect(ns, late, cc=name), connect(ns, none, cc=name), connect(ns, none, cc=name)]
    s = exporter.wait_for(alive(name, len(pairs)), "all are found")
    told = {(r.labels["rule"], r.labels["profile"]): r.value for r in s.of("bbr_rule_connections", bbr_instance=name)}
    assert len(told) == RULES_TOLD + 3  # other, unknown, none
    assert {k: v for k, v in told.items() if v} == {
        ("1", "p"): 1, ("2", "p"): 2, ("3", "p"): 1, ("4", "p"): 1, ("5", "p"): 1,
        ("other", "other"): 1, ("none", "default"): 2}
    for rule, mark in (("2", True), ("1", False)):
        tested = bbrctl.json("rule", "test", "127.0.0.1", "--dport", ports[0 if not mark else 1], "--name", name,
                             *(["--mark", "7"] if mark else []))
        assert str(tested["rule"]) == rule
    # A connection has the profile by the rules at its start; the metric follows the rules of now.
    bbrctl("rule", "flush", "--name", name)
    s = exporter.wait_for(lambda s: len(s.of("bbr_rule_connections", bbr_instance=name)) == 1, "no rules")
    assert s.sum("bbr_rule_connections", rule="none", bbr_instance=name) == len(pairs)
    assert s.sum("bbr_connections", bbr_instance=name, profile="p") == 6


def connect_marked(ns, listener, name, mark):
    with ns.entered():
        sock = socket.socket()
    set_cc(sock, name)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
    sock.connect(listener.getsockname())
    return sock, listener.accept()[0]


@alone
def test_groups(load, export, new_path, cgroups):
    """What the connections of each cgroup send, resend and wait for, and of those that no reading saw."""
    path, name = new_path(limit="30k"), load()
    exporter = export(name, "--by", "cgroup")
    listener = listen(path.receiver, path.v4)
    narrow = listen(path.receiver, path.v4)
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 6000)
    cgroups.make("one")
    with cgroups.entered(""):
        pairs = [connect(path.sender, listener, cc=name) for _ in range(2)]
    with cgroups.entered("one"):
        limited = connect(path.sender, narrow, cc=name)
    first, second = cgroups.path(""), cgroups.path("one")
    exporter.wait_for(lambda s: s.sum("bbr_group_connections", group=first) == 2 and
                      s.sum("bbr_group_connections", group=second) == 1, "both cgroups")
    transfers = [Transfer(*pair, MB) for pair in (*pairs, limited)]
    wait_until(lambda: transfers[2].received > 100_000, "the narrow one is under way")
    # How large its share is depends on when the receiver gets the CPU.
    s = exporter.wait_for(lambda s: s.sum("bbr_group_busy_seconds_total", group=second) >=
                          s.sum("bbr_group_rwnd_limited_seconds_total", group=second) > 0, "what limits it")
    assert s.sum("bbr_group_rwnd_limited_seconds_total", group=first) == 0
    for transfer in transfers:
        transfer.finish()
    send_verified(path.sender, name, MB, address="127.0.0.1")
    s = exporter.wait_for(lambda s: s.sum("bbr_connections_ended_total", bbr_instance=name) == 4, "the ends")
    # A FIN counts as a byte that was ACKed.
    assert 0 <= s.sum("bbr_group_acked_bytes_total", by="cgroup", group=first) - 2 * MB <= 2
    assert 0 <= s.sum("bbr_group_acked_bytes_total", by="cgroup", group=second) - MB <= 1
    for metric in "sent", "acked", "retransmitted":
        assert s.sum(f"bbr_group_{metric}_bytes_total") == s.sum(f"bbr_{metric}_bytes_total")
    assert not s.sum("bbr_group_connections") and not s.sum("bbr_group_sndbuf_limited_seconds_total", group=second)
    lint(exporter.text(accept="text/plain"))


@alone
def test_cardinality_is_bounded(bbrctl, bbrmon, load, new_ns, write_rules, tmp_path):
    """300 connections of 20 profiles of 2 instances in 40 namespaces: more than the metrics distinguish."""
    names = [load() for _ in range(2)]
    profiles = ["default", *(f"p{i}" for i in range(1, 10))]
    spaces = [new_ns() for _ in range(40)]
    listeners = {}
    for name in names:
        with bpfmap.profiles(system.maps_of_program(status_of(bbrctl, name)["prog_id"])) as mapped:
            for i, profile in enumerate(profiles):
                mapped.copy_profile(0, i)
                mapped.set_name(i, profile)
        write_rules(name, [f"--dst 127.0.0.{i + 1}/32 --profile {i}" for i in range(len(profiles))])
    for ns in spaces:
        for i in range(len(profiles)):
            listeners[ns, i] = listen(ns, f"127.0.0.{i + 1}", backlog=64)
    exporter = Exporter(bbrmon, tmp_path, *itertools.chain(*(("--name", n) for n in names)), "--by", "netns", "--largest", "5")
    try:
        kinds = itertools.cycle(itertools.product(range(len(profiles)), names))
        for n, (i, name) in zip(range(300), kinds):
            ns = spaces[(n * 7 + n // 40) % 40]
            connect(ns, listeners[ns, i], cc=name)
        s = exporter.wait_for(lambda s: s.sum("bbr_connections") == 300, "all are found")
        netns = {x.labels["netns"] for x in s.of("bbr_connections")}
        assert len(netns) == NETNS_MAX + 1 and "other" in netns
        series = {tuple(x.labels[k] for k in ("bbr_instance", "profile", "netns")) for x in s.of("bbr_connections")}
        assert len(series) == SERIES_MAX and ("other", "other", "other") in series
        assert s.sum("bbr_connections_started_total") == 300
        per_series = collections.Counter(x.labels.get("bbr_instance") for x in s.samples if "netns" in x.labels)
        assert sum(per_series.values()) == SERIES_MAX * SERIES["bbr"]
        groups = s.of("bbr_group_connections", by="netns")
        assert len(groups) == 6 and sum(g.value for g in groups) == 300 and "other" in {g.labels["group"] for g in groups}
        assert sum("group" in x.labels for x in s.samples) == 6 * SERIES_OF_GROUP
        rules = s.of("bbr_rule_connections")
        assert sum(r.value for r in rules) == 300 and len(rules) == len(names) * (len(profiles) + 1)
        lint(exporter.text(accept="text/plain"))
    finally:
        exporter.kill()


@alone
def test_many(plain_bbrmon, load, link, tmp_path):
    """Twice 5,000 connections come and go: all are counted, and no memory stays behind."""
    name, n, memory_kb = load(), 5000, []
    exporter = Exporter(plain_bbrmon, tmp_path, "--name", name)
    try:
        for i in 1, 2:
            crowd = Crowd(link, n, [name])
            try:
                s = exporter.wait_for(lambda s: s.sum("bbr_acked_bytes_total", bbr_instance=name) == i * n * BYTES,
                                      "all bytes are counted")
                assert s.sum("bbr_connections_started_total", bbr_instance=name) == i * n
                assert alive(name, n)(s)
                assert s.sum("bbrmon_reading_complete") == 1
            finally:
                crowd.close()
            s = exporter.wait_for(alive(name, 0), "all have gone")
            assert s.sum("bbr_connections_ended_total", bbr_instance=name) == i * n
            assert not s.sum("bbrmon_dropped_events_total")
            memory_kb.append(Usage(exporter.process.pid).rss)
        assert memory_kb[1] - memory_kb[0] < 512  # 5,000 take 1,000 kB
        exporter.stop()
    finally:
        exporter.kill()


@alone
def test_both_formats(load, export, ns):
    name = load()
    exporter = export(name)
    send_verified(ns, name)
    s = exporter.wait_for(ended(name), "the end is counted")
    assert s.families["bbr_acked_bytes"].unit == "bytes" and s.families["bbr_mode_seconds"].unit == "seconds"
    assert {f.type for f in s.families.values()} == {"counter", "gauge", "histogram", "info"}
    assert all(f.documentation for f in s.families.values())
    status, headers, text = exporter.request("GET", "/metrics", {"Accept": OPENMETRICS})
    assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("\n# EOF\n")
    for accept in "", "*/*", "text/plain", "application/openmetrics-text;q=0", "application/openmetrics-text;version=2.0.0":
        status, headers, text = exporter.request("GET", "/metrics", {"Accept": accept})
        assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", accept
        assert "# EOF" not in text and "# UNIT" not in text
        lint(text)
    old = {(x.name, tuple(sorted(x.labels.items()))): x.value for f in classic(text) for x in f.samples}
    new = exporter.scrape()
    assert {(x.name, tuple(sorted(x.labels.items()))) for x in new.samples} == set(old)


def test_other_pages(load, export):
    exporter = export(load())
    status, headers, text = exporter.request("GET", "/")
    assert status == 200 and "text/html" in headers["Content-Type"] and 'href="/metrics"' in text
    assert exporter.request("GET", "/metricsx")[0] == 404 == exporter.request("GET", "/../etc/passwd")[0]
    for method in "POST", "PUT", "DELETE", "OPTIONS", "NONSENSE":
        status, headers, _ = exporter.request(method, "/metrics", body="x" * 100_000 if method == "PUT" else None)
        assert status == 405 and headers["Allow"] == "GET, HEAD", method
    status, headers, text = exporter.request("HEAD", "/metrics")
    assert status == 200 and int(headers["Content-Length"]) > 0 and not text


def first_line(sock):
    try:
        return sock.makefile("rb").readline()
    except ConnectionResetError:
        return b""


def test_clients_that_send_nonsense(load, export):
    exporter = export(load())
    for sent in (b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
                 b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n",
                 b"".join(b"GET /%d HTTP/1.1\r\n" % i for i in range(10_000)),
                 b"\0\1\2\3\xff\xfe\r\n\r\n", b"GET /metrics HTTP/9.9\r\nHost: x\r\n\r\n",
                 b"GET\r\n\r\n", b"\r\n" * 50_000, random.Random(1).randbytes(100_000)):
        with exporter.connect() as sock:
            with contextlib.suppress(ConnectionError):
                sock.sendall(sent)
            line = first_line(sock)
            assert not line or re.match(rb"HTTP/1\.[01] [45]\d\d ", line), (sent[:40], line)
        assert exporter.request("GET", "/")[0] == 200


@alone
def test_slow_clients_hold_up_nobody(bbrctl, load, export, ns):
    """More clients than may connect say nothing, and one does not read. The ring is read all the time."""
    name = load()
    exporter = export(name)
    with contextlib.ExitStack() as stack:
        reader = stack.enter_context(exporter.connect())
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        silent = [stack.enter_context(exporter.connect()) for _ in range(20)]
        for sock in silent[::2]:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHos")
        send_verified(ns, name, 4 * MB)
        # bbrmon cuts them off one after the other, and then answers us.
        s = exporter.wait_for(ended(name), "the end is counted")
        assert s.sum("bbrmon_dropped_events_total") == 0 == s.sum("bbrmon_unwatched_seconds_total")
        assert all(first_line(sock) == b"" or b" 408 " in first_line(sock) for sock in silent[:16:2])


@alone
@pytest.mark.parametrize("listen,from_,what", [
    ("127.0.0.1:0", "same", "idle"), ("0.0.0.0:0", "many", "half"), ("[::1]:0", "same", "deaf")])
def test_thousands_that_hold_connections(plain_bbrmon, load, tmp_path, ns, listen, from_, what):
    """
    A scrape succeeds within the time that Prometheus gives it, by a client that comes while others hold all connections,
    from its own address and from others. The client sends its request before 128 others have connected from its address, or it
    would lose its place: so it does not wait for a CPU. Descriptors are bounded.
    """
    tool = Tool(plain_bbrmon.path, ns.command("prlimit", "--nofile=1024"))
    exporter = Exporter(tool, tmp_path, "--name", load(), listen=listen)
    with contextlib.ExitStack() as stack:
        stack.callback(exporter.kill)
        with ns.entered():
            exporter.text()
        holder = stack.enter_context(holders(ns, exporter, 3000, from_, what))
        for _ in range(5):
            with ns.entered(), system.promptly():
                assert exporter.request("GET", "/metrics", timeout=SCRAPE_TIMEOUT)[0] == 200
            assert len(list(pathlib.Path(f"/proc/{exporter.process.pid}/fd").iterdir())) < 400
            time.sleep(0.5)
        assert holder.stdout.readline() == "held\n"
        with ns.entered(), system.promptly():
            assert exporter.request("GET", "/metrics", timeout=SCRAPE_TIMEOUT)[0] == 200
        exporter.stop()


SECRET = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"  # of "secret"
WEB_CONFIG = f"""\
tls_server_config:
  cert_file: tls/server.crt
  key_file: tls/server.key
basic_auth_users:
  prometheus: {SECRET}
"""


def write_private(path, text):
    path.touch(0o600)
    path.write_text(text)
    return path


@pytest.fixture(name="certificates")
def _certificates(tmp_path):
    made = Certificates(tmp_path / "tls")
    made.make("server", "serverAuth")
    return made


def test_tls_and_passwords(load, export, tmp_path, certificates):
    """The configuration that Prometheus' exporters share. What it names is read again when it changes."""
    web = write_private(tmp_path / "web.yml", WEB_CONFIG)
    exporter = export(load(), "--web-config", web)
    assert exporter.url.startswith("https://127.0.0.1:") and not exporter.errors()
    tls, right = certificates.client(), basic("prometheus", "secret")
    status, headers, text = exporter.request("GET", "/metrics", tls=tls)
    assert status == 401 and headers["WWW-Authenticate"].startswith("Basic ") and "bbr" not in text
    assert exporter.request("GET", "/metrics", right, tls=tls)[0] == 200
    for headers in basic("prometheus", "Secret"), basic("other", "secret"), {"Authorization": "Basic !"}, {"Authorization": "Bearer x"}:
        wait_until(lambda h=headers: exporter.request("GET", "/metrics", h, tls=tls)[0] == 401, "it is refused")
    # The right password is known: it is let in, however many wrong ones are being tried.
    for i in range(50):
        assert exporter.request("GET", "/metrics", basic("prometheus", f"guess{i}"), tls=tls)[0] in (401, 429)
        assert exporter.request("GET", "/metrics", right, tls=tls)[0] == 200
    with pytest.raises((ConnectionError, http.client.BadStatusLine)):
        exporter.request("GET", "/metrics", right)  # without TLS
    old = certificates.client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert exporter.request("GET", "/", right, tls=old)[0] == 200

    web.write_text("basic_auth_users: {}\n")  # a mistake changes nothing
    wait_until(lambda: "names no user" in exporter.errors(), "it says what is wrong")
    assert exporter.errors().count("\n") == 2 and "is still used" in exporter.errors()
    assert exporter.request("GET", "/metrics", right, tls=tls)[0] == 200
    certificates.make("client", "clientAuth")
    certificates.make("wrong", "serverAuth")
    before = pathlib.Path(certificates.cert("server")).read_text()
    certificates.make("server", "serverAuth", "server2")
    with exporter.connect():  # this one belongs to the server that ends
        web.write_text(WEB_CONFIG.replace("key_file", "client_auth_type: RequireAndVerifyClientCert\n"
                                          "  client_ca_file: tls/ca.crt\n  min_version: TLS13\n  key_file"))
        wait_until(lambda: exporter.request("GET", "/metrics", right, tls=tls)[0] == 403, "it wants a certificate")
    assert ssl.get_server_certificate(exporter.address).strip() not in before
    assert exporter.request("GET", "/metrics", right, tls=certificates.client("wrong"))[0] == 403
    assert exporter.request("GET", "/metrics", right, tls=certificates.client("client"))[0] == 200
    assert exporter.request("GET", "/metrics", tls=certificates.client("client"))[0] == 401
    with pytest.raises(ssl.SSLError):
        exporter.request("GET", "/", right, tls=old)
    exporter.stop()


def test_prometheus_with_tls_and_a_password(load, export, prometheus, tmp_path, certificates):
    exporter = export(load(), "--web-config", write_private(tmp_path / "web.yml", WEB_CONFIG))
    server = prometheus(exporter, scheme="https", tls_config={"ca_file": certificates.cert("ca")},
                        basic_auth={"username": "prometheus", "password": "secret"})
    server.wait_for("up", 1)


def test_web_config_that_is_wrong(bbrmon, load, tmp_path, certificates):
    def refused(text):
        write_private(tmp_path / "web.yml", text)
        return bbrmon("export", "--name", name, "--listen", "127.0.0.1:0", "--web-config", tmp_path / "web.yml", status=USAGE).err

    name = load()
    assert "web.yml: line 2: bbrmon does not know cert_files" in refused("tls_server_config:\n  cert_files: x\n")
    certificates.make("other", "serverAuth")
    assert "cert_file and key_file" in refused(WEB_CONFIG.replace("server.key", "other.key"))
    assert "cert_file and key_file" in refused(WEB_CONFIG.replace("server.key", "server.crt"))
    assert "client_ca_file" in refused(WEB_CONFIG.replace("key_file", "client_auth_type: VerifyClientCertIfGiven\n"
                                                          "  client_ca_file: tls/server.key\n  key_file"))
    (tmp_path / "web.yml").unlink()
    assert "No such file" in bbrmon("export", "--name", name, "--web-config", tmp_path / "web.yml", status=USAGE).err


def test_a_door_that_is_open(load, export, tmp_path, certificates):  # pylint: disable=unused-argument
    """It says so when other machines can connect, and what is missing."""
    name = load()
    said = "--listen {}: other machines can connect, and there is no {}\n"
    assert export(name).errors() == export(name, listen="[::1]:0").errors() == ""
    for listen in "0.0.0.0:0", "[::]:0":
        assert said.format(listen, "encryption and no password") in export(name, listen=listen).errors()
    users = write_private(tmp_path / "users.yml", f"basic_auth_users: {{a: {SECRET}}}\n")
    tls = write_private(tmp_path / "tls.yml", WEB_CONFIG.split("basic")[0])
    web = write_private(tmp_path / "web.yml", WEB_CONFIG)
    for file, missing in (users, "encryption"), (tls, "password"):
        assert said.format("0.0.0.0:0", missing) in export(name, "--web-config", file, listen="0.0.0.0:0").errors()
    assert export(name, "--web-config", web, listen="0.0.0.0:0").errors() == ""
    pathlib.Path(certificates.key("server")).chmod(0o644)
    assert "server.key has secrets, and every user" in export(name, "--web-config", web).errors()


@alone
def test_it_ends_and_leaves_nothing(bbrctl, load, export):
    name = load()
    for sig in signal.SIGTERM, signal.SIGINT:
        before = status_of(bbrctl, name)["monitors"]
        exporter = export(name)
        with exporter.connect():
            exporter.stop(sig)
        wait_until(lambda: status_of(bbrctl, name)["monitors"] == before, "its place is free")
        with pytest.raises(ConnectionRefusedError):
            exporter.connect()


@alone
def test_where_it_listens(bbrmon, load, export):
    name = load()
    exporter = export(name, listen="[::1]:0")
    assert exporter.url.startswith("http://[::1]:") and exporter.scrape().of("bbrmon_build_info")
    taken = exporter.address[1]
    err = bbrmon("export", "--listen", f"[::1]:{taken}", status=REFUSED).err
    assert f"--listen [::1]:{taken}: cannot listen on this address: Address already in use" in err and "ss -tlnp" in err
    for wrong in "127.0.0.1:65536", "9000", "127.0.0.1", "127.0.0.1:", ":9000", "::1:9000", "localhost:9000", "127.0.0.1:http", "1.2.3.4.5:1", "[]:1":
        assert wrong in bbrmon("export", "--listen", wrong, status=USAGE).err
    assert "ip address" in bbrmon("export", "--listen", "192.0.2.1:9000", status=REFUSED).err
    for args in [], ["--once"]:
        bbrmon("export", "--name", "bbrt_none", *args, status=3)
    bbrmon("export", "--every", "sometimes", status=USAGE)


@alone
def test_once(bbrmon, load, ns):
    """For the textfile collector: the metrics that need no watching."""
    name = load()
    pair = open_connection(ns, name)
    text = bbrmon("export", "--once", "--name", name).out
    lint(text)
    families = {f.name: f for f in classic(text)}
    assert sum(x.value for x in families["bbr_connections"].samples) == 1
    assert families["bbr_connections"].samples[0].labels["netns"] == ns.name
    # The kernel counts what experiments do, whether anybody watches or not.
    assert not [f for f in families.values() if f.type == "counter" and not f.name.startswith("bbr_experiment_")]
    close(*pair)


@alone
def test_an_expression(bbrmon, load, ns):
    """Exports only the connections that match an expression."""
    name = load()
    pairs = [open_connection(ns, name) for _ in range(3)]
    port = pairs[0][0].getsockname()[1]

    def connections(*args):
        families = {f.name: f for f in classic(bbrmon("export", "--once", "--name", name, *args).out)}
        return sum(x.value for x in families["bbr_connections"].samples)
    assert connections() == 3
    assert connections("--lport", port) == connections(f"sport = {port}") == 1
    assert connections(f"not sport = {port}") == 2
    assert connections(f"sport = {port} and mode = PROBE_RTT") == 0
    for pair in pairs:
        close(*pair)


@alone
def test_of_a_recording(bbrctl, bbrmon, load, ns, tmp_path):
    """The metrics at the recording's end. The namespaces of another machine have no names here."""
    name = load("min_rtt_win=300ms", "probe_rtt_duration=50ms")
    file = tmp_path / "recording"
    before = status_of(bbrctl, name)["monitors"]
    record = bbrmon.start("record", "--name", name, "--every", "ack", "-o", file, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] > before, "bbrmon records")
    pair = open_connection(ns, name)
    exchange(*pair, MB)
    send_verified(ns, name, 4 * MB)
    wait_until(lambda: status_of(bbrctl, name)["users"] == 1, "the other is closed")
    record.send_signal(signal.SIGINT)
    assert record.wait(60) == DONE, record.stderr.read()
    record.stderr.close()
    events = [json.loads(line) for line in bbrmon("stream", "-j", "--read", file).out.splitlines()]
    events = [e for e in events if "event" in e]
    text = bbrmon("export", "--read", file).out
    lint(text)
    families = {f.name: f for f in classic(text)}
    expected = sum(last["bytes_acked"] - first["bytes_acked"] for first, last in pairs_of(events))
    (acked,) = families["bbr_acked_bytes"].samples
    assert acked.value == expected and acked.labels["netns"] == str(ns.inode)
    assert sum(x.value for x in families["bbr_connections"].samples) == 1
    kinds = {x.labels["kind"]: x.value for x in families["bbrmon_events"].samples}
    assert kinds["ack"] == sum(e["event"] == "ack" for e in events)
    # Exactly, as all times are in the recording.
    modes = collections.Counter()
    for list_ in ([e for e in events if e["conn"] == c] for c in {e["conn"] for e in events}):
        until = list_[-1]["time_ns"] if list_[-1]["event"] == "end" else events[-1]["time_ns"]
        for e, after in zip(list_, [*(x["time_ns"] for x in list_[1:]), until]):
            modes[e["mode"]] += after - e["time_ns"]
    for x in families["bbr_mode_seconds"].samples:
        assert x.value == pytest.approx(modes[x.labels["mode"]] / 1e9, abs=1e-6), x
    close(*pair)


@pytest.fixture
def canary(bbrctl):
    """An experiment with everything that an experiment can have."""
    cgroup, running = Cgroup(), Experiments(bbrctl)
    running.start(cgroup, *arms(old="cubic", new="reno"), "--design", "canary", "--guard", "retransmitted < 1.2x")
    yield
    running.close()
    cgroup.delete()


def dashboard():
    """(expression, legend) of all panels, with the dashboard's variables filled in."""
    board = json.loads(DASHBOARD.read_text())
    found = [(t["expr"], t["legendFormat"]) for p in board["panels"] for t in p.get("targets", [])]
    assert len(found) > 20
    for variable in board["templating"]["list"]:
        found = [(e.replace(f"${variable['name']}", ".*"), legend) for e, legend in found]
    found = [(e.replace("$__rate_interval", "30s"), legend) for e, legend in found]
    assert not [e for e, _ in found if "$" in e]
    return found


def names_in(expression):
    """({metric: labels of its selector}, labels of the groupings)"""
    expression = re.sub(r'"[^"]*"', '""', expression)
    grouped = set()

    def take_group(match):
        grouped.update(re.findall(r"\w+", match[1]))
        return " "
    expression = re.sub(r"\b(?:by|ignoring|on|without)\s*\(([^)]*)\)", take_group, expression)
    metrics = {}

    def take_metric(match):
        metrics.setdefault(match[1], set()).update(re.findall(r"(\w+)\s*[=!]", match[2] or ""))
        return " "
    rest = re.sub(r"\b(bbr\w*)(?:\{([^}]*)\})?", take_metric, expression)
    rest = re.sub(r"\[30s\]", " ", rest)
    assert set(re.findall(r"[a-z]\w*", rest)) <= {"sum", "rate", "increase", "histogram_quantile", "group_left"}, rest
    assert metrics, expression
    return metrics, grouped


def check_dashboard(samples):
    """The dashboard uses only what exists."""
    labels = collections.defaultdict(set)
    for s in samples.samples:
        labels[s.name] |= set(s.labels)
    used = set()
    for expression, legend in dashboard():
        metrics, grouped = names_in(expression)
        assert set(metrics) <= set(labels), expression
        for metric, selected in metrics.items():
            assert selected <= labels[metric] | {"instance"}, expression  # Prometheus adds it
        known = set().union(*(labels[m] for m in metrics))
        assert grouped <= known and set(re.findall(r"{{(\w+)}}", legend)) <= known, expression
        used |= {re.sub(r"_(bucket|sum|count)$", "", m) for m in metrics}
    # Every metric is in one of its panels.
    assert used == {re.sub(r"_(bucket|sum|count)$", "", m) for m in labels}
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            assert label in labels[metric] | {"instance"} and label == variable["name"]  # Prometheus adds it


@alone
def test_prometheus_and_the_dashboard(load, monitor, export, prometheus, new_path, canary):
    path = new_path(rate="20mbit", limit="30k")
    name = load("min_rtt_win=300ms", "probe_rtt_duration=50ms")
    three = load(algorithm="bbr3")  # it has metrics of its own
    stream, exporter = monitor(name), export(name, "--name", three, "--by", "netns")
    server = prometheus(exporter)
    server.wait_for("up", 1)
    with listen(path.receiver, path.v4) as listener:
        staying = connect(path.sender, listener, cc=name)
        pairs = [connect(path.sender, listener, cc=cc) for cc in (name, three)]
    exchange(*staying, 100_000)
    for sender, receiver in pairs:
        Transfer(sender, receiver, 4 * MB).finish()
    stream.wait_for(lambda m: m.of("end"), "the end")
    own = f'bbr_instance="{name}",netns="{path.sender.name}",profile="default"'
    server.wait_for(f"bbr_connections_ended_total{{{own}}}", 1)
    assert stream.stop()["drops"]["total"] == 0
    (first, last), = [p for p in pairs_of(stream.events) if p[1]["event"] == "end"]
    idle = sum(p[1]["bytes_acked"] - p[0]["bytes_acked"] for p in pairs_of(stream.events) if p[1]["event"] != "end")
    assert 0 <= idle <= 100_000
    server.wait_for(f"bbr_acked_bytes_total{{{own}}}", last["bytes_acked"] - first["bytes_acked"] + 100_000)
    server.wait_for(f'sum(bbr_connections{{{own}}})', 1)
    assert len(server.query(f"bbr_connections{{{own}}}")) == len(MODES)
    server.wait_for(f'bbr_mode_seconds_total{{{own},mode="PROBE_RTT"}}', lambda v: v > 0)
    server.wait_for("sum(bbrmon_dropped_events_total)", 0)
    server.wait_for("count_over_time(bbrmon_scrape_duration_seconds[5m])", lambda n: n >= 3)
    assert not [m for m, _ in server.query('{__name__=~".+"}') if any(label.startswith("exported_") for label in m)]
    check_dashboard(exporter.scrape())
    for expression, _ in dashboard():
        wait_until(lambda e=expression: server.query(e), f"an answer to {expression}")
    close(*staying)
