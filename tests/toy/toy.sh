# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Everything that the tools do with an algorithm that nothing outside its folder knows, beside an instance of BBR. Prints
# "== STEP" before the output of each step; toy_steps.py checks it. Needs bbrctl and bbrmon with the toy inside, flow and
# bpftool in PATH; $TOY_OBJECT, bpf_toy.bpf.o; $TOY_NAME and $BBR_NAME, for the instances; a folder $WORK. The flows go over
# loopback at 10 Mbit/s, to $PORT.
exec 2>&1

step() {
	echo "== $1"
}

send() { flow -c 127.0.0.1 -p "$PORT" -m 10000 "$@"; }

ip link set lo up mtu 1500
flow -l "$PORT" >/dev/null &
server=$!
sleep 0.1

step register
bpftool struct_ops register "$TOY_OBJECT"
send -C bpf_toy bytes:100000
bpftool struct_ops unregister name bpf_toy

step load
bbrctl load --algorithm toy --name "$TOY_NAME"
bbrctl load --name "$BBR_NAME"
bbrctl set --name "$TOY_NAME" window=24
bbrctl -j show --name "$TOY_NAME"
bbrctl set --name "$TOY_NAME" high_gain=3
bbrctl -j status

step flows
bbrmon stream -j --name "$TOY_NAME" --name "$BBR_NAME" --every ack >"$WORK/events" 2>&1 &
stream=$!
bbrmon record --name "$TOY_NAME" --name "$BBR_NAME" --every ack -o "$WORK/toy.rec" >/dev/null 2>&1 &
record=$!
for name in "$TOY_NAME" "$BBR_NAME"; do
	until bbrctl -j status --name "$name" | grep -q '"monitors": 2'; do
		sleep 0.1
	done
done
send -C "$TOY_NAME" send:8000 &
toy=$!
send -C "$BBR_NAME" send:8000 &
bbr=$!
sleep 1
send -C "$TOY_NAME" send:6000 >/dev/null &
second=$!
sleep 0.5
bbrmon snapshot -j --name "$TOY_NAME" --name "$BBR_NAME" >"$WORK/snapshot"
bbrmon snapshot "mode FIXED" >"$WORK/snapshot.text"
bbrmon snapshot -j --name "$TOY_NAME" --sort -acks_seen >"$WORK/sorted"
bbrmon export --once --name "$TOY_NAME" --name "$BBR_NAME" >"$WORK/once"
bbrctl set --name "$TOY_NAME" window=12
wait $toy $bbr $second
sleep 0.3 # the server closes its ends
kill -INT $stream $record
wait $stream $record

step stream
grep -E '"event":"(start|params|end)"|"summary"' "$WORK/events"
grep '"event":"ack"' "$WORK/events" | grep "\"instance\":\"$TOY_NAME\"" | tail -1

step snapshot
cat "$WORK/snapshot"

step snapshot-text
cat "$WORK/snapshot.text"

step sorted
cat "$WORK/sorted"

step export-once
cat "$WORK/once"

step replay
bbrmon stream -j --read "$WORK/toy.rec" 2>/dev/null | grep -c '"event":"ack"'
grep -c '"event":"ack"' "$WORK/events"
bbrmon stream --read "$WORK/toy.rec" --name "$TOY_NAME" 2>/dev/null | tail -1

step top
bbrmon top --batch --read "$WORK/toy.rec" --speed 0 -j --count 1

step export
bbrmon export --read "$WORK/toy.rec"

step report
bbrmon report -o - "$WORK/toy.rec" | sed -n '/ id="data">/,/<\/script>/{/script/d;p}'

step unload
bbrctl unload --name "$TOY_NAME"
bbrctl unload --name "$BBR_NAME"
kill $server
step end
