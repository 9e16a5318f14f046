"""Settings of the engines that run weights."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    # The base model: a folder with config.json, tokenizer.json and *.safetensors.
    model: Path
    # The most tokens that a request may ask for.
    max_tokens: int = 4096
    # Requests that may wait for their first token; more are refused.
    max_waiting: int = 256
    # Adapters loaded at the same time.
    max_adapters: int = 8
    # Requests in one batch, per adapter.
    batch: int = 32
    # Tokens of running requests that the cache holds, per adapter.
    cache_tokens: int = 32_768
    # An engine with requests and no step for this long counts as stuck.
    stall_seconds: float = 60.0
