"""Runs an HTTP server on one address."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import uvicorn

from soliloquy.runtime.failure import Failure


class CannotListen(Failure):
    """The address is in use or does not belong to this machine."""


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    host, _, port = address.rpartition(":")
    with ExitStack() as opened:
        try:
            places = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
            family, kind, protocol, _, place = places[0]
            listener = opened.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen()
        except OSError as error:
            raise CannotListen(f"cannot listen on {address}: {error.strerror}: choose another address") from error
        yield listener


@asynccontextmanager
async def http_server(address: str, application: Any, **settings: Any) -> AsyncIterator[str]:
    """Yields the bound address; port 0 picks a free port. `settings` go to uvicorn."""
    with listening(address) as listener:
        config = uvicorn.Config(
            application,
            ws="none",
            lifespan="off",
            log_config=None,
            # The application logs its own errors.
            log_level=logging.CRITICAL,
            access_log=False,
            **settings,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"{address.rpartition(':')[0]}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            # `backlog` also limits how many connections asyncio accepts at once; more may wait.
            listener.listen(socket.SOMAXCONN)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signal handling to the service."""
        yield
