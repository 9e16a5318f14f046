"""Answers over HTTP: JSON, each refusal as its status and one sentence, and streams of server-sent events."""

import asyncio
import json
import logging
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from pydantic_core import to_jsonable_python
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from soliloquy_services.gateway.http.connection import abort
from soliloquy_services.gateway.http.parsing import BodyTooSlow
from soliloquy_services.gateway.refusals import Code, Refusal

_log = logging.getLogger(__name__)

REQUEST_TIMEOUT = 408
_MOST_CACHED = 64


def to_json(content: Any) -> bytes:
    """Writes messages of the contract, dataclasses, pydantic's models, and anything that JSON can hold."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "backslashreplace")


def _plain(content: Any) -> Any:
    if not isinstance(content, Message):
        return to_jsonable_python(content)
    # Includes every field that has a value without being set: 0, "", an empty list.
    return MessageToDict(content, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


class CachedEncoder:
    """Encodes a message once for all watchers that are sent the same object."""

    def __init__(self) -> None:
        # Keyed by identity; holding the message keeps its identity from being reused.
        self._cached: OrderedDict[int, tuple[Message, bytes]] = OrderedDict()

    def __call__(self, message: Message) -> bytes:
        if (cached := self._cached.get(id(message))) is None:
            cached = self._cached[id(message)] = (message, to_json(message))
            if len(self._cached) > _MOST_CACHED:
                self._cached.popitem(last=False)
        return cached[1]


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(content), status, {"cache-control": "no-store", **(headers or {})}, "application/json")


def error_response(error: Exception) -> Response:
    match error:
        case Refusal():
            return _error(error.code.http_status, error.code, error.message, _headers(error))
        case BodyTooSlow():
            return _error(REQUEST_TIMEOUT, Code.INVALID, str(error), {"connection": "close"})
        case _:
            _log.error("a call failed in the gateway itself", exc_info=error)
            return _error(500, "failed", "the gateway failed: see its log", {})


def not_offered(method: str, path: str, allowed: str = "") -> Response:
    offered = f"use {allowed}" if allowed else "see GET /openapi.json"
    line = f"{method} {path[:200]} is not offered: {offered}"
    return _error(405 if allowed else 404, Code.UNKNOWN, line, {"allow": allowed} if allowed else {})


def _error(status: int, code: str, message: str, headers: Mapping[str, str]) -> Response:
    return json_response({"error": {"code": code, "message": message}}, status, headers)


def _headers(refusal: Refusal) -> dict[str, str]:
    headers = {"retry-after": str(math.ceil(refusal.retry_after))} if refusal.retry_after else {}
    if refusal.code is Code.UNAUTHENTICATED:
        headers["www-authenticate"] = "Bearer"
    return headers


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
