# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: $FLOWS applications share a bottleneck, each sends one transfer of $BYTES after
# the other, and an experiment with $OPTIONS runs for $SECONDS_OF_IT. Leaves the outcome of each connection.
OUT=/tmp/interference

fail() {
	echo "interference: $1" >&2
	exit 1
}

mkdir $OUT
make_path 1500 1 fq
tc -n rtr qdisc add dev r1 root handle 1: netem rate "$RATE" limit "$QUEUE"
tc -n rcv qdisc add dev c0 root handle 1: netem delay "$DELAY" limit 1000000
for ns in snd rcv; do
	ip netns exec $ns sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_congestion_control=cubic
done
bbrctl load >/dev/null || fail "bbrctl load"
bbrctl profile add gentle >/dev/null || fail "bbrctl profile add"
for ((n = 0; n < FLOWS; n++)); do
	ip netns exec rcv flow -l $((5201 + n)) >/dev/null &
done
until [ "$(ss -N rcv -Hltn | wc -l)" -ge "$FLOWS" ]; do
	sleep 0.01
done
# shellcheck disable=SC2086 # words
bbrctl experiment start shared --all-netns --dst 10.0.2.1 $OPTIONS >/dev/null || fail "bbrctl experiment start"
for ((n = 0; n < FLOWS; n++)); do
	ip netns exec snd flow -c 10.0.2.1 -p $((5201 + n)) -n 1000000 "bytes:$BYTES" >/dev/null &
done
echo "@@T 0"
sleep "$SECONDS_OF_IT"
bbrmon experiment shared -w $OUT/outcomes.csv >/dev/null || fail "bbrmon experiment"
bbrctl experiment stop shared >/dev/null || fail "bbrctl experiment stop"
tar -C $OUT -cz -f - . | cat >/dev/ttyS1
