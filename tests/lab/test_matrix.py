# SPDX-License-Identifier: GPL-2.0-only
"""bpf_bbr and bpf_bbr3 on kernels that are not running here: each boots once, and the tests check what it printed."""
import json
import os
import pathlib
import re
import sys

import pytest

from studies import matrix
from vm import guest, kernels

TOY = pathlib.Path(__file__).resolve().parents[1] / "toy"
BUILD = TOY.parents[1] / "build"
sys.path.insert(0, str(TOY))
import toy_steps  # noqa: E402

# `make lab-matrix` tests all of them.
KERNELS = matrix.keys(os.environ.get("BBR_LAB_KERNELS", kernels.CHECK).split())

SECOND = 1000000


@pytest.fixture(scope="module", params=KERNELS)
def steps(request):
    result = matrix.run(request.param)
    assert result.status == 0, result.console
    found = matrix.steps(result.console)
    assert "end" in found, result.console
    if request.param.endswith(matrix.NEWER):
        assert "using libbpf v1.5" in found["versions"], found["versions"]
    found["kernel"] = request.param.removesuffix(matrix.NEWER)
    arm64 = found["kernel"] in kernels.keys(kernels.ARM64)
    found["has modules"] = arm64 or bool(kernels.find(found["kernel"]).modules)
    if found["kernel"] in kernels.TABLE:
        assert found["has modules"] == kernels.TABLE[found["kernel"]].modules
    return found


def test_the_guest_is_what_its_name_says(steps):
    (memory_kb,) = [int(line.split()[1]) for line in steps["versions"].splitlines() if line.startswith("MemTotal:")]
    (offline,) = [int(line.split()[1]) for line in steps["end"].splitlines() if line.startswith("offline ")]
    assert (memory_kb < 256 << 10) == steps["kernel"].endswith("+256mb")
    assert (offline > 20) == steps["kernel"].endswith("+hotplug")


def test_bpftool_registers_it_and_takes_it_away(steps):
    text = steps["bpftool"]
    assert "Registered tcp_congestion_ops bpf_bbr" in text
    (end,) = matrix.ends(text)
    assert end["cc"] == "bpf_bbr"
    assert end["received_bytes"] == 1000000 and end["wrong_bytes"] == 0
    assert "Unregistered tcp_congestion_ops bpf_bbr" in text
    assert "flow: bpf_bbr: No such file or directory" in text


def test_bbrctl_loads_two_instances(steps):
    assert '"name": "lab_bbr"' in steps["load"] and '"name": "lab_two"' in steps["load"]
    assert "bbrctl: " not in steps["load"], steps["load"]


def test_the_kernel_lists_its_network_namespaces(steps):
    """The initial one; with netem the path is made of three more."""
    check = json.loads(steps["load"][steps["load"].index("{"):steps["load"].index("\n}") + 2])
    assert check["namespaces"] >= (4 if steps["has modules"] else 1) and check["namespaces_unseen"] == 0


def test_check_finds_what_is_off(steps):
    """Connections that are older than the default, or chosen; what programs may choose; with netem a queue and a buffer as well."""
    text = steps["check"]
    check = json.loads(text[text.index("{"):text.index("\n}") + 2])
    assert "status 3" in text and "moved 3 connections from reno to lab_check" in text, text
    uses = {f["why"]: (f["uses"], f["meant"], f["connections"]) for f in check["off"] if f["kind"] == "connections"}
    # Both ends of what is older; the end that accepted the other one is older, too.
    assert uses == {"opened_before": ("reno", "lab_check", 3), "chosen": ("cubic", "lab_check", 1)}, text
    other = {f["kind"]: f["command"] for f in check["off"] if f["kind"] != "connections"}
    assert set(other) == {"not_allowed", *(("flow_limit", "buffer") if steps["has modules"] else ())}, text
    assert other["not_allowed"].endswith("congestion_control='reno cubic lab_bbr lab_check lab_two'"), text


def test_the_verifier_has_much_left(steps):
    """
    A kernel refuses a program if its verifier explores a million instructions; docs/cost.md has the number of each program.
    Programs for arm64 are those that Debian 12's clang 16 makes: 174,848 instructions on 6.1 where clang 19 makes 123,689.
    """
    most = 200_000 if "arm64" in steps["kernel"] else 150_000
    for step in "load", "bbr3":
        programs = matrix.verified(steps[step])
        assert max(programs.values()) < most, programs
        assert len(programs) == 9


def test_a_flow_passes_all_modes_and_arrives_whole(steps):
    text = steps["modes"]
    (end,) = matrix.ends(text)
    assert end["cc"] == "lab_bbr" and end["wrong_bytes"] == 0
    assert end["received_bytes"] == end["sent_bytes"] > 5_000_000
    events = matrix.mode_events(text)
    way = [events[0]["from"]] + [e["to"] for e in events]
    assert way[:4] == ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"], way
    assert way[4] == "PROBE_BW", way
    # By the ACKs of PROBE_RTT. Over loopback one ACK is of all that a burst sent.
    (before, first), (after, second) = re.findall(r"^ +(\d+) (true|false)$", text, re.M)[:2]
    least = (6, 3) if steps["has modules"] else (1, 1)
    assert (first, second) == ("false", "true") and int(before) >= least[0] and int(after) >= least[1], text


def test_every_ack_is_streamed(steps):
    text = steps["modes"]
    (summary,) = [o["summary"] for o in matrix.objects(text) if "summary" in o]
    shown = int(text.strip().splitlines()[-1])
    assert summary["acks"] > 100
    assert shown == summary["events"]["ack"] == summary["acks"]
    assert summary["drops"]["total"] == 0


def test_its_metrics_are_exported(steps):
    text = steps["export"]
    assert "bbrmon: " not in text and "bbrctl: " not in text, text
    assert 'bbr_connections{bbr_instance="lab_bbr"' in text, text


def test_it_restarts_from_idle_without_probe_rtt(steps):
    (end,) = matrix.ends(steps["idle"])
    assert end["wrong_bytes"] == 0 and end["received_bytes"] == end["sent_bytes"]
    assert "PROBE_RTT" not in [e["to"] for e in matrix.mode_events(steps["idle"])]


def test_a_live_connection_follows_a_change(steps):
    text = steps["live"]
    events = matrix.objects(text)
    assert [e for e in events if e.get("event") == "params"]
    (last,) = [e for e in events if e.get("event") == "ack"]
    assert last["cwnd_gain"] == 3.0


def test_what_is_streamed_is_recorded(steps):
    (streamed, recorded), = re.findall(r"streamed and recorded: (\d+) (\d+)", steps["live"])
    assert streamed == recorded and int(streamed) > (100 if steps["has modules"] else 50)


def test_it_is_the_default_of_a_namespace(steps):
    assert steps["default"].split("\n")[2] == "lab_three"
    assert "lab_three: the default of network namespace other is cubic again" in steps["migrate"]


def test_a_tool_says_what_it_cannot_find(steps):
    """In a PID namespace of its own. The next load of the name mends a default that points at unloaded code."""
    text = steps["hidden"]
    assert "seen 2\n" in text and text.count("status 2\n") == 2, text
    snapshot, unload, again = text.split("status 2\n")
    unseen = json.loads(next(line for line in snapshot.splitlines() if '"unseen"' in line))
    assert unseen["instance"] == "lab_hidden" and unseen["users_unseen"] >= 2  # the listener and the default count, too
    assert "bbrmon: lab_hidden: " in snapshot and "network namespace" in snapshot
    answer = json.loads(unload[unload.index("{"):unload.index("\n}") + 2])
    (default,) = answer["defaults"]
    assert answer["unloaded"] and default["netns"] is None and default["default"] == "lab_hidden" and not default["restored"]
    assert f"net:[{default['inode']}] cannot be found from here" in unload
    assert "\n  made the default of 1 network namespace again\n" in again
    (status,) = [s for s in json.loads(again[again.index("["):again.index("\n]") + 2]) if s["name"] == "lab_hidden"]
    assert status["default_in"] == [{"netns": "hidden", "inode": default["inode"]}] and status["stale_default_in"] == []


def test_live_connections_move_there_and_back(steps):
    """Both ends of the flow, while it is running."""
    text = steps["migrate"]
    assert "would move 1 connection from cubic" in text  # with a filter of everything
    assert "moved 2 connections from cubic to lab_three" in text
    assert "moved 2 connections from lab_three to cubic" in text
    assert "lab_three: unloaded\n" in text  # nothing uses it any more
    (end,) = matrix.ends(text)
    assert end["cc"] == "cubic" and end["wrong_bytes"] == 0
    assert end["received_bytes"] == end["sent_bytes"] > 5_000_000


def test_an_experiment_draws_and_turns(steps):
    text = steps["experiment"]
    rows = [line.split(",") for line in text.splitlines() if line.count(",") > 10]
    columns = rows.pop(0)
    found = [dict(zip(columns, row)) for row in rows]
    assert len(found) == 20 and {row["arm"] for row in found} == {"0", "1"}, text
    assert {(row["acked_bytes"], row["end"]) for row in found} == {("20000", "closed")}, text
    chosen, turned = matrix.ends(text)
    assert chosen["cc"] == "reno"
    assert turned["cc"] == "cubic" and turned["received_bytes"] == turned["sent_bytes"] and turned["wrong_bytes"] == 0
    (moved,) = [int(line.split(":")[1].strip(" ,")) for line in text.splitlines() if '"moved"' in line]
    assert 1 <= moved <= 4, text  # successive blocks have different arms, or the same
    assert "bbrctl: " not in text and "deleted" in text, text


def test_moving_does_not_stall(steps):
    """At most a loss is repaired, which takes a round trip; docs/migration.md has the figures."""
    series = matrix.acked(steps["migrate"])
    for at in matrix.switches(steps["migrate"]):
        assert matrix.longest_gap_us(series, at, at + SECOND) <= matrix.FULL_RTT_US + 2 * matrix.SAMPLE_US
        assert matrix.rate_bps(series, at, at + SECOND) >= 0.8 * matrix.rate_bps(series, at - SECOND, at)


def test_a_cgroup_is_attached_and_detached(steps):
    text = steps["attach"]
    assert "lab_bbr: attached to /sys/fs/cgroup/lab" in text and '"/sys/fs/cgroup/lab"' in text, text
    assert "lab_bbr: detached from /sys/fs/cgroup/lab" in text and "bbrctl: " not in text, text
    attached, chosen, detached, waited, not_for = matrix.ends(text)
    assert waited["cc"] == "lab_bbr" and not_for["cc"] == detached["cc"]
    assert attached["cc"] == "lab_bbr" and chosen["cc"] == "reno"
    assert detached["cc"] not in ("lab_bbr", "reno")
    assert attached["received_bytes"] == 1000000 and attached["wrong_bytes"] == 0


def test_an_upgrade_replaces_the_code_under_a_flow(steps):
    """Atomically, except on 6.1, which has no links."""
    text = steps["upgrade"]
    assert '"version": "9.9.9"' in text and "upgraded from 9.9.9 to" in text, text
    if steps["kernel"].partition("+")[0] == "6.1":
        assert '"atomic": false' in text and "the name was missing for at most" in text, text
        assert "this kernel has no links" in text, text
    else:
        assert '"atomic": true' in text and "the name was never missing" in text, text
    assert "bbrctl: " not in text and '"params_changed": 1' in text, text
    assert [end["wrong_bytes"] for end in matrix.ends(text)] == [0, 0]
    for end in matrix.ends(text):
        assert end["cc"] == "lab_two" and end["received_bytes"] == end["sent_bytes"] > 0


def test_rules_choose_the_profile(steps):
    text = steps["rules"]
    assert "bbrctl: " not in text, text
    found = dict(line.split(": ", 1) for line in text.splitlines() if line.count(": ") == 1)
    assert {what: found.get(what) for what in ("nothing", "cgroup", "prefix", "mark", "port", "not", "terms")} == {
        "nothing": "default", "cgroup": "by_cgroup", "prefix": "by_prefix", "mark": "by_mark", "port": "to_port", "not": "to_port",
        "terms": "by_terms"}
    assert "6: --sport 1 --profile by_port\n7: --cgroup /lab --profile by_cgroup\n" in text
    assert "1: --dport 5001 --not-src 192.0.2.1 --not-mark 5 --not-dev none --profile by_terms\n" in text
    assert "4: --mark 0 --profile by_mark\nlab_bbr: 7 rules deleted" in text


@pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])
def test_sockets_begin_as_their_profile_says(steps, algorithm):
    """A timeout is the RTT and 20 instead of 200 ms; an ACK without data takes at most 8 instead of 40 ms (and a tick)."""
    text = steps["socket"]
    found = {tuple(line.split()[:2]): int(line.split()[2]) for line in text.splitlines()
             if line.startswith(f"{algorithm}_")}
    plain, own = ({value: found[f"{algorithm}_{which}", value] for value in ("cwnd", "rto", "rtt_us")}
                  for which in ("plain", "set"))
    acked = plain["cwnd"] - 10
    assert acked in ((0,) if steps["has modules"] else (0, 1)) and own["cwnd"] == 40 + acked, text
    assert plain["rto"] * 10 >= 200 + plain["rtt_us"] // 1000 - 10, text
    assert own["rto"] * 10 <= 60 + own["rtt_us"] // 1000, text
    assert plain["rtt_us"] - own["rtt_us"] >= 15_000, text
    assert [end["received_bytes"] for end in matrix.ends(text)] == [40_000] * 4, text


def test_version_3_is_registered_and_taken_away(steps):
    text = steps["bbr3"]
    assert "Registered tcp_congestion_ops bpf_bbr3" in text and "Unregistered tcp_congestion_ops bpf_bbr3" in text
    assert "lab_v3: loaded" in text and "lab_v3: unloaded" in text and "bbrctl: " not in text, text
    by_bpftool, by_bbrctl = matrix.ends(text)
    assert by_bpftool["cc"] == "bpf_bbr3" and by_bpftool["received_bytes"] == 1000000
    assert by_bbrctl["received_bytes"] == by_bbrctl["sent_bytes"] > 5_000_000
    assert by_bpftool["wrong_bytes"] == by_bbrctl["wrong_bytes"] == 0


def test_version_3_passes_all_modes_and_probes(steps):
    """Until it is moved away, which the stream reports as its end."""
    events = [o for o in matrix.objects(steps["bbr3"]) if o.get("event") in ("mode", "start", "end")]
    kinds = [e["event"] for e in events]
    assert kinds[0] == "start" and kinds.count("start") == kinds.count("end") == 2, kinds  # there and back
    modes = [e for e in events[:kinds.index("end")] if e["event"] == "mode"]
    way = [modes[0]["from"]] + [e["to"] for e in modes if e["from"] != e["to"]]
    assert way == ["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT", "PROBE_BW"], way
    assert "refilled" in [e["reason"] for e in modes], modes


def test_version_3_is_streamed_and_read_from_outside(steps):
    """Also the second part of its state, which has the rounds."""
    text = steps["bbr3"]
    (summary,) = [o["summary"] for o in matrix.objects(text) if "summary" in o]
    shown = int(text.strip().splitlines()[-1])
    assert shown == summary["events"]["ack"] == summary["acks"] > 100 and summary["drops"]["total"] == 0
    (state,) = [o for o in matrix.objects(text) if o.get("event") == "state"]
    assert state["instance"] == "lab_v3" and state["second_part"]
    assert state["mode"] == "PROBE_BW" and state["phase"] in ("UP", "DOWN", "CRUISE", "REFILL")
    assert state["rounds"] > 5 and state["bw_bps"] > 1_000_000 and 0 < state["min_rtt_us"] <= matrix.FULL_RTT_US


def test_connections_move_from_version_3_to_1_and_back(steps):
    text = steps["bbr3"]
    assert "moved 1 connection from lab_v3 to lab_bbr" in text and "moved 1 connection from lab_bbr to lab_v3" in text
    assert matrix.ends(text)[-1]["cc"] == "lab_v3"


def has_kernel_bbr(steps):
    """Debian builds it as a module, and the modules of some kernels are no longer available."""
    return steps["has modules"]


def test_all_sockets_are_read_from_outside(steps):
    """Also those of an instance that is unloaded, and of a module that was loaded after bbrmon started."""
    assert "bbrmon: " not in steps["outside"], steps["outside"]
    assert "lab_two: unloaded; it stays in the kernel for 1 user " in steps["outside"], steps["outside"]
    states = {o["instance"]: o for o in matrix.objects(steps["outside"]) if o.get("event") == "state"}
    assert set(states) == {"lab_bbr", "lab_two"} | ({"bbr"} if has_kernel_bbr(steps) else set())
    for name, state in states.items():
        assert state["mode"] in ("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT") and state["rounds"] > 5
        assert state["bw_bps"] > 1_000_000 and 0 < state["min_rtt_us"] <= matrix.FULL_RTT_US
        assert state["state"] == "ESTAB" and state["cgroup_id"] > 0 and state["inode"] > 0
        assert state["profile"] == (None if name == "bbr" else "default")


def test_the_kernels_own_bbr_is_streamed(steps):
    events = [o for o in matrix.objects(steps["outside"]) if o.get("event", "state") != "state"]
    (summary,) = [o["summary"] for o in matrix.objects(steps["outside"]) if "summary" in o]
    assert summary["acks"] == summary["events"]["ack"] > 100 and summary["drops"]["total"] == 0
    if not has_kernel_bbr(steps):
        assert not events
        return
    assert {e["instance"] for e in events} == {"bbr"}
    *changes, last = events
    assert changes[0]["event"] == "start" and changes[-1]["event"] == "end"
    modes = [e for e in changes if e["event"] == "mode"]
    assert [e["to"] for e in modes][:2] == ["DRAIN", "PROBE_BW"] and {e["reason"] for e in modes} == {None}
    assert last["event"] == "ack" and last["acked"] is last["app_limited"] is last["profile"] is None
    assert last["bw_bps"] > 1_000_000 and last["rtt_us"] >= last["min_rtt_us"]


def test_each_timeout_of_the_kernels_own_bbr_is_an_event(steps):
    """There are as many as the kernel counts. In a guest every program runs; the running kernel may skip one that is due."""
    if not has_kernel_bbr(steps):
        return
    before, after = [int(line.split()[1]) for line in steps["timeouts"].splitlines() if line.startswith("timeouts ")]
    events = matrix.objects(steps["timeouts"])
    (summary,) = [o["summary"] for o in events if "summary" in o]
    rtos = [o for o in events if o.get("event") == "rto"]
    assert len(rtos) == summary["events"]["rto"] == after - before >= 3, steps["timeouts"]
    assert summary["drops"]["total"] == 0
    recoveries = [(e["from"], e["to"]) for e in events if e.get("event") == "recovery"]
    assert recoveries[0][1] == "loss" and recoveries[-1] == ("loss", "open"), recoveries


def test_the_bpffs_is_unmounted(steps):
    lines = steps["bpffs"].split("\n")
    if steps["kernel"].partition("+")[0] == "6.1":  # needs no bpffs
        assert "status 0" in lines and "0" in lines, lines
        assert [line for line in lines if "is already loaded" in line], lines
    else:
        assert "status 3" in lines and "1" in lines, lines
        assert [line for line in lines if line.startswith("lab_bbr: loaded")], lines


def test_it_unloads_and_leaves_nothing(steps):
    lines = steps["unload"].split("\n")
    assert "lab_bbr: unloaded" in lines
    assert not [line for line in lines if line and "unloaded" not in line], lines


def test_a_kernel_is_refused_with_a_sentence():
    console = matrix.run("5.10").console
    for words in ("bbrctl: Linux 5.10", "it does not let BPF programs set sk_pacing_rate, sk_pacing_status\n", "use Linux 6.1 or newer"):
        assert words in console, console


# With what each would do first.
LOCKED_DOWN = {"bbrctl load": "the BPF program", "bbrctl check": "the BPF program",
               "bbrctl migrate --from cubic --to reno": "the BPF program that walks the sockets",
               "bbrmon snapshot": "the BPF program that reads sockets", "bbrmon export --once": "the BPF program that reads sockets",
               "bbrmon why --for 1s": "the BPF program that reads sockets"}


def test_a_kernel_locked_down_for_confidentiality_refuses_with_a_sentence():
    kernel = kernels.find("6.12+confidentiality")
    script = "".join(f"echo '== {verb}'; {verb} 2>&1; echo status $?\n" for verb in LOCKED_DOWN)
    console = guest.run(kernel, guest.initramfs(kernel, script, programs=matrix.TOOLS)).console
    for verb, what in LOCKED_DOWN.items():
        text = matrix.steps(console)[verb]
        assert f"{verb.split()[0]}: the kernel refused {what}: Invalid argument\n" in text, console
        assert "\n  the kernel is locked down for confidentiality, so no BPF program may read its memory; boot it with lockdown=integrity" in text
        assert text.rstrip().endswith("status 2"), console


# ---- the toy algorithm

SUPPORTED = kernels.keys(kernels.CHECK)
ENVIRONMENT = "export TOY_OBJECT=/bpf_toy.bpf.o TOY_NAME=lab_toy BBR_NAME=lab_bbr PORT=5001 WORK=/tmp\n"


@pytest.mark.parametrize("key", [SUPPORTED[0], SUPPORTED[-1]])
def test_an_algorithm_is_a_folder(key):
    """That nothing outside its folder knows, on the oldest and the newest kernel."""
    kernel = kernels.find(key)
    image = guest.initramfs(kernel, ENVIRONMENT + (TOY / "toy.sh").read_text(),
                            programs=["bpftool", BUILD / "toy/bbrctl", BUILD / "toy/bbrmon", BUILD / "flow"],
                            files={"/bpf_toy.bpf.o": BUILD / "toy/bpf_toy.bpf.o"})
    result = guest.run(kernel, image)
    assert result.status == 0, result.console
    toy_steps.check(result.console, "lab_toy", "lab_bbr")
