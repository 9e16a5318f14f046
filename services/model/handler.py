"""The calls of `ModelService`, independent of engine and server."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from soliloquy.runtime.failure import first_error
from soliloquy.runtime.model.samples import seeds_of, together, with_seeds
from soliloquy.runtime.traces import spans
from soliloquy.v1 import model_pb2 as pb
from soliloquy_services.model.adapter_catalog import SharedAdapters
from soliloquy_services.model.backend import ModelBackend, final_completion
from soliloquy_services.model.engines.engine import EngineFailed, InvalidRequest

# Prompts of the longest contexts take less.
MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_SAMPLES = 128


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

    async def generate(self, request: pb.GenerateRequest, caller: str = "") -> pb.Completion:
        """Answers with all samples. The engine computes their prompt once, so only the first one counts its tokens."""
        if not request.more_seeds:
            return await self._sample(request, caller)
        if len(request.more_seeds) >= MAX_SAMPLES:
            raise InvalidRequest(f"{len(request.more_seeds) + 1} samples are above the limit of {MAX_SAMPLES}")
        alone = [with_seeds(request, [seed]) for seed in seeds_of(request)]
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
            span.note(role=request.role, state=request.prompt, adapter=request.adapter)
            await self._check(request)
            completed = False
            async with aclosing(self._backend.stream(request)) as deltas:
                async for delta in deltas:
                    completed = delta.HasField("completion")
                    if completed:
                        _note(span, delta.completion)
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


def _note(span: spans.Span, completion: pb.Completion) -> None:
    span.note(
        model=completion.model,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        finish=pb.Finish.Name(completion.finish).removeprefix("FINISH_").lower(),
    )
