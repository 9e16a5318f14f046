"""The kinds of shards, and their limits; apart from shards.py, which loads Arrow."""

from dataclasses import dataclass

ACCEPTED, REJECTED, TIMED = KINDS = ("accepted", "rejected", "timings")
# Begins the location of datasets that are tables.
TABLES = "iceberg:"
# The folder of what an unfinished run needs, inside its dataset's.
WORKING = ".run"
# The files of a run's prompts, where they differ from the recipe's own.
PROMPTS = "prompts"
# The files that name the shards of a dataset of many.
LISTS = "lists"
# The prompts again, in the working folder of an unfinished run.
UNFINISHED_PROMPTS = "prompts.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardLimits:
    """The largest shard, before compression."""

    rows: int = 10_000
    bytes: int = 256 * 1024**2
