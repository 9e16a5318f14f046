"""Runs KEDA's and KubeRay's operators beside the control plane, with an administrator's rights."""

import contextlib
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cluster import binaries
from tests.cluster.control_plane import Cluster, free_port, process, until
from tests.kafka.certificates import Authority

_KEDA_SPACE = "keda"
_METRICS = "v1beta1.external.metrics.k8s.io"


def extended(folder: Path) -> list[str]:
    """Returns flags with which the API server passes requests on to KEDA's adapter, which checks its certificate."""
    authority = Authority.founded(folder)
    server = authority.sign("client")
    return [
        f"--requestheader-client-ca-file={authority.own.certificate}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={server.certificate}",
        f"--proxy-client-key-file={server.key}",
    ]


@contextlib.contextmanager
def keda(cluster: Cluster) -> Iterator[None]:
    """Returns when Kubernetes' autoscaler can ask KEDA for metrics."""
    operator = binaries.keda()
    _define(cluster, binaries.KEDA)
    server, client = _keda_certificates(cluster.folder / "keda")
    grpc, https, probes, metrics, adapter_metrics = (free_port() for _ in range(5))
    serving = [
        f"--cert-dir={server}",
        f"--metrics-service-bind-address=127.0.0.1:{grpc}",
        f"--metrics-bind-address=127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{probes}",
    ]
    answering = [
        f"--cert-dir={client}",
        f"--tls-cert-file={server / 'tls.crt'}",
        f"--tls-private-key-file={server / 'tls.key'}",
        f"--client-ca-file={server / 'ca.crt'}",
        "--bind-address=127.0.0.1",
        f"--secure-port={https}",
        f"--port={adapter_metrics}",
        f"--metrics-service-address=localhost:{grpc}",
        *(f"--{by}-kubeconfig={cluster.kubeconfig()}" for by in ("lister", "authentication", "authorization")),
    ]
    cluster.create([_namespace(_KEDA_SPACE), *_registration(https)])
    with (
        _started(cluster, "keda", [str(operator), *serving]),
        _listening(grpc),
        _started(cluster, "keda-adapter", [str(operator.parent / "adapter"), *answering]),
    ):
        until(lambda: cluster.kubectl("wait", f"apiservice/{_METRICS}", "--for=condition=Available", "--timeout=10s"))
        yield


@contextlib.contextmanager
def kuberay(cluster: Cluster) -> Iterator[None]:
    operator = binaries.kuberay()
    _define(cluster, binaries.KUBERAY)
    metrics, probes = (f"127.0.0.1:{free_port()}" for _ in range(2))
    flags = [f"--metrics-addr={metrics}", f"--health-probe-bind-address={probes}", "--enable-leader-election=false"]
    with _started(cluster, "kuberay", [str(operator), *flags]):
        yield


@contextlib.contextmanager
def _started(cluster: Cluster, name: str, command: list[str]) -> Iterator[None]:
    reach = {"KUBECONFIG": str(cluster.kubeconfig()), "WATCH_NAMESPACE": ""}
    reach |= dict.fromkeys(("POD_NAMESPACE", "KEDA_CLUSTER_OBJECT_NAMESPACE"), _KEDA_SPACE)
    with process(cluster.folder, name, command, os.environ | reach):
        yield


def _define(cluster: Cluster, operator: binaries.Operator) -> None:
    """Replaces the definitions of the chart's tests, which are of the same version, by all that the operator has."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", f"--filename={operator.definitions()}")


def _keda_certificates(folder: Path) -> list[Path]:
    """Makes the operator's and the adapter's folder, which has the certificate that it shows to the operator."""
    authority = Authority.founded(folder / "authority")
    parts = {"operator": authority.sign("broker", ["DNS:localhost"]), "adapter": authority.sign("client")}
    for name, own in parts.items():
        (folder / name).mkdir()
        files = {"ca.crt": authority.own.certificate, "tls.crt": own.certificate, "tls.key": own.key}
        for file, source in files.items():
            shutil.copy(source, folder / name / file)
    return [folder / name for name in parts]


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _registration(port: int) -> Iterator[dict[str, Any]]:
    """The adapter is no pod: a Service of another name leads to it."""
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "adapter", "namespace": _KEDA_SPACE},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    group, version = _METRICS.partition(".")[::-2]
    yield {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": _METRICS},
        "spec": {
            "service": {"name": "adapter", "namespace": _KEDA_SPACE, "port": port},
            "group": group,
            "version": version,
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
        },
    }


@contextlib.contextmanager
def _listening(port: int) -> Iterator[None]:
    def answers() -> None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError as error:
            raise AssertionError("KEDA's operator does not listen") from error

    until(answers)
    yield
