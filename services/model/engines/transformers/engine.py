"""Runs weights with transformers: continuous batching on GPU or CPU, with several adapters at once."""

import asyncio
import copy
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import llguidance.hf
import torch
import transformers
from peft import PeftModel
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer

from soliloquy.runtime.weights import FOLDER_ONLY
from soliloquy_services.model.engines.engine import EngineFailed, MissingWeights, TokenDelta, TokenRequest, WrongBase
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.transformers.batching import PAGE_TOKENS, Batcher

_BASE = ""
_MAX_ERROR_CHARACTERS = 300


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
        tokenizer = AutoTokenizer.from_pretrained(self._settings.model, **FOLDER_ONLY)
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


def placement() -> tuple[str, torch.dtype]:
    """Returns device and precision: the GPU if there is one."""
    return ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)


def load_base(folder: Path) -> Any:
    device, dtype = placement()
    transformers.utils.logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, dtype=dtype, **FOLDER_ONLY)
    except (OSError, ValueError, SafetensorError) as error:
        raise MissingWeights(f"cannot load the model in {folder}: {_in_a_line(error)}") from error
    return model.to(device).eval()


def with_adapter(base: Any, folder: Path) -> Any:
    """Returns a separate model of which only the adapter takes memory, so that several adapters run at once."""
    with torch.device("meta"):
        shell = type(base)(copy.deepcopy(base.config))
    shell.load_state_dict(base.state_dict(), assign=True)
    _share_buffers(base, shell)
    shell.generation_config = copy.deepcopy(base.generation_config)
    try:
        adapted = PeftModel.from_pretrained(shell, str(folder), autocast_adapter_dtype=False)
    except (RuntimeError, ValueError) as error:
        raise WrongBase(f"the adapter in {folder} does not fit the model: {_in_a_line(error)}") from error
    except (OSError, SafetensorError, TypeError) as error:
        raise MissingWeights(f"cannot load the adapter in {folder}: {_in_a_line(error)}") from error
    return adapted.get_base_model().to(base.device).eval()


def _share_buffers(base: Any, shell: Any) -> None:
    """Shares the buffers that no state dict holds, such as the angles of the rotary embedding."""
    for name, buffer in base.named_buffers():
        owner, _, own_name = name.rpartition(".")
        shell.get_submodule(owner).register_buffer(own_name, buffer, persistent=False)


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_MAX_ERROR_CHARACTERS]
