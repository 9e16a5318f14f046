"""The HTTP server: an application on one address, until it is to end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from services.gateway.access.certificates import Tls
from services.gateway.http.connection import Protocol
from soliloquy.runtime.http_server import http_server

IDLE_SECONDS = 30
# For answers that are under way when it is to end.
LAST_WORDS_SECONDS = 3


@asynccontextmanager
async def serving(address: str, app: ASGIApp, stopping: asyncio.Event, tls: Tls | None = None) -> AsyncIterator[str]:
    """Says where it listens: port 0 takes any that is free. Sets `stopping` when it ends, for streams to end too."""
    context = tls.for_http() if tls else None
    async with http_server(
        address,
        app,
        http=Protocol,
        # A caller could say that it is somebody else.
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=LAST_WORDS_SECONDS,
        ssl_context_factory=(lambda *_: context) if context else None,
    ) as listening:
        try:
            yield listening
        finally:
            stopping.set()
