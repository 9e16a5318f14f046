"""How large a shard may be."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardLimits:
    """What a shard holds at most, before it is compressed."""

    rows: int = 10_000
    bytes: int = 256 * 1024**2
