# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Comes before each of the other scripts. Makes the path, 200 Mbit/s and 5 ms, over which transfer sends $BYTES bytes.
transfer() {
	ip netns exec snd cost "$@" "$BYTES" 10.0.0.2 rcv
}

# The id of the newest program of a name.
newest() {
	bpftool prog list | awk -v name="$1" '$0 ~ " name " name " " { id = $1 } END { print id + 0 }'
}

ip netns add snd
ip netns add rcv
ip link add s0 netns snd type veth peer name c0 netns rcv
ip -n snd addr add 10.0.0.1/24 dev s0
ip -n rcv addr add 10.0.0.2/24 dev c0
ip -n snd link set s0 up
ip -n rcv link set c0 up
tc -n snd qdisc add dev s0 root netem rate 200mbit limit 10000
tc -n rcv qdisc add dev c0 root netem delay 5ms limit 10000
