# SPDX-License-Identifier: GPL-2.0-only
"""What start_cwnd and rto_min do, on 6.12: the figures of docs/tuning.md."""
import pytest

from runs import experiment
from studies.matrix import OBJECTS, TOOLS
from vm import guest, kernels
from vm.initramfs import BUILD

ALGORITHMS = "bbr", "bbr3"
TRANSFERS, MESSAGES = 10, 1000
# Prints the time of a transfer with its handshake, one after another, and how long a message of one packet is in flight:
# one each 10 ms in one connection, looked at each millisecond.
FIRST = f"""
make_path 1500 1 fq wan || exit
tc -n rtr qdisc add dev r1 root netem rate 100mbit limit 1000
ip netns exec rcv flow -l 5001 >/dev/null &
sleep 0.1
path() {{ # RTT, loss
	tc -n wan qdisc replace dev a1 root netem loss "$2" limit 10000
	tc -n rcv qdisc replace dev c0 root netem delay "$1" limit 10000
}}
messages=()
for _ in {{1..{MESSAGES}}}; do
	messages+=(bytes:1000 pause:10)
done
far() {{
	path 100ms 0%
	began=${{EPOCHREALTIME/./}}
	ip netns exec snd flow -c 10.0.2.1 -p 5001 -C short -n {TRANSFERS} bytes:200000
	echo "far $* $(((${{EPOCHREALTIME/./}} - began) / {TRANSFERS}))"
}}
near() {{
	path 1ms 2%
	ip netns exec snd flow -c 10.0.2.1 -p 5001 -C short -i 1 "${{messages[@]}}" >/tmp/samples
	echo "near $* $((1000 * $(grep -c '"inflight":[1-9]' /tmp/samples) / {MESSAGES}))"
	tail -2 /tmp/samples
}}
"""
EACH = """
bbrctl load --algorithm {0} --name short
far {0} plain
near {0} plain
bbrctl set --name short start_cwnd=40 rto_min=8ms
far {0} set
near {0} set
bbrctl unload --name short
"""


@pytest.fixture(scope="module")
def times_ms():
    kernel = kernels.find("6.12")
    script = FIRST + "".join(EACH.format(algorithm) for algorithm in ALGORITHMS)
    image = guest.initramfs(kernel, experiment.PATH.read_text() + script, modules=experiment.PATH_MODULES,
                            programs=[*TOOLS, BUILD / "flow"], files=OBJECTS)
    result = guest.run(kernel, image)
    assert result.status == 0, result.console
    print(result.console)
    lines = [line.split() for line in result.console.splitlines() if line.startswith(("far ", "near "))]
    assert len(lines) == 4 * len(ALGORITHMS), result.console
    return {tuple(where): int(us) / 1000 for *where, us in lines}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_larger_first_window_saves_round_trips(times_ms, algorithm):
    assert times_ms["far", algorithm, "plain"] - times_ms["far", algorithm, "set"] > 90


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_lower_timeout_shortens_the_wait_for_a_lost_packet(times_ms, algorithm):
    """Two of a hundred are lost, and cost 200 ms each; or about 10."""
    assert times_ms["near", algorithm, "plain"] > 2 * times_ms["near", algorithm, "set"]
