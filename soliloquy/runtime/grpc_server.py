"""Serves a gRPC service with health checks and reflection on one address."""

import asyncio
from collections.abc import Callable, Sequence

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from soliloquy.runtime.http_server import listening

_LOOK_SECONDS = 0.1
_LAST_WORDS_SECONDS = 0.5


class GrpcServer:
    def __init__(
        self,
        service: str,
        add: Callable[[grpc.aio.Server], None],
        fault: Callable[[], str | None],
        *,
        most_bytes: int,
        options: Sequence[tuple[str, int]] = (),
        interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        """`add` registers the service. The server rejects requests above `most_bytes` without reading them."""
        options = (
            *options,
            ("grpc.max_receive_message_length", most_bytes),
            # Otherwise two servers could share the port and split the calls.
            ("grpc.so_reuseport", 0),
        )
        self._service = service
        self._fault = fault
        self._credentials = credentials
        self._health = health.aio.HealthServicer()
        self._server = grpc.aio.server(options=options, interceptors=interceptors)
        self._following: asyncio.Task[None] | None = None
        add(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (service, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    async def start(self, address: str) -> str:
        """Starts listening and returns the bound address; port 0 picks a free port."""
        # gRPC does not say why it cannot bind an address.
        with listening(address):
            pass
        if self._credentials:
            bound = self._server.add_secure_port(address, self._credentials)
        else:
            bound = self._server.add_insecure_port(address)
        await self._tell_health()
        self._following = asyncio.create_task(self._follow())
        await self._server.start()
        return f"{address.rpartition(':')[0]}:{bound}"

    async def leave(self) -> None:
        """Reports itself unhealthy but keeps answering."""
        await self._health.enter_graceful_shutdown()

    async def stop(self) -> None:
        """Stops listening and gives running calls a moment to finish."""
        if self._following:
            self._following.cancel()
        await self._server.stop(_LAST_WORDS_SECONDS)

    async def _follow(self) -> None:
        while True:
            await self._tell_health()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _tell_health(self) -> None:
        response = health_pb2.HealthCheckResponse
        for service in (health.OVERALL_HEALTH, self._service):
            await self._health.set(service, response.NOT_SERVING if self._fault() else response.SERVING)
