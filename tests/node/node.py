"""Runs one node on this network's bridge: containerd, kubelet, kube-proxy, CoreDNS, kube-router."""

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.chart.render import CHART
from tests.cluster import binaries
from tests.cluster.control_plane import Cluster, process, until
from tests.images import registry
from tests.node import images

# Environment variable with the folder of containers, volumes and sockets.
STATE = "SOLILOQUY_NODE"
NAME = "node"
ADDRESS = "198.19.0.1"
PODS = "198.19.0.0/16"
SERVICES = "10.96.0.0/16"
# kube-router enforces NetworkPolicies and does nothing else here.
_POLICIES = ["--run-firewall=true", "--run-router=false", "--run-service-proxy=false", "--health-port=0"]
# API server settings for a node whose kubelet has no DNS name.
SERVER = ("--bind-address=0.0.0.0", f"--advertise-address={ADDRESS}", "--kubelet-preferred-address-types=InternalIP")
# Pods ask the node for names; only the cluster's own names resolve.
_DNS = """
. {{
    errors
    kubernetes cluster.local {{
        kubeconfig {kubeconfig}
    }}
}}
"""
_SECCOMP = CHART / "files/executor/seccomp.json"
# Pods that write on the node look for the kubelet's folder there.
_KUBELET = Path("/var/lib/kubelet")
_CONTAINERD = """
version = 2
root = "{state}/containerd"
state = "{state}/containerd-state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
address = "{state}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
path = "{state}/opt"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
# Root may lack the right to lower the kernel's memory reserve.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{state}/cni"
"""


@dataclass(frozen=True, kw_only=True)
class Node:
    state: Path

    def ctr(self, *arguments: str) -> str:
        """Runs containerd's own client in the kubelet's namespace."""
        command = ["ctr", f"--address={self.state / 'containerd.sock'}", "--namespace=k8s.io", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def joined(cluster: Cluster, state: Path) -> Iterator[Node]:
    """Returns when the node is ready, has the executor's profile and can pull the chart's images."""
    kubernetes, logs = str(binaries.kubernetes()), cluster.folder
    _configure(state)
    names = _DNS.format(kubeconfig=cluster.kubeconfig())
    (state / "Corefile").write_text(names, "utf-8")
    node = Node(state=state)
    kubeconfig = f"--kubeconfig={cluster.kubeconfig()}"
    kubelet = [f"--config={state / 'kubelet.yaml'}", f"--root-dir={state / 'kubelet'}", f"--node-ip={ADDRESS}"]
    kubelet += [f"--cert-dir={state / 'kubelet-certificates'}", f"--hostname-override={NAME}"]
    # The host limits connection tracking; a namespace may not change that.
    proxy = [f"--cluster-cidr={PODS}", f"--hostname-override={NAME}", "--conntrack-max-per-core=0"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(process(logs, "containerd", ["containerd", f"--config={state / 'containerd.toml'}"]))
        until(lambda: _answers(node))
        stack.enter_context(registry.serving())
        stack.enter_context(process(logs, "kubelet", [kubernetes, "kubelet", kubeconfig, *kubelet]))
        stack.enter_context(process(logs, "proxy", [kubernetes, "proxy", kubeconfig, *proxy]))
        stack.enter_context(process(logs, "dns", [str(binaries.coredns()), "-conf", str(state / "Corefile")]))
        until(lambda: cluster.kubectl("wait", f"node/{NAME}", "--for=condition=Ready", "--timeout=10s"))
        policies = [str(binaries.kube_router()), kubeconfig, f"--hostname-override={NAME}", *_POLICIES]
        stack.enter_context(process(logs, "policies", [*policies, f"--service-cluster-ip-range={SERVICES}"]))
        until(_is_filtered)
        yield node


def _is_filtered() -> None:
    chains = subprocess.run(["iptables", "--list-rules", "FORWARD"], capture_output=True, text=True, check=True).stdout
    assert "KUBE-ROUTER-FORWARD" in chains


def _answers(node: Node) -> None:
    with contextlib.suppress(subprocess.CalledProcessError):
        node.ctr("version")
        return
    raise AssertionError("containerd does not answer")


def _configure(state: Path) -> None:
    plugins = state / "cni"
    plugins.mkdir()
    (state / "containerd.toml").write_text(_CONTAINERD.format(state=state, pause=images.PAUSE), "utf-8")
    (plugins / "pods.conflist").write_text(json.dumps(_network(state)), "utf-8")
    (state / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet(state)), "utf-8")
    (state / "kubelet").mkdir()
    _KUBELET.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", state / "kubelet", _KUBELET], check=True)
    place = profile(state)
    place.parent.mkdir(parents=True)
    shutil.copy(_SECCOMP, place)


def profile(state: Path) -> Path:
    """Returns where the kubelet looks for the executor's profile."""
    return state / "kubelet/seccomp/soliloquy/executor.json"


def _network(state: Path) -> dict[str, object]:
    """Puts pods on one bridge. Outgoing traffic uses the node's address, since Kafka's hosts have no route to pods."""
    addresses = [[{"subnet": PODS, "rangeStart": "198.19.1.1", "gateway": ADDRESS}]]
    bridge = {
        "type": "bridge",
        "bridge": "pods",
        "isDefaultGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "dataDir": str(state / "addresses"), "ranges": addresses},
    }
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}


def _kubelet(state: Path) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "containerRuntimeEndpoint": f"unix://{state / 'containerd.sock'}",
        # The network has no other users.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "clusterDNS": [ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "podLogsDir": str(state / "logs"),
        "volumeStatsAggPeriod": "2s",
        "evictionHard": {"memory.available": "100Mi"},
        "imageGCHighThresholdPercent": 100,
    }
