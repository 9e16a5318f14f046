"""What stands between a served request and whatever answers it: text in, text out."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Protocol

from services.model.engines.engine import EngineFailed, EngineStats, UnknownAdapter
from soliloquy.runtime.model import Model
from soliloquy.v1.model_pb2 import Adapter, Completion, Delta, GenerateRequest, ModelInfo


class ModelBackend(Protocol):
    """Raises the errors of `engines.engine`, each of which a server answers with a code of its own."""

    async def start(self) -> None:
        """Returns when requests can be answered."""

    async def stop(self) -> None: ...

    @property
    def fault(self) -> str:
        """Why nobody is answered, in a line; empty while requests are."""

    def stats(self) -> EngineStats: ...

    def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        """The answer in pieces; the last one has the completion. Closing the iterator aborts the request."""

    def adapters(self) -> Sequence[Adapter]: ...

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        """The adapter as it is loaded, with the digest of its weights; a digest that is asked for must be theirs."""

    async def unload_adapter(self, name: str) -> None: ...

    def info(self) -> ModelInfo: ...


class ScriptedBackend:
    """The scripted engine served as if it ran weights: whole answers, and no adapters."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._running = 0
        self._generated = 0

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    @property
    def fault(self) -> str:
        return ""

    def stats(self) -> EngineStats:
        return EngineStats(running=self._running, waiting=0, generated_tokens=self._generated, adapters=())

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        if request.adapter:
            raise self._no_adapter(request.adapter)
        self._running += 1
        try:
            completion = await self._model.generate(request)
        finally:
            self._running -= 1
        self._generated += completion.completion_tokens
        yield Delta(text=completion.text, completion=completion)

    def adapters(self) -> Sequence[Adapter]:
        return ()

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        raise self._no_adapter(adapter.name)

    async def unload_adapter(self, name: str) -> None:
        raise self._no_adapter(name)

    def info(self) -> ModelInfo:
        return ModelInfo(engine="scripted", model="scripted")

    def _no_adapter(self, name: str) -> UnknownAdapter:
        return UnknownAdapter(f"the scripted engine has no weights, so no adapter {name!r} either; ask without one")


async def final_completion(deltas: AsyncIterator[Delta]) -> Completion:
    """The completion that a stream ends with."""
    last = Delta()
    async for delta in deltas:
        last = delta
    if not last.HasField("completion"):
        raise EngineFailed("the answer broke off before its end; ask again")
    return last.completion
