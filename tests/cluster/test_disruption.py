"""Checks how many of the chart's pods a drain may take at a time."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.control_plane import Cluster, ClusterFailed, until
from tests.cluster.nodes import HOST
from tests.cluster.release import Release
from tests.cluster.watching import ready, recorded

pytestmark = pytest.mark.timeout(600)

_GENERAL = "!cloud.google.com/gke-accelerator"


@pytest.fixture
def closed(cluster: Cluster) -> Iterator[None]:
    """Closes all nodes to pods until one is opened."""
    yield
    cluster.kubectl("uncordon", f"--selector={_GENERAL}")


def evict(cluster: Cluster, namespace: str, pod: str) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    cluster.kubectl("create", f"--raw={path}", "--filename=-", stdin=json.dumps(eviction))


def test_the_last_ready_pod_of_a_service_is_not_evicted(cluster: Cluster, namespace: str, closed: None) -> None:
    """Waits until the previously evicted pod has a successor that serves."""
    lab = Release(cluster=cluster, namespace=namespace)
    lab.install("--set=services.student.replicas=2")
    first, last = (pod["metadata"]["name"] for pod in lab.pods("student"))
    cluster.kubectl("cordon", f"--selector={_GENERAL}")
    evict(cluster, namespace, first)
    with pytest.raises(ClusterFailed, match="would violate the pod's disruption budget"):
        evict(cluster, namespace, last)
    cluster.kubectl("uncordon", f"--selector={_GENERAL}")
    until(lambda: evict(cluster, namespace, last))


def test_a_drain_takes_one_pod_of_a_service_at_a_time(cluster: Cluster, namespace: str, closed: None) -> None:
    lab = Release(cluster=cluster, namespace=namespace)
    cluster.kubectl("cordon", f"--selector={_GENERAL}")
    cluster.kubectl("uncordon", "general-a-0")
    lab.install("--set=services.student.replicas=4", "--set=services.executor.replicas=3")
    assert {pod["spec"]["nodeName"] for pod in lab.pods("student")} == {"general-a-0"}
    cluster.kubectl("uncordon", f"--selector={_GENERAL},{HOST}!=general-a-0")
    with recorded(cluster, namespace) as pods:
        cluster.kubectl(
            "drain", "general-a-0", "--delete-emptydir-data", "--timeout=200s", "--skip-wait-for-delete-timeout=0"
        )
        until(lambda: lab.replicas())
    fewest = pods.fewest_ready()
    assert (fewest["student"], fewest["executor"]) == (3, 2)
    assert ready(lab.pods("student")) == {"student": 4}
    assert "general-a-0" not in {pod["spec"]["nodeName"] for pod in lab.pods()}
