"""Extends uvicorn's connections: exposes the client certificate, and bounds the wait for a request."""

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from services.gateway.access.certificates import common_name

# For the head of a request to arrive, and between two requests.
HEAD_SECONDS = 10.0
_KEY = "transport"


def certificate_of(scope: Scope) -> str:
    """The common name of the caller's certificate; empty without one."""
    tls = scope["state"][_KEY].get_extra_info("ssl_object")
    return common_name(tls.getpeercert()) if tls else ""


def abort(scope: Scope) -> None:
    """Closes the connection at once; unsent data is lost."""
    scope["state"][_KEY].abort()


class Protocol(H11Protocol):
    def __init__(self, *arguments: Any, accepted: Callable[[], None], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._accepted = accepted
        self._timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._accepted()
        self.app_state = {**self.app_state, _KEY: transport}
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
        super().connection_lost(exc)

    def _start_timeout(self) -> None:
        self._timeout = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _cancel_timeout(self) -> None:
        if self._timeout:
            self._timeout.cancel()
            self._timeout = None
