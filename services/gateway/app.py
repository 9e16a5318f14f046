"""Wires the gateway: one service, offered over HTTP and gRPC."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from services.gateway.access.access import Access
from services.gateway.access.interceptor import AccessInterceptor
from services.gateway.access.loopback import check_closed
from services.gateway.access.tokens import TokenFile
from services.gateway.grpc_server import server
from services.gateway.http.application import application
from services.gateway.http.routes import HttpRoute
from services.gateway.http.server import serving
from services.gateway.service import Gateway
from services.gateway.settings import GatewaySettings


def access(settings: GatewaySettings) -> Access:
    """Raises BadTokens, and OpenToOthers for a public address without tokens."""
    if settings.tokens is None:
        check_closed((settings.listen, settings.grpc))
    return Access(TokenFile(settings.tokens) if settings.tokens else None)


@asynccontextmanager
async def answering(
    gateway: Gateway, settings: GatewaySettings, admitting: Access, more: Iterable[HttpRoute]
) -> AsyncIterator[list[str]]:
    """Yields the addresses; `more` adds HTTP routes. Raises CannotListen and BadCertificates."""
    stopping = asyncio.Event()
    app = application(gateway, settings, admitting, stopping, more)
    credentials = settings.tls.for_grpc() if settings.tls else None
    calls = server(gateway, [AccessInterceptor(admitting)], credentials)
    async with serving(settings.listen, app, stopping, settings.tls) as http:
        grpc = await calls.start(settings.grpc)
        try:
            yield [f"console on {http}", f"grpc on {grpc}"]
        finally:
            await calls.stop()
