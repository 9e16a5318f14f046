"""What an operator chooses for the engines that run weights."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    # The base model: a folder with config.json, tokenizer.json and *.safetensors.
    model: Path
    # The most that a request may ask for.
    max_tokens: int = 4096
    # Requests that may wait for their first token; further ones are refused.
    max_waiting: int = 256
    # Loaded at once.
    max_adapters: int = 8
    # Requests computed together, for each adapter.
    batch: int = 32
    # Tokens of all running requests that are kept in memory, for each adapter.
    cache_tokens: int = 32_768
    # With requests at hand and no step of theirs done for so long, the engine counts as stuck.
    stall_seconds: float = 60.0
