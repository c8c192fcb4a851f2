# SPDX-License-Identifier: GPL-2.0-only
"""bbrmon why: causes that the test makes, each of them found, and not found where it is not."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from netns import Relay
from system import wait_until
from tool import NOTHING, USAGE, Tool, status_of
from transfer import SO_MAX_PACING_RATE, Transfer, abort, accept, connect, listen, new_socket, set_cc

FAST = {"rate": 20000, "limit": 200000, "delay": 10000}  # 20 Mbit/s and 20 ms: a BDP of 50 kB
SETTLED = 3  # seconds until STARTUP is surely over
WINDOW = "4s"
MOST = 0.5  # of the time: the cause that a test made has at least this share


@pytest.fixture
def new_relay(new_ns):
    with contextlib.ExitStack() as stack:
        def make(**faults):
            relay = Relay(new_ns(), new_ns(), **{**FAST, **faults})
            stack.callback(relay.close)
            return relay
        yield make


@pytest.fixture
def why(bbrmon):
    """The objects of `bbrmon why -j` for the connections of a namespace."""
    def ask(ns, *args):
        out = bbrmon("why", "-j", "--netns", ns.name, *args, timeout=120).out
        return [json.loads(line) for line in out.splitlines()]
    return ask


def of_socket(answers, sock):
    found = [a for a in answers if a["lport"] == sock.getsockname()[1]]
    assert len(found) == 1, answers
    check_shape(found[0])
    return found[0]


def check_shape(answer):
    """What holds for each answer: shares of the whole time, and verdicts that come from them."""
    assert sum(answer["shares"].values()) == pytest.approx(1, abs=0.01)
    assert all(share >= 0 for share in answer["shares"].values())
    assert [v["share"] for v in answer["verdicts"]] == sorted((v["share"] for v in answer["verdicts"]), reverse=True)
    for verdict in answer["verdicts"]:
        assert verdict["share"] == pytest.approx(answer["shares"][verdict["cause"]], abs=1e-6)
        assert verdict["sentence"].endswith((".", "which.")) and verdict["numbers"] and verdict["advice"]
    assert answer["cause"] == (answer["verdicts"][0]["cause"] if answer["verdicts"] else None)


def flow(relay, cc, before=(), window=None, **kwargs):
    """A bulk flow. before: options of the sender's socket; window: the receiver's SO_RCVBUF."""
    listener = listen(relay.receiver, relay.v4)
    if window:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    sender = new_socket(relay.sender, socket.AF_INET)
    set_cc(sender, cc)
    for level, name, value in before:
        sender.setsockopt(level, name, value)
    sender.connect(listener.getsockname())
    abort(sender)  # its path ends with the test
    return Transfer(sender, accept(listener), **kwargs)


def ask(why, relay, transfer, settled=SETTLED, *args):
    """Of the sender of a transfer, once it is under way."""
    time.sleep(settled)
    return of_socket(why(relay.sender, "--for", WINDOW, *args), transfer.sockets[0])


def check_cause(answer, cause, least=MOST):
    assert answer["shares"][cause] >= least, json.dumps(answer)
    assert answer["cause"] == cause, json.dumps(answer)
    # What only few causes can be, is never said of others.
    for never in {"policer", "cpu"} - {cause}:
        assert answer["shares"][never] == 0, json.dumps(answer)


CONTROLS = ["bpf_bbr", "bbr", "cubic"]


@pytest.fixture(params=CONTROLS)
def cc(request, load):
    """An instance, the kernel's own bbr, and a congestion control that is no BBR."""
    return load() if request.param == "bpf_bbr" else request.param


def test_an_idle_connection(why, new_relay, cc):
    relay = new_relay()
    sender, _ = connect(relay.sender, listen(relay.receiver, relay.v4), cc=cc)
    assert not why(relay.sender, "--for", "1s")
    answer = of_socket(why(relay.sender, "--for", "1s", "--idle"), sender)
    check_cause(answer, "application", 1)
    assert answer["verdicts"][0]["sentence"] == "The application sends nothing."
    assert answer["rate_bps"] == 0 and answer["loss"] == 0


def test_an_application_that_has_little_to_send(why, new_relay, cc):
    relay = new_relay()
    sender, receiver = connect(relay.sender, listen(relay.receiver, relay.v4), cc=cc)
    abort(sender)
    stop = threading.Event()

    def trickle():
        while not stop.wait(0.05):
            sender.sendall(bytes(5000))

    def drain():
        with contextlib.suppress(ConnectionResetError):  # the sender does not wait for what it has sent
            while receiver.recv(100000):
                pass

    threads = [threading.Thread(target=f, daemon=True) for f in (trickle, drain)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        answer = of_socket(why(relay.sender, "--for", WINDOW), sender)
    finally:
        stop.set()
        threads[0].join(10)
        sender.close()
        threads[1].join(10)
    check_cause(answer, "application", 0.9)


def test_the_receivers_window(why, new_relay, cc):
    """A buffer of half a BDP."""
    relay = new_relay()
    transfer = flow(relay, cc, window=12000)
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "receiver")
    assert answer["rwnd_bytes"] < 50000 / 2


def test_a_receiver_that_reads_slowly(why, new_relay, cc):
    relay = new_relay()
    sender, receiver = connect(relay.sender, listen(relay.receiver, relay.v4), cc=cc)
    abort(sender)
    stop = threading.Event()
    sender.setblocking(False)

    def fill():
        while not stop.wait(0.01):
            with contextlib.suppress(BlockingIOError):
                sender.send(bytes(1000000))

    def sip():
        while not stop.wait(0.1):
            receiver.recv(10000)

    threads = [threading.Thread(target=f, daemon=True) for f in (fill, sip)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(SETTLED + 3)  # its buffer grows to some megabytes
        answer = of_socket(why(relay.sender, "--for", WINDOW), sender)
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)
    check_cause(answer, "receiver")


def test_the_send_buffer(why, new_relay, cc):
    relay = new_relay()
    transfer = flow(relay, cc, [(socket.SOL_SOCKET, socket.SO_SNDBUF, 12000)])
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "send_buffer")


def test_a_socket_that_is_paced(why, new_relay, cc):
    """At a tenth of what the path takes."""
    relay = new_relay()
    transfer = flow(relay, cc, [(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 250000)])
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "pacing")
    assert answer["pacing_bound_bps"] == 2000000
    assert "SO_MAX_PACING_RATE" in answer["verdicts"][0]["sentence"]


def test_a_bound_that_is_never_reached(why, new_relay, cc):
    """Three times what the path takes."""
    relay = new_relay()
    transfer = flow(relay, cc, [(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 7500000)])
    answer = ask(why, relay, transfer)
    transfer.close()
    assert answer["shares"]["pacing"] == 0


def test_a_profile_that_is_paced(why, load, new_relay):
    name, relay = load("max_pacing_rate=2mbit"), new_relay()
    transfer = flow(relay, name)
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "pacing")
    assert answer["pacing_bound_bps"] == 2000000 and answer["profile"] == "default"
    assert "max_pacing_rate" in answer["verdicts"][0]["sentence"]


def test_the_window(why, new_relay, cc):
    """The route allows four packets, once the stack has an entry for the destination."""
    relay = new_relay()
    relay.replace_route("cwnd", "lock", 4)
    Transfer(*connect(relay.sender, listen(relay.receiver, relay.v4)), size=100000).finish()
    transfer = flow(relay, cc)
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "cwnd")
    assert answer["cwnd"] == 4 and "route" in answer["verdicts"][0]["sentence"]


def test_a_profile_with_a_small_window(why, load, new_relay):
    name, relay = load("max_cwnd=4"), new_relay()
    transfer = flow(relay, name)
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "cwnd")
    assert "max_cwnd" in answer["verdicts"][0]["advice"]


def test_a_policer(why, load, new_relay):
    """Half of the bottleneck's rate."""
    name, relay = load(), new_relay(police=10000, burst=20000)
    transfer = flow(relay, name)
    # BBR forgets it after 48 rounds, probes, and finds it again: the window must hold more of this time than of the other.
    answer = wait_until(lambda: (a := ask(why, relay, transfer, 0))["shares"]["policer"] >= 0.5 and a, "BBR finds it", 60)
    transfer.close()
    check_cause(answer, "policer")
    assert answer["policer_rate_bps"] == pytest.approx(10e6, rel=0.2)


def test_losses(why, new_relay, cc):
    """One packet of ten: of a BDP of 40 packets some are always missing, however many readings a busy machine gets."""
    relay = new_relay(loss=100)
    transfer = flow(relay, cc)
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "losses")
    assert answer["loss"] == pytest.approx(0.1, abs=0.05)
    assert answer["cubic_bps"] < 5e6


def test_random_losses_are_no_policer(why, load, new_relay):
    """A third is lost, which BBR takes for a policer now and then."""
    name, relay = load(), new_relay(loss=300)
    transfer = flow(relay, name)
    answer = ask(why, relay, transfer)
    transfer.close()
    assert answer["shares"]["policer"] == 0


def test_probe_rtt(why, load, new_relay):
    """Half a second of PROBE_RTT in each second."""
    name, relay = load("min_rtt_win=500ms", "probe_rtt_duration=500ms"), new_relay()
    transfer = flow(relay, name)
    answer = ask(why, relay, transfer)
    transfer.close()
    assert answer["shares"]["probe_rtt"] > 0.2


def test_startup(why, load, new_relay):
    """It takes at least 31 round trips of 0.2 s."""
    name, relay = load("full_bw_thresh=1", "full_bw_rounds=31"), new_relay(delay=100000)
    transfer = flow(relay, name)
    answer = ask(why, relay, transfer, 0)
    transfer.close()
    check_cause(answer, "startup")


def test_a_queue_that_another_flow_fills(why, load, new_relay):
    name, relay = load(), new_relay(limit=400000)
    filler, transfer = flow(relay, "cubic"), flow(relay, name)
    time.sleep(SETTLED + 3)
    answers = why(relay.sender, "--for", WINDOW)
    filler.close()
    transfer.close()
    (answer,) = [a for a in answers if a["instance"] == name]
    check_shape(answer)
    check_cause(answer, "queue")
    assert answer["rtt_us"] > 1.5 * answer["min_rtt_us"]


def check_path(answer):
    """Nothing limits it but the path. BBR keeps a queue of its own there at times, which others must not be blamed for."""
    assert answer["cause"] in ("path", "queue") and answer["shares"]["path"] + answer["shares"]["queue"] >= 0.8, json.dumps(answer)
    assert not any("Other connections fill it" in v["sentence"] for v in answer["verdicts"]), json.dumps(answer)


def test_a_bulk_flow(why, load, new_relay):
    relay = new_relay()
    transfer = flow(relay, load())
    answer = ask(why, relay, transfer)
    transfer.close()
    check_path(answer)
    assert answer["bw_bps"] == pytest.approx(20e6, rel=0.3)


def test_bbr3(why, load, new_relay):
    """A bulk flow of version 3, and one whose receiver's window is small."""
    name, relay = load(algorithm="bbr3"), new_relay()
    transfer = flow(relay, name)
    answer = ask(why, relay, transfer)
    transfer.close()
    check_path(answer)
    transfer = flow(relay, name, window=12000)
    answer = ask(why, relay, transfer)
    transfer.close()
    check_cause(answer, "receiver")


def test_sums(why, load, new_relay, cgroups):
    """One connection that the receiver limits, one that is idle, in a cgroup; another one is outside."""
    name, relay = load(), new_relay()
    cgroups.make("inner")
    with cgroups.entered("inner"):
        limited = flow(relay, name, window=12000)
        idle, _ = connect(relay.sender, listen(relay.receiver, relay.v4), cc=name)
    outside, _ = connect(relay.sender, listen(relay.receiver, relay.v4), cc=name)
    time.sleep(1)
    groups = {g["cgroup"]: g for g in why(relay.sender, "--for", "2s", "--by", "cgroup", "--name", name)}
    inner = groups[cgroups.path("inner")]
    assert (inner["connections"], inner["idle"], inner["cause"]) == (2, 1, "receiver")
    assert inner["rate_bps"] > 0 and sum(inner["shares"].values()) == pytest.approx(1, abs=0.01)
    assert sum(g["connections"] for g in groups.values()) == 3
    (of_others,) = [g for path, g in groups.items() if path != cgroups.path("inner")]
    assert (of_others["idle"], of_others["cause"], sum(of_others["shares"].values())) == (1, None, 0)
    (process,) = why(relay.sender, "--for", "1s", "--by", "process", "--name", name)
    assert process["process"].endswith(f"[{os.getpid()}]") and process["connections"] == 3
    (prefix,) = why(relay.sender, "--for", "1s", "--by", "prefix", "--name", name)
    assert prefix["prefix"] == "10.78.0.0/24" and prefix["cause"] == "receiver"
    (netns,) = why(relay.sender, "--for", "1s", "--by", "netns", "--name", name)
    assert netns["netns"] == relay.sender.name
    limited.close()
    abort(idle)
    abort(outside)


def test_filters(why, new_relay):
    relay = new_relay()
    listener = listen(relay.receiver, relay.v4)
    socks = [connect(relay.sender, listener, cc=cc)[0] for cc in ("cubic", "reno", "bbr")]
    ports = [sock.getsockname()[1] for sock in socks]

    def shown(*args):
        return sorted(a["lport"] for a in why(relay.sender, "--for", "50ms", "--idle", *args))
    assert shown() == sorted(ports)
    assert shown("--name", "cubic") == [ports[0]]
    assert shown("--name", "cubic", "--name", "bbr") == sorted([ports[0], ports[2]])
    assert shown("sport", "=", f":{ports[1]}") == [ports[1]]
    assert shown("cc != reno") == sorted([ports[0], ports[2]])
    assert shown("cwnd > 0") == sorted(ports)
    assert shown("mode STARTUP") == [ports[2]]  # the others have none
    assert shown("dport = :1") == []


def test_a_connection_that_comes_and_one_that_goes(why, new_relay):
    """Each is judged over the time in which it was there."""
    relay = new_relay()
    listener = listen(relay.receiver, relay.v4)
    first, _ = connect(relay.sender, listener, cc="cubic")
    abort(first)
    lport = first.getsockname()[1]
    later = []

    def change():
        time.sleep(1)
        first.close()
        later.append(connect(relay.sender, listener, cc="cubic")[0])

    thread = threading.Thread(target=change)
    thread.start()
    answers = {a["lport"]: a for a in why(relay.sender, "--for", "4s", "--idle")}
    thread.join()
    assert {*answers} == {lport, later[0].getsockname()[1]}
    for answer in answers.values():
        check_shape(answer)
        assert answer["cause"] == "application" and answer["seconds"] < 3.9


def test_text_and_an_interrupt(bbrmon, new_relay):
    relay = new_relay()
    transfer = flow(relay, "cubic", window=12000)
    time.sleep(1)
    process = bbrmon.start("why", "--netns", relay.sender.name, "--for", "100s", stdout=subprocess.PIPE, text=True)
    time.sleep(8)  # time for two readings, also on a busy machine
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=30)[0]
    transfer.close()
    assert process.returncode == 0
    first, verdict, numbers, advice = out.splitlines()[:4]
    assert first.startswith("cubic 10.78.0.1:") and "> 10.78.0.2:" in first and "readings" in first
    assert "% receiver: The receiver's window is full" in verdict
    assert "rwnd_limited" in numbers and "tcp_rmem" in advice


@pytest.fixture
def record(bbrctl, bbrmon, tmp_path):
    """Records each ACK of an instance. Returns the file, and a function that ends it."""
    file, running = tmp_path / "some.rec", []

    def end():
        running[0].send_signal(signal.SIGINT)
        assert running[0].wait(30) == 0

    def begin(name):
        running.append(bbrmon.start("record", "-o", file, "--name", name, "--every", "ack", stderr=subprocess.DEVNULL))
        wait_until(lambda: status_of(bbrctl, name)["monitors"], "it records")
        return file, end
    yield begin
    for process in running:
        process.kill()
        process.wait()


def test_a_recording(bbrmon, load, record, new_relay):
    """It tells idle time from the rest, and does not guess what only a socket knows."""
    name, relay = load(), new_relay()
    file, end = record(name)
    sender, receiver = connect(relay.sender, listen(relay.receiver, relay.v4), cc=name)
    abort(sender)
    transfer = Transfer(sender, receiver, size=12_000_000, at={6_000_000: lambda: time.sleep(5)})
    wait_until(lambda: transfer.received == 12_000_000, "all is sent", 60)
    time.sleep(1)
    end()
    (answer,) = [json.loads(line) for line in bbrmon("why", "-j", "--read", file).out.splitlines()]
    check_shape(answer)
    assert answer["shares"]["application"] > 0.2 and answer["shares"]["receiver"] == 0
    assert answer["shares"]["unknown"] + answer["shares"]["queue"] + answer["shares"]["startup"] > 0.2
    for of_a_socket in "busy_us", "rwnd_limited_us", "sndbuf_limited_us", "rwnd_bytes", "sndbuf_bytes", "cookie":
        assert answer[of_a_socket] is None
    assert answer["shares"]["path"] == answer["shares"]["cpu"] == answer["shares"]["pacing"] == 0
    (prefix,) = [json.loads(line) for line in bbrmon("why", "-j", "--read", file, "--by", "prefix").out.splitlines()]
    assert prefix["prefix"] == "10.78.0.0/24" and prefix["connections"] == 1
    (early,) = [json.loads(line) for line in bbrmon("why", "-j", "--read", file, "--to", "1500ms").out.splitlines()]
    assert early["seconds"] < 1.5 < answer["seconds"]
    assert not bbrmon("why", "-j", "--read", file, "dport = :1", status=NOTHING).out
    transfer.close()


@pytest.mark.parametrize("args", [
    ["--by", "colour"], ["--for", "0s"], ["--read", "file", "--by", "cgroup"], ["--read", "file", "--by", "process"],
    ["--read", "file", "--netns", "x"], ["--read", "file", "--for", "1s"], ["--from", "1s"], ["--to", "1s"],
    ["--read", "file", "--from", "3s", "--to", "1s"], ["--read", "file", "fwmark = 1"], ["colour = red"]])
def test_what_is_refused(bbrmon, args):
    bbrmon("why", *args, status=USAGE)


def test_it_asks_the_kernel_for_no_module(build, tmp_path):
    """A socket that chooses an unknown congestion control makes the kernel load tcp_NAME, if root does it."""
    log = tmp_path / "log"
    Tool(build.parent / "bbrmon")("why", "--for", "50ms", "--name", "nosuch", status=NOTHING,
                                  prefix=["strace", "-f", "-qq", "-o", log, "-e", "trace=setsockopt,openat"])
    assert "tcp_available_congestion_control" in log.read_text() and "TCP_CONGESTION" not in log.read_text()


def test_a_name_that_nothing_has(bbrmon):
    assert bbrmon("why", "--for", "10ms", "--name", "bbrt_none", status=NOTHING).err == \
        "bbrmon: bbrt_none: no congestion control with this name is loaded\n"
    bbrmon("why", "--for", "10ms", "--name", "reno")
