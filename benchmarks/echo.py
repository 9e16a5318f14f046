"""A model engine that costs nothing, to measure the way to an engine and back."""

import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from soliloquy.runtime.seeds import digest
from soliloquy.v1.model_pb2 import Adapter, Completion, Delta, Finish, GenerateRequest, ModelInfo
from soliloquy_services.model.engines.engine import MissingWeights, UnknownAdapter

_WEIGHTS = "adapter_model.safetensors"


class Echo:
    """Repeats the last message word by word; an adapter changes the digest it reports."""

    def __init__(self) -> None:
        self._adapters: dict[str, Adapter] = {}

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    @property
    def fault(self) -> str:
        return ""

    @property
    def most_at_once(self) -> int:
        return sys.maxsize

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        adapter_digest = self._adapter(request.adapter).digest if request.adapter else ""
        text = request.messages[-1].text
        words = text.split(" ")
        for word in words[:-1]:
            yield Delta(text=f"{word} ")
        completion = Completion(
            text=text,
            model="echo",
            engine="echo",
            prompt_tokens=sum(message.text.count(" ") + 1 for message in request.messages),
            completion_tokens=len(words),
            adapter_digest=adapter_digest,
            finish=Finish.FINISH_STOP,
        )
        yield Delta(text=words[-1], completion=completion)

    def adapters(self) -> Sequence[Adapter]:
        return list(self._adapters.values())

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        weights = Path(adapter.path) / _WEIGHTS
        if not weights.is_file():
            raise MissingWeights(f"{adapter.path} is not an adapter: missing {_WEIGHTS}")
        loaded = Adapter(name=adapter.name, path=adapter.path, digest=digest(weights.read_bytes().hex()))
        self._adapters[adapter.name] = loaded
        return loaded

    async def unload_adapter(self, name: str) -> None:
        self._adapter(name)
        del self._adapters[name]

    def info(self) -> ModelInfo:
        return ModelInfo(engine="echo", model="echo", adapters=self.adapters(), engine_version="1")

    def _adapter(self, name: str) -> Adapter:
        if name not in self._adapters:
            raise UnknownAdapter(f"no adapter {name!r} is loaded; loaded are: {', '.join(self._adapters) or 'none'}")
        return self._adapters[name]
