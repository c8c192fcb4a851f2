# SPDX-License-Identifier: GPL-2.0-only
"""When the tests' own process is killed, everything that it made is removed."""
import pathlib
import signal
import subprocess
import sys

import cleaner
from system import wait_until

TESTS = pathlib.Path(__file__).resolve().parent
# Makes things as the tests do, in a process of its own. It prints the prefix of their names, then waits for the kill.
MAKE_ALL = """
import os, subprocess, sys, time
import cleaner, netns, system, tool
from cgroups import Cgroup
bbrctl = tool.Tool(sys.argv[1])
started = cleaner.Cleaner(bbrctl.path)
os.environ[system.MARK] = system.PREFIX
ns, outer = netns.Namespace(), Cgroup()
inner = Cgroup(outer)
name = f"{system.PREFIX}_0"
bbrctl("load", "--name", name)
bbrctl("attach", "--name", name, "--cgroup", outer.path)
bbrctl("experiment", "start", f"e{os.getpid()}_0", "--cgroup", inner.path, "--arm", "a=cubic", "--arm", f"b={name}")
sleeper = subprocess.Popen(ns.command("sh", "-c", "echo; exec sleep 1000"), start_new_session=True, stdout=subprocess.PIPE)
sleeper.stdout.readline()  # it is in the namespace
print(system.PREFIX, flush=True)
time.sleep(1000)
"""


def made_by(prefix):
    return {"instances": cleaner.instances(prefix), "namespaces": cleaner.namespaces(prefix), "cgroups": cleaner.cgroups(prefix),
            "processes": list(cleaner.processes(prefix))}


def test_what_was_made_is_removed(bbrctl):
    making = subprocess.Popen([sys.executable, "-c", MAKE_ALL, bbrctl.path], cwd=TESTS, stdout=subprocess.PIPE, text=True)
    try:
        prefix = making.stdout.readline().strip()
        made = made_by(prefix)
        assert {what: len(names) for what, names in made.items()} == \
            {"instances": 1, "namespaces": 1, "cgroups": 2, "processes": 1}, made
    finally:
        making.send_signal(signal.SIGKILL)
        making.communicate()
    wait_until(lambda: not any(made_by(prefix).values()), "the cleaner removes it")
    assert prefix[4:] not in str(bbrctl.json("experiment", "list"))
