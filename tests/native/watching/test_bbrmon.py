# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon stream: exact counts, several monitors at once, and kills, stops and unloads meanwhile."""
import collections
import json
import pathlib
import signal
import socket
import subprocess

import pytest

from stream import check_accounts, endless, go_on_watching, stop_past_its_lease, tuple_of, tuples, wait_for_ends
from system import RunCounts, map_exists, maps_held_by, maps_of_program, wait_until
from tool import DONE, NOTHING, REFUSED, USAGE, data_of, lose_reader, sanitizer_environment, status_of
from transfer import BUSY_RATE, MB, Transfer, advance, connect, finish, flows, get_cc, listen, send_verified, set_cc

pytestmark = pytest.mark.machine_alone  # it watches all instances


RECORDING = pathlib.Path(__file__).with_name("recordings") / "abi3.rec"
CASE = pathlib.Path(__file__).parents[2] / "unit/experiment/recorded_connections.csv"


@pytest.mark.parametrize("verb", [
    f"export --read {RECORDING}", "export --once", f"report {RECORDING} -o -", f"snapshot --read {RECORDING}",
    f"snapshot -s --read {RECORDING}", f"snapshot --sort bw_bps -j --read {RECORDING}", f"stream --read {RECORDING}",
    f"stream -j --read {RECORDING}", f"top -b --speed 0 --read {RECORDING}", f"experiment {CASE}",
    f"experiment -j {CASE}", f"experiment {CASE} --html -"])
def test_a_reader_that_goes_away_is_no_error(bbrmon, verb):
    """As with cat | head: no message, and either the usual status or SIGPIPE."""
    done = subprocess.run(["bash", "-c", f"{bbrmon.path} {verb} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True,
                          text=True, timeout=60, env=sanitizer_environment())
    assert done.returncode in (DONE, 128 + signal.SIGPIPE), done
    assert "Broken pipe" not in done.stderr and "cannot write" not in done.stderr


def test_what_cannot_be_written_is_an_error(bbrmon):
    copy = f"record -j --read {RECORDING} -o /dev/null"
    for verb in f"export --read {RECORDING}", f"experiment {CASE}", copy, "--help", "-V", "stream --help":
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([bbrmon.path, *verb.split()], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60, env=sanitizer_environment())
        assert (done.returncode, done.stderr) == (REFUSED, "bbrmon: cannot write: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_does_not_reach_a_file(bbrmon, tmp_path, closed):
    """A file that is opened must not get the number of a standard stream, and with it what is printed there."""
    copy, page = tmp_path / "copy.rec", tmp_path / "page.html"
    command = f"{bbrmon.path} record -j -r {RECORDING} -o {copy} {closed}; {bbrmon.path} report -o {page} {RECORDING} {closed}"
    subprocess.run(["bash", "-c", command], env=sanitizer_environment(), timeout=60, check=">&-" not in closed)
    bbrmon("record", "-r", RECORDING, "-o", tmp_path / "expected.rec")
    assert copy.read_bytes() == (tmp_path / "expected.rec").read_bytes()
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_the_times_of_a_replay_begin_with_its_first_event(bbrmon):
    fast = bbrmon("stream", "-r", RECORDING, "--count", 1).out.split()
    assert bbrmon("stream", "-r", RECORDING, "--count", 1, "--speed", 1000).out.split() == fast


def test_a_part_may_begin_with_the_recording(bbrmon, tmp_path):
    page, all_of_it = tmp_path / "page.html", tmp_path / "all.html"
    for out, args in (page, ["--from", "0s"]), (all_of_it, []):
        bbrmon("report", RECORDING, "-o", out, *args)
    assert data_of(page.read_text())["flows"] == data_of(all_of_it.read_text())["flows"]
    at = bbrmon("snapshot", "-j", "-r", RECORDING, "--at", "0s").out
    assert at == bbrmon("snapshot", "-j", "-r", RECORDING, "--at", "1ns").out
    assert at and bbrmon("why", "-j", "-r", RECORDING, "--from", "0s").out == bbrmon("why", "-j", "-r", RECORDING).out
    bbrmon("report", RECORDING, "-o", page, "--to", "0s")
    assert "must be 0s to" in bbrmon("snapshot", "-r", RECORDING, "--at", "9999999999s", status=USAGE).err


def test_report_takes_the_recording_as_the_other_verbs_do(bbrmon, tmp_path):
    def page(*args):
        bbrmon("report", *args, "-o", tmp_path / "page.html")
        return (tmp_path / "page.html").read_text()
    assert page("--read", RECORDING) == page("-r", RECORDING) == page(RECORDING)
    assert page("-r", RECORDING, "cwnd > 0") == page(RECORDING, "cwnd > 0")
    assert "FILE is missing" in bbrmon("report", status=USAGE).err
    for verb in "stream", "snapshot", "why", "top", "record -o x":
        refused = bbrmon(*verb.split(), RECORDING, status=USAGE).err
        assert refused.endswith(f"{RECORDING} is a file; if it is a recording, name it with --read\n"), refused
    assert "--read" not in bbrmon("stream", "no.such.file", status=USAGE).err


def have_samples(acks):
    return all(e[key] is not None for e in acks for key in ("app_limited", "losses", "acked", "prior_inflight"))


def test_every_ack_is_accounted_for(bbrctl, load, monitor, ns):
    """Against the kernel's own count of how often the program ran."""
    name, connections = load(), 5
    prog_id = status_of(bbrctl, name)["prog_id"]
    with RunCounts() as runs:
        watching = monitor(name, "--every", "ack")
        before = runs.of(prog_id)
        for i in range(connections):
            send_verified(ns, name, 8 * MB, seed=i, address=["127.0.0.1", "::1"][i % 2])
        wait_for_ends(watching, connections)
        counted = runs.of(prog_id) - before
        summary = watching.stop()
    check_accounts(watching, summary)
    # The program also runs for the ACK of the SYN, before there is any state to show.
    assert summary["acks"] == counted - connections
    assert have_samples(watching.of("ack"))
    assert summary["connections"] == connections == summary["events"]["start"]
    for end in watching.of("end"):
        assert end["bytes_sent"] - end["bytes_retrans"] == 8 * MB


def test_accepted_connections_are_accounted_for(bbrctl, load, monitor, ns):
    """On the side that does not send a SYN each run of the program is an ACK that a monitor sees."""
    name = load()
    prog_id = status_of(bbrctl, name)["prog_id"]
    with RunCounts() as runs:
        watching = monitor(name, "--every", "ack")
        before = runs.of(prog_id)
        listener = listen(ns, cc=name)
        connecting, accepted = connect(ns, listener)
        assert get_cc(connecting) != name
        Transfer(accepted, connecting, 8 * MB).finish()
        wait_for_ends(watching, 1)
        counted = runs.of(prog_id) - before
        summary = watching.stop()
    check_accounts(watching, summary)
    assert summary["acks"] == counted


def test_events_tell_where_they_come_from(load, monitor, link):
    name = load()
    client, server = link.ends
    watching = monitor(name, "--every", "ack")
    sender, receiver = connect(client, listen(server, link.v4[1]), cc=name)
    where = tuple_of(sender)
    Transfer(sender, receiver, MB).finish()
    wait_for_ends(watching, 1)
    summary = watching.stop()
    check_accounts(watching, summary)
    assert tuples(watching.events) == {where}
    assert {e["instance"] for e in watching.events} == {name}
    assert {e["netns"] for e in watching.events} == {client.inode}
    assert len({e["conn"] for e in watching.events}) == 1
    assert watching.events[0]["event"] == "start" and watching.events[-1]["event"] == "end"
    times = [e["time_ns"] for e in watching.events]
    assert times == sorted(times)


def test_values_in_events_make_sense(load, monitor, ns):
    name = load()
    watching = monitor(name, "--every", "ack")
    send_verified(ns, name, 8 * MB)
    wait_for_ends(watching, 1)
    watching.stop()
    for e in watching.of("ack"):
        assert e["mode"] in ("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT")
        assert e["cwnd"] > 0 and e["pacing_gain"] > 0 and e["cwnd_gain"] > 0
        # The floor does not apply to the first round of recovery, nor to ACKs that acknowledge nothing.
        assert e["cwnd"] >= 4 or e["conservation"] or not e["acked"], e
        assert e["rtt_us"] is None or e["rtt_us"] >= 0
    last = watching.of("ack")[-1]
    assert last["bw_bps"] > 0 and last["min_rtt_us"] <= max(e["rtt_us"] or 0 for e in watching.of("ack"))
    delivered = [e["delivered"] for e in watching.of("ack")]
    assert delivered == sorted(delivered)


@pytest.fixture
def crowd(load, link):
    """An instance, a client and listeners: two ports of each family."""
    name = load()
    client, server = link.ends
    return name, client, [listen(server, address) for address in (link.v4[1], link.v6[1]) for _ in range(2)]


def test_several_monitors_see_exactly_their_connections(crowd, monitor, link):
    name, client, listeners = crowd
    ports = [listener.getsockname()[1] for listener in listeners]
    every = "--every", "ack"
    monitors = {
        "all": (monitor(name, *every), lambda t: True),
        "port": (monitor(name, *every, "--rport", ports[0]), lambda t: t[3] == ports[0]),
        "IPv4": (monitor(name, *every, "--remote", "10.77.0.0/24"), lambda t: ":" not in t[2]),
        "IPv6": (monitor(name, *every, "--remote", link.v6[1]), lambda t: ":" in t[2]),
        "local": (monitor(name, *every, "--local", "fd77::/48", "--rport", ports[3]),
                  lambda t: ":" in t[2] and t[3] == ports[3]),
        "none": (monitor(name, *every, "--remote", "10.78.0.0/16"), lambda t: False),
        "transitions": (monitor(name, "--every", "transition"), lambda t: True),
    }
    connections = set()
    for listener in listeners:
        sender, receiver = connect(client, listener, cc=name)
        connections.add(tuple_of(sender))
        Transfer(sender, receiver, 4 * MB).finish()
    wait_for_ends(monitors["all"][0], len(listeners))

    summaries = {key: watching.stop() for key, (watching, _) in monitors.items()}
    stream = monitors["all"][0]
    assert summaries["all"]["drops"]["total"] == 0, "too slow here to compare the streams: see the ring's size"
    for key, (watching, wanted) in monitors.items():
        expected = {t for t in connections if wanted(t)}
        assert tuples(watching.events) == expected, key
        assert summaries[key]["connections"] == len(expected), key
        if key != "transitions":
            check_accounts(watching, summaries[key])
            own = [(e["time_ns"], e["event"], e["conn"]) for e in watching.events]
            same = [(e["time_ns"], e["event"], e["conn"]) for e in stream.events if tuples([e]) <= expected]
            assert own == same, key
    assert not monitors["transitions"][0].of("ack")
    assert summaries["transitions"]["acks"] == summaries["all"]["acks"]


def test_local_port(load, monitor, ns):
    name = load()
    listener = listen(ns, cc=name)
    port = listener.getsockname()[1]
    watching = monitor(name, "--every", "ack", "--lport", port)
    connecting, accepted = connect(ns, listener, cc=name)
    Transfer(accepted, connecting, MB).finish()
    wait_for_ends(watching, 1)
    summary = watching.stop()
    check_accounts(watching, summary)
    assert {e["lport"] for e in watching.events} == {port} and summary["connections"] == 1


def test_a_mapped_ipv4_address_is_an_ipv4_address(load, monitor, link):
    """An IPv6 socket that speaks IPv4 is found and shown by its IPv4 address."""
    name = load()
    client, server = link.ends
    watching = monitor(name, "--every", "ack", "--remote", f"{link.v4[1]}/32")
    sender, receiver = connect(client, listen(server, link.v4[1]), f"::ffff:{link.v4[1]}",
                               cc=name, family=socket.AF_INET6)
    Transfer(sender, receiver, MB).finish()
    wait_for_ends(watching, 1)
    summary = watching.stop()
    check_accounts(watching, summary)
    assert {(e["local"], e["remote"]) for e in watching.events} == {(link.v4[0], link.v4[1])}


def test_every_round(load, monitor, ns):
    name = load()
    rounds, acks = monitor(name, "--every", "round"), monitor(name, "--every", "ack")
    send_verified(ns, name, 16 * MB)
    wait_for_ends(rounds, 1)
    wait_for_ends(acks, 1)
    summary, of_all = rounds.stop(), acks.stop()
    assert summary["acks"] == of_all["acks"] == len(acks.of("ack")) + of_all["drops"]["ack"]
    assert 0 < summary["events"]["ack"] <= summary["acks"]
    assert all(e["round_start"] for e in rounds.of("ack"))
    assert have_samples(rounds.of("ack")) and have_samples(acks.of("ack"))
    if not of_all["drops"]["total"] and not summary["drops"]["total"]:
        starts = [e["time_ns"] for e in acks.of("ack") if e["round_start"]]
        assert [e["time_ns"] for e in rounds.of("ack")] == starts


def test_every_so_much_time(load, monitor, ns):
    name = load()
    watching = monitor(name, "--every", "20ms")
    for seed in 1, 2:
        send_verified(ns, name, 32 * MB, seed=seed)
    wait_for_ends(watching, 2)
    watching.stop()
    by_conn = collections.defaultdict(list)
    for e in watching.of("ack"):
        by_conn[e["conn"]].append(e["time_ns"])
    assert len(by_conn) == 2
    for times in by_conn.values():
        assert all(b - a >= 20_000_000 for a, b in zip(times, times[1:]))


def test_connections_that_were_there_before(load, monitor, ns):
    """A monitor that starts late sees the rest of a connection, without a start event."""
    name = load()
    sender, receiver = connect(ns, listen(ns), cc=name)
    Transfer(sender, receiver, None, gap=0.01)
    watching = monitor(name, "--every", "ack")
    watching.wait_for(lambda m: m.of("ack"), "ACKs of a connection that was there before")
    summary = watching.stop()
    check_accounts(watching, summary)
    assert not watching.of("start") and summary["connections"] == 1


def test_switched_away_is_an_end(load, monitor, ns):
    name = load()
    watching = monitor(name, "--every", "ack")
    sender, receiver = connect(ns, listen(ns), cc=name)
    Transfer(sender, receiver, 8 * MB, at={4 * MB: lambda: set_cc(sender, "cubic")}).finish()
    wait_for_ends(watching, 1)
    summary = watching.stop()
    check_accounts(watching, summary)
    assert [e["event"] for e in watching.events][-1] == "end"
    assert watching.of("end")[0]["bytes_sent"] < 8 * MB


def test_killed(bbrctl, load, monitor, ns):
    """A killed monitor leaves nothing behind: neither its slot nor its memory."""
    name = load()
    running = endless(ns, name)
    watching = monitor(name, "--every", "ack")
    rings = maps_held_by(watching.process.pid) - set(maps_of_program(status_of(bbrctl, name)["prog_id"]).values())
    assert rings
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    watching.process.kill()
    watching.process.wait()
    advance(running)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 0, "the place of a killed monitor is free")
    wait_until(lambda: not any(map_exists(i) for i in rings), "the ring of a killed monitor is freed")
    watching = monitor(name, "--every", "ack")
    watching.wait_for(lambda m: m.of("ack"), "ACKs, for the next monitor")
    check_accounts(watching, watching.stop())
    finish(running)


def test_killed_again_and_again(bbrctl, load, monitor, ns):
    """More kills than there are slots: each slot is freed."""
    name = load()
    running = endless(ns, name)
    for _ in range(12):
        watching = monitor(name, "--every", "ack")
        watching.process.kill()
        watching.process.wait()
        wait_until(lambda: status_of(bbrctl, name)["monitors"] == 0, "the place of a killed monitor is free")
    advance(running)
    finish(running)


def test_stopped_for_a_moment(bbrctl, load, monitor, ns):
    """A stop shorter than the lease: the ring takes what fits, the rest is counted."""
    name = load()
    watching = monitor(name, "--every", "ack")
    running = endless(ns, name)
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    watching.process.send_signal(signal.SIGSTOP)
    advance(running)
    watching.process.send_signal(signal.SIGCONT)
    advance(running)
    finish(running)
    wait_for_ends(watching, 2)
    check_accounts(watching, watching.stop())


def test_stopped_until_its_lease_has_run_out(bbrctl, load, monitor, ns):
    """The program stops writing to the monitor. When the monitor continues, it gets events again and reports what it missed."""
    name = load()
    watching = monitor(name, "--every", "ack")
    running = endless(ns, name)
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    stop_past_its_lease(bbrctl, name, watching)
    advance(running)
    go_on_watching(bbrctl, name, watching)
    finish(running)
    wait_for_ends(watching, 2)
    summary = watching.stop()
    assert summary["unwatched_ms"] > 0
    assert summary["acks"] == len(watching.of("ack")) + summary["drops"]["ack"]


def test_small_ring_counts_what_it_drops(bbrctl, load, monitor, ns):
    name = load()
    prog_id = status_of(bbrctl, name)["prog_id"]
    with RunCounts() as runs:
        watching = monitor(name, "--every", "ack", "--ring", "4k")
        before = runs.of(prog_id)
        watching.process.send_signal(signal.SIGSTOP)  # so that the ring fills
        send_verified(ns, name, 32 * MB)
        watching.process.send_signal(signal.SIGCONT)
        wait_until(lambda: status_of(bbrctl, name)["users"] == 0, "the connection is closed")
        counted = runs.of(prog_id) - before
        summary = watching.stop()
    assert summary["drops"]["ack"] > 0
    check_accounts(watching, summary)
    assert summary["acks"] == counted - 1


def test_nine_monitors(bbrctl, bbrmon, load, monitor):
    """There are eight slots. The ninth monitor is refused, and gets a slot when one is free."""
    name = load()
    eight = [monitor(name) for _ in range(8)]
    assert status_of(bbrctl, name)["monitors"] == 8
    assert name in bbrmon("stream", "-j", "--name", name, "--duration", "1s", status=REFUSED).err
    for watching in eight[:1]:
        watching.stop()
    bbrmon("stream", "-j", "--name", name, "--duration", "100ms")
    for watching in eight[1:]:
        watching.stop()
    assert status_of(bbrctl, name)["monitors"] == 0


def test_one_of_two_has_no_place_left(bbrmon, load, monitor, ns):
    """Events of the other instance have arrived already: what is kept of them is freed, too."""
    busy, full = load(), load()
    running = flows(ns, busy, 4, gap=0, rate=BUSY_RATE)
    eight = [monitor(full) for _ in range(8)]
    assert full in bbrmon("stream", "--every", "ack", "--name", busy, "--name", full, status=REFUSED).err
    for watching in eight:
        watching.stop()
    finish(running)


def test_unloaded_while_it_watches(bbrctl, load, monitor, ns):
    """The monitor continues with the connections that outlive the instance."""
    name = load()
    watching = monitor(name, "--every", "ack")
    running = endless(ns, name)
    watching.wait_for(lambda m: m.of("ack"), "ACKs")
    bbrctl("unload", "--name", name)
    seen = len(watching.of("ack"))
    watching.wait_for(lambda m: len(m.of("ack")) > seen, "ACKs after the unload")
    finish(running)
    wait_for_ends(watching, 2)
    check_accounts(watching, watching.stop())


def test_it_finds_what_is_loaded_anew(bbrctl, load, monitor, ns):
    name = load()
    watching = monitor(name, "--every", "ack")
    send_verified(ns, name)
    wait_for_ends(watching, 1)
    bbrctl("unload", "--name", name)
    bbrctl("load", "--name", name)
    wait_until(lambda: status_of(bbrctl, name)["monitors"] == 1, "bbrmon notices the new instance")
    send_verified(ns, name)
    wait_for_ends(watching, 2)
    summary = watching.stop()
    assert summary["acks"] == len(watching.of("ack")) + summary["drops"]["ack"]
    assert summary["events"]["start"] == summary["events"]["end"] == 2


def test_several_instances_in_one_stream(bbrctl, load, monitor, ns):
    one, two, other = load(), load(), load()
    watching = monitor(one, "--name", two, "--every", "ack")
    wait_until(lambda: status_of(bbrctl, two)["monitors"] == 1, "bbrmon watches the other one, too")
    for name in one, two, other:
        send_verified(ns, name)
    wait_for_ends(watching, 2)
    summary = watching.stop()
    assert {e["instance"] for e in watching.events} == {one, two}
    assert summary["connections"] == 2
    assert summary["acks"] == len(watching.of("ack")) + summary["drops"]["ack"]


def test_text_for_people(load, monitor, link):
    """The text has the state as in ss(8), then more. The summary does not go to standard output."""
    name = load()
    client, server = link.ends
    watching = monitor(name, "--every", "ack", json_lines=False)
    for address in link.v4[1], link.v6[1]:
        Transfer(*connect(client, listen(server, address), cc=name), MB).finish()
    watching.wait_for(lambda m: sum(" end bbr:(" in line for line in m.lines) == 2, "the connections' ends")
    watching.stop()
    assert all(" bbr:(bw:" in line and name in line and "mrtt:" in line for line in watching.lines)
    assert any(f"> {link.v4[1]}:" in line for line in watching.lines)
    assert any("> [fd77::2]:" in line for line in watching.lines)
    assert "connections" in watching.errors() and "\033" not in "".join(watching.lines)


def test_so_many_events(bbrmon, load, ns):
    name = load()
    running = endless(ns, name)
    lines = bbrmon("stream", "-j", "--name", name, "--every", "ack", "--count", "25").out.splitlines()
    assert [set(json.loads(line)) == {"summary"} for line in lines] == [False] * 25 + [True]
    finish(running)


def test_so_much_time(bbrmon, load, ns):
    name = load()
    lines = bbrmon("stream", "-j", "--name", name, "--duration", "300ms").out.splitlines()
    assert len(lines) == 1 and json.loads(lines[0])["summary"]["acks"] == 0


def test_times_begin_with_the_stream(bbrmon, load, ns):
    """No event is older than the stream, although attaching to the kernel's own bbr takes a while. The duration begins later."""
    name = load()
    running = endless(ns, name)
    lasted = []
    for _ in range(4):
        lines = bbrmon("stream", "--every", "ack", "--duration", "300ms").out.splitlines()
        times = [float(line.split()[0]) for line in lines if name in line]
        assert times[0] >= 0, times[0]
        lasted.append(times[-1] - times[0])
    finish(running)
    # On a busy machine one run may take longer, but attaching would add more to each.
    assert min(lasted) < 0.3 + 0.04 and max(lasted) > 0.3 - 0.04, lasted


def test_a_reader_that_goes_away(bbrctl, bbrmon, load, ns):
    """As in `bbrmon stream | head -1`: bbrmon ends in order and frees its slot."""
    name = load()
    running = endless(ns, name)
    process = bbrmon.start("stream", "-j", "--name", name, "--every", "ack",
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert json.loads(lose_reader(process))["event"]
    assert status_of(bbrctl, name)["monitors"] == 0
    finish(running)


def test_output_that_cannot_be_written(bbrmon, load, ns):
    name = load()
    with open("/dev/full", "w") as full:
        process = bbrmon.start("stream", "-j", "--name", name, "--duration", "1s",
                               stdout=full, stderr=subprocess.DEVNULL)
        assert process.wait(30) == REFUSED


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_is_an_orderly_end(load, monitor, sig):
    watching = monitor(load())
    watching.process.send_signal(sig)
    assert watching.wait()["events"]["total"] == 0


def test_no_such_instance(bbrmon, load, free_name):
    name = free_name()
    assert name in bbrmon("stream", "--name", name, status=NOTHING).err
    assert name in bbrmon("stream", "--name", load(), "--name", name, status=NOTHING).err


@pytest.mark.parametrize("args", [
    [], ["no_such_verb"], ["stream", "extra"], ["stream", "--every"], ["stream", "--every", "sometimes"],
    ["stream", "--every", "5"], ["stream", "--every", "-1s"], ["stream", "--every", "0s"],
    ["stream", "--remote", "1.2.3"], ["stream", "--remote", "10.0.0.0/33"], ["stream", "--remote", "::/129"],
    ["stream", "--remote", "10.0.0.1", "--remote", "10.0.0.2"], ["top", "--lport", "1", "--lport", "1"],
    ["stream", "--remote", "10.0.0.0/-1"], ["stream", "--remote", "10.0.0.0/"], ["stream", "--local", "localhost"],
    ["stream", "--rport", "0"], ["stream", "--rport", "65536"], ["stream", "--lport", "http"],
    ["stream", "--ring", "5k"], ["stream", "--ring", "0"], ["stream", "--ring", "1"], ["stream", "--ring", "8g"],
    ["stream", "--count", "0"], ["stream", "--count", "-1"], ["stream", "--duration", "5"],
    ["stream", "--duration", "nan"], ["stream", "--no-such-option"],
])
def test_wrong_command_lines_are_a_usage_error(bbrmon, args):
    assert bbrmon(*args, status=USAGE).err


def test_changes_add_up_to_whole_lines(bbrmon):
    """Each line of --changes on top of those before it is the line without it; two runs are in this recording."""
    def lines(*options):
        return bbrmon("stream", "-j", "--read", RECORDING, *options).out.splitlines()

    whole, changes, known = lines(), lines("--changes"), {}
    of_the_event = {"from", "to", "from_phase", "to_phase", "reason"}
    assert len(whole) == len(changes)
    for line, changed in zip(map(json.loads, whole[:-1]), map(json.loads, changes[:-1])):
        key = changed["instance"], changed["conn"]
        known[key] = {k: v for k, v in known.get(key, {}).items() if k not in of_the_event} | changed
        assert known[key] == line
    assert changes[-1] == whole[-1]
    assert sum(map(len, changes)) < 0.3 * sum(map(len, whole))


def test_changes_need_json(bbrmon):
    assert "--changes needs --json" in bbrmon("stream", "--read", RECORDING, "--changes", status=USAGE).err


@pytest.mark.parametrize("args, said", [
    (["snapshot", "--sort", "bw"], "--sort bw: no such key\n  did you mean bw_bps?\n"),
    (["snapshot", "--by", "netns", "--sort", "bw"], "groups have no such key\n  did you mean bw_bps?\n"),
    (["top", "--sort", "min"], "--sort min: min: no such column\n  did you mean min_rtt?\n"),
    (["top", "--sort", "zz"], "--sort zz: zz: no such column\n  one of these"),
    (["stream", "--every", "rounds"], "--every rounds: not an event, and not a time\n  one of: ack, round, transition, or a time like 100ms")])
def test_a_refusal_says_what_may_be_meant(bbrmon, args, said):
    assert said in bbrmon(*args, status=USAGE).err
