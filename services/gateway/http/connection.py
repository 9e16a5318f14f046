"""A connection as uvicorn keeps it, and what it lacks: who is at the other end, and an end to waiting for it."""

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from services.gateway.access.certificates import common_name

# So long for the head of a request to come, and between two requests.
HEAD_SECONDS = 10.0
# Watchers hold one each. Where a process may have the usual 1,024 files open, some are left for Kafka.
MAX_CONNECTIONS = 800
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
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
        if len(self.connections) > MAX_CONNECTIONS:
            # Those that are there go on.
            transport.write(_FULL)
            transport.close()
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
