# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest. The lab's path, each name a network namespace, the devices beside it:
#
#	snd s0 --- a0 wan a1 --- r0 rtr r1 --- c0 rcv	10.0.2.1
#
# The bottleneck is the queue of r1, the delay is at c0, on the way back: at the sender it would disturb
# TCP small queues. `wan` is there only if asked for: it loses and shuffles packets before they reach the
# bottleneck, so that the drops of each qdisc have one cause. With one segment a packet, a packet of the
# queues is a packet on the wire.
cable() { # ns dev ns dev
	ip link add "$2" netns "$1" type veth peer name "$4" netns "$3"
	ip -n "$1" link set "$2" up mtu "$mtu" gso_max_segs "$segments"
	ip -n "$3" link set "$4" up mtu "$mtu" gso_max_segs "$segments"
}

addr() { # ns dev address
	ip -n "$1" addr add "$3/24" dev "$2"
}

make_path() { # MTU, segments a packet, the sender's qdisc or none, [wan]
	local mtu=$1 segments=$2 qdisc=$3 wan=${4:-} ns

	for ns in snd $wan rtr rcv; do
		ip netns add "$ns"
		ip -n "$ns" link set lo up
		ip netns exec "$ns" sysctl -qw net.ipv4.ip_forward=1
	done
	if [ -n "$wan" ]; then
		cable snd s0 wan a0
		cable wan a1 rtr r0
		addr snd s0 10.0.0.1
		addr wan a0 10.0.0.2
		addr wan a1 10.0.1.1
		addr rtr r0 10.0.1.2
		ip -n snd route add default via 10.0.0.2
		ip -n wan route add default via 10.0.1.2
		ip -n rtr route add 10.0.0.0/24 via 10.0.1.1
	else
		cable snd s0 rtr r0
		addr snd s0 10.0.1.1
		addr rtr r0 10.0.1.2
		ip -n snd route add default via 10.0.1.2
	fi
	cable rtr r1 rcv c0
	addr rtr r1 10.0.2.2
	addr rcv c0 10.0.2.1
	ip -n rcv route add default via 10.0.2.2
	if [ "$qdisc" != none ]; then
		tc -n snd qdisc add dev s0 root "$qdisc"
	fi
}
