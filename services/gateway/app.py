"""Wires the gateway: one service, offered over HTTP and gRPC."""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from starlette.types import ASGIApp

from soliloquy.runtime.http_server import http_server
from soliloquy.runtime.tls import ServerTls
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.access.hosts import check_closed
from soliloquy_services.gateway.access.tokens import TokenFile
from soliloquy_services.gateway.grpc_server import server
from soliloquy_services.gateway.http.application import application
from soliloquy_services.gateway.http.connection import Protocol
from soliloquy_services.gateway.http.routes import HttpRoute
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings

IDLE_SECONDS = 30
# On each port; further ones are refused.
MOST_CONNECTIONS = 4_000
# Open files for everything but connections: Kafka, the log, the index, downloads.
SPARE_FILES = 128
# asyncio accepts as many connections before it serves those that are there.
ACCEPTED_A_TURN = 8
# For answers under way when the server stops.
GRACE_SECONDS = 3


def access(settings: GatewaySettings) -> Access:
    """Raises Failure for bad tokens, and for a public address without tokens."""
    if settings.tokens is None:
        check_closed((settings.listen, settings.grpc))
        return Access(None)
    tokens = TokenFile(settings.tokens)
    if tokens.oidc is None:
        return Access(tokens)
    # It loads what checks signatures, which no start without a provider should wait for.
    from soliloquy_services.gateway.access.oidc import Issuer

    return Access(tokens, Issuer(tokens.oidc))


def most_connections() -> int:
    """Raises the limit of open files as far as it goes; each of the two ports may use half of it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MOST_CONNECTIONS + SPARE_FILES
    if soft < wanted:
        soft = min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(4, (min(soft, wanted) - SPARE_FILES) // 2)


@asynccontextmanager
async def answering(
    gateway: Gateway, settings: GatewaySettings, admitting: Access, more: Iterable[HttpRoute]
) -> AsyncIterator[list[str]]:
    """Yields the addresses; `more` adds HTTP routes. Raises Failure."""
    admitting.on_audit = gateway.audit.add
    stopping = asyncio.Event()
    app = application(gateway, settings, admitting, stopping, more)
    credentials = settings.tls.for_grpc() if settings.tls else None
    calls = server(gateway, admitting, credentials, most := most_connections())
    async with serving(settings.listen, app, stopping, settings.tls, most) as http:
        grpc = await calls.start(settings.grpc)
        try:
            yield [f"console on {http}", f"grpc on {grpc}"]
        finally:
            await calls.stop()


@asynccontextmanager
async def serving(
    address: str,
    app: ASGIApp,
    stopping: asyncio.Event,
    tls: ServerTls | None = None,
    most: int = MOST_CONNECTIONS,
) -> AsyncIterator[str]:
    """Serves HTTP on the address that it yields, and sets `stopping` at the end, so that streams end too."""
    context = tls.for_http() if tls else None
    async with http_server(
        address,
        app,
        http=partial(Protocol, most=most),
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
