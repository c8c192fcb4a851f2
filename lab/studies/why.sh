# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh, with $CC: makes one cause after another that limits a flow, and asks `bbrmon why` what limits it.
# Prints "@@WHY CAUSE", and then bbrmon's answer. Times are virtual, so they are long enough whatever else the machine does.
RATE=10mbit DELAY=40ms # a BDP of 50 kB
SETTLE=4 WINDOW=5s     # seconds until STARTUP is over; what is watched
TO=10.0.2.1

fail() {
	echo "why: $1" >&2
	exit 1
}

begin() { # the bottleneck's queue in packets, 0 for no bottleneck; [netem's words for losses], [the policer's rate]
	make_path 1500 1 fq wan || fail "make_path"
	if [ "$1" != 0 ]; then
		tc -n rtr qdisc add dev r1 root netem rate $RATE limit "$1"
	fi
	tc -n rcv qdisc add dev c0 root netem delay $DELAY limit 100000
	# shellcheck disable=SC2086 # words
	if [ -n "$2" ]; then
		tc -n wan qdisc add dev a1 root netem $2 limit 100000
	fi
	if [ -n "$3" ]; then
		tc -n rtr filter add dev r0 ingress pref 1 matchall action police rate "$3" burst 15k conform-exceed drop/continue
	fi
	ip netns exec snd sysctl -qw net.ipv4.tcp_no_metrics_save=1
}

receive() { # options
	ip netns exec rcv flow -l "${PORT:-5201}" "$@" >/dev/null &
	RECEIVERS+=" $!"
	until [ -n "$(ss -N rcv -Hltn "sport = :${PORT:-5201}")" ]; do
		sleep 0.01
	done
}

send() { # options and pattern of a flow that ends by a reset
	ip netns exec snd flow -c $TO -p "${PORT:-5201}" -a -C "$CC" "$@" >/dev/null 2>&1 &
	SENDERS+=" $!"
}

ask() { # the cause, [seconds before the window]
	sleep "${2:-$SETTLE}"
	echo "@@WHY $1"
	bbrmon why -j --netns snd --name "$CC" --for $WINDOW --idle || fail "bbrmon why"
	# shellcheck disable=SC2086 # words
	kill $SENDERS $RECEIVERS 2>/dev/null
	wait
	SENDERS='' RECEIVERS=''
	for ns in snd wan rtr rcv; do
		ip netns del $ns
	done
	if is_ours; then
		bbrctl reset --name "$CC" >/dev/null
	fi
}

is_ours() {
	[ "$CC" = bpf_bbr ] || [ "$CC" = bpf_bbr3 ]
}

knows_policers() {
	[ "$CC" = bpf_bbr ] || [ "$CC" = bbr ]
}

SENDERS='' RECEIVERS=''
if is_ours; then
	bbrctl load --algorithm "${CC#bpf_}" >/dev/null || fail "bbrctl load"
fi

begin 100
receive
send send:20000
ask path

begin 100
receive
send bytes:3000 pause:30000
ask idle

begin 100
receive
send rate:1000:20000
ask application

begin 100
receive -r 12000
send send:20000
ask receiver

begin 100
receive
ip netns exec snd sysctl -qw "net.ipv4.tcp_wmem=4096 16384 16384"
send send:20000
ask send_buffer

begin 100
receive
send -m 2000 send:20000
ask pacing

begin 100
receive
send -m 40000 send:20000 # a bound that is not reached
ask path

begin 100 "loss random 2%"
receive
send send:20000
ask losses

begin 100 "loss random 30%"
receive
send send:20000
ask losses

begin 200
receive
PORT=5202 receive
CC=cubic PORT=5202 send send:40000
send send:40000
ask queue 8

# Without a bottleneck the guest's CPU has no time left. Each virtual second then takes many real ones.
DELAY=1ms WINDOW=2s
begin 0
receive
send send:20000
ask cpu 1
DELAY=40ms WINDOW=5s

if knows_policers; then
	begin 100 "" 5mbit
	receive
	send send:30000
	ask policer 3
fi

if [ "$CC" = bpf_bbr ]; then
	begin 100
	receive
	bbrctl set max_pacing_rate=2mbit >/dev/null
	send send:20000
	ask pacing

	begin 100
	receive
	bbrctl set max_cwnd=4 >/dev/null
	send send:20000
	ask cwnd

	begin 100
	receive
	bbrctl set min_rtt_win=300ms probe_rtt_duration=1s >/dev/null
	send send:20000
	ask probe_rtt

	begin 1000
	receive
	bbrctl set full_bw_thresh=1 full_bw_rounds=31 >/dev/null
	send send:20000
	ask startup 0.1
fi
echo "@@ALL"
