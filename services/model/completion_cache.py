"""Answers each request id once: a retry joins the answer in progress or gets the finished one."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from soliloquy.v1.model_pb2 import Delta, GenerateRequest
from soliloquy_services.model.engines.engine import InvalidRequest

Stream = Callable[[GenerateRequest], AsyncGenerator[Delta, None]]


class CompletionCache:
    """Remembers the last `capacity` answers; requests without an id are never cached."""

    def __init__(self, stream: Stream, *, capacity: int) -> None:
        self._stream = stream
        self._capacity = capacity
        self._running: dict[str, _PendingCompletion] = {}
        self._finished: OrderedDict[str, tuple[bytes, Delta]] = OrderedDict()

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        """Yields the answer from its beginning; it is abandoned when its last reader leaves."""
        deltas = self._shared(request) if request.id else self._stream(request)
        async with aclosing(deltas):
            async for delta in deltas:
                yield delta

    async def _shared(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        digest = hashlib.blake2b(request.SerializeToString(deterministic=True), digest_size=16).digest()
        if finished := self._finished.get(request.id):
            _check(request, digest, finished[0])
            self._finished.move_to_end(request.id)
            yield finished[1]
            return
        pending = self._running.get(request.id)
        if pending is None:
            pending = self._running[request.id] = _PendingCompletion(digest, self._stream(request))
        _check(request, digest, pending.digest)
        try:
            async with aclosing(pending.read()) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            if not pending.readers and self._running.get(request.id) is pending:
                del self._running[request.id]
                self._remember(request.id, pending)

    def _remember(self, request_id: str, pending: "_PendingCompletion") -> None:
        if pending.completed is None:
            return
        completion = pending.completed.completion
        self._finished[request_id] = (pending.digest, Delta(text=completion.text, completion=completion))
        if len(self._finished) > self._capacity:
            self._finished.popitem(last=False)


class _PendingCompletion:
    """An answer in progress, and the number of its readers."""

    def __init__(self, digest: bytes, deltas: AsyncGenerator[Delta, None]) -> None:
        self.digest = digest
        self.readers = 0
        self._deltas: list[Delta] = []
        self._changed = asyncio.Event()
        self._collecting = asyncio.create_task(self._collect(deltas))
        self._collecting.add_done_callback(self._end)

    @property
    def completed(self) -> Delta | None:
        """The last piece, if it has arrived."""
        last = self._deltas[-1] if self._deltas else None
        return last if last and last.HasField("completion") else None

    async def read(self) -> AsyncGenerator[Delta, None]:
        self.readers += 1
        place = 0
        try:
            while True:
                changed, ended = self._changed, self._collecting.done()
                while place < len(self._deltas):
                    yield self._deltas[place]
                    place += 1
                if ended:
                    self._collecting.result()
                    return
                await changed.wait()
        finally:
            self.readers -= 1
            if not self.readers:
                self._collecting.cancel()

    async def _collect(self, deltas: AsyncGenerator[Delta, None]) -> None:
        async with aclosing(deltas):
            async for delta in deltas:
                self._deltas.append(delta)
                self._changed.set()
                self._changed = asyncio.Event()

    def _end(self, collecting: asyncio.Task[None]) -> None:
        if not collecting.cancelled():
            # Readers get the error from `read`; with no readers left, discard it.
            collecting.exception()
        self._changed.set()


def _check(request: GenerateRequest, digest: bytes, before: bytes) -> None:
    if digest != before:
        raise InvalidRequest(f"the id {request.id!r} belongs to another request: use a unique id for each request")
