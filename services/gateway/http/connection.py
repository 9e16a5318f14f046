"""Extends uvicorn's connections: exposes the client certificate, and bounds their number and the wait for a request."""

import asyncio
from collections.abc import Mapping
from typing import Any

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

# For the head of a request to arrive, and between two requests.
HEAD_SECONDS = 10.0
HEAD_BYTES = 16 * 1024
# Chunks of a body, and for each of these many bytes one more: each costs as much to parse as a head.
MOST_CHUNKS = 256
LEAST_CHUNK_BYTES = 64
_TRANSPORT = "transport"
_LOST = "lost"


def certificate_of(scope: Scope) -> str:
    """The common name of the caller's certificate; empty without one."""
    tls = scope["state"][_TRANSPORT].get_extra_info("ssl_object")
    return _common_name(tls.getpeercert()) if tls else ""


def _common_name(certificate: Mapping[str, Any] | None) -> str:
    """The subject's common name in the result of `SSLSocket.getpeercert`; empty without one."""
    subject = (certificate or {}).get("subject", ())
    return next((str(value) for part in subject for name, value in part if name == "commonName"), "")


def abort(scope: Scope) -> None:
    """Closes the connection at once; unsent data is lost."""
    scope["state"][_TRANSPORT].abort()


async def lost_within(scope: Scope, seconds: float) -> bool:
    """Waits, and returns whether the caller has left meanwhile. Reads nothing that it sends."""
    done, _ = await asyncio.wait({scope["state"][_LOST]}, timeout=seconds)
    return bool(done)


class _Connection(h11.Connection):
    """Refuses a body of tiny chunks, which would keep this process from everything else while they are parsed."""

    _chunks = 0
    _bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._chunks += event.chunk_start
            self._bytes += len(event.data)
            if self._chunks > MOST_CHUNKS + self._bytes // LEAST_CHUNK_BYTES:
                raise h11.RemoteProtocolError("the chunks of the body are too small")
        return event


class Protocol(H11Protocol):
    def __init__(self, *arguments: Any, most: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _Connection(h11.SERVER, self.config.h11_max_incomplete_event_size or HEAD_BYTES)
        self._most = most
        self._timeout: asyncio.TimerHandle | None = None
        self._lost: asyncio.Future[None] = self.loop.create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, _TRANSPORT: transport, _LOST: self._lost}
        self._start_timeout()
        if len(self.connections) > self._most:
            transport.abort()

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

    def send_400_response(self, msg: str) -> None:
        """Answers nonsense, unless it follows a request that was answered already."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _start_timeout(self) -> None:
        self._timeout = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _cancel_timeout(self) -> None:
        if self._timeout:
            self._timeout.cancel()
            self._timeout = None
