# SPDX-License-Identifier: GPL-2.0-only
"""Roots of Debian to build, install and run packages in: made once from the mirrors of this system, kept in the lab's cache as
archives, unpacked for each use."""
import contextlib
import filecmp
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "lab"))
from vm import archive  # pylint: disable=wrong-import-position

# Runs a command in a root, with its own mounts and network. It has no process namespace, because bbrctl compares the mount
# of its pins with that of the machine's process 1.
ENTER = """
root=$1 && shift
ip link set lo up
mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc" && mount --rbind /sys "$root/sys"
exec chroot "$root" "$@"
"""


def run(command, what=None, **kwargs):
    """Runs a command. Returns its output, or fails and shows the end of it."""
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          errors="replace", **kwargs)
    if done.returncode:
        raise SystemExit(f"{what or ' '.join(map(str, command))} failed ({done.returncode}):\n{done.stdout[-6000:]}")
    return done.stdout


def _made(suite, packages):
    """The archive of a root with these packages."""
    wanted = archive.sources((suite,), (f"{suite}-security",))
    key = hashlib.sha256("\n".join([wanted, *sorted(packages)]).encode()).hexdigest()[:12]
    target = archive.CACHE / "roots" / f"{suite}-{key}.tar"
    with archive.locked():
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            partial = target.with_suffix(".partial.tar")
            include = [f"--include={','.join(sorted(packages))}"] if packages else []
            run(["mmdebstrap", "--mode=root", "--variant=minbase", "--format=tar", *include, suite, partial, "-"],
                f"making a root of {suite}", input=wanted)
            partial.rename(target)
    return target


class Root:
    def __init__(self, path):
        self.path = path

    def __call__(self, *command, what=None, **kwargs):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root",
                       "DEBIAN_FRONTEND": "noninteractive", **kwargs.pop("env", {})}
        return run(["unshare", "--mount", "--net", "sh", "-euc", ENTER, "sh", self.path, *command], what or command[0],
                   env=environment, **kwargs)

    def copy(self, source, target="root"):
        """Copies a file or a folder of this machine into a folder of the root."""
        to = self.path / target / pathlib.Path(source).name
        if pathlib.Path(source).is_dir():
            shutil.copytree(source, to, symlinks=True)
        else:
            shutil.copy2(source, to)


@contextlib.contextmanager
def unpacked(suite, *packages):
    """A root that may be changed, until the end of the block."""
    made = _made(suite, packages)
    with tempfile.TemporaryDirectory(prefix="bpf-bbr-root-") as folder:
        run(["tar", "-C", folder, "-xf", made])
        yield Root(pathlib.Path(folder))


def field(text, name):
    found = re.search(rf"^{name}: (.*(?:\n .*)*)", text, re.M)
    return found[1] if found else ""


def dependencies(text, name):
    """The first alternative of each dependency, without versions and architectures."""
    return [re.match(r"\s*([a-z0-9.+-]+)", part)[1] for part in field(text, name).split(",")]


def needed_by(*packages):
    """The packages that some files *.deb depend on."""
    texts = [run(["dpkg-deb", "-f", package]) for package in packages]
    return {name for text in texts for name in dependencies(text, "Depends")}


def unpacked_to_build():
    """A root of Debian 12 to build the packages in."""
    wanted = dependencies((ROOT / "packaging/debian/control").read_text(), "Build-Depends")
    return unpacked("bookworm", "build-essential", "debhelper", "rpm", *(set(wanted) - {"debhelper-compat"}))


# Where packages are built, and with which settings: none of it may show in them.
BUILDS = {
    "/root": {"umask": "022", "env": {"TZ": "UTC", "LC_ALL": "C.UTF-8"}},
    "/srv/some/where/else": {"umask": "002", "env": {"TZ": "Pacific/Kiritimati", "LC_ALL": "C", "DEB_BUILD_OPTIONS": "parallel=2"}},
}


def build(sources, command, pattern, to, where="/root"):
    """Copies what a build leaves, beside its sources or in them, to the folder `to` of this machine. where: one of BUILDS."""
    how = BUILDS[where]
    with unpacked_to_build() as root:
        (root.path / where.lstrip("/")).mkdir(parents=True, exist_ok=True)
        root.copy(sources, where.lstrip("/"))
        root("sh", "-euc", f"umask {how['umask']}; cd {where}/{sources.name}; exec {command}", what=command.split()[0],
             env=how["env"])
        for made in (root.path / where.lstrip("/")).rglob(pattern):
            (to / made.name).write_bytes(made.read_bytes())


def build_twice(check, sources, command, pattern, to):
    """Builds packages in the circumstances of BUILDS, and compares them. Returns their paths in the folder `to`."""
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for where in BUILDS:
            made.append(pathlib.Path(folder) / str(len(made)))
            made[-1].mkdir()
            build(sources, command, pattern, made[-1], where)
            print(f"{check}: built in {where}", flush=True)
        names = sorted(path.name for path in made[0].iterdir())
        for name in names:
            if not filecmp.cmp(made[0] / name, made[1] / name, shallow=False):
                raise SystemExit(f"{check}: the two builds of {name} differ")
            shutil.copy2(made[0] / name, to / name)
    print(f"{check}: both builds are equal", *names, flush=True)
    return [to / name for name in names]
