"""Serves a pool over gRPC for a test, and calls it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc

from soliloquy.client import Sandbox
from soliloquy.runtime.tls import ServerTls
from soliloquy.v1.sandbox_pb2_grpc import SandboxServiceStub
from soliloquy_services.executor.policy import SandboxSettings
from soliloquy_services.executor.pool import SandboxPool
from soliloquy_services.executor.server import SandboxServer

if TYPE_CHECKING:
    from soliloquy.v1.sandbox_pb2_grpc import SandboxServiceAsyncStub

ANY_PORT = "127.0.0.1:0"


@asynccontextmanager
async def served(
    pool: SandboxPool, *, address: str = ANY_PORT, wall_seconds: float = 1.0, tls: ServerTls | None = None
) -> AsyncIterator[str]:
    server = SandboxServer(pool, SandboxSettings(wall_seconds=wall_seconds), tls)
    try:
        yield await server.start(address)
    finally:
        await server.stop(5.0)


@asynccontextmanager
async def connected(address: str) -> AsyncIterator["SandboxServiceAsyncStub"]:
    async with grpc.aio.insecure_channel(address) as channel:
        yield SandboxServiceStub(channel)


@asynccontextmanager
async def client_of(pool: SandboxPool) -> AsyncIterator[Sandbox]:
    async with served(pool) as address, Sandbox(address) as client:
        yield client
