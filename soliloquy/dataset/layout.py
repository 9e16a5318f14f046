"""What a dataset's shards are called, and what one holds at most."""

from dataclasses import dataclass

ACCEPTED, REJECTED, TIMED = KINDS = ("accepted", "rejected", "timings")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardLimits:
    """What a shard holds at most, before it is compressed."""

    rows: int = 10_000
    bytes: int = 256 * 1024**2
