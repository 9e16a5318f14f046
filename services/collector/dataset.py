"""A finished run's dataset: shards in the order of the run, and the manifest that vouches for them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from soliloquy.v1.conversation_pb2 import Conversation

from services.collector.journal import Journal
from services.dataset.limits import ShardLimits
from services.dataset.manifest import versions, write_manifest
from services.dataset.place import Place
from services.dataset.shards import DatasetWriter, remove_leftovers
from services.dataset.tally import Tally

Costs = Callable[[dict[str, Any]], dict[str, float]]


def write_dataset(
    place: Place, scratch: Path, journal: Journal, *, run: dict[str, Any], cost: Costs, topics: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes the dataset from its journal; the manifest comes last, so a folder with a manifest is complete.

    Returns its counts. The run says how many accepted conversations are wanted: there are never more.
    """
    remove_leftovers(place, ())
    writer, tally = DatasetWriter(place, scratch, (), ShardLimits()), Tally()
    for collected in journal.wanted(run["conversations"]):
        writer.add(collected)
        tally.add(Conversation.FromString(collected.conversation), accepted=not collected.reasons)
    counts = tally.as_json()
    manifest = {
        "run": run | versions(),
        "counts": counts,
        # Of the conversations that are here; what calls cost that came to nothing, or were repeated, the metrics say.
        "cost": cost(counts["tokens"]),
        # What differs from one growing of the run to another.
        "arrival": {
            "duplicates": journal.duplicates,
            "discarded": journal.tally.accepted + journal.tally.rejected - tally.accepted - tally.rejected,
            "topics": dict(topics),
        },
    }
    write_manifest(place, manifest, writer.close())
    return counts
