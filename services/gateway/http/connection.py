"""A connection as uvicorn keeps it, and what it lacks: who is at the other end, and an end to waiting for it."""

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from services.gateway.access.certificates import common_name

# So long for the head of a request to come, and between two requests.
HEAD_SECONDS = 10.0
_KEY = "connection"


@dataclass(frozen=True, slots=True)
class Connection:
    transport: asyncio.Transport

    @property
    def certificate(self) -> str:
        """The common name of the caller's; empty where it has none."""
        tls = self.transport.get_extra_info("ssl_object")
        return common_name(tls.getpeercert()) if tls else ""

    def abort(self) -> None:
        """What is not sent yet is dropped."""
        self.transport.abort()


def connection_of(scope: Scope) -> Connection:
    found: Connection = scope["state"][_KEY]
    return found


class Protocol(H11Protocol):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, _KEY: Connection(transport)}
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        between_requests = self.cycle is None or self.cycle.response_complete
        if not between_requests:
            self._wait_no_more()
        elif self._giving_up is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._giving_up = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._giving_up:
            self._giving_up.cancel()
            self._giving_up = None
