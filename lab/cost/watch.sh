# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: what an ACK costs in each of $NAMES, in $TURNS transfers: "nobody" watches; EVERY_COUNT, so
# many monitors do, which want every "ack", "round" or "transition"; kernel_EVERY, one looks at the kernel's own bbr; and what a
# socket costs in a "snapshot". Prints "== NAME" before what each prints; cost.py reads it.
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
transfer bpf_bbr >/dev/null
for name in $NAMES; do
	step "$name"
	case $name in
	nobody) turns -p cong_control bpf_bbr ;;
	snapshot)
		BYTES=$SNAPSHOT_BYTES transfer -w -f bpf_iter_tcp_seq_show bpf_bbr &
		sleep 1
		for ((i = 0; i < 10; i++)); do
			bbrmon snapshot -H >/dev/null
		done
		wait
		;;
	kernel_*)
		start 1 "${name#kernel_}" bbr
		transfer bbr >/dev/null
		turns -w -p segment bbr
		stop
		;;
	*) # EVERY_COUNT
		start "${name#*_}" "${name%_*}" bpf_bbr
		turns -w -p cong_control bpf_bbr
		stop
		;;
	esac
done
echo "== end"
