"""A pool served over gRPC: `SandboxService`, health and reflection on one address."""

import asyncio
import contextlib
import socket

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from soliloquy.v1 import sandbox_pb2
from soliloquy.v1.sandbox_pb2_grpc import add_SandboxServiceServicer_to_server

from services.executor.calls import SandboxCalls
from services.executor.policy import LIMITS
from services.executor.pool import SandboxPool
from services.executor.settings import SandboxSettings
from services.runtime.listening import CannotListen

SERVICE = sandbox_pb2.DESCRIPTOR.services_by_name["SandboxService"].full_name
# Code that is too long is answered with the limit; what is longer than this is refused unread.
MAX_REQUEST_BYTES = 16 * LIMITS["code_bytes"]
_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    # Two servers on one port would each get some of the calls.
    ("grpc.so_reuseport", 0),
)
_LOOK_SECONDS = 0.1
_LAST_WORDS_SECONDS = 0.5


class SandboxServer:
    """Has neither TLS nor authentication: for this machine, or for a cluster whose mesh brings both."""

    def __init__(self, pool: SandboxPool, settings: SandboxSettings) -> None:
        self._pool = pool
        self._calls = SandboxCalls(pool, settings)
        self._health = health.aio.HealthServicer()
        self._server: grpc.aio.Server | None = None
        self._following: asyncio.Task[None] | None = None

    async def start(self, address: str) -> str:
        """Listens, and says where: port 0 takes any that is free."""
        host, _, port = address.rpartition(":")
        await _check(host.strip("[]"), int(port))
        server = self._server = grpc.aio.server(options=_OPTIONS)
        add_SandboxServiceServicer_to_server(self._calls, server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        bound = server.add_insecure_port(address)
        await self._tell_health()
        self._following = asyncio.create_task(self._follow_pool())
        await server.start()
        return f"{host}:{bound}"

    async def stop(self, grace_seconds: float) -> None:
        """Takes no further job, answers those that it has within the grace period, and stops listening."""
        await self._health.enter_graceful_shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self._calls.drain()
        if self._following:
            self._following.cancel()
        if self._server:
            await self._server.stop(_LAST_WORDS_SECONDS)

    async def _follow_pool(self) -> None:
        while True:
            await self._tell_health()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _tell_health(self) -> None:
        response = health_pb2.HealthCheckResponse
        for service in (health.OVERALL_HEALTH, SERVICE):
            await self._health.set(service, response.NOT_SERVING if self._pool.fault else response.SERVING)


async def _check(host: str, port: int) -> None:
    """Says why an address cannot be had, which gRPC does not."""
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in addresses:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        raise CannotListen(f"cannot listen on {host}:{port}: {error.strerror}: choose another address") from error
