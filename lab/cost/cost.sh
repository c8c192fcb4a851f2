# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: transfers of $BYTES bytes, and what they take. Prints
# "== NAME" before what each prints; cost.py reads it. $SHAPE is "bursts" (packets travel in TSO bursts, with one ACK for
# each), "packets" (one by one, with an ACK for every other one) or "losses" (of 1 % of these).
step() {
	echo "== $1"
}

# Each takes longer to load than many transfers do, so all are loaded once. Of each the ids of its callbacks.
declare -A callback burst buffer
for cc in no_telemetry bpf_bbr bpf_bbr3; do
	bbrctl load --name $cc --object /$cc.bpf.o >/dev/null
	callback[$cc]=$(newest cong_control)
	burst[$cc]=$(newest min_tso_segs)
	buffer[$cc]=$(newest sndbuf_expand)
	transfer $cc >/dev/null # what is allocated and looked up for the first time
done
transfer bbr >/dev/null

# A kernel whose own bbr is version 3 has another function for bursts.
own=(-f bbr_sndbuf_expand)
if grep -qw bbr_min_tso_segs /proc/kallsyms; then
	own+=(-f bbr_min_tso_segs)
fi

watched() {
	bbrmon stream --every "$1" >/dev/null 2>&1 &
	sleep 1 # until it has started
	step "every_$1"
	transfer bpf_bbr
	kill -INT %1
	wait %1
}

[ "$SHAPE" = bursts ] || ip -n snd link set s0 gso_max_segs 1
[ "$SHAPE" != losses ] || tc -n snd qdisc change dev s0 root netem rate 200mbit limit 10000 loss 1%

step no_telemetry
transfer -i "${callback[no_telemetry]}" no_telemetry
transfer no_telemetry

for cc in bbr cubic bpf_bbr bpf_bbr3; do
	step $cc
	case $cc in
	bbr)
		transfer -f bbr_main -f tcp_tso_segs -f tcp_sndbuf_expand bbr
		transfer "${own[@]}" bbr # bbr_main calls one of them, too
		;;
	cubic) transfer -f cubictcp_cong_avoid -f cubictcp_acked cubic ;;
	bpf_bbr*)
		transfer -i "${callback[$cc]}" -f tcp_tso_segs -f tcp_sndbuf_expand $cc
		transfer -i "${burst[$cc]}" -i "${buffer[$cc]}" $cc
		;;
	esac
	transfer $cc
done
watched round
watched ack

# One transfer differs from the next, and its mix of ACKs, by more than what is to be seen: take many, in turns.
step turns
for ((i = 0; i < TURNS; i++)); do
	BYTES=$TURN_BYTES transfer -f bbr_main bbr
	for cc in no_telemetry bpf_bbr bpf_bbr3; do
		BYTES=$TURN_BYTES transfer -i "${callback[$cc]}" $cc
	done
done

# The same of the way to the callback and back, for the trampoline is a difference of means.
step ways
for ((i = 0; i < TURNS; i++)); do
	for cc in bbr bpf_bbr; do
		BYTES=$TURN_BYTES transfer -s tcp_rate_gen:tcp_ack $cc
	done
done
echo "== end"
