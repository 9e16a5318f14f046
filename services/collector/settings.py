"""Settings of the collector service."""

from dataclasses import dataclass, field
from pathlib import Path

from soliloquy.dataset.layout import TABLES, ShardLimits

# The conversations that are added at once to a folder, where each is a flush.
IN_FLIGHT = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveSettings:
    # The local folder for conversations that are not in a shard yet.
    data: Path = Path()
    # The folder or store that holds a folder for each dataset, or a namespace of tables; empty for `data`.
    store: str = ""
    # The longest time that a conversation waits for its shard or commit.
    shard_seconds: float = 300.0
    limits: ShardLimits = field(default_factory=ShardLimits)

    @property
    def in_tables(self) -> bool:
        """Whether the store is one of tables, which any number of collectors write."""
        return self.store.startswith(TABLES)
