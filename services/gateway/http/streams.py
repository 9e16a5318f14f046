"""Server-sent events: what an iterator yields, and a sign of life between."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from services.gateway.http.answers import encoded, refused
from services.gateway.http.connection import connection_of

HEARTBEAT_SECONDS = 15.0
# So long for a reader to make room for one event: the connection is dropped then.
STALL_SECONDS = 60.0
# What is wrong with a request shows before so long, and is told by the status.
FIRST_SECONDS = 0.1
# When a browser comes back after a stream broke.
GREETING = b"retry: 1000\n\n"
_HEARTBEAT = b": still here\n\n"


def event(name: str, content: Any) -> bytes:
    return event_of(name, encoded(content))


def event_of(name: str, encoded_content: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encoded_content)


class Stream(Response):
    """Ends when its source does, its reader is gone or the gateway stops; in the last case a browser comes back."""

    media_type = "text/event-stream"

    def __init__(
        self,
        source: AsyncIterator[bytes],
        stopping: asyncio.Event,
        still_admitted: Callable[[], None] = lambda: None,
        *,
        greeting: bytes = GREETING,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._source = source
        self._stopping = stopping
        self._still_admitted = still_admitted
        self._greeting = greeting
        self._coming = asyncio.ensure_future(anext(source))

    async def begun(self) -> "Stream":
        """Raises what the source does before it yields anything, as far as that shows soon."""
        await asyncio.wait({self._coming}, timeout=FIRST_SECONDS)
        if self._coming.done() and (error := self._coming.exception()) and not isinstance(error, StopAsyncIteration):
            raise error
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        ending: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(self._stopping.wait()),
            asyncio.ensure_future(_left(receive)),
        }
        try:
            async with asyncio.timeout(None) as stalled:
                await _sent(send, stalled, self._greeting)
                async for piece in self._pieces(ending):
                    await _sent(send, stalled, piece)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            connection_of(scope).abort()
        finally:
            await _cancelled({*ending, self._coming})
            if aclose := getattr(self._source, "aclose", None):
                await aclose()

    async def _pieces(self, ending: set[asyncio.Future[Any]]) -> AsyncIterator[bytes]:
        while True:
            awaited = {self._coming, *ending}
            done, _ = await asyncio.wait(awaited, timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if done & ending:
                return
            try:
                self._still_admitted()
                piece = self._coming.result() if done else _HEARTBEAT
            except StopAsyncIteration:
                return
            except Exception as error:
                yield event_of("error", encoded(json.loads(bytes(refused(error).body))["error"]))
                return
            if done:
                self._coming = asyncio.ensure_future(anext(self._source))
            yield piece


async def _sent(send: Send, stalled: asyncio.Timeout, piece: bytes) -> None:
    loop = asyncio.get_running_loop()
    stalled.reschedule(loop.time() + STALL_SECONDS)
    await send({"type": "http.response.body", "body": piece, "more_body": True})
    stalled.reschedule(None)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancelled(tasks: set[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
            await task
