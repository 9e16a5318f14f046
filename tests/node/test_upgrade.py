"""The last release becomes this one by `helm upgrade`: its runs and datasets stay, and a new run ends."""

import pytest

from tests.chart import released
from tests.cluster.control_plane import Cluster
from tests.images.built import NAMES
from tests.kafka.cluster import KafkaCluster
from tests.node import released_images
from tests.node.node import Node
from tests.node.release import SERVICES, Release, Run, todays_images, whole

pytestmark = pytest.mark.timeout(2400)


@pytest.fixture(scope="module")
def release(cluster: Cluster, node: Node, kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Installs the last release, in a namespace of its own."""
    release = Release(cluster=cluster, node=node, kafka=kafka.bootstrap, namespace="released", prefix="released.")
    release.prepare()
    release.install(released.chart(tmp_path_factory.mktemp("released")), *released_images.settings())
    return release


@pytest.fixture(scope="module")
def finished(release: Release) -> Run:
    run = release.start(conversations=60, seed=11)
    run.finish()
    return run


@pytest.fixture(scope="module")
def before(finished: Run) -> set[str]:
    return whole(finished.folder)


@pytest.fixture(scope="module")
def upgraded(release: Release, before: set[str]) -> Release:
    assert before
    defaults = [f"images.{name}.{kept}" for name in NAMES for kept in (f"repository=soliloquy/{name}", "tag=")]
    release.upgrade(*defaults, *todays_images())
    return release


def test_every_service_is_this_version_and_consumes(upgraded: Release) -> None:
    for service in SERVICES:
        upgraded.ready(service)
        [pod] = upgraded.pods(service)
        assert "@sha256:" in pod["spec"]["containers"][0]["image"], service


@pytest.mark.usefixtures("upgraded")
def test_a_run_that_had_finished_is_known_and_its_dataset_is_as_it_was(finished: Run, before: set[str]) -> None:
    assert finished.state["state"] == "RUN_STATE_FINISHED"
    assert finished.accepted == finished.conversations
    assert whole(finished.folder) == before


def test_a_new_run_ends_with_all_it_was_asked_for(upgraded: Release) -> None:
    upgraded.start(conversations=60, seed=12).finish()
