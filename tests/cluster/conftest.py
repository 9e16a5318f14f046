from collections.abc import Iterator

import pytest

from tests.chart import crds, tools
from tests.cluster.binaries import NotBuilt
from tests.cluster.control_plane import Cluster, running, until


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With the operators' definitions in it, whose own rules (CEL) it then holds objects to."""
    try:
        tools.folder()
        with running(tmp_path_factory.mktemp("cluster")) as cluster:
            cluster.create(crds.definitions())
            until(lambda: cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"))
            yield cluster
    except (NotBuilt, tools.ToolsUnavailable) as error:
        pytest.fail(f"no cluster: {error}", pytrace=False)
