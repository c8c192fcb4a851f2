# SPDX-License-Identifier: GPL-2.0-only
"""A tool that cannot find a namespace says so: in a PID namespace, without /proc, with a default of unloaded code."""
import contextlib
import json
import os
import pathlib
import signal

import pytest

from system import wait_until
from tool import REFUSED, Tool, status_of
from transfer import connect, get_cc, listen, send_verified

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

NEXT = pathlib.Path(__file__).resolve().parents[3] / "build/next_version.bpf.o"

# Of their own: processes; a mount namespace without the names of network namespaces, and in one case without /proc.
BLIND = {
    "pid": ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", 'umount -l /run/netns; exec "$@"', "sh"],
    "no /proc": ["unshare", "-m", "sh", "-c", 'umount -l /run/netns; umount -l /proc; exec "$@"', "sh"],
}


@contextlib.contextmanager
def process_in(ns):
    """Keeps the namespace alive, also for those who do not see this process."""
    sleeper = ns.popen("sleep", 60)
    try:
        wait_until(lambda: os.stat(f"/proc/{sleeper.pid}/ns/net").st_ino == ns.inode, "it is in the namespace")
        yield sleeper
    finally:
        sleeper.send_signal(signal.SIGKILL)
        sleeper.wait()


@pytest.fixture(params=BLIND)
def blind(request, build):
    """Runs a tool there; without the sanitizers, which need /proc."""
    def run(tool, *args, **kwargs):
        return Tool(build.parent / tool)(*args, prefix=BLIND[request.param], **kwargs)
    return run


def test_users_that_a_snapshot_does_not_see(bbrmon, load, ns, blind):
    name = load()
    pair = connect(ns, listen(ns), cc=name)
    with process_in(ns):
        seen = bbrmon("snapshot", "-j", "--name", name)
        assert [json.loads(line)["instance"] for line in seen.out.splitlines()] == [name] and not seen.err
        text = blind("bbrmon", "snapshot", "--name", name, status=REFUSED)
        assert f"bbrmon: {name}: 1 user is not shown" in text.err and "network namespace" in text.err
        out = blind("bbrmon", "snapshot", "-j", "--name", name, status=REFUSED).out
        assert [json.loads(line) for line in out.splitlines()] == \
            [{"event": "unseen", "instance": name, "users_unseen": 1}]
        out = blind("bbrmon", "snapshot", "-js", "--name", name, status=REFUSED).out
        assert json.loads(out)["users_unseen"] == 1
        text = blind("bbrmon", "why", "--for", "50ms", "--name", name, status=REFUSED).err
        assert "bbrmon: why: " in text and "cannot be found from here" in text
        # Not asked for: another instance, one namespace.
        other = load()
        assert not blind("bbrmon", "snapshot", "--name", other).err
        assert "cannot be found" not in blind("bbrmon", "why", "--for", "50ms", "--name", other).err
    assert get_cc(pair[0]) == name


def test_listeners_and_defaults_are_seen(bbrmon, bbrctl, load, ns, new_ns):
    """They are users as well, but a snapshot does not show them; one hidden namespace makes it count."""
    name = load()
    ns.default_congestion_control(name)
    hidden = new_ns()
    with listen(ns) as listener, process_in(hidden):
        pair = connect(ns, listener, cc=name)
        assert status_of(bbrctl, name)["users"] == 4  # the default, the listener, both ends
        done = bbrmon("snapshot", "--name", name, prefix=ns.command(*BLIND["pid"]))
        assert not done.err and len(done.out.splitlines()) == 5
        ns.default_congestion_control("reno")
    assert pair


def test_metrics_and_top_say_it(bbrmon, load, ns, blind):
    name = load()
    with process_in(ns):
        sender, receiver = connect(ns, listen(ns), cc=name)
        out = blind("bbrmon", "export", "--once", "--name", name, status=None).out
        values = dict(line.rsplit(" ", 1) for line in out.splitlines() if not line.startswith("#"))
        assert float(values["bbrmon_unseen_users"]) >= 1 and float(values["bbrmon_reading_complete"]) == 0
        out = blind("bbrmon", "top", "-b", "-n", 2, "-i", "1s", "--name", name).out
        assert "unseen users 1" in out
    assert sender and receiver


def test_unload_names_the_default_that_it_cannot_reach(bbrctl, free_name, new_ns, blind):
    name, ns = free_name(), new_ns()
    ns.default_congestion_control("reno")
    inode = ns.inode
    bbrctl("load", "--name", name, "--default", "--netns", ns.name)
    with process_in(ns):
        before = blind("bbrctl", "-j", "status", "--name", name).json()[0]["default_in"]
        assert before == [{"netns": None, "inode": inode}]
        assert f"net:[{inode}]" in blind("bbrctl", "status", "--name", name).out
        done = blind("bbrctl", "-j", "unload", "--name", name, status=REFUSED)
        assert f"net:[{inode}]" in done.err and name in done.err
        assert done.json()["unloaded"] is True
        assert done.json()["defaults"] == [{"netns": None, "inode": inode, "default": name, "restored": False}]
        # Whoever sees the namespace can mend it: load sets the default to the new code.
        assert "made the default of 1 network namespace again" in bbrctl("load", "--name", name).out
        assert status_of(bbrctl, name)["default_in"] == [{"netns": ns.name, "inode": inode}]
        send_verified(ns, name)
        ns.default_congestion_control("reno")
    bbrctl("unload", "--name", name)


@pytest.mark.parametrize("blind", ["pid"], indirect=True) # without /proc it refuses to begin
def test_connections_that_migrate_cannot_find(bbrctl, free_name, load, ns, blind):
    name, other = free_name(), load()
    bbrctl("load", "--name", name)
    sender, receiver = connect(ns, listen(ns), cc=name)
    go = ["migrate", "--all-netns", "--from", name, "--to", other]
    with process_in(ns):
        done = blind("bbrctl", "-j", *go, status=REFUSED)
        assert "cannot be found from here" in done.err and done.json()["moved"] == 0
        assert done.json()["namespaces_unseen"] >= 1
        done = blind("bbrctl", "-j", "unload", "--name", name, "--migrate", other, status=REFUSED)
        assert "not all connections are moved" in done.err and done.json()["unloaded"] is True
        assert get_cc(sender) == name
        bbrctl("load", "--name", name)
        with connect(ns, listen(ns), cc=name)[0] as second:
            answer = bbrctl.json(*go)
            assert answer["namespaces_unseen"] == 0 and answer["moved"] >= 1 and get_cc(second) == other
        bbrctl("unload", "--name", name)
    assert receiver


def test_upgrade_names_the_default_that_it_cannot_reach(bbrctl, load, ns, blind):
    name = load()
    ns.default_congestion_control(name)
    with process_in(ns):
        done = blind("bbrctl", "upgrade", "--name", name, status=REFUSED)
        assert f"net:[{ns.inode}]" in done.err and "old code" in done.err
        # The name is the same, but not the code.
        status = status_of(bbrctl, name)
        assert status["default_in"] == [] and status["stale_default_in"] == [{"netns": ns.name, "inode": ns.inode}]
        assert f"unloaded code of this name is the default of {ns.name}" in bbrctl("status").out
        bbrctl("load", "--name", name, "--default", "--netns", ns.name)
        status = status_of(bbrctl, name)
        assert status["stale_default_in"] == [] and status["default_in"] == [{"netns": ns.name, "inode": ns.inode}]
        ns.default_congestion_control("reno")


@pytest.mark.parametrize("blind", ["pid"], indirect=True)
def test_apply_says_which_defaults_it_cannot_reach(bbrctl, free_name, new_ns, blind, tmp_path):
    """It replaces code of another version."""
    name, ns, file = free_name(), new_ns(), tmp_path / "file"
    ns.default_congestion_control("reno")
    bbrctl("load", "--name", name, "--object", NEXT, "--default", "--netns", ns.name)
    file.write_text(f"[instance {name}]\n")
    with process_in(ns):
        done = blind("bbrctl", "-j", "apply", "--name", name, file, status=REFUSED)
        assert f"net:[{ns.inode}]" in done.err and "its default remains the old code" in done.err
        assert done.err.endswith("bbrctl: all changes were made, but not in the network namespaces named above\n")
        answer = done.json()
        assert answer["applied"] and answer["defaults_left"] and answer["changes"], done.out
        ns.default_congestion_control("reno")
    bbrctl("unload", "--name", name)


def test_a_default_set_by_sysctl_follows_load(bbrctl, free_name, ns):
    """After unload and load of the same name the namespace had the unloaded code, and status called it the new one's."""
    name = free_name()
    bbrctl("load", "--name", name)
    ns.default_congestion_control(name)
    bbrctl("unload", "--name", name)
    answer = bbrctl.json("load", "--name", name)
    assert answer["defaults"] == 1
    status = status_of(bbrctl, name)
    assert status["users"] == 1 and status["default_in"] == [{"netns": ns.name, "inode": ns.inode}]
    pair = connect(ns, listen(ns))
    assert status_of(bbrctl, name)["users"] == 4 and get_cc(pair[0]) == name
    ns.default_congestion_control("reno")
    bbrctl("unload", "--name", name)


def test_run_that_is_read_only(build, bbrctl, load, ns):
    """What only reads works as ever; what changes something says why it does not."""
    name = load("bw_win=11")
    pair = connect(ns, listen(ns), cc=name)
    prefix = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /run; mount -o remount,ro /run; exec "$@"', "sh"]
    loader, monitor = (Tool(build.parent / tool) for tool in ("bbrctl", "bbrmon"))
    with process_in(ns):
        assert len(monitor("snapshot", "-j", "--name", name, prefix=prefix).out.splitlines()) == 1
        assert loader("-j", "status", "--name", name, prefix=prefix).json() == [status_of(bbrctl, name)]
        for words in (["set", "--name", name, "bw_win=12"], ["unload", "--name", name], ["load", "--name", name, "--default"]):
            done = loader(*words, prefix=prefix, status=REFUSED)
            assert done.err.startswith("bbrctl: cannot lock /run/bbrctl.lock: Read-only file system\n")
    assert status_of(bbrctl, name)["params_changed"] == 1 and pair


def test_check_counts_namespaces(bbrctl, ns, blind):
    with process_in(ns):
        assert bbrctl.json("check")["namespaces_unseen"] == 0
        answer = blind("bbrctl", "-j", "check").json()
        assert answer["namespaces_unseen"] >= 1
        assert "cannot be found from here" in blind("bbrctl", "check").out
