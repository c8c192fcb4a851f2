#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# rollout_path.sh SECONDS: runs in a machine of check_rollout.py. For so long it makes transfers of a few
# seconds, one after the other, with bpf_bbr, from a network namespace through a bottleneck into another one.
# The path and the transfers end with it.
set -eu
# shellcheck source=lab/runs/path.sh
. "$(dirname "$0")/path.sh"
RATE=4mbit # and 40 ms, so 20 kB are in flight
QUEUE=40   # packets, three times that
TRANSFER_S=8

make_path 1500 1 none
tc -n rtr qdisc add dev r1 root netem rate $RATE limit $QUEUE
tc -n rcv qdisc add dev c0 root netem delay 40ms limit 10000
ip netns exec rcv iperf3 --server >/dev/null &
server=$!
end=$((SECONDS + $1))
echo begun
while [ $SECONDS -lt $end ]; do
	ip netns exec snd iperf3 --client 10.0.2.1 --congestion bpf_bbr --time $TRANSFER_S >/dev/null || sleep 1
done
kill $server
