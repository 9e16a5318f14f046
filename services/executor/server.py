"""Serves a pool over gRPC: `SandboxService`, health and reflection on one address."""

import asyncio
import contextlib

from services.executor.policy import LIMITS
from services.executor.pool import SandboxPool
from services.executor.servicer import SandboxServicer
from services.executor.settings import SandboxSettings
from soliloquy.runtime.grpc_server import GrpcServer
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2_grpc import add_SandboxServiceServicer_to_server

SERVICE = sandbox_pb2.DESCRIPTOR.services_by_name["SandboxService"].full_name
# Code over its own limit is answered with an error; a request over this limit is refused unread.
MAX_REQUEST_BYTES = 16 * LIMITS["code_bytes"]


class SandboxServer:
    """Has neither TLS nor authentication: for local use, or behind a service mesh that provides both."""

    def __init__(self, pool: SandboxPool, settings: SandboxSettings) -> None:
        self._calls = SandboxServicer(pool, settings)
        self._server = GrpcServer(
            SERVICE,
            lambda server: add_SandboxServiceServicer_to_server(self._calls, server),
            lambda: pool.fault,
            most_bytes=MAX_REQUEST_BYTES,
        )

    async def start(self, address: str) -> str:
        """Starts listening and returns the address; port 0 picks a free port."""
        return await self._server.start(address)

    async def stop(self, grace_seconds: float) -> None:
        """Accepts no more jobs, answers the accepted ones within the grace period, and stops listening."""
        await self._server.leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self._calls.drain()
        await self._server.stop()
