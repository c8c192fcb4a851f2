# SPDX-License-Identifier: GPL-2.0-only
"""What start_cwnd and rto_min do to short transfers: the figures of docs/tuning.md."""
import pytest

from runs import experiment
from studies.matrix import OBJECTS, TOOLS
from vm import guest, kernels
from vm.initramfs import BUILD

# Transfers of so many bytes, one after another, over 100 Mbit/s; each has a handshake and ends when all has arrived.
PATHS = {"far": (100, "0%", 200_000, 10), "near": (1, "2%", 20_000, 400)}  # RTT in ms, loss
SETS = {"plain": "", "cwnd": "start_cwnd=40", "timers": "rto_min=8ms"}
RUNS = [(path, algorithm, name) for path, name in (("far", "plain"), ("far", "cwnd"), ("near", "plain"), ("near", "timers"))
        for algorithm in ("bbr", "bbr3")]
FIRST = """
make_path 1500 1 fq wan || exit
tc -n rtr qdisc add dev r1 root netem rate 100mbit limit 1000
ip netns exec rcv flow -l 5001 >/dev/null &
sleep 0.1
"""
SCRIPT = """
bbrctl load --algorithm {algorithm} --name short {settings} >/dev/null
tc -n wan qdisc replace dev a1 root netem loss {loss} seed 1 limit 10000 2>/dev/null ||
	tc -n wan qdisc replace dev a1 root netem loss {loss} limit 10000
tc -n rcv qdisc replace dev c0 root netem delay {rtt}ms limit 10000
began=${{EPOCHREALTIME/./}}
ip netns exec snd flow -c 10.0.2.1 -p 5001 -C short -n {count} bytes:{size}
echo "short {path} {algorithm} {name} $(((${{EPOCHREALTIME/./}} - began) / {count}))"
bbrctl unload --name short >/dev/null
"""


@pytest.fixture(scope="module")
def times_ms():
    kernel = kernels.find("6.12")
    script = FIRST
    for path, algorithm, name in RUNS:
        rtt, loss, size, count = PATHS[path]
        settings = f"--set {SETS[name]}" if SETS[name] else ""
        script += SCRIPT.format(path=path, algorithm=algorithm, name=name, settings=settings, rtt=rtt, loss=loss, size=size,
                                count=count)
    image = guest.initramfs(kernel, experiment.PATH.read_text() + script, modules=experiment.PATH_MODULES,
                            programs=[*TOOLS, BUILD / "flow"], files=OBJECTS)
    result = guest.run(kernel, image)
    assert result.status == 0, result.console
    lines = [line.split()[1:] for line in result.console.splitlines() if line.startswith("short ")]
    assert len(lines) == len(RUNS), result.console
    return {tuple(where): int(us) / 1000 for *where, us in lines}


@pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])
def test_a_larger_first_window_saves_round_trips(times_ms, algorithm):
    """10, 29 or more, the rest: four round trips with the handshake; 40, the rest: three."""
    print(times_ms)
    assert times_ms["far", algorithm, "plain"] - times_ms["far", algorithm, "cwnd"] > 90


@pytest.mark.parametrize("algorithm", ["bbr", "bbr3"])
def test_a_lower_timeout_helps_where_the_rtt_is_short(times_ms, algorithm):
    print(times_ms)
    assert times_ms["near", algorithm, "timers"] < 0.8 * times_ms["near", algorithm, "plain"]
