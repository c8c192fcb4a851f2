# SPDX-License-Identifier: GPL-2.0-only
"""Checks the output of toy.sh, which is the same on any kernel."""
import json
import re

RTTS = 64


def steps(text):
    """What each step printed: its name -> text."""
    parts = ("\n" + text).split("\n== ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


def document(text):
    """The one JSON document of a text that may have other lines before and after it."""
    return json.JSONDecoder().raw_decode(text[text.index("{"):])[0]


def ends(text):
    return [o["end"] for o in objects(text) if "end" in o]


def check(text, toy, bbr):
    """Checks the whole output; toy and bbr are the names of the instances."""
    found = steps(text)
    assert "end" in found, text
    check_register(found["register"])
    check_load(found["load"], toy, bbr)
    check_stream(found["flows"], found["stream"], toy, bbr)
    check_snapshot(found, toy, bbr)
    check_recording(found, toy, bbr)
    check_metrics(found, toy, bbr)
    assert f"{toy}: unloaded" in found["unload"] and f"{bbr}: unloaded" in found["unload"]


def check_register(text):
    assert "Registered tcp_congestion_ops bpf_toy" in text
    (end,) = ends(text)
    assert end["cc"] == "bpf_toy" and end["received_bytes"] == 100000 and end["wrong_bytes"] == 0
    assert "Unregistered tcp_congestion_ops bpf_toy" in text


def check_load(text, toy, bbr):
    assert f"{toy}: window=24 (was 10)" in text
    assert "no parameter is called high_gain" in text, "the toy has no parameter of BBR"
    shown = document(text[text.index("(was 10)"):])
    first, *shells = [(p["key"], p["value"], p["default"], p["range"]) for p in shown["params"]]
    assert first == ("window", 24, 10, [2, 1000])
    assert [key for key, *_ in shells] == ["notsent_lowat", "rto_min", "delack_max"]
    status = json.JSONDecoder().raw_decode(text[text.rindex("\n[") + 1:])[0]
    algorithms = {instance["name"]: instance["algorithm"] for instance in status}
    assert algorithms[toy] == "toy" and algorithms[bbr] == "bbr"


def check_stream(flows, text, toy, bbr):
    received = {end["cc"]: end for end in ends(flows)}
    for name in (toy, bbr):
        assert received[name]["wrong_bytes"] == 0 and received[name]["received_bytes"] == received[name]["sent_bytes"] > 0
    events = [o for o in objects(text) if "event" in o]
    (summary,) = [o["summary"] for o in objects(text) if "summary" in o]
    assert summary["drops"]["total"] == 0
    assert {e["instance"] for e in events if e["event"] == "start"} == {toy, bbr}
    assert [e for e in events if e["event"] == "params" and e["instance"] == toy]
    last = events[-1]
    assert last["event"] == "ack" and last["instance"] == toy
    assert last["mode"] == "FIXED" and last["cwnd"] == 12, last
    assert last["acks_seen"] > 100 and last["bw_bps"] > 0
    assert last["worst_rtt_us"] >= last["min_rtt_us"] > 0, "the second part of the state was read"
    assert "policer" not in last and "full_bw_bps" not in last, "what BBR alone has"


def check_snapshot(found, toy, bbr):
    states = {o["instance"]: o for o in reversed(objects(found["snapshot"])) if o["bytes_acked"] > 0}
    assert set(states) == {toy, bbr}
    state = states[toy]
    assert state["event"] == "state" and state["mode"] == "FIXED" and state["cwnd"] == 24
    assert state["acks_seen"] > 10
    assert state["worst_rtt_us"] >= state["min_rtt_us"] > 0, "the second part of the state was read"
    assert "policer" in states[bbr] and "acks_seen" not in states[bbr]
    text = found["snapshot-text"]
    assert " FIXED " in text and " acks_seen:" in text and toy in text and bbr not in text
    sorted_states = [o["acks_seen"] for o in objects(found["sorted"])]
    assert len(sorted_states) == 2 and sorted_states == sorted(sorted_states, reverse=True)


def check_recording(found, toy, bbr):
    recorded, streamed = map(int, found["replay"].splitlines()[:2])
    assert recorded == streamed > 200
    assert f" {toy} " in found["replay"].splitlines()[2] and " FIXED " in found["replay"].splitlines()[2]
    rows = {o["instance"]: o for o in objects(found["top"])}
    assert rows[toy]["mode"] == "FIXED" and "policer" not in rows[toy]
    page = document(found["report"])
    text = json.dumps(page)
    assert toy in text and bbr in text and "FIXED" in text and "worst rtt" in text and "PROBE_BW" in text
    assert page["findings"] == ["policers", "cpu_shortages"]
    assert all((key in flow) == (flow["algorithm"] == "bbr") for flow in page["flows"] for key in page["findings"])


def check_metrics(found, toy, bbr):
    for step in ("export-once", "export"):
        text = found[step]
        assert f'bbr_instance="{toy}"' in text and f'bbr_instance="{bbr}"' in text
    assert 'mode="FIXED"' in found["export"]
    check_own_metrics(found["export"], toy, bbr)


def check_own_metrics(text, toy, bbr):
    """Each algorithm's own fields are metrics of its instances, and of no other's."""
    counts = samples(text, "bbr_worst_rtt_seconds_count")
    assert set(counts) == {toy} and counts[toy] > 100
    assert samples(text, "bbr_worst_rtt_seconds_sum")[toy] > 0
    assert set(samples(text, "bbr_policer_detections_total")) == {bbr}


def samples(text, metric):
    """The values of a metric: the instance's name -> their sum."""
    found = {}
    for name, value in re.findall(rf'^{metric}{{bbr_instance="(.*?)".*}} (.*)$', text, re.M):
        found[name] = found.get(name, 0) + float(value)
    return found
