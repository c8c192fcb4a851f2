# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest: transfers of $BYTES bytes over a path of 200 Mbit/s and 5 ms, and what they take. Prints
# "== SHAPE NAME" before what each prints; cost.py reads it. $SHAPES are "bursts" (packets travel in TSO
# bursts, with one ACK for each) and "packets" (one by one, with an ACK for every other one).
step() {
	echo "== $shape $1"
}

transfer() {
	ip netns exec snd cost "$@" "$BYTES" 10.0.0.2 rcv
}

register() {
	bpftool struct_ops register "$1" >/dev/null
}

unregister() {
	bpftool struct_ops unregister name bpf_bbr >/dev/null
}

watched() {
	bbrmon stream --every "$1" >/dev/null 2>&1 &
	sleep 1 # until it has started
	step "every_$1"
	transfer bpf_bbr
	kill -INT %1
	wait %1
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

for shape in $SHAPES; do
	[ "$shape" = packets ] && ip -n snd link set s0 gso_max_segs 1

	register /no_telemetry.bpf.o
	transfer bbr >/dev/null # what is allocated and looked up for the first time
	transfer bpf_bbr >/dev/null
	step no_telemetry
	transfer -p cong_control bpf_bbr
	transfer bpf_bbr
	unregister

	register /bpf_bbr.bpf.o
	for cc in bbr cubic bpf_bbr; do
		step $cc
		case $cc in
		bbr) transfer -f bbr_main -f bbr_sndbuf_expand bbr ;;
		cubic) transfer -f cubictcp_cong_avoid -f cubictcp_acked cubic ;;
		bpf_bbr) transfer -p cong_control bpf_bbr ;;
		esac
		transfer -s tcp_rate_gen:tcp_ack $cc
		transfer $cc
	done
	watched round
	watched ack
	unregister

	# One transfer differs from the next by more than what asking for a watcher costs: take many, in turns.
	step pairs
	for ((i = 0; i < PAIRS; i++)); do
		for object in no_telemetry bpf_bbr; do
			register /$object.bpf.o
			BYTES=$PAIR_BYTES transfer bpf_bbr
			unregister
		done
	done
done
echo "== end"
