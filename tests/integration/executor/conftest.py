"""One warm pool, shared by all tests that leave it intact."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from soliloquy_services.executor.pool import SandboxPool
from tests.integration.executor.support import Runsc, started


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SandboxPool]:
    runtime_dir = tmp_path_factory.mktemp("sandboxes")
    # A stack that overflows is a fault a page, for which gVisor on ptrace may take seconds beside other work.
    async with started(runtime_dir, wall_seconds=8.0) as pool:
        yield pool
    assert list(runtime_dir.iterdir()) == []


@pytest.fixture
def runsc(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Runsc:
    return Runsc(tmp_path_factory.mktemp("runsc"), monkeypatch)
