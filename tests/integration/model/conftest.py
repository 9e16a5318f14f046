from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.fixtures import adapters, base

__all__ = ["adapters", "base"]


@pytest.fixture(scope="session")
def replicas(base: Path) -> Iterator[tuple[int, int]]:
    """The ports of `soliloquy model serve` with the base in two replicas: of gRPC and of HTTP."""
    from tests.integration.model.asking import served

    with served(base, replicas=2) as ports:
        yield ports
