# SPDX-License-Identifier: GPL-2.0-only
"""The lab's kernels: Debian's, by key, from the cache; or the user's own.

A kernel of the user's own is a bzImage and a folder of modules, given as the key BZIMAGE:MODULES.
"""
import dataclasses
import pathlib
import re

from vm import archive
from vm.archive import CACHE, LabError

# What tests a kernel. CHECK: `make check` and `make lab-matrix`, the oldest, the one that most people run, and the newest. MATRIX and
# FLAVOUR: only `make lab-matrix`, those in between, and other builds and settings. ARM64: `make check-arm64`. REFUSED: bbrctl must
# refuse it.
CHECK, MATRIX, FLAVOUR, ARM64, REFUSED = "check", "matrix", "flavour", "arm64", "refused"


@dataclasses.dataclass(frozen=True)
class Listed:
    """A line of the table."""
    package: str  # a regular expression of the package that contains vmlinuz; for arm64 its name and suite
    tested: str
    modules: bool = True  # False: the archive no longer has them, so there are no veth, netem and tcp_bbr, only loopback
    newer_tools: bool = False  # tested a second time, with Debian 13's bpftool and libbpf
    first: str = ""  # a line of shell that makes a guest this flavour
    memory_mb: int = 2048
    cpus: int = 1


LOCK_DOWN = "mount -t securityfs s /sys/kernel/security; echo {} >/sys/kernel/security/lockdown"
# A CPU goes and comes back, all the time.
HOTPLUG = "while sleep 0.7; do for on in 0 1; do echo $on >/sys/devices/system/cpu/cpu1/online; sleep 0.3; done; done &"
CLOUD_6_12 = r"linux-image-6\.12\.[0-9]+\+deb13-cloud-amd64"

# New versions replace old ones in the archive, so the newest match is taken. From 6.19 on the modules are in a package of
# their own. All else that names the lab's kernels takes them from here, or is compared by tests/lab/test_lab.py.
TABLE = {
    "5.10": Listed(r"linux-image-5\.10\.0-[0-9]+-cloud-amd64", REFUSED),
    "6.1": Listed(r"linux-image-6\.1\.0-[0-9]+-cloud-amd64", CHECK),
    "6.12": Listed(CLOUD_6_12, CHECK, newer_tools=True),
    "6.16": Listed(r"linux-image-6\.16\.[0-9]+\+deb13-cloud-amd64", MATRIX),
    "6.17": Listed(r"linux-image-6\.17\.[0-9]+\+deb13-cloud-amd64", MATRIX),
    "6.18": Listed(r"linux-image-6\.18\.[0-9]+\+deb13-cloud-amd64", MATRIX),
    "6.19": Listed(r"linux-binary-6\.19\.[0-9]+\+deb13-cloud-amd64", MATRIX, modules=False),
    "7.0": Listed(r"linux-binary-7\.0\.[0-9]+\+deb13-cloud-amd64", MATRIX, modules=False),
    "7.1": Listed(r"linux-binary-7\.1\.[0-9]+\+deb13-cloud-amd64", MATRIX, modules=False),
    "7.2": Listed(r"linux-binary-7\.2\.[0-9]+\+deb13-cloud-amd64", MATRIX),
    "7.3": Listed(r"linux-binary-unsigned-7\.3\.[0-9]+\+deb13-cloud-amd64", CHECK),
    # A kernel that is locked down takes no modules from the lab, which does not load the keys that they are signed with.
    "6.1+rt": Listed(r"linux-image-6\.1\.0-[0-9]+-rt-amd64", FLAVOUR),
    "6.12+rt": Listed(r"linux-image-6\.12\.[0-9]+\+deb13-rt-amd64", FLAVOUR),
    "6.12+jit_harden": Listed(CLOUD_6_12, FLAVOUR, first="echo 2 >/proc/sys/net/core/bpf_jit_harden"),
    "6.12+256mb": Listed(CLOUD_6_12, FLAVOUR, memory_mb=256),
    "6.12+hotplug": Listed(CLOUD_6_12, FLAVOUR, first=HOTPLUG, cpus=2),
    "6.12+integrity": Listed(CLOUD_6_12, FLAVOUR, modules=False, first=LOCK_DOWN.format("integrity")),
    "6.12+confidentiality": Listed(CLOUD_6_12, REFUSED, modules=False, first=LOCK_DOWN.format("confidentiality")),
    "6.1+arm64": Listed("linux-image-cloud-arm64/bookworm", ARM64),
    "6.12+arm64": Listed("linux-image-cloud-arm64/trixie", ARM64),
    "newest+arm64": Listed("linux-image-cloud-arm64/trixie-backports", ARM64),
}


def keys(*tested):
    """The keys of the kernels that these test, in the order of the table."""
    return [key for key, listed in TABLE.items() if listed.tested in tested]


def with_bbr():
    """The keys of the kernels whose own bbr the oracle records."""
    return [key for key in keys(CHECK, MATRIX) if TABLE[key].modules]


# What find() knows.
PACKAGES = {key: TABLE[key].package for key in keys(CHECK, MATRIX, FLAVOUR, REFUSED)}


@dataclasses.dataclass(frozen=True)
class Kernel:
    key: str
    image: pathlib.Path
    modules: pathlib.Path | None  # the folder that contains *.ko*; None: there are none
    first: str = ""  # as in the table, as the next two
    memory_mb: int = 2048
    cpus: int = 1


def _numbers(name):
    return [int(n) for n in re.findall(r"[0-9]+", name)]


def _packages(key):
    image = max(archive.names(PACKAGES[key]), key=_numbers, default=None)
    if not image:
        raise LabError(f"kernel {key}: the archive has no package {PACKAGES[key]} any more")
    modules = re.sub(r"^linux-(image|binary-unsigned|binary)-", "linux-modules-", image)
    return [image] + archive.names(re.escape(modules))


def _first(folder, *patterns):
    for pattern in patterns:
        for found in sorted(folder.glob(pattern)):
            return found
    return None


def _folder(key):
    """Where the cache has the package, which several keys may share."""
    return "kernels/" + next(name for name, listed in TABLE.items() if listed.package == TABLE[key].package)


def is_cached(key):
    return (CACHE / _folder(key)).is_dir()


def release(key):
    """The release of a kernel in the cache, as uname -r prints it."""
    name = find(key).image
    return name.name.removeprefix("vmlinuz-") if "-" in name.name else name.parent.name


def _own(key):
    image, _, modules = key.partition(":")
    if not pathlib.Path(image).is_file():
        raise LabError(f"kernel {key}: there is no file {image}; a kernel of your own is BZIMAGE:MODULES")
    if modules and not pathlib.Path(modules).is_dir():
        raise LabError(f"kernel {key}: there is no folder {modules} of its modules")
    return Kernel("own", pathlib.Path(image), pathlib.Path(modules) if modules else None)


def find(key):
    """The kernel for a key: the user's own, or one of the table, which is fetched if it is not in the cache yet."""
    if ":" in key:
        return _own(key)
    if key not in PACKAGES:
        raise LabError(f"{key}: not a kernel of the lab; known are {', '.join(PACKAGES)}")
    listed = TABLE[key]
    target = archive.unpacked(_folder(key), lambda: _packages(key))
    image = _first(target, "boot/vmlinuz*", "usr/lib/modules/*/vmlinuz*", "lib/modules/*/vmlinuz*")
    if not image:
        raise LabError(f"kernel {key}: no vmlinuz in its package; remove {target} to fetch it again")
    modules = _first(target, "usr/lib/modules/*/kernel", "lib/modules/*/kernel")
    return Kernel(key, image, modules if listed.modules else None, listed.first, listed.memory_mb, listed.cpus)
