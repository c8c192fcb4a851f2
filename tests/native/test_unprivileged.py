# SPDX-License-Identifier: GPL-2.0-only
"""
bbrctl without root, or with less than all of it: a clear refusal that names what is missing. Of bbrmon see
test_privileges.py.
"""
import os
import pathlib
import shutil
import tempfile

import pytest

from system import registered
from tool import REFUSED, USAGE, Tool

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
NEEDED = ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN", "CAP_SYS_ADMIN"]

COMMANDS = {
    "bbrctl": [["check"], ["load", "--name", "bbrt_no"], ["unload"], ["status"], ["show"], ["set", "bw_win=11"],
               ["reset"], ["attach", "--cgroup", "bbrt_no"], ["detach", "--cgroup", "bbrt_no"],
               ["upgrade"], ["save"],
               ["profile", "list"], ["profile", "add", "a", "bw_win=11"], ["profile", "delete", "a"],
               ["profile", "copy", "a", "b"], ["profile", "show", "a"], ["rule", "list"], ["rule", "flush"],
               ["rule", "add", "--dport", "1", "--profile", "a"], ["rule", "delete", "1"], ["rule", "test", "::1"]],
}


@pytest.fixture
def copies(build):
    """The tools where everybody may read and run them, which the build's folder need not be."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="bbrt"))
    os.chmod(directory, 0o755)
    for name in COMMANDS:
        assert (build / name).is_file(), f"{build / name} is missing: run `make tests`"
        shutil.copy(build / name, directory)
        os.chmod(directory / name, 0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("name", COMMANDS)
def test_nobody_is_told_what_is_missing(copies, name):
    for command in COMMANDS[name]:
        err = Tool(copies / name)(*command, status=REFUSED, prefix=NOBODY, cwd="/").err
        assert all(capability in err for capability in NEEDED), err
    assert "bbrt_no" not in registered()


@pytest.mark.parametrize("capability", NEEDED)
@pytest.mark.parametrize("name", COMMANDS)
def test_root_without_one_capability_is_told_which(copies, name, capability):
    short = capability.removeprefix("CAP_").lower()
    for command in COMMANDS[name]:
        err = Tool(copies / name)(*command, status=REFUSED, prefix=["setpriv", f"--bounding-set=-{short}"]).err
        assert capability in err and not any(c in err for c in NEEDED if c != capability), err
    assert "bbrt_no" not in registered()


def test_nobody_may_ask_for_the_defaults_and_help(copies):
    bbrctl = Tool(copies / "bbrctl")
    assert bbrctl.json("show", "--defaults", prefix=NOBODY)["params"]
    bbrctl("--help", prefix=NOBODY)
    bbrctl("set", "bw_win=0", prefix=NOBODY, status=USAGE)
