import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.control_plane import Cluster, running
from tests.kafka.cluster import KafkaCluster
from tests.node.node import SERVER, STATE, Node, joined, profile
from tests.node.release import RELEASE, Release


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if STATE not in os.environ:
        pytest.fail("a node needs namespaces of its own: make chart-node", pytrace=False)
    with running(tmp_path_factory.mktemp("cluster"), *SERVER) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def node(cluster: Cluster) -> Iterator[Node]:
    with joined(cluster, Path(os.environ[STATE])) as node:
        yield node


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Runs Kafka on a host of its own: pods reach it through the node."""
    with KafkaCluster(tmp_path_factory.mktemp("kafka"), namespaces=True) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def release(cluster: Cluster, node: Node, kafka: KafkaCluster) -> Release:
    """Installs the chart once; `helm install --wait` has returned."""
    release = Release(cluster=cluster, node=node, kafka=kafka.bootstrap)
    release.prepare()
    started = time.monotonic()
    release.install()
    print(f"\nhelm install --wait: {time.monotonic() - started:.0f} s")
    return release


@pytest.fixture(scope="module")
def bare(cluster: Cluster, node: Node) -> Iterator[Release]:
    """Offers the node as a stranger's would be: without a namespace, a Kafka or the executor's profile."""
    release = Release(cluster=cluster, node=node, kafka="", namespace="bare")
    release.prepare_volumes()
    profile(node.state).unlink()
    yield release
    release.helm("uninstall", RELEASE, "--wait")
