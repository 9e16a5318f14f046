"""Settings of the collector service."""

from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.dataset.layout import ShardLimits


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveSettings:
    # The local folder for conversations that are not in a shard yet.
    data: Path = Path()
    # The folder or store that holds a folder for each dataset; empty for `data`.
    store: str = ""
    # The longest time that a conversation waits for its shard.
    shard_seconds: float = 300.0
    limits: ShardLimits = field(default_factory=ShardLimits)
