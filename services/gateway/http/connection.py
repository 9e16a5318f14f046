"""Extends uvicorn's connections: exposes the client certificate, and bounds the wait for a request."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from services.gateway.access.certificates import common_name

# For the head of a request to arrive, and between two requests.
HEAD_SECONDS = 10.0
_TRANSPORT = "transport"
_LOST = "lost"


def certificate_of(scope: Scope) -> str:
    """The common name of the caller's certificate; empty without one."""
    tls = scope["state"][_TRANSPORT].get_extra_info("ssl_object")
    return common_name(tls.getpeercert()) if tls else ""


def abort(scope: Scope) -> None:
    """Closes the connection at once; unsent data is lost."""
    scope["state"][_TRANSPORT].abort()


async def lost_within(scope: Scope, seconds: float) -> bool:
    """Waits, and returns whether the caller has left meanwhile. Reads nothing that it sends."""
    done, _ = await asyncio.wait({scope["state"][_LOST]}, timeout=seconds)
    return bool(done)


class Protocol(H11Protocol):
    def __init__(self, *arguments: Any, accepted: Callable[[], None], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._accepted = accepted
        self._timeout: asyncio.TimerHandle | None = None
        self._lost: asyncio.Future[None] = self.loop.create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._accepted()
        self.app_state = {**self.app_state, _TRANSPORT: transport, _LOST: self._lost}
        self._start_timeout()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        between_requests = self.cycle is None or self.cycle.response_complete
        if not between_requests:
            self._cancel_timeout()
        elif self._timeout is None:
            self._start_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timeout()
        self._lost.set_result(None)
        super().connection_lost(exc)

    def _start_timeout(self) -> None:
        self._timeout = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _cancel_timeout(self) -> None:
        if self._timeout:
            self._timeout.cancel()
            self._timeout = None
