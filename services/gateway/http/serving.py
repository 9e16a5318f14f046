"""The HTTP server: an application on one address, until it is to end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from services.gateway.access.certificates import Tls
from services.gateway.http.connection import Protocol
from services.runtime.listening import listening

IDLE_SECONDS = 30
# For answers that are under way when it is to end.
LAST_WORDS_SECONDS = 3


@asynccontextmanager
async def serving(address: str, app: ASGIApp, stopping: asyncio.Event, tls: Tls | None = None) -> AsyncIterator[str]:
    """Says where it listens: port 0 takes any that is free. Sets `stopping` when it ends, for streams to end too."""
    context = tls.for_http() if tls else None
    with listening(address) as listener:
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            # What goes wrong in an answer is logged where it does.
            log_level=logging.CRITICAL,
            access_log=False,
            # A caller could say that it is somebody else.
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=LAST_WORDS_SECONDS,
            ssl_context_factory=(lambda *_: context) if context else None,
        )
        server = _Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"{address.rpartition(':')[0]}:{listener.getsockname()[1]}"
        finally:
            stopping.set()
            server.should_exit = True
            await task


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the service's own business."""
        yield
