"""The calls of `ModelService`, independent of engine and server, and the answers that are kept."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from soliloquy.runtime.failure import first_error
from soliloquy.runtime.model.samples import seeds_of, together, with_seeds
from soliloquy.runtime.traces import spans
from soliloquy.v1 import model_pb2 as pb
from soliloquy.v1.model_pb2 import Delta, GenerateRequest
from soliloquy_services.model.adapter_catalog import SharedAdapters
from soliloquy_services.model.backend import ModelBackend, final_completion
from soliloquy_services.model.engines.engine import EngineFailed, InvalidRequest

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


# Prompts of the longest contexts take less.
MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_ID_CHARACTERS = 256
MAX_SAMPLES = 128
# Finished answers to keep for retries: a few minutes' worth, some MB.
CACHED_ANSWERS = 4096


class ModelHandler:
    """Raises the errors of `engines.engine`, which `errors` maps to status codes."""

    def __init__(
        self,
        backend: ModelBackend,
        adapters: SharedAdapters | None = None,
        *,
        fault_seconds: float = 0.0,
    ) -> None:
        """Loads adapters on all replicas if they share them; delays refusals by `fault_seconds` during a fault."""
        self._backend = backend
        self._adapters = adapters or backend
        self._fault_seconds = fault_seconds
        self._cache = CompletionCache(backend.stream, capacity=CACHED_ANSWERS)

    async def generate(self, request: pb.GenerateRequest, caller: str = "") -> pb.Completion:
        """Answers with all samples. The engine computes their prompt once, so only the first one counts its tokens."""
        if not request.more_seeds:
            return await self._sample(request, caller)
        if len(request.more_seeds) >= MAX_SAMPLES:
            raise InvalidRequest(f"{len(request.more_seeds) + 1} samples are above the limit of {MAX_SAMPLES}")
        alone = [with_seeds(request, [seed]) for seed in seeds_of(request)]
        for number, sample in enumerate(alone[1:], start=1):
            sample.id = f"{request.id}/{number}" if request.id else ""
        answer = together(await self.generate_all(alone, caller))
        for further in answer.more:
            further.ClearField("prompt_tokens")
        return answer

    async def generate_all(self, requests: Sequence[pb.GenerateRequest], caller: str = "") -> list[pb.Completion]:
        """Answers the requests of one call, each with one sample; a failure ends them all."""
        room = asyncio.Semaphore(self._backend.most_at_once)

        async def answer(request: pb.GenerateRequest) -> pb.Completion:
            async with room:
                return await self._sample(request, caller)

        try:
            async with asyncio.TaskGroup() as group:
                answers = [group.create_task(answer(request)) for request in requests]
        except ExceptionGroup as errors:
            raise first_error(errors) from None
        return [each.result() for each in answers]

    async def _sample(self, request: pb.GenerateRequest, caller: str) -> pb.Completion:
        async with aclosing(self.stream(request, caller)) as deltas:
            return await final_completion(deltas)

    async def stream(self, request: pb.GenerateRequest, caller: str = "") -> AsyncGenerator[pb.Delta, None]:
        """`caller` is the request's traceparent, if it has one."""
        with spans.continue_trace("model", "model service", "server", caller) as span:
            # Its caller's span has the rest: a reader of traces would count tokens twice.
            span.note(role=request.role, state=request.prompt, adapter=request.adapter)
            await self._check(request)
            completed = False
            async with aclosing(self._cache.stream(request)) as deltas:
                async for delta in deltas:
                    completed = delta.HasField("completion")
                    yield delta
            if not completed:
                raise EngineFailed("the answer broke off before its end: try again")

    def list_adapters(self) -> pb.ListAdaptersResponse:
        return pb.ListAdaptersResponse(adapters=self._backend.adapters())

    async def load_adapter(self, request: pb.LoadAdapterRequest) -> pb.LoadAdapterResponse:
        if not request.adapter.name or not request.adapter.path:
            raise InvalidRequest("an adapter requires a name and a path")
        if request.adapter.name == self.info().model:
            raise InvalidRequest(f"{request.adapter.name!r} is the name of the base model: choose another")
        return pb.LoadAdapterResponse(adapter=await self._adapters.load_adapter(request.adapter))

    async def unload_adapter(self, request: pb.UnloadAdapterRequest) -> pb.UnloadAdapterResponse:
        await self._adapters.unload_adapter(request.name)
        return pb.UnloadAdapterResponse()

    def info(self) -> pb.ModelInfo:
        return self._backend.info()

    async def _check(self, request: pb.GenerateRequest) -> None:
        if fault := self._backend.fault:
            await asyncio.sleep(self._fault_seconds)
            raise EngineFailed(fault)
        if request.ByteSize() > MAX_REQUEST_BYTES:
            raise InvalidRequest(f"the request has {request.ByteSize()} bytes, above the limit of {MAX_REQUEST_BYTES}")
        if len(request.id) > MAX_ID_CHARACTERS:
            raise InvalidRequest(f"the id has {len(request.id)} characters, above the limit of {MAX_ID_CHARACTERS}")
