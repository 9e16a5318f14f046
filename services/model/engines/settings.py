"""Settings of the engines that run weights."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from soliloquy_services.model.engines.vllm.settings import VllmSettings


class EngineSettings(BaseModel, frozen=True, extra="forbid"):
    # The base model: a folder with config.json, tokenizer.json and *.safetensors.
    model: Path
    # The most tokens that a request may ask for.
    max_tokens: int = Field(default=4096, ge=1)
    # Requests in one batch; of transformers, per adapter.
    batch: int = Field(default=32, ge=1)
    # Requests that may wait for their first token, by default as many as two batches; more are refused.
    max_waiting: int | None = Field(default=None, ge=1)
    # Adapters loaded at the same time; 0 serves the base model alone.
    max_adapters: int = Field(default=8, ge=0)
    # The highest rank of an adapter. vLLM reserves memory for it.
    adapter_rank: Literal[8, 16, 32, 64, 128, 256] = 64
    # Tokens of running requests that the cache of transformers holds, per adapter.
    cache_tokens: int = Field(default=32_768, ge=1)
    # An engine with requests and no step for this long counts as stuck.
    stall_seconds: float = Field(default=60.0, gt=0)
    vllm: VllmSettings = VllmSettings()

    @property
    def most_waiting(self) -> int:
        return self.max_waiting or 2 * self.batch

    @model_validator(mode="after")
    def _a_step_has_room_for_the_batch(self) -> Self:
        tokens = self.vllm.batched_tokens
        if tokens is not None and tokens < self.batch:
            raise ValueError(f"vllm.batched_tokens is {tokens}, and a step takes a token of each of batch {self.batch}")
        return self
