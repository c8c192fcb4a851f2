# SPDX-License-Identifier: GPL-2.0-only
"""Kinds of connections that a congestion control rarely meets (unusual.c), on three kernels: each is initialised once it is there,
has the profile of its rule at both ends, delivers its bytes, is shown, and makes no warning. All subflows of MPTCP move at once."""
import functools
import json

import pytest

from studies.peers import KERNELS, WARNING
from vm import guest, kernels
from vm.initramfs import BUILD

KINDS = ("plain", "cookies", "defer", "fastopen", "repair", "zerocopy", "tls", "mptcp")
ALGORITHMS = {"bbr": "lab_bbr", "bbr3": "lab_v3"}
BYTES = 400_000
TLS_MODULES = ["crypto_null", "ctr", "gf128mul", "ghash-generic", "gcm", "tls"]
SCRIPT = """
netstat() { # NAME: the counter
	awk -v name="$1" '$1 == "TcpExt:" { if (!known++) split($0, names); else for (n in names) if (names[n] == name) print $n }' /proc/net/netstat
}
sysctl -qw net.ipv4.tcp_fastopen=1543 # without cookies, for each listener
for algorithm in bbr bbr3; do
	[ $algorithm = bbr ] && name=lab_bbr || name=lab_v3
	bbrctl load --algorithm $algorithm --name $name >/dev/null || exit
	for profile in asking serving; do
		bbrctl profile add --name $name $profile cwnd_gain=3 >/dev/null || exit
	done
	bbrctl rule add --name $name --dport 6000 --profile asking >/dev/null || exit
	bbrctl rule add --name $name --sport 6000 --profile serving >/dev/null || exit
	for kind in plain cookies defer fastopen repair zerocopy tls mptcp; do
		[ $kind = cookies ] && sysctl -qw net.ipv4.tcp_syncookies=2 || sysctl -qw net.ipv4.tcp_syncookies=1
		echo "== $name $kind $(netstat SyncookiesRecv)"
		unusual ${kind/cookies/plain} $name "bbrmon snapshot -j" 2>&1
		echo "cookies $(netstat SyncookiesRecv)"
	done
done
ip mptcp limits set subflow 1
ip mptcp endpoint add 127.0.0.2 dev lo subflow
for names in "lab_bbr lab_v3" "lab_v3 lab_bbr"; do
	set -- $names
	echo "== $1 subflows"
	unusual mptcp $1 "sleep 0.1; bbrctl migrate --from $1 --to $2 >/dev/null && bbrmon snapshot -j" 2>&1
done
echo "== end of all"
dmesg
"""


@functools.cache
def console(key):
    kernel = kernels.find(key)
    image = guest.initramfs(kernel, SCRIPT, modules=TLS_MODULES, programs=[BUILD / name for name in ("bbrctl", "bbrmon", "unusual")])
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
    cookies = int(text.splitlines()[-1].split()[1]) - int(text.splitlines()[0].split()[2])
    assert cookies == (kind == "cookies")


@pytest.mark.parametrize("name, other", [("lab_bbr", "lab_v3"), ("lab_v3", "lab_bbr")])
def test_migrate_moves_all_subflows_of_an_mptcp_connection(key, name, other):
    _, ends, states = found(key, name, "subflows")
    assert {state["instance"] for state in states} == {other}
    assert profiles(states) == ["asking", "asking", "serving", "serving"]
    assert {state["local"] for state in states if state["rport"] == 6000} == {"127.0.0.1", "127.0.0.2"}
    assert [(end["bytes"], end["wrong_bytes"]) for end in (ends["client"], ends["server"])] == [(BYTES, 0)] * 2


def test_the_kernel_does_not_warn(key):
    assert [line for line in console(key).split("== end of all")[1].splitlines() if WARNING.search(line)] == []
