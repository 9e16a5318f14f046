"""Server-sent events: the items of an iterator, and heartbeats between them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from soliloquy_services.gateway.http.connection import abort
from soliloquy_services.gateway.http.responses import error_response, to_json

HEARTBEAT_SECONDS = 15.0
# A reader that does not take an event within this time is disconnected.
STALL_SECONDS = 60.0
# A source that fails within this time is answered with a status in place of a stream.
FIRST_SECONDS = 0.1
# Browsers reconnect this soon after a stream broke.
GREETING = b"retry: 1000\n\n"
_HEARTBEAT = b": still here\n\n"


def event(name: str, content: Any) -> bytes:
    return encoded_event(name, to_json(content))


def encoded_event(name: str, encoded_content: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encoded_content)


class Stream(Response):
    """Ends when its source does, its reader is gone or the gateway stops; then a browser reconnects."""

    media_type = "text/event-stream"

    def __init__(
        self,
        source: AsyncIterator[bytes],
        stopping: asyncio.Event,
        still_admitted: Callable[[], None],
        *,
        greeting: bytes,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._source = source
        self._stopping = stopping
        self._still_admitted = still_admitted
        self._greeting = greeting
        self._next = asyncio.ensure_future(anext(source))

    async def begin(self) -> "Stream":
        """Waits briefly for the first event; raises what the source raises before it."""
        await asyncio.wait({self._next}, timeout=FIRST_SECONDS)
        if self._next.done() and (error := self._next.exception()) and not isinstance(error, StopAsyncIteration):
            raise error
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        ending: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(self._stopping.wait()),
            asyncio.ensure_future(_disconnected(receive)),
        }
        try:
            async with asyncio.timeout(None) as stalled:
                await _send(send, stalled, self._greeting)
                async for piece in self._pieces(ending):
                    await _send(send, stalled, piece)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            abort(scope)
        finally:
            tasks = (*ending, self._next)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if aclose := getattr(self._source, "aclose", None):
                await aclose()

    async def _pieces(self, ending: set[asyncio.Future[Any]]) -> AsyncIterator[bytes]:
        while True:
            awaited = {self._next, *ending}
            done, _ = await asyncio.wait(awaited, timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if done & ending:
                return
            try:
                self._still_admitted()
                piece = self._next.result() if done else _HEARTBEAT
            except StopAsyncIteration:
                return
            except Exception as error:
                yield encoded_event("error", to_json(json.loads(bytes(error_response(error).body))["error"]))
                return
            if done:
                self._next = asyncio.ensure_future(anext(self._source))
            yield piece


async def _send(send: Send, stalled: asyncio.Timeout, piece: bytes) -> None:
    loop = asyncio.get_running_loop()
    stalled.reschedule(loop.time() + STALL_SECONDS)
    await send({"type": "http.response.body", "body": piece, "more_body": True})
    stalled.reschedule(None)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
