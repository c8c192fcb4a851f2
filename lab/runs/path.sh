# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest. The lab's path, each name a network namespace, the devices beside it:
#
#	10.0.2.2 snd s0 --- a0 wan a1 --- r0 rtr r1 --- c0 rcv 10.0.2.1
#
# The bottleneck is the queue of r1, the delay is at c0, on the way back: at the sender it would disturb
# TCP small queues. `wan` is there only if asked for: it loses and shuffles packets before they reach the
# bottleneck, so that the drops of each qdisc have one cause. With one segment a packet, a packet of the
# queues is a packet on the wire.
#
# rtr and wan are wires: tc passes each frame from one end to the other, which takes fewer instructions than
# the IP layer. The hosts know each other from the start, and no device has an IPv6 address, so TCP's packets
# are the only ones. Commands come in batches, because starting a process costs as much as hundreds of packets.
SENDER=(10.0.2.2 02:00:00:00:00:02)
RECEIVER=(10.0.2.1 02:00:00:00:00:01)

cable() { # ns dev ns dev
	echo "link add $2 netns $1 type veth peer name $4 netns $3"
}

device() { # dev, MTU, segments a packet. A device with a small MTU has no addrgenmode.
	printf 'link set %s %s\n' "$1" "addrgenmode none" "$1" "mtu $2 gso_max_segs $3 up"
}

host() { # ns dev, MTU, segments a packet, its address and MAC, the other host's
	{
		echo link set lo up
		echo link set "$2" address "$6"
		device "$2" "$3" "$4"
		echo addr add "$5/24" dev "$2"
		echo neigh add "$7" lladdr "$8" dev "$2" nud permanent
	} | ip -n "$1" -b -
}

wire() { # ns dev dev, MTU, segments a packet
	{
		device "$2" "$4" "$5"
		device "$3" "$4" "$5"
	} | ip -n "$1" -b - || return
	tc -n "$1" -b - <<-COMMANDS
		qdisc add dev $2 clsact
		qdisc add dev $3 clsact
		filter add dev $2 ingress pref 2 matchall action mirred egress redirect dev $3
		filter add dev $3 ingress pref 2 matchall action mirred egress redirect dev $2
	COMMANDS
}

make_path() { # MTU, segments a packet, the sender's qdisc or none, [wan]
	local qdisc=$3 wan=${4:-}

	{
		printf 'netns add %s\n' snd ${wan:+"$wan"} rtr rcv
		if [ -n "$wan" ]; then
			cable snd s0 wan a0
			cable wan a1 rtr r0
		else
			cable snd s0 rtr r0
		fi
		cable rtr r1 rcv c0
	} | ip -b - || return
	host snd s0 "$1" "$2" "${SENDER[@]}" "${RECEIVER[@]}" || return
	host rcv c0 "$1" "$2" "${RECEIVER[@]}" "${SENDER[@]}" || return
	if [ -n "$wan" ]; then
		wire wan a0 a1 "$1" "$2" || return
	fi
	wire rtr r0 r1 "$1" "$2" || return
	if [ "$qdisc" != none ]; then
		tc -n snd qdisc add dev s0 root "$qdisc"
	fi
}
