# SPDX-License-Identifier: GPL-2.0-only
"""Objects that bbrctl refuses: it says why in one sentence, and what to do, and nothing changes."""
import re

import pytest

from objects import ROOT, Object, compile_bpf, register
from system import registered, struct_ops, wait_until
from tool import NOTHING, REFUSED, USAGE, status_of
from transfer import send_verified

pytestmark = pytest.mark.machine_alone  # it reads the state of the whole machine

ABI = '#include "bpf_bbr/abi.h"\nconst struct bbr_abi abi __attribute__((section(".rodata.bbr_abi"), used)) = {%s};\n'
PROGRAM = '__attribute__((section("sockops"), used)) int p(void *c) { return 1; }\n' \
          '__attribute__((section("license"), used)) char l[] = "GPL";\n'
# A record without an algorithm.
SHORT_ABI = """struct { unsigned magic; unsigned short major, minor; unsigned sizes[3]; char version[20]; } abi
__attribute__((section(".rodata.bbr_abi"), used)) = { 0x31726262, 2, 0, { 212, 2112, 216 }, "0.0.9" };
"""


def no_elf(path, _):
    path.write_text("no object at all\n")


def empty(path, _):
    path.touch()


def of_this_machine(path, _):
    path.write_bytes((ROOT / "build/bbrctl").read_bytes())


def cut(path, bbr):
    path.write_bytes(bbr.read_bytes()[:20000])


def without_abi(path, _):
    compile_bpf(path, PROGRAM)


def other_magic(path, _):
    compile_bpf(path, PROGRAM + ABI % ".magic = 1")


def abi_and_nothing_else(path, _):
    compile_bpf(path, PROGRAM + ABI % ".magic = BBR_ABI_MAGIC, .major = BBR_ABI_MAJOR, .params_size = 4, "
                ".watch_size = 2112, .event_size = 192, .algorithm = \"bbr\"")


def short_record(path, _):
    compile_bpf(path, PROGRAM + SHORT_ABI)


def patched(member, change):
    def make(path, bbr):
        obj = Object(bbr)
        obj.put(member, change(obj.get(member))).write(path)
    return make


def built(name):
    return lambda path, _: path.write_bytes((ROOT / "build" / name).read_bytes())


SIZES = "does not match"
REFUSALS = {
    "no_elf": (no_elf, "not even an ELF file"), "empty": (empty, "not even an ELF file"), "cut": (cut, "not a whole BPF object"),
    "of_this_machine": (of_this_machine, "an ELF file of another kind"),
    "none": (lambda path, _: None, "No such file"), "folder": (lambda path, _: path.mkdir(), "not even an ELF file"),
    "without_abi": (without_abi, "no ABI record"), "other_magic": (other_magic, "no ABI record"),
    "attach": (built("attach.bpf.o"), "no ABI record"),
    "short_record": (short_record, "no ABI record"), "abi_999": (built("next_abi.bpf.o"), "ABI 999"),
    "abi_and_nothing_else": (abi_and_nothing_else, SIZES),
    "params": (patched(Object.PARAMS_SIZE, lambda n: n + 4), SIZES),
    "odd_params": (patched(Object.PARAMS_SIZE, lambda n: n + 1), SIZES),
    "no_params": (patched(Object.PARAMS_SIZE, lambda n: 0), SIZES),
    "watch": (patched(Object.WATCH_SIZE, lambda n: n - 8), SIZES),
    "event": (patched(Object.EVENT_SIZE, lambda n: n + 8), SIZES),
    "tail": (patched(Object.TAIL_SIZE, lambda n: n + 8), SIZES),
}


@pytest.fixture(params=REFUSALS)
def refusal(request, bbr_object, tmp_path):
    make, why = REFUSALS[request.param]
    path = tmp_path / "object.bpf.o"
    make(path, bbr_object)
    return path, why


@pytest.fixture
def toy(bbr_object, tmp_path):
    """An object of an algorithm that bbrctl does not know; its code is bbr's."""
    return Object(bbr_object).algorithm("toy").write(tmp_path / "toy.bpf.o")


def assert_sentence(err, path, why):
    """One line says what failed and why, the next one what to do."""
    first, *rest = err.splitlines()
    assert first.startswith(f"bbrctl: {path}: ") and why in first, err
    assert not re.search(r"error \d|errno", first), err
    assert len(rest) == (0 if "No such file" in first else 1) and all(line.startswith("  ") for line in rest), err


def test_load_refuses(bbrctl, refusal, free_name):
    path, why = refusal
    name, before = free_name(), registered()
    assert_sentence(bbrctl("load", "--name", name, "--object", path, status=USAGE).err, path, why)
    assert registered() == before


def test_upgrade_refuses(bbrctl, refusal, blank):
    path, why = refusal
    before = status_of(bbrctl, blank)
    *said, still = bbrctl("upgrade", "--name", blank, "--object", path, status=USAGE).err.splitlines()
    assert_sentence("\n".join(said), path, why)
    assert f"not upgraded: {blank} still runs" in still and status_of(bbrctl, blank) == before


def test_what_is_refused_never_reaches_the_kernel(bbrctl, refusal, free_name):
    """An unprivileged user gets the same message."""
    path, why = refusal
    path.parent.chmod(0o755)
    err = bbrctl("load", "--name", free_name(), "--object", path, status=USAGE,
                 prefix=["setpriv", "--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin"]).err
    assert_sentence(err, path, why)


def test_the_object_says_its_algorithm(bbrctl, bbr_object, free_name, ns):
    name = free_name()
    bbrctl("load", "--name", name, "--object", bbr_object, "--algorithm", "bbr", "--set", "bw_win=12")
    found = status_of(bbrctl, name)
    assert found["algorithm"] == "bbr" and found["params_changed"] == 1
    assert "ALGORITHM" in bbrctl("status").out
    send_verified(ns, name)


def test_an_object_of_another_algorithm_than_requested(bbrctl, toy, free_name):
    name, before = free_name(), registered()
    err = bbrctl("load", "--name", name, "--object", toy, "--algorithm", "bbr", status=USAGE).err
    assert err.splitlines()[0] == f"bbrctl: {toy}: its algorithm is toy, not bbr"
    assert "--algorithm" in err.splitlines()[1] and registered() == before


@pytest.mark.parametrize("args", [["--set", "bw_win=12"], ["--profile", "tsunami"]])
def test_parameters_of_an_unknown_algorithm(bbrctl, toy, free_name, args):
    name, before = free_name(), registered()
    err = bbrctl("load", "--name", name, "--object", toy, *args, status=USAGE).err
    assert "does not know algorithm toy" in err and "without --set" in err and registered() == before


def test_an_instance_of_an_unknown_algorithm(bbrctl, toy, free_name, ns):
    """The object brings its defaults. The instance is listed and unloaded, and no more."""
    name = free_name()
    bbrctl("load", "--name", name, "--object", toy)
    found = status_of(bbrctl, name)
    assert found["algorithm"] == "toy" and found["supported"] is False
    assert "(algorithm toy)" in bbrctl("status").out
    send_verified(ns, name)
    for args in (["set", "bw_win=12"], ["show"], ["upgrade"], ["profile", "list"], ["save"]):
        assert "do not know its algorithm, toy" in bbrctl("--name", name, *args, status=REFUSED).err
    bbrctl("unload", "--name", name)
    wait_until(lambda: name not in struct_ops().values(), "it is freed")


@pytest.fixture
def usual_names(bbrctl):
    """The instances' usual names, which nobody may have registered. What gets registered as one of them is removed."""
    names = {"bpf_bbr", "bpf_bbr3", "bpf_bbr3_ecn"}
    taken = names & registered()
    assert not taken, f"somebody else has loaded {taken}, which this test would have to replace"
    yield
    for name in names & registered():
        bbrctl("unload", "--name", name)


@pytest.mark.parametrize("name", [None, "bpf_bbr", "bpf_bbr3", "bpf_bbr3_ecn"])
@pytest.mark.usefixtures("usual_names")
def test_an_unknown_algorithm_under_the_name_of_another(bbrctl, toy, name):
    before = registered(), struct_ops()
    err = bbrctl("load", "--object", toy, *(("--name", name) if name else ()), status=USAGE).err
    first, second = err.splitlines()
    if name:
        of = "bbr" if name == "bpf_bbr" else "bbr3"
        assert first == f"bbrctl: {toy}: its algorithm is toy, but only instances of {of} may have the name {name}"
    else:
        assert first == f"bbrctl: {toy}: bbrctl does not know algorithm toy, so its instance has no default name"
    assert "--name NAME" in second and (registered(), struct_ops()) == before


@pytest.mark.usefixtures("usual_names")
def test_a_known_algorithm_under_the_name_of_another(bbrctl):
    before = registered()
    err = bbrctl("load", "--algorithm", "bbr3", "--name", "bpf_bbr", status=USAGE).err
    assert "its algorithm is bbr3, but only instances of bbr may have the name bpf_bbr" in err and registered() == before


def test_upgrade_to_another_algorithm(bbrctl, toy, load, ns):
    name = load("bw_win=33")
    before = status_of(bbrctl, name)
    err = bbrctl("upgrade", "--name", name, "--object", toy, status=USAGE).err
    assert err.splitlines()[0] == f"bbrctl: {toy}: its algorithm is toy, but {name} has algorithm bbr"
    assert f"bbrctl migrate --from {name} --to" in err.splitlines()[1]
    assert status_of(bbrctl, name) == before
    send_verified(ns, name)


def test_an_algorithm_that_does_not_exist(bbrctl, free_name):
    for args in (["load", "--name", free_name()], ["show", "--defaults"]):
        err = bbrctl(*args, "--algorithm", "cubic", status=USAGE).err
        assert "--algorithm cubic" in err and "it knows: bbr" in err
    assert "--defaults" in bbrctl("show", "--algorithm", "bbr", status=USAGE).err
    assert bbrctl("show", "--defaults", "--algorithm", "bbr").out == bbrctl("show", "--defaults").out


def test_instances_of_other_majors(bbrctl, bbrmon, free_name, tmp_path, ns):
    """The tools of that version registered them; these tools list and unload them, and say that they do not read them."""
    name, major = free_name(), 999
    register(Object(ROOT / "build/next_abi.bpf.o").name(name).write(tmp_path / "other.bpf.o"))
    found = status_of(bbrctl, name)
    assert found["abi_major"] == major and found["supported"] is False
    assert f"loaded by another version (ABI {major})" in bbrctl("status").out
    for args in (["set", "bw_win=12"], ["show"], ["upgrade"], ["rule", "list"]):
        assert f"ABI {major}" in bbrctl("--name", name, *args, status=REFUSED).err
    left_out = re.escape(f"bbrmon: {name}: its connections are left out: loaded by another version (") + rf".*, ABI {major}\)\n"
    assert len(re.findall(left_out, bbrmon("snapshot").err)) == 1
    assert bbrctl("load", "--name", name, status=NOTHING).err.startswith(f"bbrctl: {name}: is already loaded")
    send_verified(ns, name)
    bbrctl("unload", "--name", name)
    assert name not in registered()


def test_all_that_cannot_be_read_are_reported(bbrmon, free_name, tmp_path):
    """Also if the names are not in the order in which the instances were registered."""
    names = sorted([free_name(), free_name()], reverse=True)
    for name in names:
        register(Object(ROOT / "build/next_abi.bpf.o").name(name).write(tmp_path / "other.bpf.o"))
    told = bbrmon("snapshot").err
    assert [told.count(f"{name}: its connections are left out: loaded by another version (9.9.9, ABI 999)") for name in names] == [1, 1]


def test_a_saved_file_of_another_algorithm(bbrctl, blank, tmp_path):
    saved = bbrctl("save", "--name", blank).out
    assert f"\n[instance {blank}]\nalgorithm = bbr\n\n[default]\n" in saved
    assert bbrctl.json("save", "--name", blank)[0]["algorithm"] == "bbr"
    path = tmp_path / "saved"
    path.write_text(saved.replace("algorithm = bbr\n", "algorithm = cubic\n"))
    err = bbrctl("apply", "--name", blank, path, status=USAGE).err
    assert "algorithm cubic: this bbrctl does not know it" in err and f"at line 4 of {path}" in err
    # Files from before there were several algorithms, or several instances.
    every = bbrctl("save", "--all", "--name", blank).out
    path.write_text(every[every.index("[default]"):].replace("; bw_win = 10", "bw_win = 11"))
    bbrctl("apply", "--name", blank, path)
    assert status_of(bbrctl, blank)["params_changed"] == 1


def test_profiles_of_another_algorithm(bbrctl, blank, tmp_path):
    path = tmp_path / "profiles.ini"
    path.write_text("algorithm = cubic\n[mine]\nbeta = 7\n")
    err = bbrctl("profile", "add", "--name", blank, "--profile", path, "mine", status=USAGE).err
    assert err.splitlines()[0] == "bbrctl: [mine]: it is a profile of algorithm cubic, not of bbr"
    path.write_text("algorithm = bbr\n[mine]\nbw_win = 7\n")
    bbrctl("profile", "add", "--name", blank, "--profile", path, "mine")
    assert bbrctl.json("show", "--name", blank, "--profile", "mine", "bw_win")["params"][0]["value"] == 7
