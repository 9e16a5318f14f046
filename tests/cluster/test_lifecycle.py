"""Follows the chart's life on nodes: pods are scheduled, become ready, replace one another, and end."""

from pathlib import Path

import pytest

from tests.chart.render import HELMS, choices
from tests.cluster.control_plane import DEPLOYER, Cluster, ClusterFailed, until
from tests.cluster.release import ROLLED, SCALED, Release
from tests.cluster.watching import Recording, ready, recorded

pytestmark = pytest.mark.timeout(600)

# The objects that stay, as the operator's guide says.
KEPT = {"PersistentVolumeClaim/data-lab-soliloquy-collector-0", "Pod/lab-soliloquy-test"}


def profile_of(chart: Path, profile: str) -> list[str]:
    return [f"--values={chart / f'values-{profile}.yaml'}"] if profile != "none" else []


def assert_never_fewer(pods: Recording, replicas: dict[str, int]) -> None:
    fewest = pods.fewest_ready()
    assert [service for service in ROLLED & replicas.keys() if fewest[service] < replicas[service]] == []


def assert_topics_came_first(pods: Recording) -> None:
    laid_out = pods.place("MODIFIED", "topics", "Succeeded")
    for service in ROLLED - {"planner"}:
        assert pods.place("ADDED", service, "Pending") > laid_out


@pytest.mark.parametrize("program", HELMS)
@pytest.mark.parametrize("profile", choices()["profile"])
def test_a_release_is_installed_upgraded_rolled_back_and_removed(
    cluster: Cluster, namespace: str, previous: Path, program: str, profile: str
) -> None:
    """Upgrades from the last release's chart. No service ever has fewer ready pods than it should."""
    lab = Release(cluster=cluster, namespace=namespace, helm=program)
    with recorded(cluster, namespace) as pods:
        assert "would violate" not in lab.install(*profile_of(previous, profile), chart=previous)
    assert_topics_came_first(pods)
    before, replicas, images = lab.objects(), lab.replicas(), lab.images()

    with recorded(cluster, namespace) as pods:
        assert "would violate" not in lab.upgrade()
    assert_never_fewer(pods, replicas)
    assert len(pods.made("topics")) == 1
    until(lambda: assert_other(lab, images))

    lab.run("test", "lab")
    [test] = lab.pods("test")
    assert test["status"]["phase"] == "Succeeded"

    # Server-side apply makes null of that chart's `emptyDir: {}` in a RayService.
    client_side = ["--server-side=false"] if (program, profile) == ("helm4", "gpu") else []
    with recorded(cluster, namespace) as pods:
        lab.rollback(1, *client_side)
    assert_never_fewer(pods, replicas)
    until(lambda: assert_images(lab, images))
    assert lab.objects() - KEPT == before - KEPT

    lab.run("uninstall", "lab", "--wait")
    assert lab.objects() == KEPT


def assert_images(lab: Release, images: set[str]) -> None:
    assert lab.images() == images


def assert_other(lab: Release, images: set[str]) -> None:
    assert lab.images().isdisjoint(images)


@pytest.mark.parametrize("program", HELMS)
def test_an_upgrade_that_never_gets_ready_takes_no_service_away_and_a_rollback_mends_it(
    cluster: Cluster, namespace: str, program: str
) -> None:
    lab = Release(cluster=cluster, namespace=namespace, helm=program)
    lab.install("--set=services.student.replicas=2")
    replicas, images = lab.replicas(), lab.images()
    with recorded(cluster, namespace) as pods, pytest.raises(ClusterFailed):
        lab.upgrade("--set=images.workers.tag=broken", "--set=images.executor.tag=broken", "--timeout=30s")
    assert len(pods.made("student")) == 1
    with recorded(cluster, namespace) as mending:
        lab.run("rollback", "lab", "1")
        # A StatefulSet waits for the pod that never becomes ready, as the operator's guide says.
        cluster.kubectl("delete", "pod", "lab-soliloquy-collector-0", f"--namespace={namespace}")
        chosen = ["--selector=app.kubernetes.io/instance=lab", f"--namespace={namespace}"]
        cluster.kubectl("rollout", "status", "deployment,statefulset", *chosen, "--timeout=120s")
    for told in (pods, mending):
        assert_never_fewer(told, replicas)
    assert_images(lab, images)
    assert lab.replicas() == replicas


def test_an_upgrade_keeps_the_pods_that_a_scaler_has_added(cluster: Cluster, namespace: str) -> None:
    lab = Release(cluster=cluster, namespace=namespace)
    lab.install("--set=hpa.enabled=true")
    cluster.kubectl("scale", "deployment/lab-soliloquy-student", "--replicas=4", f"--namespace={namespace}")
    until(lambda: assert_ready(lab, "student", 4))
    with recorded(cluster, namespace) as pods:
        lab.upgrade("--set=defaults.drainSeconds=30")
    assert pods.fewest_ready()["student"] == 4
    until(lambda: assert_targets_are_found(lab))


def assert_ready(lab: Release, component: str, count: int) -> None:
    assert ready(lab.pods(component)) == {component: count}


def assert_targets_are_found(lab: Release) -> None:
    """Checks that every scale target exists; nothing here measures the load."""
    scalers = lab.cluster.items("horizontalpodautoscalers", f"--namespace={lab.namespace}")
    told = [condition for scaler in scalers for condition in scaler["status"].get("conditions", [])]
    assert [one["reason"] for one in told if one["type"] == "AbleToScale"] == ["SucceededGetScale"] * len(SCALED)


def test_a_namespace_s_own_admin_can_install_it(cluster: Cluster, namespace: str) -> None:
    lab = Release(cluster=cluster, namespace=namespace, user=DEPLOYER)
    # The operator's profile belongs to no namespace.
    prepared = "--set=sandbox.nested.profileBy=node"
    with pytest.raises(ClusterFailed, match="forbidden"):
        lab.install(prepared)
    bound = ["--clusterrole=admin", f"--user={DEPLOYER}", f"--namespace={namespace}"]
    cluster.kubectl("create", "rolebinding", "deployer", *bound)
    with pytest.raises(ClusterFailed, match='cannot get resource "seccompprofiles"'):
        lab.install()
    lab.install(prepared)
    assert lab.replicas().keys() == ROLLED | {"collector", "gateway"}
    lab.upgrade("--set=services.student.replicas=2")
    lab.run("test", "lab")
    lab.run("uninstall", "lab", "--wait")
    assert lab.objects() == KEPT
