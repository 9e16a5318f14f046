"""Wires the gateway: one service, offered over HTTP and gRPC."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

from starlette.types import ASGIApp

from soliloquy.runtime.http_server import http_server
from soliloquy.runtime.tls import ServerTls
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.connections import ConnectionWatch
from soliloquy_services.gateway.access.loopback import check_closed
from soliloquy_services.gateway.access.tokens import TokenFile
from soliloquy_services.gateway.grpc_server import server
from soliloquy_services.gateway.http.connection import Protocol
from soliloquy_services.gateway.http.dispatcher import application
from soliloquy_services.gateway.http.routes import HttpRoute
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings

IDLE_SECONDS = 30
# asyncio accepts as many connections before it serves those that are there.
ACCEPTED_A_TURN = 8
# For answers under way when the server stops.
GRACE_SECONDS = 3


def access(settings: GatewaySettings) -> Access:
    """Raises Failure for bad tokens, and for a public address without tokens."""
    if settings.tokens is None:
        check_closed((settings.listen, settings.grpc))
    return Access(TokenFile(settings.tokens) if settings.tokens else None)


@asynccontextmanager
async def answering(
    gateway: Gateway, settings: GatewaySettings, admitting: Access, more: Iterable[HttpRoute]
) -> AsyncIterator[list[str]]:
    """Yields the addresses; `more` adds HTTP routes. Raises Failure."""
    stopping = asyncio.Event()
    app = application(gateway, settings, admitting, stopping, more)
    credentials = settings.tls.for_grpc() if settings.tls else None
    calls = server(gateway, admitting, credentials)
    watch = ConnectionWatch(admitting.connections)
    async with serving(settings.listen, app, stopping, settings.tls, watch.accepted) as http:
        grpc = await calls.start(settings.grpc)
        watch.add("http", http)
        watch.add("grpc", grpc)
        watching = asyncio.create_task(watch.watch())
        try:
            yield [f"console on {http}", f"grpc on {grpc}"]
        finally:
            watching.cancel()
            await calls.stop()


@asynccontextmanager
async def serving(
    address: str,
    app: ASGIApp,
    stopping: asyncio.Event,
    tls: ServerTls | None = None,
    accepted: Callable[[], None] = lambda: None,
) -> AsyncIterator[str]:
    """Serves HTTP on the address that it yields, and calls `accepted` for each connection.

    Sets `stopping` at the end, so that streams end too.
    """
    context = tls.for_http() if tls else None
    async with http_server(
        address,
        app,
        http=partial(Protocol, accepted=accepted),
        # A caller could forge its address.
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        backlog=ACCEPTED_A_TURN,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ssl_context_factory=(lambda *_: context) if context else None,
    ) as listening:
        try:
            yield listening
        finally:
            stopping.set()
