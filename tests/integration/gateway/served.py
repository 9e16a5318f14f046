"""A gateway over gRPC for a test, which may go away and come back at the same address."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from click.testing import CliRunner, Result

from soliloquy.cli.main import commands
from soliloquy.runtime.transports.port import Transport
from soliloquy_services.gateway.access.access import Access
from soliloquy_services.gateway.app import MOST_CONNECTIONS
from soliloquy_services.gateway.grpc_server import server
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.gateway.support import opened

ANYBODY = Access(None)
ARITHMETIC: dict[str, Any] = {"problems": "arithmetic", "conversations": 6, "in_flight": 4}


@asynccontextmanager
async def served(
    transport: Transport,
    *,
    access: Access = ANYBODY,
    address: str = "127.0.0.1:0",
    credentials: grpc.ServerCredentials | None = None,
    settings: GatewaySettings | None = None,
) -> AsyncIterator[str]:
    async with opened(transport, settings) as gateway:
        calls = server(gateway, access, credentials, MOST_CONNECTIONS)
        try:
            yield await calls.start(address)
        finally:
            await calls.stop()


def command(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(commands, ["runs", *words], env=environment)
