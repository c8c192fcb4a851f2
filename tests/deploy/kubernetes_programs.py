# SPDX-License-Identifier: GPL-2.0-only
"""etcd and the programs of Kubernetes, built once with Debian's Go from the modules whose hashes are in kubernetes/go.sum.
Nothing is installed."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lab"))
from vm import archive  # pylint: disable=wrong-import-position

MODULE = pathlib.Path(__file__).parent / "kubernetes"
GO = "1.24"  # Debian 13's
# Programs ask each other for their version, which is 0 without this.
STAMP = "-X k8s.io/component-base/version.gitVersion={0} -X k8s.io/component-base/version.gitMajor={1} " \
        "-X k8s.io/component-base/version.gitMinor={2}"
QUICK = "-N -l -dwarf=false"  # no optimization: the compiler takes two thirds of the time
SILENCE = 30  # seconds between two lines about a build


def version():
    """The version of Kubernetes, such as v1.34.4."""
    return re.search(r"^\s*k8s\.io/kubernetes (v\S+)( // indirect)?$", (MODULE / "go.mod").read_text(), re.M)[1]


def _go():
    packages = [f"golang-{GO}-go", f"golang-{GO}-src"]
    return archive.unpacked(f"go/{GO}", lambda: packages) / f"usr/lib/go-{GO}/bin/go"


def _compile(work, to, say):
    """Compiles in a folder in which an interrupted build continues."""
    environment = {"PATH": "/usr/bin", "HOME": str(work), "GOPATH": str(work / "go"), "GOCACHE": str(work / "cache"), "CGO_ENABLED": "0",
                   "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -modcacherw",
                   **{name: value for name, value in os.environ.items() if name in ("GOPROXY", "HTTPS_PROXY", "SSL_CERT_FILE")}}
    stamp = STAMP.format(version(), *re.findall(r"\d+", version()))
    command = [_go(), "build", "-v", "-trimpath", f"-gcflags=all={QUICK}", f"-ldflags=-s -w {stamp}", "-o", f"{to}/", "tool"]
    with subprocess.Popen(command, cwd=MODULE, env=environment, stderr=subprocess.PIPE, text=True) as build:
        try:
            said, lines = time.monotonic(), []
            for lines_read, line in enumerate(build.stderr, 1):
                lines = [*lines[-40:], line]
                if time.monotonic() > said + SILENCE:
                    said = time.monotonic()
                    say(f"  {lines_read} modules and packages so far")
        except BaseException:
            build.kill()
            raise
    if build.returncode:
        raise SystemExit(f"go build failed ({build.returncode}):\n{''.join(lines)}")


def built(say):
    """The folder with etcd, kube-apiserver and so on; they are built if they are not there yet."""
    key = hashlib.sha256(b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))).hexdigest()[:12]
    target = archive.CACHE / "kubernetes" / f"{version()}-{key}"
    with archive.locked("kubernetes.lock"):
        if not target.exists():
            say(f"builds etcd and Kubernetes {version()}, once: 10 minutes on a machine that has nothing else to do, 4 GB on the way")
            work, partial = (target.with_name(target.name + end) for end in (".build", ".partial"))
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            _compile(work, partial, say)
            (partial / "server").rename(partial / "etcd")
            partial.rename(target)
            shutil.rmtree(work)
    return target
