"""Requests by their ids: who asks again joins the answer that is under way, or gets the one that was given."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from services.model.engines.engine import InvalidRequest
from soliloquy.v1.model_pb2 import Delta, GenerateRequest

Stream = Callable[[GenerateRequest], AsyncGenerator[Delta, None]]


class CompletionCache:
    """Remembers so many finished answers; a request without an id is always another one."""

    def __init__(self, stream: Stream, *, kept: int) -> None:
        self._stream = stream
        self._kept = kept
        self._running: dict[str, _PendingCompletion] = {}
        self._finished: OrderedDict[str, tuple[bytes, Delta]] = OrderedDict()

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        """The answer from its beginning; it is given up when the last who reads it leaves."""
        deltas = self._joined(request) if request.id else self._stream(request)
        async with aclosing(deltas):
            async for delta in deltas:
                yield delta

    async def _joined(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        asked = hashlib.blake2b(request.SerializeToString(deterministic=True), digest_size=16).digest()
        if given := self._finished.get(request.id):
            _check(request, asked, given[0])
            self._finished.move_to_end(request.id)
            yield given[1]
            return
        growing = self._running.get(request.id)
        if growing is None:
            growing = self._running[request.id] = _PendingCompletion(asked, self._stream(request))
        _check(request, asked, growing.asked)
        try:
            async with aclosing(growing.read()) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            if not growing.readers and self._running.get(request.id) is growing:
                del self._running[request.id]
                self._keep(request.id, growing)

    def _keep(self, request_id: str, growing: "_PendingCompletion") -> None:
        if growing.completed is None:
            return
        completion = growing.completed.completion
        self._finished[request_id] = (growing.asked, Delta(text=completion.text, completion=completion))
        if len(self._finished) > self._kept:
            self._finished.popitem(last=False)


class _PendingCompletion:
    """An answer under way, and how many read it."""

    def __init__(self, asked: bytes, deltas: AsyncGenerator[Delta, None]) -> None:
        self.asked = asked
        self.readers = 0
        self._deltas: list[Delta] = []
        self._grown = asyncio.Event()
        self._collecting = asyncio.create_task(self._collect(deltas))
        self._collecting.add_done_callback(self._end)

    @property
    def completed(self) -> Delta | None:
        """Its last piece, if that came."""
        last = self._deltas[-1] if self._deltas else None
        return last if last and last.HasField("completion") else None

    async def read(self) -> AsyncGenerator[Delta, None]:
        self.readers += 1
        place = 0
        try:
            while True:
                grown, ended = self._grown, self._collecting.done()
                while place < len(self._deltas):
                    yield self._deltas[place]
                    place += 1
                if ended:
                    self._collecting.result()
                    return
                await grown.wait()
        finally:
            self.readers -= 1
            if not self.readers:
                self._collecting.cancel()

    async def _collect(self, deltas: AsyncGenerator[Delta, None]) -> None:
        async with aclosing(deltas):
            async for delta in deltas:
                self._deltas.append(delta)
                self._grown.set()
                self._grown = asyncio.Event()

    def _end(self, collecting: asyncio.Task[None]) -> None:
        if not collecting.cancelled():
            # Whoever still reads is told by `read`; where nobody does, nobody is to be.
            collecting.exception()
        self._grown.set()


def _check(request: GenerateRequest, asked: bytes, before: bytes) -> None:
    if asked != before:
        raise InvalidRequest(f"the id {request.id!r} is another request's: give each request an id of its own")
