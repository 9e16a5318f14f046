from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.fixtures import adapters, base
from tests.objects.fixtures import bucket, object_store
from tests.traces.collector import Collector, collecting

__all__ = ["adapters", "base", "bucket", "object_store"]


@pytest.fixture(scope="session")
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


@pytest.fixture(scope="session")
def replicas(base: Path, collector: Collector) -> Iterator[tuple[int, int]]:
    """Yields the gRPC and HTTP ports of `soliloquy model serve` with two replicas of the base."""
    from tests.integration.model.asking import served

    with served(base, replicas=2, traces=collector.url) as ports:
        yield ports
