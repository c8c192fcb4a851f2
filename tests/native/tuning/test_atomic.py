# SPDX-License-Identifier: GPL-2.0-only
"""
A change takes effect as a whole. Settings are written again and again, each of them consistent: PROBE_BW's cwnd_gain
is twice its pacing_gain. Each ACK of many connections shows the gains that it had. The last tests check the check: a
writer that does it wrong is found.
"""
import random
import threading
import time

import bpfmap
import pytest

from system import maps_of_program
from tool import status_of
from transfer import Transfer, connect, limit_rate, listen

PROFILES = 16  # bbrctl writes the first two, the test itself writes the others
CHANGES = 4000
BBRCTL_CHANGES = 40
UNIT = 256
PACING = "probe_bw_gains", "lt_gain", "idle_restart_gain"  # all that PROBE_BW paces by


class Hammer:
    """An instance with a connection in PROBE_BW for each of its profiles."""

    def __init__(self, bbrctl, name, ns, write_rules, watching):
        self.bbrctl, self.name, self.watching = bbrctl, name, watching
        self.rng, self.changes = random.Random(7), 0
        self.maps = bpfmap.Profiles(maps_of_program(status_of(bbrctl, name)["prog_id"]))
        self.grace = bpfmap.GracePeriod()
        # Out of STARTUP at once, and never to PROBE_RTT.
        bbrctl("set", "--name", name, "full_bw_thresh=4", "full_bw_rounds=1", "probe_rtt_duration=0s",
               *(f"{key}={','.join(['1'] * self.maps.words[key][1])}" for key in PACING))
        for i in range(1, PROFILES):
            self.maps.copy_profile(0, i)
            self.maps.set_name(i, f"p{i}")
        write_rules(name, (f"--dst 127.0.0.{i + 1} --profile {i}" for i in range(PROFILES)))
        listener = listen(ns, "0.0.0.0", backlog=PROFILES)
        ends = [connect(ns, listener, f"127.0.0.{i + 1}", cc=name) for i in range(PROFILES)]
        for sender, _ in ends:
            limit_rate(sender)
        self.running = [Transfer(*pair, seed=i) for i, pair in enumerate(ends)]
        for i in range(PROFILES):
            watching.wait_for(lambda m: i in {e["profile_index"] for e in self.acks()}, f"PROBE_BW with profile {i}")

    def acks(self):
        return [e for e in self.watching.of("ack") if e["mode"] == "PROBE_BW"]

    def put(self, profile, bank, gain, between=lambda: None):
        for key in PACING:
            for i in range(self.maps.words[key][1]):
                self.maps.put(profile, bank, key, gain, i)
        between()
        self.maps.put(profile, bank, "cwnd_gain", 2 * gain)

    def gains(self):
        return UNIT + 16 * self.rng.randrange(16)

    def right(self, profiles):
        """Changes profiles as bbrctl does. One wait is enough for several profiles."""
        self.grace.wait()
        for i in profiles:
            gen = self.maps.gen[i]
            self.maps.copy_bank(i, gen + 1)
            self.put(i, gen + 1, self.gains())
            self.maps.gen[i] = gen + 1
            self.changes += 1

    def one_after_the_other(self, profiles):
        """Writes into the bank in force, and each value takes effect at once."""
        for i in profiles:
            def count(i=i):
                self.maps.gen[i] += 2
                time.sleep(0.002)
            self.put(i, self.maps.gen[i], self.gains(), count)
            count()

    def selector_too_early(self, profiles):
        for i in profiles:
            gen = self.maps.gen[i]

            def select(i=i, gen=gen):
                self.maps.gen[i] = gen + 1
                time.sleep(0.002)
            self.maps.copy_bank(i, gen + 1)
            self.put(i, gen + 1, self.gains(), select)

    def mixes(self):
        return [e for e in self.acks() if e["cwnd_gain"] != 2 * e["pacing_gain"]]

    def finish(self):
        for transfer in self.running:
            transfer.stop()
        for transfer in self.running:
            transfer.finish()
        self.maps.close()
        self.grace.close()


@pytest.fixture
def hammer(bbrctl, blank, ns, write_rules, monitor, plain_bbrmon):
    watching = monitor(blank, "--every", "ack", "--ring", "8m", tool_to_run=plain_bbrmon)
    made = Hammer(bbrctl, blank, ns, write_rules, watching)
    yield made
    made.finish()


def test_no_ack_ever_sees_a_mix(bbrctl, hammer):
    done = threading.Event()
    failures = []

    def by_bbrctl():
        try:
            for n in range(BBRCTL_CHANGES):
                gain = 1 + n % 16 / 16
                pacing = [f"{key}={','.join([str(gain)] * hammer.maps.words[key][1])}" for key in PACING]
                bbrctl("set", "--name", hammer.name, *(["--profile", "p1"] if n % 2 else []), *pacing,
                       f"cwnd_gain={2 * gain}", status=None)
        except Exception as error:  # raised in the test's own thread
            failures.append(error)
        done.set()

    thread = threading.Thread(target=by_bbrctl)
    thread.start()
    while not done.is_set() or hammer.changes < CHANGES:
        hammer.right(range(2, PROFILES))
        hammer.watching.poll()
    thread.join()
    assert not failures, failures
    acks = hammer.acks()
    assert not hammer.mixes()
    assert {e["profile_index"] for e in acks} == set(range(PROFILES))
    assert len({e["pacing_gain"] for e in acks}) == 16 and len(acks) > 1000


@pytest.mark.parametrize("how", ["one_after_the_other", "selector_too_early"])
def test_who_does_it_wrong_is_found_out(hammer, how):
    def ask(_):
        getattr(hammer, how)(range(PROFILES))
        return hammer.mixes()
    hammer.watching.wait_for(ask, "a mix")


SETS = "--dst 127.0.0.0/8 --profile 1", "--dport {} --profile 2"


@pytest.mark.parametrize("with_a_gap", [False, True])
def test_rules_change_as_a_whole(bbrctl, blank, ns, write_rules, monitor, with_a_gap):
    """One of two sets is always in force, and each has a rule for every connection, unless a flush comes in between."""
    with bpfmap.profiles(maps_of_program(status_of(bbrctl, blank)["prog_id"])) as mapped:
        for i in 1, 2:
            mapped.copy_profile(0, i)
            mapped.set_name(i, f"p{i}")
    watching = monitor(blank, "--every", "transition")
    listener = listen(ns, backlog=64)
    write_rules(blank, [SETS[0]])
    stop = threading.Event()

    def write():
        n = 0
        while not stop.is_set():
            n += 1
            if with_a_gap:
                bbrctl("rule", "flush", "--name", blank, status=None)
            write_rules(blank, [SETS[n % 2].format(listener.getsockname()[1])])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        found = lambda m: {e["profile_index"] for e in m.of("start")}  # noqa: E731

        def ask(m):
            for _ in range(20):
                for end in connect(ns, listener, cc=blank):
                    end.close()
            return found(m) >= ({0, 1, 2} if with_a_gap else {1, 2}) and len(m.of("start")) > 300
        watching.wait_for(ask, "connections with either set")
    finally:
        stop.set()
        thread.join()
    assert with_a_gap or found(watching) == {1, 2}
