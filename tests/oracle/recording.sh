# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after the lab's path.sh and scenario.sh, which set up the path and the flows, and before
# the lines that recording.py writes.
start_recording() {
	/bin/record / "$OUT/recording" /tmp/ready /tmp/about >"$OUT/counts" &
	recorder=$!
	until [ -e /tmp/ready ]; do
		kill -0 "$recorder" 2>/dev/null || fail "the recorder of callbacks did not start"
		sleep 0.01
	done
}

begin_point() {
	local uptime

	flows=()
	read -r uptime _ </proc/uptime
	# shellcheck disable=SC2034 # flow_to and at use it
	epoch=$((10#${uptime/./} * 10000000 + 100000000)) # nanoseconds; flows need some time to start
}

# Leaves no socket of the point: the callbacks of their ends are part of the recording.
end_point() {
	local n

	for n in "${!flows[@]}"; do
		wait "${flows[n]}" || fail "flow $n: $(cat "$OUT/flow.$n")"
	done
	while killall -q flow; do # the receivers
		sleep 0.01
	done
	for n in snd wan rtr rcv; do
		[ -e /run/netns/$n ] && ip netns del $n
	done
	return 0
}

end_recording() {
	kill -TERM "$recorder"
	wait "$recorder" || fail "the recorder of callbacks failed: $(cat "$OUT/counts")"
	echo "@@COUNTS $(cat "$OUT/counts")"
	cat "$OUT/recording" >/dev/ttyS1
}
