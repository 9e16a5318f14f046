"""The model service's own handler and engine behind plain gRPC: one replica, without Ray."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from soliloquy_services.model.in_process import serve_grpc
from tests.integration.model.support import started


@asynccontextmanager
async def plain(base: Path) -> AsyncIterator[int]:
    """Its port."""
    async with started(base) as chat, serve_grpc(chat) as port:
        yield port
