# SPDX-License-Identifier: GPL-2.0-only
"""The state that check-cluster compares before and after: it must show a change, and only changes that somebody made."""
import os
import subprocess

import pytest

import host_state

BEFORE = {"settings": ["vm.overcommit_memory = 0", "vm.swappiness = 60"], "mounts": [], "rules": ["-- a --"]}


def test_nothing_differs_from_itself():
    assert not host_state.differences(BEFORE, {what: list(lines) for what, lines in BEFORE.items()})


@pytest.mark.parametrize("what, lines, found", [
    ("settings", ["vm.overcommit_memory = 1", "vm.swappiness = 60"],
     ["settings: -vm.overcommit_memory = 0", "settings: +vm.overcommit_memory = 1"]),
    ("settings", ["vm.swappiness = 60"], ["settings: -vm.overcommit_memory = 0"]),
    ("mounts", ["/ /mnt"], ["mounts: +/ /mnt"]),
    ("rules", ["-- a --", "-- b --"], ["rules: +-- b --"]),
])
def test_a_difference_is_reported(what, lines, found):
    assert host_state.differences(BEFORE, {**BEFORE, what: lines}) == found


@pytest.mark.parametrize("setting", ["fs.file-nr", "fs.quota.syncs", "kernel.ns_last_pid", "kernel.random.uuid",
                                     "net.netfilter.nf_conntrack_count"])
def test_a_counter_is_left_out(setting):
    assert not host_state.without_counters([f"{setting} = 1"])


# Settings that a kubelet or a network of pods would change.
@pytest.mark.parametrize("setting", ["vm.overcommit_memory", "vm.panic_on_oom", "kernel.panic", "kernel.panic_on_oops", "kernel.pid_max",
                                     "kernel.keys.root_maxkeys", "kernel.keys.root_maxbytes", "net.ipv4.ip_forward",
                                     "net.netfilter.nf_conntrack_max"])
def test_a_setting_is_kept(setting):
    assert host_state.without_counters([f"{setting} = 1"]) == [f"{setting} = 1"]


def test_processes_are_found_by_their_root():
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            assert {process.pid, os.getpid()} <= set(host_state.processes_in("/"))
            assert process.pid not in host_state.processes_in("/nowhere")
        finally:
            process.kill()
