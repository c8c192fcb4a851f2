# SPDX-License-Identifier: GPL-2.0-only
"""
Tests on the running kernel. Everything happens in network namespaces and in instances that the tests make and
remove again. Nothing is skipped: what is missing fails.
"""
import contextlib
import itertools
import json
import os
import pathlib
import resource
import signal
import time

import pytest

pytest.register_assert_rewrite("stream")  # its assertions then show values, as those of a test do

import bpfmap
import netns
import system
import tool
import transfer
from cgroups import Cgroup, Cgroups
from cleaner import Cleaner
from experiments import Experiments

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST_LIMIT = 240  # seconds; none takes nearly as long
numbers = itertools.count()


def binary(directory, name):
    path = directory / name
    assert path.is_file(), f"{path} is missing: run `make tests`, which builds it"
    return tool.Tool(path)


@pytest.fixture(scope="session")
def build():
    """The folder of the tools under test; BBR_BUILD names another one."""
    return pathlib.Path(os.environ.get("BBR_BUILD", ROOT / "build/asan"))


@pytest.fixture(scope="session")
def bbr_object():
    path = ROOT / "build/bpf_bbr.bpf.o"
    assert path.is_file(), f"{path} is missing: run `make`, which builds it"
    return path


@pytest.fixture(scope="session")
def bbrctl(build):
    return binary(build, "bbrctl")


@pytest.fixture(scope="session")
def bbrmon(build):
    return binary(build, "bbrmon")


@pytest.fixture(scope="session")
def plain_bbrmon(build):
    """bbrmon without the sanitizers, for tests with much traffic."""
    return binary(build.parent, "bbrmon")


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left(bbrctl, plain_bbrmon):
    """After the last test the kernel has what it had before the first one."""
    assert os.geteuid() == 0, "these tests need root"
    with system.machine(alone=True):
        before = system.Traces(bbrctl)
    cleaner = Cleaner(bbrctl.path)
    os.environ[system.MARK] = system.PREFIX
    yield
    cleaner.dismiss()
    with system.machine(alone=True):  # a map does not show its owner
        # Namespaces, maps and programs are freed a little after their last user is gone.
        deadline = time.monotonic() + 30
        while (left := system.Traces(bbrctl).since(before)) and time.monotonic() < deadline:
            time.sleep(0.5)
    if not before.bpffs:
        system.unmount_bpffs()
    if left:  # what holds an instance that is unloaded
        left += [f"connection: {row}" for row in json.loads(system.run(plain_bbrmon.path, "snapshot", "-j", check=False).stdout or "[]")]
    assert not left, "the tests left behind: " + "; ".join(left)


is_for_one = False  # does the test that is set up have the mark machine_alone?


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    global is_for_one
    is_for_one = item.get_closest_marker("machine_alone") is not None


@pytest.fixture(scope="module", autouse=True)
def its_turn():
    """Tests of other processes may load something meanwhile, unless the test has the mark. Of a file, the tests with the mark come first
    (tests/conftest.py); those that follow at once in the same process have the machine alone as well."""
    with system.machine(alone=is_for_one):
        yield


@pytest.fixture(autouse=True)
def has_its_turn(its_turn):
    assert system.is_alone or not is_for_one


@pytest.fixture(scope="session", autouse=True)
def hang_up():
    """Under nohup we ignore SIGHUP, and our children would inherit that. A handler is not inherited."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True)
def time_limit():
    """A test that hangs fails, instead of stopping all others."""
    def expire(*_):
        raise TimeoutError(f"not done after {TEST_LIMIT} s")
    signal.signal(signal.SIGALRM, expire)
    signal.alarm(TEST_LIMIT)
    yield
    signal.alarm(0)


@pytest.fixture(autouse=True)
def no_traffic_left():
    """Closes all sockets, also after a failure, which ends the threads that use them."""
    yield
    transfer.close_all()


@pytest.fixture
def many_files():
    """Room for a few thousand sockets in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def new_ns():
    """Makes network namespaces."""
    with contextlib.ExitStack() as stack:
        def make():
            ns = netns.Namespace()
            stack.callback(ns.delete)
            return ns
        yield make
        transfer.close_all()  # a socket without a process keeps its namespace, where nobody finds it


@pytest.fixture
def ns(new_ns):
    """A network namespace with nothing but its loopback."""
    return new_ns()


@pytest.fixture
def link(new_ns):
    """Two network namespaces with a veth between them."""
    return netns.Link(new_ns(), new_ns())


@pytest.fixture
def cgroups():
    tree = Cgroups()
    yield tree
    tree.close()


@pytest.fixture
def new_cgroup():
    with contextlib.ExitStack() as stack:
        def make(parent=None):
            cgroup = Cgroup(parent)
            stack.callback(cgroup.delete)
            return cgroup
        yield make


@pytest.fixture
def cgroup(new_cgroup):
    return new_cgroup()


@pytest.fixture
def foreign_program(tmp_path):
    """A sockops program of somebody else, pinned in a separate bpffs."""
    source, obj, pins = tmp_path / "p.c", tmp_path / "p.o", tmp_path / "bpf"
    source.write_text('__attribute__((section("sockops"), used)) int nothing(void *ctx) { return 1; }\n'
                      '__attribute__((section("license"), used)) char l[] = "GPL";\n')
    clang = system.run(ROOT / "scripts/find-clang", "clang").stdout.strip()
    system.run(clang, "-O2", "-target", "bpf", "-c", source, "-o", obj)
    pins.mkdir()
    system.run("mount", "-t", "bpf", "bpf", pins)
    try:
        system.run("bpftool", "prog", "load", obj, pins / "nothing", "type", "sockops")
        yield pins / "nothing"
    finally:
        system.run("umount", pins)


@pytest.fixture(scope="session")
def write_rules():
    """Gives an instance many rules at once, as lines of options for rule add with the profile as an index."""
    path = ROOT / "build/write_rules"
    assert path.is_file(), f"{path} is missing: run `make tests`, which builds it"
    return lambda name, lines: system.run(path, name, input="".join(f"{line}\n" for line in lines))


@pytest.fixture
def new_path(new_ns):
    """Makes a path with a bottleneck, at most once in a test."""
    return lambda **kwargs: netns.Path(new_ns(), new_ns(), new_ns(), **kwargs)


def new_name():
    name = f"{system.PREFIX}_{next(numbers)}"
    assert len(name) < 16 and name not in system.registered()
    return name


def unload_if_loaded(bbrctl, name):
    if name in system.registered():
        bbrctl("unload", "--name", name)


@pytest.fixture
def free_name(bbrctl):
    """Names for instances that the test loads itself, or tries to; they are unloaded at the end."""
    with contextlib.ExitStack() as stack:
        def make():
            name = new_name()
            stack.callback(unload_if_loaded, bbrctl, name)
            return name
        yield make


@pytest.fixture
def experiments(bbrctl, free_name, cgroup):
    """Experiments stop before the instances in their arms are unloaded: this is why it depends on free_name."""
    running = Experiments(bbrctl)
    yield running
    running.close()


@pytest.fixture
def load(bbrctl, free_name):
    """Loads instances, each under a new name. Returns the name."""
    def make(*assignments, algorithm="bbr", options=()):
        name = free_name()
        bbrctl("load", "--algorithm", algorithm, "--name", name, *options,
               *itertools.chain(*(("--set", a) for a in assignments)))
        return name
    return make


@pytest.fixture(scope="module")
def shared(bbrctl):
    name = new_name()
    bbrctl("load", "--name", name)
    yield name
    unload_if_loaded(bbrctl, name)


@pytest.fixture
def blank(bbrctl, shared):
    """An instance as after loading, but faster than loading one: it is reset after each test."""
    yield shared
    bbrctl("rule", "flush", "--name", shared, status=None)
    with bpfmap.profiles(system.maps_of_program(tool.status_of(bbrctl, shared)["prog_id"])) as mapped:
        for i in range(1, mapped.PROFILES):
            mapped.set_name(i, "")
    bbrctl("reset", "--name", shared, status=None)


@pytest.fixture
def load_plain(bbrctl, free_name):
    """As load, but without a link."""
    def make(*assignments):
        name = free_name()
        bbrctl("load", "--name", name, *itertools.chain(*(("--set", a) for a in assignments)),
               prefix=system.NO_BPFFS)
        return name
    return make


@contextlib.contextmanager
def registered(name, path):
    """The instance in the object, registered with bpftool."""
    with system.locked(name):
        assert name not in system.registered(), \
            f"somebody else has {name} loaded, and this test would have to replace it: unload it first"
        system.run("bpftool", "struct_ops", "register", path)
        yield name
        # While another process loads such an object, an unregistered map of this name exists. bpftool refuses that one.
        for map_id in [i for i, found in system.struct_ops().items() if found == name]:
            system.run("bpftool", "struct_ops", "unregister", "id", map_id, check=False)
        assert name not in system.registered()


@pytest.fixture
def bpf_bbr(bbr_object):
    with registered("bpf_bbr", bbr_object) as name:
        yield name


@pytest.fixture
def bpf_bbr3():
    with registered("bpf_bbr3", ROOT / "build/bpf_bbr3.bpf.o") as name:
        yield name


@pytest.fixture
def bpf_bbr3_ecn():
    with registered("bpf_bbr3_ecn", ROOT / "build/bpf_bbr3_ecn.bpf.o") as name:
        yield name


@pytest.fixture
def monitor(bbrmon, bbrctl, tmp_path):
    """Starts `bbrmon stream -j` on an instance, and returns when it is subscribed."""
    with contextlib.ExitStack() as stack:
        def start(name, *args, tool_to_run=bbrmon, **kwargs):
            before = tool.status_of(bbrctl, name)["monitors"]
            started = tool.Monitor(tool_to_run, tmp_path, "--name", name, *args,
                                   number=next(numbers), **kwargs)
            stack.callback(started.kill)
            started.wait_for(lambda _: tool.status_of(bbrctl, name)["monitors"] > before,
                             "bbrmon subscribes")
            return started
        yield start
