"""One sandbox service for all chats."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.integration.executor.calling import served
from tests.integration.executor.support import started


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def sandbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Its address."""
    async with started(tmp_path_factory.mktemp("sandboxes")) as pool, served(pool) as address:
        yield address
