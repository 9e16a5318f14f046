"""The gateway, wired: one that drives, asked over HTTP and gRPC alike."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from services.gateway.access.access import Access
from services.gateway.access.interceptor import AccessInterceptor
from services.gateway.access.loopback import check_closed
from services.gateway.access.tokens import Tokens
from services.gateway.http.application import application
from services.gateway.http.routes import Own
from services.gateway.http.serving import serving
from services.gateway.service import Gateway
from services.gateway.serving import server
from services.gateway.settings import GatewaySettings


def access(settings: GatewaySettings) -> Access:
    """Raises BadTokens, and OpenToOthers where nobody would be asked who they are."""
    if settings.tokens is None:
        check_closed((settings.listen, settings.grpc))
    return Access(Tokens(settings.tokens) if settings.tokens else None)


@asynccontextmanager
async def answering(
    gateway: Gateway, settings: GatewaySettings, admitting: Access, more: Iterable[Own]
) -> AsyncIterator[list[str]]:
    """Says where; `more` is what is offered over HTTP besides. Raises CannotListen and BadCertificates."""
    stopping = asyncio.Event()
    app = application(gateway, settings, admitting, stopping, more)
    credentials = settings.tls.for_grpc() if settings.tls else None
    calls = server(gateway, [AccessInterceptor(admitting)], credentials)
    async with serving(settings.listen, app, stopping, settings.tls) as http:
        grpc = await calls.start(settings.grpc)
        try:
            yield [f"console on {http}", f"grpc on {grpc}"]
        finally:
            # Its streams end with it.
            await calls.stop()
