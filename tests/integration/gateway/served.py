"""A gateway over gRPC for a test, which may go away and come back at the same address."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from services.gateway.access.access import Access
from services.gateway.grpc_server import server
from soliloquy.runtime.transports.port import Transport
from tests.integration.gateway.support import opened

ANYBODY = Access(None)


@asynccontextmanager
async def served(
    transport: Transport,
    *,
    access: Access = ANYBODY,
    address: str = "127.0.0.1:0",
    credentials: grpc.ServerCredentials | None = None,
) -> AsyncIterator[str]:
    async with opened(transport) as gateway:
        calls = server(gateway, access, credentials)
        try:
            yield await calls.start(address)
        finally:
            await calls.stop()
