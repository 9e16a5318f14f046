"""Lets KubeRay's operator make its objects of the chart's, and pods of these, in a namespace of restricted pods."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart.render import CHART
from tests.cluster import operators
from tests.cluster.binaries import NotBuilt
from tests.cluster.control_plane import Cluster, until
from tests.cluster.release import STORED, Release
from tests.cluster.test_placement import claim, pools
from tests.cluster.watching import Pod, ready

pytestmark = pytest.mark.timeout(600)

NODE_TYPE = "ray.io/node-type"


@pytest.fixture(scope="module")
def ray(cluster: Cluster) -> Iterator[None]:
    try:
        with operators.kuberay(cluster):
            yield
    except NotBuilt as error:
        pytest.fail(f"no KubeRay: {error}", pytrace=False)


def test_a_model_service_gets_its_head_and_its_workers_on_gpus(cluster: Cluster, namespace: str, ray: None) -> None:
    cluster.create([claim("models")], f"--namespace={namespace}")
    # Helm 4 would wait for what only a Ray that runs can tell.
    lab = Release(cluster=cluster, namespace=namespace, helm="helm3")
    lab.install(
        *(f"--values={CHART / f'values-{profile}.yaml'}" for profile in ("gpu", "gke")),
        *STORED,
        "--set=modelService.workers.replicas.min=2",
    )

    def grown() -> None:
        [cluster_of_ray] = cluster.items("rayclusters", f"--namespace={namespace}")
        assert cluster_of_ray.get("status", {}).get("state") == "ready", cluster_of_ray.get("status")
        assert ready(lab.pods("model")) == {"model": 3}

    until(grown)
    heads, workers = (of_type(lab, kind) for kind in ("head", "worker"))
    assert (len(heads), len(workers)) == (1, 2)
    assert pools(heads) == {"general"}
    assert pools(workers) == {"gpu"}
    lab.run("uninstall", "lab", "--wait")
    until(lambda: assert_nothing_left(lab))


def of_type(lab: Release, kind: str) -> list[Pod]:
    return [pod for pod in lab.pods("model") if pod["metadata"]["labels"][NODE_TYPE] == kind]


def assert_nothing_left(lab: Release) -> None:
    left: list[dict[str, Any]] = lab.cluster.items("rayclusters,pods", f"--namespace={lab.namespace}")
    assert [one["metadata"]["name"] for one in left if one["kind"] == "RayCluster" or NODE_TYPE in labels(one)] == []


def labels(one: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = one["metadata"].get("labels", {})
    return found
