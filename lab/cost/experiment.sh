# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: what the start and the end of a connection take without an experiment, and
# in one with each pair of arms. Prints "== NAME" before each; cost.py reads it.
bbrctl load >/dev/null
bbrctl profile add gentle >/dev/null
ip netns exec snd sysctl -qw net.ipv4.tcp_congestion_control=bpf_bbr

# Of the connection that sends: the receiver's functions are called as well, but do less. "-": it has the default.
measure() { # name
	transfer - >/dev/null # what is allocated and looked up for the first time
	echo "== $1"
	for rate in 100 130 170 400 1000; do # an interrupt comes at another moment of the end
		sleep 70 # so long others that have closed are in the way, in TIME_WAIT
		tc -n snd qdisc change dev s0 root netem rate "${rate}mbit" limit 10000
		transfer -f tcp_init_transfer -f tcp_set_state - # with all that the stack calls meanwhile
	done
}

in_experiment() { # name, arms
	bbrctl experiment start cost --all-netns --dst 10.0.0.2 --arm "control=$2" --arm "new=$3" --share new=99.99%
	measure "$1"
	bbrctl experiment stop cost >/dev/null
}

transfer bbr >/dev/null
echo "== instrument"
transfer -f bbr_sndbuf_expand bbr
measure none
in_experiment cubic bpf_bbr cubic
in_experiment instance cubic bpf_bbr
in_experiment profile cubic bpf_bbr:gentle
echo "== end"
