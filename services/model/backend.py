"""The boundary between a server and the engine behind it: text in, text out."""

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Protocol

from soliloquy.runtime.model import Model
from soliloquy.v1.model_pb2 import Adapter, Completion, Delta, GenerateRequest, ModelInfo
from soliloquy_services.model.engines.engine import EngineFailed, InvalidRequest, UnknownAdapter
from soliloquy_services.model.engines.grammar import Stops


class ModelBackend(Protocol):
    """Answers requests; raises the errors of `engines.engine`, which `errors` maps to status codes."""

    async def start(self) -> None:
        """Returns when requests can be answered."""

    async def stop(self) -> None: ...

    @property
    def fault(self) -> str:
        """One line on why requests are not answered; empty while they are."""

    @property
    def most_at_once(self) -> int:
        """How many answers to one call may be under way at once: so many are taken while nothing else waits."""

    def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        """Yields the answer in pieces, the last with the completion; closing the iterator aborts the request."""

    def adapters(self) -> Sequence[Adapter]: ...

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        """Returns the adapter with the digest of its weights; a digest in the request must match them."""

    async def unload_adapter(self, name: str) -> None: ...

    def info(self) -> ModelInfo: ...


class ScriptedBackend:
    """Serves a model without weights, such as the scripted engine, as if it ran some: whole answers, no adapters."""

    def __init__(self, model: Model, name: str = "scripted") -> None:
        self._model = model
        self._name = name

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    @property
    def fault(self) -> str:
        return ""

    @property
    def most_at_once(self) -> int:
        # Nothing waits here.
        return sys.maxsize

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        if request.adapter:
            raise self._no_adapter(request.adapter)
        if request.raw_text or request.raw_tokens:
            raise InvalidRequest(f"the {self._name} engine answers messages: a prompt without them requires weights")
        if request.sampling.logprobs:
            why = f"the {self._name} engine has no weights and knows no probabilities: leave out logprobs"
            raise InvalidRequest(why)
        stops = Stops(request.sampling.stop)
        completion = await self._model.generate(request)
        completion.text = stops.more(completion.text) + stops.rest()
        yield Delta(text=completion.text, completion=completion)

    def adapters(self) -> Sequence[Adapter]:
        return ()

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        raise self._no_adapter(adapter.name)

    async def unload_adapter(self, name: str) -> None:
        raise self._no_adapter(name)

    def info(self) -> ModelInfo:
        return ModelInfo(engine=self._name, model=self._name)

    def _no_adapter(self, name: str) -> UnknownAdapter:
        return UnknownAdapter(f"the {self._name} engine has no weights and no adapter {name!r}: leave out the adapter")


async def final_completion(deltas: AsyncIterator[Delta]) -> Completion:
    """Returns the completion that a stream ends with."""
    last = Delta()
    async for delta in deltas:
        last = delta
    if not last.HasField("completion"):
        raise EngineFailed("the answer broke off before its end: try again")
    return last.completion
