"""Runs weights with transformers: continuous batching on GPU or CPU, with several adapters at once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import llguidance.hf
import transformers
from transformers import AutoTokenizer

from services.model.engines.engine import EngineFailed, TokenDelta, TokenRequest
from services.model.engines.settings import EngineSettings
from services.model.engines.transformers.batching import PAGE_TOKENS, Batcher
from services.model.engines.transformers.shared_weights import load_base, with_adapter

_BASE = ""


class TransformersEngine:
    name = "transformers"
    version = transformers.__version__

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        # By adapter name, which is empty for the base model.
        self._batchers: dict[str, Batcher] = {}
        # Replaced or unloaded batchers that may still have requests, each with the task that stops it.
        self._retiring: dict[Batcher, asyncio.Task[None]] = {}

    async def start(self) -> None:
        await asyncio.to_thread(self._load)
        await self._add(_BASE, self._base)

    async def stop(self) -> None:
        for stopping in self._retiring.values():
            stopping.cancel()
        await asyncio.gather(*(batcher.stop() for batcher in (*self._batchers.values(), *self._retiring)))
        self._batchers.clear()
        self._retiring.clear()

    @property
    def fault(self) -> str:
        if not self._batchers:
            return "the engine is not running"
        return next((fault for batcher in self._batchers.values() if (fault := batcher.fault)), "")

    @property
    def context_tokens(self) -> int:
        """The context of the model, limited to what the cache holds."""
        in_cache = self._settings.cache_tokens // PAGE_TOKENS * PAGE_TOKENS
        return min(int(self._base.config.max_position_embeddings), in_cache)

    async def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        if not self._batchers:
            raise EngineFailed("the engine is not running")
        async with aclosing(self._batchers[request.adapter].generate(request)) as deltas:
            async for delta in deltas:
                yield delta

    async def load_adapter(self, name: str, path: Path) -> None:
        await self._add(name, await asyncio.to_thread(with_adapter, self._base, path))

    async def unload_adapter(self, name: str) -> None:
        self._retire(self._batchers.pop(name))

    def _load(self) -> None:
        self._base = load_base(self._settings.model)
        tokenizer = AutoTokenizer.from_pretrained(self._settings.model, local_files_only=True)
        self._end_tokens = _end_tokens(self._base.generation_config.eos_token_id, tokenizer.eos_token_id)
        self._tokenizer = llguidance.hf.from_tokenizer(
            tokenizer, n_vocab=self._base.config.vocab_size, eos_token=self._end_tokens[0]
        )

    async def _add(self, name: str, model: Any) -> None:
        batcher = Batcher(model, self._end_tokens, self._tokenizer, self._settings)
        await asyncio.to_thread(batcher.start)
        replaced, self._batchers[name] = self._batchers.get(name), batcher
        if replaced:
            self._retire(replaced)

    def _retire(self, batcher: Batcher) -> None:
        """Stops the batcher once its last request is done."""
        self._retiring[batcher] = asyncio.create_task(self._stop_when_idle(batcher))

    async def _stop_when_idle(self, batcher: Batcher) -> None:
        await batcher.idle()
        await batcher.stop()
        del self._retiring[batcher]


def _end_tokens(*configured: int | Sequence[int] | None) -> list[int]:
    """Returns the tokens that end an answer; a model's config and its tokenizer may each name one, several or none."""
    ends = [end for one in configured if one is not None for end in ([one] if isinstance(one, int) else one)]
    return list(dict.fromkeys(ends))
