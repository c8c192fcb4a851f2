# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of connections that a congestion control rarely meets (unusual.c), on three kernels: each is initialised once it is there,
has the profile of its rule at both ends, delivers its bytes, is shown, and makes no warning. All subflows of MPTCP move at once."""
import csv
import functools
import json
import re

import pytest

from runs.experiment import MODULES, PATH
from studies.peers import KERNELS, WARNING
from vm import guest, kernels
from vm.initramfs import BUILD

KINDS = ("plain", "cookies", "defer", "fastopen", "repair", "zerocopy", "tls", "mptcp", "sockmap")
ALGORITHMS = {"bbr": "lab_bbr", "bbr3": "lab_v3"}
BYTES = 400_000
IN_SYN = 1000  # of fastopen
TLS_MODULES = ["crypto_null", "ctr", "gf128mul", "ghash-generic", "gcm", "tls"]
SCRIPT = """
netstat() { # NAME: the counter
	awk -v name="$1" '$1 == "TcpExt:" { if (!known++) split($0, names); else for (n in names) if (names[n] == name) print $n }' /proc/net/netstat
}
sysctl -qw net.ipv4.tcp_fastopen=1543 # without cookies, for each listener
for algorithm in bbr bbr3; do
	[ $algorithm = bbr ] && name=lab_bbr || name=lab_v3
	bbrctl load --algorithm $algorithm --name $name >/dev/null || exit
	for profile in asking serving calm; do
		bbrctl profile add --name $name $profile cwnd_gain=3 >/dev/null || exit
	done
	bbrctl rule add --name $name --dport 6000 --profile asking >/dev/null || exit
	bbrctl rule add --name $name --sport 6000 --profile serving >/dev/null || exit
	for kind in plain cookies defer fastopen repair zerocopy tls mptcp sockmap; do
		[ $kind = cookies ] && sysctl -qw net.ipv4.tcp_syncookies=2 || sysctl -qw net.ipv4.tcp_syncookies=1
		echo "== $name $kind $(netstat SyncookiesRecv)"
		unusual ${kind/cookies/plain} $name "bbrmon snapshot -j" 2>&1
		echo "cookies $(netstat SyncookiesRecv)"
	done
	echo "== $name why"
	unusual sockmap $name "bbrmon why --for 1s; bbrmon why --for 1s --idle -j" 2>&1
done
for side in sport dport; do
	bbrctl experiment start drawn --all-netns --$side 6000 --arm control=lab_bbr:calm --arm new=lab_v3:calm >/dev/null || exit
	for kind in plain cookies defer fastopen repair zerocopy tls mptcp sockmap; do
		[ $kind = cookies ] && sysctl -qw net.ipv4.tcp_syncookies=2 || sysctl -qw net.ipv4.tcp_syncookies=1
		echo "== drawn $side $kind"
		unusual ${kind/cookies/plain} "" true 2>&1
	done
	sleep 0.5
	echo "== drawn $side rows"
	bbrmon experiment drawn -w -
	bbrctl experiment stop drawn >/dev/null
done
ip mptcp limits set subflow 1
ip mptcp endpoint add 127.0.0.2 dev lo subflow
for names in "lab_bbr lab_v3" "lab_v3 lab_bbr"; do
	set -- $names
	echo "== $1 subflows"
	unusual mptcp $1 "sleep 0.1; bbrctl migrate --from $1 --to $2 >/dev/null && bbrmon snapshot -j" 2>&1
done
echo "== lab_bbr part"
unusual mptcp lab_bbr "sleep 0.1; bbrctl migrate --from lab_bbr --to lab_v3 --dst 127.0.0.2 && bbrmon snapshot -j; bbrmon top -b -n 1 --sort mptcp" 2>&1
echo "== lab_bbr later"
ip mptcp endpoint flush
ip mptcp limits set subflow 2
unusual mptcp lab_bbr "bbrctl migrate --from lab_bbr --to lab_v3; ip mptcp endpoint add 127.0.0.3 dev lo subflow; sleep 0.1; bbrmon snapshot -j" 2>&1
echo "== end of all"
dmesg
"""


# (kernel, flows, bytes of each): they begin at once. docs/experiments.md has the figures of 6.12; on the others they send less.
INCASTS = [(key, flows, size if key == "6.12" else size // 4) for key in KERNELS for flows, size in ((120, 400_000), (1000, 30_000))]
BUFFER, LINK_BPS = 200_000, 100_000_000
INCAST_CCS = ("cubic", "bbr", "bpf_bbr", "bpf_bbr3")
INCAST = """
make_path 1500 1 fq || exit
tc -n rtr qdisc add dev r1 root tbf rate {rate}bit burst 3028 limit {buffer}
tc -n rcv qdisc add dev c0 root netem delay 1ms limit 100000
bbrctl load >/dev/null && bbrctl load --algorithm bbr3 >/dev/null || exit
for cc in {ccs}; do
	unusual incast $cc {flows} {size} snd rcv 10.0.2.1 2>&1
done
echo "== end of all"
dmesg
"""


@functools.cache
def console(key, script=SCRIPT, modules=tuple(TLS_MODULES)):
    kernel = kernels.find(key)
    image = guest.initramfs(kernel, script, modules=modules, programs=[BUILD / name for name in ("bbrctl", "bbrmon", "unusual")])
    result = guest.run(kernel, image)
    assert "== end of all" in result.console, result.console
    return result.console


def found(key, name, kind):
    """(the text of a connection, its two ends, the states that bbrmon showed)"""
    (text,) = [part for part in console(key).split("== ") if part.split()[:2] == [name, kind]]
    *states, ends = [json.loads(line) for line in text.splitlines() if line.startswith("{")] or pytest.fail(text)
    return text, ends, states


def profiles(states):
    """That of each state, if it is of the end that the rule of this profile is for."""
    assert all((state["profile"] == "serving") == (state["lport"] == 6000) for state in states)
    return sorted(state["profile"] for state in states)


@pytest.fixture(params=KERNELS)
def key(request):
    return request.param


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALGORITHMS.values())
def test_a_kind(key, name, kind):
    text, ends, states = found(key, name, kind)
    for end in (ends["client"], ends["server"]):
        assert (end["cc"], end["bytes"], end["wrong_bytes"]) == (name, BYTES, 0)
        assert end["syn_data"] == (kind == "fastopen") and (end["completed"] > 0) == (kind == "zerocopy")
    assert profiles(states) == ["asking", "serving"] and {state["instance"] for state in states} == {name}
    for state in states:
        assert state["mode"] in ("STARTUP", "DRAIN", "PROBE_BW") and state["cwnd"] >= 4 and state["bw_bps"] > 0
        assert state["sockmap"] is (kind == "sockmap") and (state["mptcp_token"] is not None) == (kind == "mptcp")
    cookies = int(text.splitlines()[-1].split()[1]) - int(text.splitlines()[0].split()[2])
    assert cookies == (kind == "cookies")


@pytest.mark.parametrize("end, side", [("client", "dport"), ("server", "sport")])
def test_an_experiment_draws_each_kind_once(key, end, side):
    """Before its first data, but for what TCP Fast Open sends in the SYN; the row has what the arm's congestion control sent."""
    parts = [part for part in console(key).split("== ") if part.startswith(f"drawn {side} ")]
    *kinds, rows = [part.split("\n", 1)[1] for part in parts]
    rows = [row for row in csv.DictReader(line for line in rows.splitlines() if "," in line and line[0] != "#")]
    for kind, text in zip(KINDS, kinds, strict=True):
        (ends,) = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        mine = [rows.pop(0)]
        if kind == "repair" and end == "client":  # the socket that was replaced, and then the one with its state
            mine.append(rows.pop(0))
            assert [row["end"] for row in mine] == ["aborted", "closed"]
        assert ends[end]["cc"] == ("lab_bbr", "lab_v3")[int(mine[-1]["arm"])] and ends[end]["wrong_bytes"] == 0
        assert (ends["client"]["cc"] == "cubic") == (end == "server"), text
        sent = {"sockmap": BYTES // 2, "fastopen": BYTES - IN_SYN * (end == "client")}.get(kind, BYTES)
        if kind == "mptcp":  # now and then MPTCP sends a part once more, as new bytes of the subflow (MPTCPRetrans)
            sent = ends[end]["tcp_bytes"] - (end == "client")  # the SYN
            assert sent >= BYTES
        acked = sum(int(row["acked_bytes"]) for row in mine)
        assert sent < acked < 1.01 * sent if kind == "tls" else acked == sent, (kind, mine)  # TLS adds a header to each record
    assert not rows


@pytest.mark.parametrize("name", ALGORITHMS.values())
def test_what_a_sockmap_redirects_does_not_go_through_tcp(key, name):
    """So nothing of it is acknowledged, and `why` says so."""
    _, ends, _ = found(key, name, "sockmap")
    assert {end["tcp_bytes"] for end in (ends["client"], ends["server"])} <= {BYTES // 2, BYTES // 2 + 1}
    text, ends, answers = found(key, name, "why")
    assert "2 idle connections are not shown" in text and "2 of these are in a sockmap: data that its BPF program redirects" in text
    assert [(answer["sockmap"], answer["cause"]) for answer in answers] == [(True, "application")] * 2
    assert all("the socket is in a sockmap" in answer["verdicts"][0]["sentence"] for answer in answers)


@pytest.mark.parametrize("name, other", [("lab_bbr", "lab_v3"), ("lab_v3", "lab_bbr")])
def test_migrate_moves_all_subflows_of_an_mptcp_connection(key, name, other):
    _, ends, states = found(key, name, "subflows")
    assert {state["instance"] for state in states} == {other}
    assert profiles(states) == ["asking", "asking", "serving", "serving"]
    assert {state["local"] for state in states if state["rport"] == 6000} == {"127.0.0.1", "127.0.0.2"}
    assert [(end["bytes"], end["wrong_bytes"]) for end in (ends["client"], ends["server"])] == [(BYTES, 0)] * 2
    assert mptcp_of(states, client=True) == (1, {(0, 0), (1, 0)}) and mptcp_of(states, client=False) == (1, {(0, 0), (0, 1)})


def mptcp_of(states, client):
    """(how many MPTCP connections this end has, the ids of the addresses of their subflows)"""
    of_end = [state for state in states if (state["rport"] == 6000) == client]
    return len({state["mptcp_token"] for state in of_end}), {(state["mptcp_local_id"], state["mptcp_remote_id"]) for state in of_end}


def test_a_filter_chooses_among_subflows(key):
    """The server's end of the second one has that remote address. top names both ends' connections, and sorts by them."""
    text, ends, states = found(key, "lab_bbr", "part")
    assert [state["remote"] for state in states if state["instance"] == "lab_v3"] == ["127.0.0.2"] and len(states) == 4
    assert "moved 1 connection from lab_bbr to lab_v3" in text and "1 of them is a subflow of MPTCP; later subflows get" in text
    (head,) = [line for line in text.splitlines() if line.startswith("INSTANCE")]
    at = head.index("MPTCP")
    tokens = [int(line[at:].split()[0].split("/")[0], 16) for line in text.splitlines() if re.match(r"lab_\w+ +\w+ing ", line)]
    assert tokens == sorted(state["mptcp_token"] for state in states) and len(set(tokens)) == 2
    assert ends["client"]["wrong_bytes"] == ends["server"]["wrong_bytes"] == 0


def test_a_later_subflow_gets_what_the_mptcp_socket_has(key):
    _, ends, states = found(key, "lab_bbr", "later")
    assert {state["remote"] for state in states if state["instance"] == "lab_v3"} == {"127.0.0.1"}
    assert {state["local"] for state in states if state["instance"] == "lab_bbr" and state["rport"] == 6000} == {"127.0.0.3"}
    assert len(states) == 4 and mptcp_of(states, client=True)[0] == mptcp_of(states, client=False)[0] == 1
    assert ends["client"]["bytes"] == ends["server"]["bytes"] == BYTES


def warnings(text):
    return [line for line in text.split("== end of all")[1].splitlines() if WARNING.search(line)]


def test_the_kernel_does_not_warn(key):
    assert warnings(console(key)) == []


def incast(key, flows, size):
    """Congestion control -> what it printed."""
    script = INCAST.format(rate=LINK_BPS, buffer=BUFFER, ccs=" ".join(INCAST_CCS), flows=flows, size=size)
    text = console(key, PATH.read_text() + script, (*MODULES, "tcp_bbr"))
    found = [json.loads(line) for line in text.splitlines() if line.startswith('{"incast"')]
    assert warnings(text) == []
    return {one["incast"]: one for one in found}


@pytest.mark.parametrize("key, flows, size", INCASTS)
def test_an_incast_delivers(key, flows, size):
    """Into a buffer of 200 kB; the kernel's bbr and CUBIC as well, and bpf_bbr resends about as much as the kernel's."""
    found = incast(key, flows, size)
    assert list(found) == list(INCAST_CCS)
    for one in found.values():
        assert (one["whole"], one["wrong_bytes"], one["bytes"]) == (flows, 0, size), found
    assert found["bpf_bbr"]["resent"] < 1.25 * found["bbr"]["resent"], found
    print(found)
