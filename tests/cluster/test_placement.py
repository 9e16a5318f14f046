"""Checks where the chart's pods go: zones, GPUs, priorities, and namespaces with quotas."""

from typing import Any

import pytest

from tests.chart.render import CHART
from tests.cluster.control_plane import Cluster, until
from tests.cluster.nodes import ZONE
from tests.cluster.release import STORED, Release
from tests.cluster.watching import Pod

pytestmark = pytest.mark.timeout(600)


def zones(cluster: Cluster, pods: list[Pod]) -> list[str]:
    labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in cluster.items("nodes")}
    return sorted(labels[pod["spec"]["nodeName"]][ZONE] for pod in pods)


def pools(pods: list[Pod]) -> set[str]:
    """Returns the purposes of the nodes with these pods, which prefix their names."""
    return {pod["spec"]["nodeName"].partition("-")[0] for pod in pods}


def test_pods_of_a_service_spread_over_the_zones_and_go_before_others(cluster: Cluster, namespace: str) -> None:
    lab = Release(cluster=cluster, namespace=namespace)
    lab.install(
        f"--values={CHART / 'values-prod.yaml'}", *STORED, "--set=keda.enabled=false", "--set=defaults.replicas=3"
    )
    for service in ("student", "tutor", "executor"):
        assert zones(cluster, lab.pods(service)) == ["a", "b", "c"]
    assert {pod["spec"]["priority"] for pod in lab.pods()} == {100000}


def test_gpus_are_for_what_computes_on_them(cluster: Cluster, namespace: str) -> None:
    """Schedules the pod templates of the model as they are, in KubeRay's place."""
    cluster.create([claim("models")], f"--namespace={namespace}")
    lab = Release(cluster=cluster, namespace=namespace)
    lab.install(
        *(f"--values={CHART / f'values-{profile}.yaml'}" for profile in ("gpu", "gke")),
        *STORED,
        "--set=training.cronJob.enabled=true,training.cronJob.schedule=* * * * *",
        "--set=training.args={--config,soliloquy,--base,/models/base,--name=$(JOB_NAME),--out,/trained}",
        "--set=training.weights.existingClaim=models",
    )
    [service] = cluster.items("rayservices", f"--namespace={namespace}")
    ray = service["spec"]["rayClusterConfig"]
    groups = {"head": ray["headGroupSpec"], "worker": ray["workerGroupSpecs"][0]}
    made = [pod(name, group["template"]) for name, group in groups.items()]
    cluster.create(made, f"--namespace={namespace}")

    def placed() -> None:
        by_name = {one["metadata"]["name"]: one for one in lab.pods() if "nodeName" in one["spec"]}
        assert by_name.keys() >= {"worker", "head"}
        assert pools([by_name["worker"]]) == {"gpu"}
        assert pools([by_name["head"]]) == {"general"}

    def trained() -> None:
        jobs = cluster.items("jobs", f"--namespace={namespace}")
        [training, *_] = [job for job in jobs if job["metadata"]["name"].startswith("lab-soliloquy-training-")]
        assert training["status"].get("succeeded") == 1
        assert pools(lab.pods("training")) == {"gpu"}

    until(placed)
    until(trained)
    services = [one for one in lab.pods() if one["metadata"]["name"].startswith("lab-") and not asks_for_gpus(one)]
    assert len(services) >= 8
    assert pools(services) == {"general"}


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadOnlyMany"], "resources": {"requests": {"storage": "10Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def pod(name: str, template: dict[str, Any]) -> dict[str, Any]:
    labels = template["metadata"].get("labels", {})
    spec = {"serviceAccountName": "default"} | template["spec"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def asks_for_gpus(pod: Pod) -> bool:
    return any("nvidia.com/gpu" in part["resources"].get("limits", {}) for part in pod["spec"]["containers"])


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "team"},
    "spec": {
        "hard": {
            "requests.cpu": "12",
            "requests.memory": "12Gi",
            "limits.memory": "24Gi",
            "pods": "24",
            "persistentvolumeclaims": "2",
            "requests.storage": "50Gi",
            "services.loadbalancers": "0",
            "services.nodeports": "0",
        }
    },
}


def test_a_namespace_with_quotas_takes_an_install_and_an_upgrade(cluster: Cluster, namespace: str) -> None:
    """Checks that every container has requests and a memory limit, without which the quota would refuse it."""
    cluster.create([QUOTA], f"--namespace={namespace}")
    lab = Release(cluster=cluster, namespace=namespace)
    lab.install()
    lab.upgrade("--set=defaults.drainSeconds=30")
    lab.run("test", "lab")
    [quota] = cluster.items("resourcequotas", f"--namespace={namespace}")
    assert int(quota["status"]["used"]["pods"]) >= 8


def test_a_namespace_s_default_limit_of_cpu_holds_for_the_services(cluster: Cluster, namespace: str) -> None:
    """The chart sets no CPU limit. The server refuses a limit below a service's request."""
    limits = {"limits": [{"type": "Container", "default": {"cpu": "4"}, "defaultRequest": {"cpu": "100m"}}]}
    cluster.create(
        [{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "team"}, "spec": limits}],
        f"--namespace={namespace}",
    )
    lab = Release(cluster=cluster, namespace=namespace)
    lab.install()
    parts = [part for one in lab.pods() for part in one["spec"]["containers"]]
    assert {part["resources"]["limits"]["cpu"] for part in parts} == {"4"}
