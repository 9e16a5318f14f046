from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.fixtures import adapters, base
from tests.traces.collector import Collector, collecting

__all__ = ["adapters", "base"]


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
