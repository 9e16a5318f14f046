"""One warm pool for every test that leaves it as sound as it found it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SandboxPool]:
    runtime_dir = tmp_path_factory.mktemp("sandboxes")
    pool = SandboxPool(SandboxSettings(sandboxes=1, wall_seconds=1.0, runtime_dir=runtime_dir))
    await pool.start()
    yield pool
    await pool.stop()
    assert list(runtime_dir.iterdir()) == []
