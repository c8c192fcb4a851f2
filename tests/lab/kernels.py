# SPDX-License-Identifier: GPL-2.0-only
"""Debian's kernels, fetched and unpacked into a cache; nothing is installed.

The packages come from the mirrors that this system's apt is set up with, are checked against its
archive keyring by apt, and are unpacked with dpkg-deb. A kernel of one's own is a bzImage and a
folder of modules, given as the key BZIMAGE:MODULES.
"""
import dataclasses
import fcntl
import glob
import os
import pathlib
import re
import shutil
import subprocess

CACHE = pathlib.Path(
    os.environ.get("BBR_LAB_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "bpf-bbr-lab"
)
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = ("bullseye", "bookworm", "trixie", "trixie-backports")
SECURITY_SUITES = ("bookworm-security",)

# The package that carries vmlinuz. Versions vanish from the archive as new ones come, so the newest
# match is taken. From 6.19 on the modules are in a package of their own, which the archive has lost of
# 6.19, 7.0 and 7.1: no veth, netem or tcp_bbr there, but loopback.
PACKAGES = {
    "5.10": r"linux-image-5\.10\.0-[0-9]+-cloud-amd64",
    "6.1": r"linux-image-6\.1\.0-[0-9]+-cloud-amd64",
    "6.12": r"linux-image-6\.12\.[0-9]+\+deb13-cloud-amd64",
    "6.16": r"linux-image-6\.16\.[0-9]+\+deb13-cloud-amd64",
    "6.17": r"linux-image-6\.17\.[0-9]+\+deb13-cloud-amd64",
    "6.18": r"linux-image-6\.18\.[0-9]+\+deb13-cloud-amd64",
    "6.19": r"linux-binary-6\.19\.[0-9]+\+deb13-cloud-amd64",
    "7.0": r"linux-binary-7\.0\.[0-9]+\+deb13-cloud-amd64",
    "7.1": r"linux-binary-7\.1\.[0-9]+\+deb13-cloud-amd64",
    "7.2": r"linux-binary-7\.2\.[0-9]+\+deb13-cloud-amd64",
    "7.3": r"linux-binary-unsigned-7\.3\.[0-9]+\+deb13-cloud-amd64",
}


class LabError(Exception):
    """Something that the user can do something about; the text says what."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    key: str
    image: pathlib.Path
    modules: pathlib.Path | None  # the folder below which *.ko* are; None: there are none


def _apt_uris():
    """The URIs of Debian's main and security archive in this system's apt sources."""
    texts = [pathlib.Path(f).read_text() for f in glob.glob("/etc/apt/sources.list.d/*.sources")]
    uris = re.findall(r"^URIs:\s*(\S+)", "\n".join(texts), re.M)
    lists = glob.glob("/etc/apt/sources.list.d/*.list") + ["/etc/apt/sources.list"]
    for file in lists:
        if os.path.exists(file):
            text = pathlib.Path(file).read_text()
            uris += re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)", text, re.M)
    main = next((u for u in uris if re.search(r"/debian/?$", u)), None)
    security = next((u for u in uris if re.search(r"/debian-security/?$", u)), None)
    if not main:
        raise LabError("this system's apt has no Debian archive among its sources; the lab takes "
                       "its kernels from there (give your own as BZIMAGE:MODULES)")
    return main, security


def _sources():
    main, security = _apt_uris()
    if not os.path.exists(KEYRING):
        raise LabError(f"{KEYRING} is missing: apt-get install debian-archive-keyring")
    lines = [f"deb [signed-by={KEYRING}] {main} {suite} main" for suite in SUITES]
    if security:
        lines += [f"deb [signed-by={KEYRING}] {security} {suite} main" for suite in SECURITY_SUITES]
    return "\n".join(lines) + "\n"


def _apt(*command):
    """Runs an apt program on package lists of our own."""
    apt = CACHE / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "state"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    source = apt / "sources.list"
    source.write_text(_sources())
    options = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": apt / "state",
        "Dir::State::Lists": apt / "lists",
        "Dir::State::Status": "/dev/null",
        "Dir::Cache": apt / "cache",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    arguments = [command[0]] + [f"-o{key}={value}" for key, value in options.items()]
    done = subprocess.run(arguments + list(command[1:]), capture_output=True, text=True,
                          cwd=apt, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _numbers(name):
    return [int(n) for n in re.findall(r"[0-9]+", name)]


def _newest_package(pattern):
    names = _apt("apt-cache", "search", "--names-only", f"^{pattern}$").split("\n")
    names = [line.split()[0] for line in names if line]
    return max(names, key=_numbers, default=None)


def _packages(key):
    image = _newest_package(PACKAGES[key])
    if not image:
        raise LabError(f"kernel {key}: the archive has no package {PACKAGES[key]} any more")
    modules = re.sub(r"^linux-(image|binary-unsigned|binary)-", "linux-modules-", image)
    return [image] + ([modules] if _newest_package(re.escape(modules)) else [])


def _fetch(key, target):
    if not (CACHE / "apt" / "updated").exists():
        _apt("apt-get", "update")
        (CACHE / "apt" / "updated").touch()
    for package in _packages(key):
        _apt("apt-get", "download", package)
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for deb in (CACHE / "apt").glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, partial], check=True)
        deb.unlink()
    partial.rename(target)


def _first(folder, *patterns):
    for pattern in patterns:
        for found in sorted(folder.glob(pattern)):
            return found
    return None


def is_cached(key):
    return (CACHE / "kernels" / key).is_dir()


def release(key):
    """The release of a kernel that is in the cache, as uname -r says it."""
    name = find(key).image
    return name.name.removeprefix("vmlinuz-") if "-" in name.name else name.parent.name


def find(key):
    """The kernel of a key of PACKAGES, fetched if it is not in the cache yet."""
    if ":" in key:
        image, _, modules = key.partition(":")
        return Kernel("own", pathlib.Path(image), pathlib.Path(modules) if modules else None)
    if key not in PACKAGES:
        raise LabError(f"{key}: not a kernel of the lab; known are {', '.join(PACKAGES)}")
    target = CACHE / "kernels" / key
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _fetch(key, target)
    image = _first(target, "boot/vmlinuz*", "usr/lib/modules/*/vmlinuz*", "lib/modules/*/vmlinuz*")
    if not image:
        raise LabError(f"kernel {key}: no vmlinuz in its package; remove {target} to fetch it anew")
    modules = _first(target, "usr/lib/modules/*/kernel", "lib/modules/*/kernel")
    return Kernel(key, image, modules)
