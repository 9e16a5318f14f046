"""The model service's own handler and engine behind plain gRPC: one replica, without Ray."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from services.model.beside import served
from tests.integration.model.support import started


@asynccontextmanager
async def plain(base: Path) -> AsyncIterator[int]:
    """Its port."""
    async with started(base) as chat, served(chat) as port:
        yield port
