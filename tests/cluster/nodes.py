"""Simulates nodes with kwok: pods are scheduled, start, become ready and end, and nothing runs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.binaries import kwok
from tests.cluster.control_plane import Cluster, process, until

_HERE = Path(__file__).parent
ZONE, HOST, GPU = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "nvidia.com/gpu"


@contextlib.contextmanager
def played(cluster: Cluster) -> Iterator[None]:
    wanted = yaml.safe_load((_HERE / "nodes.yaml").read_text("utf-8"))
    flags = [
        f"--kubeconfig={cluster.kubeconfig()}",
        f"--config={_HERE / 'stages.yaml'}",
        "--manage-all-nodes",
        # Its leases tell the controllers that the nodes are alive.
        "--node-lease-duration-seconds=40",
    ]
    with process(cluster.folder, "kwok", [str(kwok()), *flags]):
        cluster.create([*_nodes(wanted), *_storage(**wanted["volumes"])])
        until(lambda: cluster.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=10s"))
        yield


def _nodes(wanted: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for zone in wanted["zones"]:
        for pool, described in wanted["pools"].items():
            for number in range(described["count"]):
                name = f"{pool}-{zone}-{number}"
                labels = {HOST: name, ZONE: zone, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
                yield {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name, "labels": labels | described.get("labels", {})},
                    "spec": {"taints": described.get("taints", [])},
                    "status": {"capacity": described["capacity"], "allocatable": described["capacity"]},
                }


def _storage(*, classes: list[str], default: str, count: int, size: str) -> Iterator[dict[str, Any]]:
    for name in classes:
        is_default = {"storageclass.kubernetes.io/is-default-class": str(name == default).lower()}
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "annotations": is_default},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
        for number in range(count):
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"{name}-{number}"},
                "spec": {
                    "storageClassName": name,
                    "capacity": {"storage": size},
                    "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "hostPath": {"path": "/volumes"},
                },
            }
