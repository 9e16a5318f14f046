"""What an operator may set for the collector service."""

from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.dataset.layout import ShardLimits


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectorSettings:
    # Conversations judged and written at once; they share one flush to the disk.
    max_in_flight: int = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveSettings:
    # For what is not in a shard yet; on a disk of this machine.
    data: Path = Path()
    # Where the datasets lie, each in a folder of its own; the same folder where nothing else is said.
    store: str = ""
    # How long a conversation waits at most for its shard.
    shard_seconds: float = 300.0
    limits: ShardLimits = field(default_factory=ShardLimits)
