# SPDX-License-Identifier: GPL-2.0-only
"""Fetches packages of Debian and unpacks them into a cache; installs nothing.

They come from the mirrors that this system's apt uses. apt checks them against its archive keyring, and dpkg-deb
unpacks them.
"""
import contextlib
import fcntl
import functools
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


class LabError(Exception):
    """An error that the user can fix; the text says how."""


def cache_error(error):
    """Makes a LabError from an OSError."""
    return LabError(f"the cache cannot be used: {error}; BBR_LAB_CACHE=FOLDER chooses another")


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


def sources(suites=SUITES, security_suites=SECURITY_SUITES):
    """Lines of an apt sources list for these suites, with the mirrors of this system."""
    main, security = _apt_uris()
    if not os.path.exists(KEYRING):
        raise LabError(f"{KEYRING} is missing: apt-get install debian-archive-keyring")
    lines = [f"deb [signed-by={KEYRING}] {main} {suite} main" for suite in suites]
    if security:
        lines += [f"deb [signed-by={KEYRING}] {security} {suite} main" for suite in security_suites]
    return "\n".join(lines) + "\n"


def _apt(*command):
    """Runs an apt program on the lab's own package lists."""
    apt = CACHE / "apt"
    for folder in ("lists/partial", "cache/archives/partial", "state"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    source = apt / "sources.list"
    source.write_text(sources())
    options = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": apt / "state",
        "Dir::State::Lists": apt / "lists",
        "Dir::State::Status": "/dev/null",
        "Dir::Cache": apt / "cache",
        # Container images of Debian switch these off. Then each command reads all package lists again, which takes a second.
        "Dir::Cache::pkgcache": "pkgcache.bin",
        "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    arguments = [command[0]] + [f"-o{key}={value}" for key, value in options.items()]
    done = subprocess.run(arguments + list(command[1:]), capture_output=True, text=True,
                          cwd=apt, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def names(pattern):
    """The packages in the archive whose names match a regular expression."""
    lines = _apt("apt-cache", "search", "--names-only", f"^{pattern}$").split("\n")
    return [line.split()[0] for line in lines if line]


def with_dependencies(*packages):
    """These packages and everything that they depend on."""
    text = _apt("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests",
                "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", *packages)
    return sorted(set(re.findall(r"^([a-z0-9][a-z0-9.+-]*)$", text, re.M)))


@contextlib.contextmanager
def locked(name="lock"):
    """Locks the cache, or a part of it that has its own lock, for one process at a time."""
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        lock = open(CACHE / name, "w", encoding="ascii")  # pylint: disable=consider-using-with
    except OSError as error:
        raise cache_error(error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@functools.cache
def _update():
    """Once in a process that fetches something: the archive drops the packages that older lists name."""
    _apt("apt-get", "update")


def unpacked(folder, find_packages):
    """The folder of the cache with the unpacked packages that find_packages() lists. Fetches them if the folder
    is not there yet."""
    target = CACHE / folder
    if target.is_dir():  # it is complete: it gets its name last
        return target
    with locked():
        target.parent.mkdir(exist_ok=True)
        if target.is_dir():
            return target
        _update()
        _apt("apt-get", "download", *find_packages())
        partial = target.with_name(target.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for deb in (CACHE / "apt").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, partial], check=True)
            deb.unlink()
        partial.rename(target)
    return target
