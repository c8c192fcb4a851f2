# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh and before the lines that experiment.py writes: its words for the parts of
# a run. What a run leaves in /tmp/out goes to the host.
OUT=/tmp/out
mkdir -p $OUT

fail() {
	echo "scenario: $1"
	exit 1
}

tune() { # receive buffer's limit in bytes, ECN 0 or 1, more sysctls as NAME=VALUE
	local ns

	for ns in snd rcv; do
		ip netns exec $ns sysctl -qw \
			net.ipv4.tcp_rmem="4096 $(($1 < 131072 ? $1 : 131072)) $1" \
			net.ipv4.tcp_wmem="4096 65536 268435456" net.ipv4.tcp_no_metrics_save=1 \
			net.ipv4.tcp_ecn="$2" "${@:3}" || return
	done
}

load() { # bbrctl's options
	bbrctl load "$@" >$OUT/bbrctl 2>&1 || fail "$(cat $OUT/bbrctl)"
}

register() { # object; writes its name into a file beside it
	bpftool struct_ops register "$1" >$OUT/bpftool 2>&1 || fail "$1: $(cat $OUT/bpftool)"
	sed -n 's/^Registered tcp_congestion_ops \([^ ]*\) .*/\1/p' $OUT/bpftool >"$1.name"
	[ -s "$1.name" ] || fail "$1 has no congestion control: $(cat $OUT/bpftool)"
}

stream_bbr() { # how often
	bbrmon stream -j --every "$1" >$OUT/bbrmon 2>$OUT/bbrmon.err &
	monitor=$!
}

record_bbr() {
	bbrmon record --every ack -o $OUT/bbr.rec 2>$OUT/record.err &
	bbr_recorder=$!
}

serve() { # number of flows, the congestion controls of their receivers if they need one
	local n cc

	for ((n = 0; n < $1; n++)); do
		cc=${*:n+2:1}
		ip netns exec rcv flow -l $((5201 + n)) ${cc:+-C "$cc"} >>$OUT/received &
	done
	until [ "$(ss -N rcv -Hltn | wc -l)" -ge "$1" ]; do
		sleep 0.01
	done
}

# A socket gets the route's lock with what TCP remembers of the peer, so it must remember something of it.
clamp_cwnd() { # packets
	local route

	route=$(ip -n snd route show)
	# shellcheck disable=SC2086 # words
	ip -n snd route change $route cwnd lock "$1" || return
	ip netns exec snd sysctl -qw net.ipv4.tcp_no_metrics_save=0
	ip netns exec snd flow -c 10.0.2.1 -p 5201 bytes:1 >/dev/null || return
	until [ -n "$(ip -n snd tcp_metrics show)" ]; do
		sleep 0.01
	done
	ip netns exec snd sysctl -qw net.ipv4.tcp_no_metrics_save=1
}

wait_for_uptime() { # seconds
	local uptime

	read -r uptime _ </proc/uptime
	if [ "${uptime%.*}" -lt "$1" ]; then
		sleep $(($1 - ${uptime%.*}))
	fi
}

# It waits for record, which another shell may call.
load_recorder() {
	mkfifo /tmp/times
	ip netns exec rtr recorder /recorder.bpf.o r1 /tmp/epoch <>/tmp/times >$OUT/recording 2>/dev/console &
	echo $! >/tmp/recorder
	await_recorder -e
}

await_recorder() { # the test that /tmp/epoch must pass
	read -r recorder </tmp/recorder
	until test "$1" /tmp/epoch; do
		kill -0 "$recorder" 2>/dev/null || fail "the recorder has ended too early"
		sleep 0.01
	done
}

record() { # from, until, sample: milliseconds
	echo "$@" 1<>/tmp/times # does not wait for a reader
	await_recorder -s
	epoch=$(cat /tmp/epoch)
}

sleep_us() {
	sleep "$(($1 / 1000000)).$(printf %06d $(($1 % 1000000)))"
}

at() { # milliseconds, command
	local now uptime

	(
		read -r uptime _ </proc/uptime
		now=$((10#${uptime/./} * 10)) # milliseconds; it has hundredths of a second
		now=$((epoch / 1000000 + $1 - now))
		sleep_us $((now * 1000))
		"${@:2}" || echo "scenario: at $1 ms: $2 failed"
	) &
}

declare -a flows=()
flow_to() { # number, flow's options
	ip netns exec snd flow -c 10.0.2.1 -p $((5201 + $1)) -e "$epoch" -a "${@:2}" >"$OUT/flow.$1" 2>&1 &
	flows+=($!)
}

# The programs that run beside the flows. At the end of the flows, so that it costs them nothing.
list_processes() {
	local folder name

	for folder in /proc/[0-9]*; do
		[ -e "$folder/exe" ] && read -r name <"$folder/comm" && echo "$name"
	done
}

end_recording() {
	kill -TERM "$recorder"
	while kill -0 "$recorder" 2>/dev/null; do
		sleep 0.01
	done
	[[ $(tail -n 1 $OUT/recording) == '["end",'* ]] || fail "the recorder failed"
}

collect() {
	local n

	for n in "${!flows[@]}"; do
		wait "${flows[n]}" || fail "flow $n: $(cat "$OUT/flow.$n")"
	done
	list_processes >$OUT/processes
	end_recording
	while killall -q flow; do # the receivers; what is still on the way does not count
		sleep 0.01
	done
	if [ -n "${monitor:-}" ]; then
		kill -INT "$monitor"
		wait "$monitor" || fail "bbrmon: $(cat $OUT/bbrmon.err)"
	fi
	if [ -n "${bbr_recorder:-}" ]; then
		kill -INT "$bbr_recorder"
		wait "$bbr_recorder" || fail "bbrmon record: $(cat $OUT/record.err)"
	fi
	for n in wan rtr rcv; do
		[ -e /run/netns/$n ] && tc -n $n -j -s qdisc show >$OUT/qdisc.$n
	done
	tc -n rtr -j -s filter show dev r0 ingress >$OUT/policer 2>/dev/null
	tar -C $OUT -cz -f - . | cat >/dev/ttyS1
}
