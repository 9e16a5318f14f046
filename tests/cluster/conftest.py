from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chart import crds, released, tools
from tests.cluster import nodes, operators
from tests.cluster.binaries import NotBuilt
from tests.cluster.control_plane import Cluster, running, until


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Runs a cluster with the operators' definitions, whose CEL rules validate objects."""
    try:
        tools.folder()
        folder = tmp_path_factory.mktemp("cluster")
        with running(folder, *operators.extended(folder / "extended")) as cluster:
            cluster.create(crds.definitions())
            until(lambda: cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"))
            with nodes.played(cluster):
                yield cluster
    except (NotBuilt, tools.ToolsUnavailable) as error:
        pytest.fail(f"no cluster: {error}", pytrace=False)


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """Creates a namespace that enforces what the chart promises."""
    name = f"n{abs(hash(request.node.name)) % 10**9}"
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    cluster.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}])
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last release's chart."""
    return released.chart(tmp_path_factory.mktemp("released"))
