# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh, with $SECONDS_LONG: flows of several congestion controls lose, undo and time out in one bottleneck,
# while monitors come and go and instances are loaded, upgraded, migrated and unloaded. Prints what returns.bpf.c counted.
TO=10.0.2.1
COUNT=40 # flows

fail() {
	echo "returns: $1"
	exit 1
}

flows_of() { # number of the first port, congestion control, options of flow
	local n

	for ((n = $1; n < COUNT; n += ${#CCS[@]})); do
		ip netns exec rcv flow -l $((5201 + n)) >/dev/null 2>&1 &
		(
			sleep 1
			exec ip netns exec snd flow -c $TO -p $((5201 + n)) -C "$2" -a "${@:3}" "send:$((SECONDS_LONG * 1000))"
		) >>/tmp/flows 2>&1 &
		senders+=" $!"
	done
}

# Packets overtake each other, and the way back is now and then slow: recoveries and timeouts that TCP undoes.
disturb() {
	while sleep 0.7; do
		tc -n rcv qdisc change dev c0 root netem delay 600ms limit 100000
		sleep 0.5
		tc -n rcv qdisc change dev c0 root netem delay 10ms limit 100000
	done
}

# At the same time, as people do.
operate() {
	while sleep 0.5; do
		timeout -s INT 1 bbrmon stream -j --every ack >/dev/null
		echo 1 >/proc/sys/kernel/bpf_stats_enabled
		bbrctl load --name other >/dev/null || fail "bbrctl load"
		bbrctl upgrade --name other >/dev/null || fail "bbrctl upgrade"
		bbrctl migrate --all-netns --from bpf_bbr --to other >/dev/null
		sleep 0.3
		bbrctl unload --name other --migrate bpf_bbr >/dev/null
		echo 0 >/proc/sys/kernel/bpf_stats_enabled
	done
}

counts() { # the map's name
	bpftool -j map dump "$@" | sed 's/.*"counts":\(\[.*\]\).*/\1/; s/\].*/]/'
}

CCS=(returns bpf_bbr returns bpf_bbr3 returns bbr returns cubic)
senders=''
echo 1 >/proc/sys/net/core/bpf_jit_enable
bpftool struct_ops register /returns.bpf.o >/dev/null || fail "bpftool struct_ops"
ours=$(bpftool -j map show name .data.counts | sed 's/.*"id":\([0-9]*\).*/\1/')
# tc -n sees another /sys.
mkdir /tmp/bpf
mount -t bpf bpf /tmp/bpf || fail "bpffs"
bpftool prog loadall /returns.bpf.o /tmp/bpf/returns pinmaps /tmp/bpf/returns_maps >/tmp/loadall 2>&1 || fail "$(tail -n 5 /tmp/loadall)"
bbrctl load >/dev/null || fail "bbrctl load"
bbrctl load --algorithm bbr3 >/dev/null || fail "bbrctl load --algorithm bbr3"
make_path 1500 1 fq wan || fail "make_path"
ip -n snd link set s0 gso_max_segs 8 # more than min_tso_segs returns
tc -n snd qdisc add dev s0 clsact
tc -n snd filter add dev s0 egress bpf da object-pinned /tmp/bpf/returns/on_packet || fail "on_packet"
ip netns exec snd sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_wmem="4096 65536 8000000"
tc -n rtr qdisc add dev r1 root netem rate 40mbit limit 40
tc -n rcv qdisc add dev c0 root netem delay 10ms limit 100000
tc -n wan qdisc add dev a1 root netem delay 2ms reorder 95% loss random 1% limit 100000
for ((i = 0; i < ${#CCS[@]}; i++)); do
	flows_of $i "${CCS[i]}"
done
disturb &
helpers=" $!"
operate &
helpers+=" $!"
sleep "$SECONDS_LONG"
ss -N snd -Htin state established | awk '
	{ for (i = 1; i <= NF; i++) if ($i ~ /^bytes_acked:/) bytes[$1] += substr($i, 13) }
	END { for (cc in bytes) print "@@BYTES", cc, bytes[cc] }'
# shellcheck disable=SC2086 # words
wait $senders
# shellcheck disable=SC2086 # words
kill $helpers
cat /tmp/flows
echo "@@RETURNS $(counts id "$ours")"
echo "@@STACK $(counts pinned "$(echo /tmp/bpf/returns_maps/*counts)")"
dmesg | grep -A3 "cut here\|BUG:" | sed 's/^/@@WARNING /'
