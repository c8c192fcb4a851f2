# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: sets the time of day back, and then forward, while a connection and every verb
# that watches run. Leaves their output in an archive; test_clock.py judges it. Each line of `marks` is a moment: its
# name, the uptime and the time of day.
OUT=/tmp/out
BACK_S=93600 # more than a day: 26 hours
FORWARD_S=183600

mark() {
	local uptime
	read -r uptime _ </proc/uptime
	echo "$1 $uptime $EPOCHREALTIME" >>$OUT/marks
}

watch() { # NAME VERB...
	mark "$1-begins"
	bbrmon "$2" --name lab_bbr "${@:3}" >"$OUT/$1" 2>"$OUT/$1.err"
	echo "$1 status $?"
	mark "$1-ends"
}

set_clock() { # NAME SECONDS
	mark "before-$1"
	date -s "@$(($(date +%s) + $2))" >/dev/null
	mark "$1"
}

mkdir $OUT
make_path 1500 1 fq
tc -n rtr qdisc add dev r1 root netem rate 4mbit limit 50
tc -n rcv qdisc add dev c0 root netem delay 40ms limit 10000
ip netns exec rcv flow -l 5001 >/dev/null &
bbrctl load --name lab_bbr

# All of these end by themselves, while the clock shows another time than when they began.
ended=()
watch stream stream -j --every ack --duration 12s &
ended+=($!)
watch text stream --every round --duration 5s &
ended+=($!)
watch record record -j --every ack --duration 12s -o $OUT/recording &
ended+=($!)
watch rotated record -j --every round --rotate-time 2s --duration 13s -o $OUT/rotating &
ended+=($!)
watch top top --batch --interval 500ms --count 22 &
ended+=($!)
watch top.json top --json --interval 500ms --count 22 &
ended+=($!)
sleep 1.2

# The flow is shorter than the window of min_rtt: no PROBE_RTT.
ip netns exec snd flow -c 10.0.2.1 -p 5001 -C lab_bbr send:9000 >$OUT/flow &
flow=$!
sleep 3
set_clock back -$BACK_S
sleep 3
set_clock forward $FORWARD_S
wait $flow
wait "${ended[@]}"
bbrctl unload --name lab_bbr
tar -C $OUT -cz -f - . | cat >/dev/ttyS1
