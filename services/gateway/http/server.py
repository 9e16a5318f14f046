"""The HTTP server: an application on one address."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from services.gateway.access.certificates import ServerTls
from services.gateway.http.connection import Protocol
from soliloquy.runtime.http_server import http_server

IDLE_SECONDS = 30
# For answers under way when the server stops.
GRACE_SECONDS = 3


@asynccontextmanager
async def serving(
    address: str, app: ASGIApp, stopping: asyncio.Event, tls: ServerTls | None = None
) -> AsyncIterator[str]:
    """Yields the address; port 0 takes any free port. Sets `stopping` at the end, so that streams end too."""
    context = tls.for_http() if tls else None
    async with http_server(
        address,
        app,
        http=Protocol,
        # A caller could forge its address.
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_context_factory=(lambda *_: context) if context else None,
    ) as listening:
        try:
            yield listening
        finally:
            stopping.set()
