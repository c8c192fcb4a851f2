# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after cost_path.sh: transfers of $BYTES bytes, and what they take. Prints
# "== SHAPE NAME" before what each prints; cost.py reads it. $SHAPES are "bursts" (packets travel in TSO
# bursts, with one ACK for each) and "packets" (one by one, with an ACK for every other one).
step() {
	echo "== $shape $1"
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

	# One transfer differs from the next, and its mix of ACKs, by more than what is to be seen: take many, in turns.
	step turns
	for ((i = 0; i < TURNS; i++)); do
		BYTES=$TURN_BYTES transfer -f bbr_main bbr
		for object in no_telemetry bpf_bbr; do
			register /$object.bpf.o
			BYTES=$TURN_BYTES transfer -p cong_control bpf_bbr
			unregister
		done
	done
done
echo "== end"
