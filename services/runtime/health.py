"""What a service tells a probe and a scraper: `/healthz`, `/readyz` and `/metrics` on one address."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from faststream.asgi.types import ASGIApp
from prometheus_client import make_asgi_app

from services.runtime.listening import listening

# Bounds for clients: so many at once, and so long for one that does not take its answer when the service stops.
MAX_CONNECTIONS = 64
LAST_WORDS_SECONDS = 1
IDLE_SECONDS = 5

Faults = Callable[[], Sequence[str]]


def application(faults: Faults) -> AsgiFastStream:
    """Alive while the event loop turns; ready while nothing keeps a stage from consuming."""

    @get(include_in_schema=False)
    async def healthz() -> AsgiResponse:
        return _text("ok", 200)

    @get(include_in_schema=False)
    async def readyz() -> AsgiResponse:
        found = faults()
        return _text("\n".join(found), 503) if found else _text("ok", 200)

    routes: list[tuple[str, ASGIApp]] = [("/healthz", healthz), ("/readyz", readyz), ("/metrics", make_asgi_app())]
    return AsgiFastStream(asgi_routes=routes, logger=None)


@asynccontextmanager
async def answering(address: str, faults: Faults) -> AsyncIterator[str]:
    """Answers probes on an address, and says where: port 0 takes any that is free."""
    with listening(address) as listener:
        config = uvicorn.Config(
            application(faults),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=logging.CRITICAL,
            access_log=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=LAST_WORDS_SECONDS,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"{address.rpartition(':')[0]}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the service's own business."""
        yield


def _text(body: str, status: int) -> AsgiResponse:
    return AsgiResponse(f"{body}\n".encode(), status, {"content-type": "text/plain; charset=utf-8"})
