"""Serves `/healthz`, `/readyz` and `/metrics` on one address."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from faststream.asgi import AsgiFastStream, AsgiResponse, get
from faststream.asgi.types import ASGIApp
from prometheus_client import make_asgi_app

from soliloquy.runtime.http_server import http_server

# At shutdown, a client gets LAST_WORDS_SECONDS to read its response.
MAX_CONNECTIONS = 64
LAST_WORDS_SECONDS = 1
IDLE_SECONDS = 5

Faults = Callable[[], Sequence[str]]


def application(faults: Faults) -> AsgiFastStream:
    """Healthy while the event loop runs; ready while no stage reports a fault."""

    @get(include_in_schema=False)
    async def healthz() -> AsgiResponse:
        return _text("ok", 200)

    @get(include_in_schema=False)
    async def readyz() -> AsgiResponse:
        found = faults()
        return _text("\n".join(found), 503) if found else _text("ok", 200)

    routes: list[tuple[str, ASGIApp]] = [("/healthz", healthz), ("/readyz", readyz), ("/metrics", make_asgi_app())]
    return AsgiFastStream(asgi_routes=routes, logger=None)


def serve_probes(address: str, faults: Faults) -> AbstractAsyncContextManager[str]:
    """Serves probes and yields the bound address; port 0 picks a free port."""
    return http_server(
        address,
        application(faults),
        http="h11",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=LAST_WORDS_SECONDS,
    )


def _text(body: str, status: int) -> AsgiResponse:
    return AsgiResponse(f"{body}\n".encode(), status, {"content-type": "text/plain; charset=utf-8"})
