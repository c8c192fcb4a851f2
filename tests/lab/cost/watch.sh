# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: what an ACK costs with some monitors, each of which wants $EVERY of
# "ack", "round" and "transition", and what the kernel's own bbr costs that is looked at, in $TURNS
# transfers each. Prints "== NAME" before what each prints; cost.py reads it.
step() {
	echo "== $1"
}

turns() {
	local i

	for ((i = 0; i < TURNS; i++)); do
		transfer "$@"
	done
}

# start COUNT EVERY NAME: so many bbrmon, all of which are subscribed when it returns.
start() {
	local i

	for ((i = 0; i < $1; i++)); do
		bbrmon stream --name "$3" --every "$2" >/dev/null 2>&1 &
	done
	sleep 2
}

stop() {
	local job

	for job in $(jobs -p); do
		kill -INT "$job"
		wait "$job"
	done
}

step instrument
transfer -f bbr_sndbuf_expand bbr

bpftool struct_ops register /bpf_bbr.bpf.o >/dev/null
step nobody
transfer bpf_bbr >/dev/null
turns -p cong_control bpf_bbr
for every in transition round ack; do
	for count in 1 8; do
		start $count $every bpf_bbr
		step "${every}_$count"
		turns -w -p cong_control bpf_bbr
		stop
	done
done

step snapshot
BYTES=$SNAPSHOT_BYTES transfer -w -f bpf_iter_tcp_seq_show bpf_bbr &
sleep 1
for ((i = 0; i < 10; i++)); do
	bbrmon snapshot -H >/dev/null
done
wait
bpftool struct_ops unregister name bpf_bbr >/dev/null

for every in transition round ack; do
	start 1 $every bbr
	transfer bbr >/dev/null
	step "kernel_$every"
	turns -w -p segment bbr
	stop
done
echo "== end"
