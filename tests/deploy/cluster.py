# SPDX-License-Identifier: GPL-2.0-only
"""A Kubernetes cluster of one node: etcd, the control plane, kubelet, containerd and runc, in a root of Debian 13."""
import contextlib
import hashlib
import io
import json
import os
import secrets
import tarfile

import kubernetes_programs
import node
import roots

NAME = "bpf-bbr-cluster"
# nftables and iptables are for host_state: nothing makes rules here.
PACKAGES = ("containerd", "runc", "containernetworking-plugins", "catatonit", "openssl", "nftables", "iptables")
ADDRESS, PODS, SERVICES = "10.88.0.1", "10.88.1.0/24", "10.88.2.0/24"
PAUSE = "docker.io/library/pause:1"
# No limits: a machine with version 1 of cgroups may have no controllers left for version 2.
CONTAINERD = f"""
version = 2
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
disable_apparmor = true
disable_cgroup = true
disable_hugetlb_controller = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
"""
NETWORK = {"cniVersion": "1.0.0", "name": "pods", "plugins": [
    {"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
# Settings that a kubelet wants. It must not set them, because the kernel is this machine's.
SETTINGS = {"vm.overcommit_memory": 1, "vm.panic_on_oom": 0, "kernel.panic": 10, "kernel.panic_on_oops": 1,
            "kernel.keys.root_maxkeys": 1000000, "kernel.keys.root_maxbytes": 25000000}
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
    "protectKernelDefaults": True, "makeIPTablesUtilChains": False,
    "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False, "enforceNodeAllocatable": [], "failSwapOn": False,
    "localStorageCapacityIsolation": False, "imageGCHighThresholdPercent": 100,
    "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%", "nodefs.inodesFree": "0%"},
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "resolvConf": "/etc/resolv.conf",
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}}, "authorization": {"mode": "AlwaysAllow"},
}
FOLDER = "/etc/kubernetes"
CONFIG, KEY = f"{FOLDER}/config", f"{FOLDER}/accounts.key"


def _kubeconfig(token):
    """For all clients of the API server. They accept its certificate unverified, because nobody else is in its network."""
    return {"apiVersion": "v1", "kind": "Config", "current-context": NAME,
            "clusters": [{"name": NAME, "cluster": {"server": f"https://{ADDRESS}:6443", "insecure-skip-tls-verify": True}}],
            "users": [{"name": NAME, "user": {"token": token}}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}]}


def _commands():
    """The programs with their options."""
    etcd, certificates = "http://127.0.0.1:2379", f"--cert-dir={FOLDER}/certificates"
    asks = [f"--kubeconfig={CONFIG}"]
    return {
        "etcd": ["--data-dir=/var/lib/etcd", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
                 "--listen-peer-urls=http://127.0.0.1:2380", "--unsafe-no-fsync"],
        "containerd": [],
        "kube-apiserver": [f"--etcd-servers={etcd}", f"--advertise-address={ADDRESS}", f"--bind-address={ADDRESS}", certificates,
                           f"--token-auth-file={FOLDER}/tokens", "--authorization-mode=RBAC", "--allow-privileged",
                           f"--service-cluster-ip-range={SERVICES}", "--service-account-issuer=https://kubernetes.default.svc",
                           f"--service-account-key-file={KEY}", f"--service-account-signing-key-file={KEY}",
                           "--kubelet-preferred-address-types=InternalIP"],
        "kube-controller-manager": [*asks, certificates, "--leader-elect=false", f"--service-account-private-key-file={KEY}"],
        "kube-scheduler": [*asks, certificates, "--leader-elect=false"],
        "kubelet": [*asks, certificates, f"--config={FOLDER}/kubelet.json", f"--hostname-override={NAME}",
                    f"--node-ip={ADDRESS}"],
    }


def _pause_image(program):
    """An image in docker's format, with only this program, which keeps a pod's namespaces."""
    def packed(files):
        packing = io.BytesIO()
        with tarfile.open(fileobj=packing, mode="w") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o755
                archive.addfile(entry, io.BytesIO(content))
        return packing.getvalue()

    layer = packed({"pause": program})
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    config = {"architecture": architecture, "os": "linux", "config": {"Entrypoint": ["/pause", "-P"]},
              "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]}}
    manifest = [{"Config": "config.json", "RepoTags": [PAUSE], "Layers": ["layer.tar"]}]
    return packed({"config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode(), "layer.tar": layer})


def _configure(root):
    token = secrets.token_hex()
    files = {"etc/containerd/config.toml": CONTAINERD, "etc/cni/net.d/pods.conflist": json.dumps(NETWORK),
             "etc/resolv.conf": "nameserver 127.0.0.1\n", f"{FOLDER}/kubelet.json": json.dumps(KUBELET),
             f"{FOLDER}/tokens": f'{token},{NAME},{NAME},"system:masters"\n', CONFIG: json.dumps(_kubeconfig(token))}
    for name, text in files.items():
        path = root.path / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root.path / "root/pause.tar").write_bytes(_pause_image((root.path / "usr/bin/catatonit").read_bytes()))


def _start(cluster, images):
    commands = _commands()

    def start(*names):
        for name in names:
            cluster.start(name, [name, *commands.pop(name)])

    cluster("openssl", "genrsa", "-out", KEY)
    start("etcd", "containerd", "kube-apiserver")
    cluster.wait_until(lambda: not cluster.run("ctr", "version").returncode, "containerd answers")
    for image in images:
        cluster("ctr", "--namespace=k8s.io", "images", "import", "--snapshotter=native", f"/root/{image}")
    cluster.wait_until(lambda: not cluster.run("kubectl", "get", "--raw=/readyz").returncode, "the API server is ready")
    start(*list(commands))  # the controller manager ends if it must wait for the API server
    ready = ["kubectl", "wait", "--for=condition=Ready", f"node/{NAME}", "--timeout=1s"]
    cluster.wait_until(lambda: not cluster.run(*ready).returncode, "the node is ready")
    account = ["kubectl", "get", "serviceaccount", "default"]  # no pod is made before that
    cluster.wait_until(lambda: not cluster.run(*account).returncode, "there is an account for pods")


@contextlib.contextmanager
def unpacked(say):
    """A root for the cluster, and the folder of its programs."""
    programs = kubernetes_programs.built(say)
    say("unpacks a root of Debian 13")
    with roots.unpacked("trixie", *PACKAGES) as folder:
        yield folder, programs


@contextlib.contextmanager
def started(folder, programs, image, *files, say):
    """A cluster in a root, with the image imported, and with files in its /root. It ends with the block."""
    _configure(folder)
    for file in (image, *files):
        folder.copy(file)
    say("starts etcd, containerd, the control plane and the kubelet")
    with node.made(folder, programs, NAME, ADDRESS, SETTINGS, {"KUBECONFIG": CONFIG}) as made:
        _start(made, ["pause.tar", image.name])
        yield made
