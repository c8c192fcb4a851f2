# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Runs in the guest, after path.sh: everything that a kernel must be able to do with bpf_bbr and bpf_bbr3. Prints
# "== STEP" before what each step prints; test_matrix.py judges it. $PATH_KIND is netem, or pacing where the
# kernel has no modules: there the flow over loopback is held to the rate by SO_MAX_PACING_RATE.
step() {
	echo "== $1"
}

queue=50
if [ "$PATH_KIND" = netem ]; then
	# Large packets, so that there are few of them to be emulated.
	make_path 3000 1 fq
	tc -n rtr qdisc add dev r1 root netem rate 10mbit limit $queue
	tc -n rcv qdisc add dev c0 root netem delay 40ms limit 10000
	to=10.0.2.1
	snd=(ip netns exec snd) rcv=(ip netns exec rcv)
	send() { "${snd[@]}" flow -c $to -p 5001 "$@"; }
	ip netns exec rcv flow -l 5001 >/dev/null &
else
	to=127.0.0.1
	snd=() rcv=()
	send() { flow -c $to -p 5001 -m 10000 "$@"; }
	flow -l 5001 >/dev/null &
fi
sleep 0.1

step versions
bpftool version
grep MemTotal /proc/meminfo

step bpftool
bpftool struct_ops register /bpf_bbr.bpf.o
send -C bpf_bbr bytes:1000000
bpftool struct_ops unregister name bpf_bbr
send -C bpf_bbr bytes:1 2>&1

step load
bbrctl check -j
bbrctl load --name lab_bbr --set high_gain=2.885
bbrctl load --name lab_two -v 2>&1
bbrctl -j status

step modes
bbrmon stream -j --name lab_bbr --every ack >/tmp/events 2>/tmp/bbrmon.err &
monitor=$!
sleep 0.2
send -C lab_bbr send:12000
kill -INT $monitor
wait $monitor
cat /tmp/bbrmon.err
grep -E '"event":"(mode|start|end)"|"summary"' /tmp/events
# The packets that were in flight when PROBE_RTT began are not app-limited, those that it sends are.
sed -n '1,/"to":"PROBE_RTT"/d; /"mode":"PROBE_RTT"/s/.*"app_limited":\([a-z]*\).*/\1/p' /tmp/events | uniq -c
grep -c '"event":"ack"' /tmp/events

step export
send -C lab_bbr send:2000 >/dev/null &
flow=$!
sleep 1
bbrmon export --once 2>&1
wait $flow

# Longer than the window of min_rtt: a restart that is not noticed would go to PROBE_RTT at once.
step idle
bbrmon stream -j --name lab_bbr --every transition >/tmp/events 2>/dev/null &
monitor=$!
sleep 0.2
send -C lab_bbr send:3000 pause:11000 send:3000
kill -INT $monitor
wait $monitor
grep -E '"event":"mode"' /tmp/events

step live
bbrmon stream -j --name lab_bbr --every ack >/tmp/events 2>/dev/null &
monitor=$!
bbrmon record --name lab_bbr --every ack -o /tmp/recording 2>/dev/null &
recorder=$!
sleep 0.2
send -C lab_bbr send:3000 &
flow=$!
sleep 2
bbrctl set --name lab_bbr cwnd_gain=3
wait $flow
kill -INT $monitor $recorder
wait $monitor $recorder
grep -E '"event":"params"' /tmp/events
grep -E '"event":"ack"' /tmp/events | tail -1
bbrmon stream -j --read /tmp/recording >/tmp/recorded 2>/dev/null
echo "ACKs streamed and recorded:" "$(grep -c '"event":"ack"' /tmp/events)" "$(grep -c '"event":"ack"' /tmp/recorded)"

step default
ip netns add other
bbrctl load --name lab_three --default --netns other
ip netns exec other cat /proc/sys/net/ipv4/tcp_congestion_control

# A tool in a PID namespace does not find this namespace, whose default then stays at unloaded code until load sets it anew.
step hidden
ip netns add hidden
ip -n hidden link set lo up
blind() {
	unshare -m -p -f sh -c 'mount -t proc proc /proc; umount -l /run/netns; exec "$@"' sh "$@"
	echo "status $?"
}
bbrctl load --name lab_hidden
echo lab_hidden | ip netns exec hidden tee /proc/sys/net/ipv4/tcp_congestion_control
ip netns exec hidden flow -l 5009 >/dev/null &
hidden=$!
sleep 0.1
ip netns exec hidden flow -c 127.0.0.1 -p 5009 -m 1000 send:6000 >/dev/null &
sender=$!
sleep 0.5
bbrmon snapshot -j --name lab_hidden >/tmp/seen
echo "seen $(wc -l </tmp/seen)"
blind bbrmon snapshot -j --name lab_hidden 2>&1
blind bbrctl -j unload --name lab_hidden 2>&1
bbrctl load --name lab_hidden
bbrctl -j status --name lab_hidden
echo cubic | ip netns exec hidden tee /proc/sys/net/ipv4/tcp_congestion_control
wait $sender # otherwise its connection, and so the namespace, outlives the process
kill $hidden
wait $hidden 2>/dev/null
ip netns del hidden
bbrctl unload --name lab_hidden

# There and back, the way back being an unload; and what arrived when, to see whether it stalls.
step migrate
began=$EPOCHREALTIME
send -C cubic -i 10 send:6000 >/tmp/samples &
flow=$!
sleep 2
bbrctl migrate --all-netns --from cubic --to lab_three --dst 0.0.0.0/0 --dport 5001 --cgroup / --mark 0 --dry-run
echo "switch $began $EPOCHREALTIME"
bbrctl migrate --all-netns --from cubic --to lab_three
sleep 2
echo "switch $began $EPOCHREALTIME"
bbrctl unload --name lab_three --migrate cubic
wait $flow
ip netns exec other cat /proc/sys/net/ipv4/tcp_congestion_control
sed -n 's/^{"t_us":\([0-9]*\),.*"acked_bytes":\([0-9]*\),.*/acked \1 \2/p' /tmp/samples
grep '"end"' /tmp/samples

step attach
mkdir /sys/fs/cgroup/lab
in_cgroup() {
	(
		echo $BASHPID >/sys/fs/cgroup/lab/cgroup.procs
		send "$@"
	)
}
bbrctl attach --cgroup lab --name lab_bbr
in_cgroup bytes:1000000
in_cgroup -C reno bytes:1000
bbrctl -j status --name lab_bbr | grep cgroup/lab
bbrctl detach --cgroup lab --name lab_bbr
in_cgroup bytes:1000
rmdir /sys/fs/cgroup/lab
# Before the cgroup is there, then for none of its connections.
bbrctl attach --stay --cgroup lab --name lab_bbr --dst $to/24 --not-dst 192.0.2.0/24 --not-dev none
mkdir /sys/fs/cgroup/lab
in_cgroup bytes:1000
bbrctl detach --cgroup lab --name lab_bbr
bbrctl attach --cgroup lab --name lab_bbr --not-dst $to/24
in_cgroup bytes:1000
bbrctl detach --cgroup lab --name lab_bbr
rmdir /sys/fs/cgroup/lab

# In a namespace of its own: a connection that is older than the default, one whose program chose, and a path's queue and buffer.
# The flows last until they are killed: check loads its programs first, which takes seconds on some kernels.
step check
ip netns add checked
ip -n checked link set lo up
ip netns exec checked sysctl -qw net.ipv4.tcp_congestion_control=reno
ip netns exec checked flow -l 5002 >/dev/null &
listener=$!
sleep 0.1
ip netns exec checked flow -c 127.0.0.1 -p 5002 -m 1000 send:20000 >/dev/null &
flows=($!)
ip netns exec checked flow -c 127.0.0.1 -p 5002 -m 1000 -C cubic send:20000 >/dev/null &
flows+=($!)
if [ "$PATH_KIND" = netem ]; then
	ip netns exec rcv sysctl -qw "net.ipv4.tcp_rmem=4096 65536 100000" # two BDPs are 100 kB
	tc -n snd qdisc change dev s0 root fq flow_limit 1
	ip netns exec snd flow -c $to -p 5001 -C lab_bbr send:20000 >/dev/null &
	flows+=($!)
fi
sleep 3
bbrctl load --name lab_check --default --netns checked
allowed=$(cat /proc/sys/net/ipv4/tcp_allowed_congestion_control)
sysctl -qw "net.ipv4.tcp_allowed_congestion_control=reno cubic"
bbrctl check -j 2>/dev/null
echo "status $?"
sysctl -qw "net.ipv4.tcp_allowed_congestion_control=$allowed"
bbrctl migrate --netns checked --from reno --to lab_check
kill "${flows[@]}" $listener
[ ${#flows[@]} = 0 ] || wait "${flows[@]}"
if [ "$PATH_KIND" = netem ]; then
	tc -n snd qdisc change dev s0 root fq flow_limit 100
	ip netns exec rcv sysctl -qw "net.ipv4.tcp_rmem=4096 131072 6291456"
fi
bbrctl unload --name lab_check

# Twenty connections draw; then one goes from arm to arm, and at the end to the first.
step experiment
bbrctl profile add --name lab_bbr calm cwnd_gain=1.5
bbrctl experiment start lab_ab --all-netns --dport 5001 --arm control=cubic --arm new=lab_bbr:calm
send -n 20 bytes:20000
send -C reno bytes:1000
bbrmon experiment lab_ab -w -
bbrctl experiment stop lab_ab
bbrctl experiment start lab_turns --all-netns --design switchback --dport 5001 --arm control=cubic --arm new=lab_bbr:calm \
	--block 1s --washout 200ms
send send:4500 &
flow=$!
sleep 4.2
bbrctl -j experiment status lab_turns | grep '"moved"'
bbrctl experiment stop lab_turns --to control
wait $flow
bbrctl profile delete --name lab_bbr calm

step upgrade
bbrctl set --name lab_two bw_win=33
send -C lab_two send:3000 &
flow=$!
sleep 1
bbrctl -j upgrade --name lab_two --object /next_version.bpf.o
send -C lab_two bytes:100000
bbrctl upgrade --name lab_two
wait $flow
bbrctl -j status --name lab_two
bbrctl show --name lab_two bw_win

# A rule of each kind, each added in front of those before; which profile it gives is told by the counts.
step rules
mkdir -p /sys/fs/cgroup/lab/below
in_below() { # a process of its own, moved before it makes its socket
	(
		echo $BASHPID >/sys/fs/cgroup/lab/below/cgroup.procs
		send -C lab_bbr -m 500 send:2000 >/dev/null
	)
}
count() { # WHAT PROFILE RULE...
	bbrctl profile add --name lab_bbr "$2" cwnd_gain=3 >/dev/null
	bbrctl rule add --name lab_bbr "${@:3}" --profile "$2" >/dev/null
	in_below &
	flow=$!
	sleep 1
	bbrctl profile list --name lab_bbr | awk -v what="$1" '$5 == 1 { print what ": " $1 }'
	wait $flow
}
count nothing by_port --sport 1
count cgroup by_cgroup --cgroup lab
count prefix by_prefix --dst $to/24 --before 1
count mark by_mark --mark 0 --before 1
count port to_port --dport 5001 --before 1
count not not_it --not-dst $to/24 --before 1
count terms by_terms --not-mark 5 --not-dev none --not-src 192.0.2.1 --dport 5001 --before 1
bbrctl rule list --name lab_bbr
bbrctl rule test --name lab_bbr $to --cgroup lab/below
bbrctl rule flush --name lab_bbr
rmdir /sys/fs/cgroup/lab/below /sys/fs/cgroup/lab

# Forty packets, one by one: the first window, the timeout in 10 ms, and the RTT with the ACK's delay. Without and with parameters.
# The receiver stands still meanwhile: a socket whose data is read as it comes does not delay its ACKs.
step socket
packets=()
for _ in {1..40}; do
	packets+=(bytes:1000 pause:100)
done
few() {
	kill -STOP $listener
	"${snd[@]}" flow -c $to -p 5003 -C lab_socket -i 10 "${packets[@]}" >/tmp/samples &
	flow=$!
	sleep 4
	# shellcheck disable=SC2016
	echo "$1 rto $("${snd[@]}" awk '$3 ~ /:138B$/ && $4 == "01" { print $13 }' /proc/net/tcp6)"
	kill -CONT $listener
	wait $flow
	sed -n "1s/.*\"cwnd\":\([0-9]*\),.*/$1 cwnd \1/p" /tmp/samples
	sed -n "s/.*\"rtt_us\":\([0-9]*\),\"min.*/$1 rtt_us \1/p" /tmp/samples | tail -1
	grep '"end"' /tmp/samples
}
for algorithm in bbr bbr3; do
	bbrctl load --algorithm $algorithm --name lab_socket
	"${rcv[@]}" flow -l 5003 -C lab_socket >/dev/null &
	listener=$!
	sleep 0.1
	few ${algorithm}_plain
	bbrctl profile add --name lab_socket to start_cwnd=40 rto_min=20ms notsent_lowat=16k
	bbrctl profile add --name lab_socket from delack_max=8ms
	bbrctl rule add --name lab_socket --dport 5003 --profile to
	bbrctl rule add --name lab_socket --sport 5003 --profile from
	few ${algorithm}_set
	kill $listener
	wait $listener
	bbrctl unload --name lab_socket
done

# BBR version 3: a flow of it goes to version 1 and back.
step bbr3
bpftool struct_ops register /bpf_bbr3.bpf.o
send -C bpf_bbr3 bytes:1000000
bpftool struct_ops unregister name bpf_bbr3
bbrctl load --algorithm bbr3 --name lab_v3 -v 2>&1
bbrmon stream -j --name lab_v3 --every ack >/tmp/events 2>/tmp/bbrmon.err &
monitor=$!
sleep 0.2
send -C lab_v3 send:8500 &
flow=$!
sleep 4
bbrmon snapshot -j
sleep 2.5
bbrctl migrate --all-netns --from lab_v3 --to lab_bbr
sleep 1
bbrctl migrate --all-netns --from lab_bbr --to lab_v3
wait $flow
kill -INT $monitor
wait $monitor
bbrctl unload --name lab_v3
cat /tmp/bbrmon.err
grep -E '"event":"(mode|start|end)"|"summary"' /tmp/events
grep -c '"event":"ack"' /tmp/events

# From outside: an instance that is gone, one that is there, and the kernel's own bbr, whose module comes
# while bbrmon runs.
step outside
[ "$PATH_KIND" = netem ] && rmmod tcp_bbr
bbrmon snapshot -j
bbrmon stream -j --every ack >/tmp/events 2>/tmp/bbrmon.err &
monitor=$!
sleep 0.2
[ "$PATH_KIND" = netem ] && insmod /mods/*-tcp_bbr.ko
sleep 2
flows=()
for cc in lab_two lab_bbr bbr; do
	if grep -qw $cc /proc/sys/net/ipv4/tcp_available_congestion_control; then
		send -C $cc send:4000 >/dev/null &
		flows+=($!)
	fi
done
sleep 2
bbrctl unload --name lab_two
bbrmon snapshot -j
[ ${#flows[@]} = 0 ] || wait "${flows[@]}"
kill -INT $monitor
wait $monitor
cat /tmp/bbrmon.err
grep -E '"event":"(mode|start|end)"|"summary"' /tmp/events | grep -E '"instance":"bbr"|"summary"'
grep -E '"instance":"bbr"' /tmp/events | grep '"event":"ack"' | tail -1

# For a while nothing gets through.
step timeouts
timeouts() {
	# shellcheck disable=SC2016
	ip netns exec snd awk '/^TcpExt:/ && n { print $n } /^TcpExt:/ { for (i = 1; i <= NF; i++) if ($i == "TCPTimeouts") n = i }' /proc/net/netstat
}
if [ "$PATH_KIND" = netem ]; then
	bbrmon stream -j --name bbr --every transition >/tmp/events 2>/tmp/bbrmon.err &
	monitor=$!
	sleep 0.2
	echo "timeouts $(timeouts)"
	send -C bbr send:5000 >/dev/null &
	flow=$!
	sleep 1
	tc -n rtr qdisc change dev r1 root netem rate 10mbit limit $queue loss 100%
	sleep 3
	tc -n rtr qdisc change dev r1 root netem rate 10mbit limit $queue
	wait $flow
	echo "timeouts $(timeouts)"
	kill -INT $monitor
	wait $monitor
	cat /tmp/bbrmon.err
	grep -E '"event":"(rto|recovery)"|"summary"' /tmp/events
fi

# A link ends with its pin, and that with its bpffs. The next load mounts another one.
step bpffs
umount /sys/fs/bpf
sleep 1
bbrctl -j status --name lab_bbr >/dev/null 2>&1
echo "status $?"
bbrctl load --name lab_bbr 2>&1
grep -c ' /sys/fs/bpf bpf ' /proc/mounts

step unload
bbrctl unload --name lab_bbr
# The kernel frees a struct_ops map and its programs after a grace period of RCU tasks.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	bpftool map list | grep -qE 'bbr|params|watch' || break
	sleep 1
done
ls -d /sys/fs/bpf/bpf_bbr 2>/dev/null
bpftool struct_ops list
bpftool map list | grep -E 'bbr|params|watch'
step end
echo "offline $(dmesg | grep -c "CPU 1 is now offline")"
