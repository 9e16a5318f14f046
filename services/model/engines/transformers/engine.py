"""Runs weights with transformers: continuous batching on a GPU or on the CPU, and several adapters at once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import llguidance.hf
import transformers
from transformers import AutoTokenizer

from services.model.engines.engine import (
    EngineBusy,
    EngineFailed,
    EngineStats,
    TokenDelta,
    TokenRequest,
    UnknownAdapter,
)
from services.model.engines.settings import EngineSettings
from services.model.engines.transformers.batching import PAGE_TOKENS, Batcher
from services.model.engines.transformers.shared_weights import load_base, with_adapter

_BASE = ""


class TransformersEngine:
    name = "transformers"
    version = transformers.__version__

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        # By adapter, the base model's own among them.
        self._batchings: dict[str, Batcher] = {}
        # Replaced or unloaded, and with requests that may still run; each with who sees it off.
        self._leaving: dict[Batcher, asyncio.Task[None]] = {}
        self._generated = 0

    async def start(self) -> None:
        await asyncio.to_thread(self._load)
        await self._add(_BASE, self._base)

    async def stop(self) -> None:
        for seeing_off in self._leaving.values():
            seeing_off.cancel()
        await asyncio.gather(*(batching.stop() for batching in (*self._batchings.values(), *self._leaving)))
        self._batchings.clear()
        self._leaving.clear()

    @property
    def fault(self) -> str:
        if not self._batchings:
            return "the engine is not running"
        return next((fault for batching in self._batchings.values() if (fault := batching.fault)), "")

    @property
    def context_tokens(self) -> int:
        """What the model was made for, as far as the cache can hold it."""
        in_cache = self._settings.cache_tokens // PAGE_TOKENS * PAGE_TOKENS
        return min(int(self._base.config.max_position_embeddings), in_cache)

    def stats(self) -> EngineStats:
        return EngineStats(
            running=sum(batching.running for batching in self._batchings.values()),
            waiting=sum(batching.waiting for batching in self._batchings.values()),
            generated_tokens=self._generated,
            adapters=[name for name in self._batchings if name != _BASE],
        )

    async def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        if not self._batchings:
            raise EngineFailed("the engine is not running")
        batching = self._batchings.get(request.adapter)
        if batching is None:
            raise UnknownAdapter(f"no adapter {request.adapter!r} is loaded: load it first")
        if (waiting := self.stats().waiting) >= self._settings.max_waiting:
            raise EngineBusy(f"{waiting} requests wait already, as many as may: ask again")
        async with aclosing(batching.generate(request)) as deltas:
            async for delta in deltas:
                self._generated += len(delta.tokens)
                yield delta

    async def load_adapter(self, name: str, path: Path) -> None:
        await self._add(name, await asyncio.to_thread(with_adapter, self._base, path))

    async def unload_adapter(self, name: str) -> None:
        self._leave(self._batchings.pop(name))

    def _load(self) -> None:
        self._base = load_base(self._settings.model)
        tokenizer = AutoTokenizer.from_pretrained(self._settings.model, local_files_only=True)
        self._ends = _ends(self._base.generation_config.eos_token_id, tokenizer.eos_token_id)
        self._tokenizer = llguidance.hf.from_tokenizer(
            tokenizer, n_vocab=self._base.config.vocab_size, eos_token=self._ends[0]
        )

    async def _add(self, name: str, model: Any) -> None:
        batching = Batcher(model, self._ends, self._tokenizer, self._settings)
        await asyncio.to_thread(batching.start)
        replaced, self._batchings[name] = self._batchings.get(name), batching
        if replaced:
            self._leave(replaced)

    def _leave(self, batching: Batcher) -> None:
        """Takes no further requests, and ends with the last that it has."""
        self._leaving[batching] = asyncio.create_task(self._see_off(batching))

    async def _see_off(self, batching: Batcher) -> None:
        await batching.idle()
        await batching.stop()
        del self._leaving[batching]


def _ends(*told: int | Sequence[int] | None) -> list[int]:
    """The tokens that end an answer, each once: a model's settings and its tokenizer name one, several or none."""
    ends = [end for one in told if one is not None for end in ([one] if isinstance(one, int) else one)]
    return list(dict.fromkeys(ends))
