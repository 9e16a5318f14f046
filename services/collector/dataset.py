"""A finished run's dataset: shards in the order of the run, and the manifest that vouches for them."""

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from services.collector.journal import Journal
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.manifest import versions, write_manifest
from soliloquy.dataset.rows import rows
from soliloquy.dataset.shards import GROUP_ROWS, DatasetWriter, remove_leftovers
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally

Costs = Callable[[dict[str, Any]], dict[str, float]]


def write_dataset(
    place: Storage, scratch: Path, journal: Journal, *, run: dict[str, Any], cost: Costs, topics: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes the dataset from its journal; the manifest comes last, so a folder with a manifest is complete.

    Returns its counts. The run says how many accepted conversations are wanted: there are never more.
    """
    remove_leftovers(place, ())
    tally = Tally()
    writer = DatasetWriter(place, scratch, (), ShardLimits(), tally)
    for collected in journal.wanted(run["conversations"]):
        writer.add(collected)
    shards = writer.close()
    counts = tally.as_json()
    manifest = {
        "run": run | versions(),
        "counts": counts,
        # Of the conversations that are here; what calls cost that came to nothing, or were repeated, the metrics say.
        "cost": cost(counts["tokens"]),
        # What differs from one growing of the run to another.
        "arrival": {
            "duplicates": journal.duplicates,
            "discarded": journal.accepted + journal.rejected - tally.accepted - tally.rejected,
            "topics": dict(topics),
        },
    }
    write_manifest(place, manifest, shards)
    return counts


def counts_so_far(journal: Journal, conversations: int) -> dict[str, Any]:
    """What the dataset would count if it was written from what is there."""
    tally = Tally()
    for accepted in (True, False):
        kept = (one.conversation for one in journal.wanted(conversations) if accepted != bool(one.reasons))
        while group := list(islice(kept, GROUP_ROWS)):
            tally.add(rows(group), accepted=accepted)
    return tally.as_json()
