"""Writes the dataset of a finished run: shards in the order of the run, then the manifest."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from soliloquy.dataset.frames import Frames
from soliloquy.dataset.layout import ShardLimits
from soliloquy.dataset.lineage import NONE_KNOWN, Descriptions, listed
from soliloquy.dataset.manifest import MANIFEST, OPTIONS, versions, write_manifest
from soliloquy.dataset.prompts import write_prompts
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import REASONS, messages, recipe_of, rows
from soliloquy.dataset.shards import GROUP_ROWS, DatasetWriter, remove_leftovers
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.dataset.timings import timed, timings_by_id
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from soliloquy_services.collector.journal import Journal

Costs = Callable[[dict[str, Any]], dict[str, float | None]]


def write_dataset(
    storage: Storage,
    scratch: Path,
    journal: Journal,
    *,
    run: dict[str, Any],
    options: Mapping[str, Any] = {},
    cost: Costs,
    topics: Mapping[str, Any],
    prices: Mapping[str, Any] = {},
    spent: Sequence[Mapping[str, Any]] = (),
    prompts: Mapping[str, str] = {},
    services: Descriptions = NONE_KNOWN,
) -> dict[str, Any]:
    """Writes the dataset from its journal and returns its counts.

    The manifest is written last, so a folder with a manifest is complete. The dataset never holds more accepted
    conversations than the run asks for. `prompts` maps files to texts, for a run that changed those of its recipe;
    `options` generate it again, `spent` is what all calls of the run were billed, as far as it knows; `services` are
    described by their digests.
    """
    # Without its manifest, no shard of a run that is extended counts: a kill repeats all that follows.
    if storage.read(MANIFEST) is not None:
        storage.remove(MANIFEST)
    remove_leftovers(storage, ())
    tally = Tally()
    writer = DatasetWriter(storage, scratch, (), ShardLimits(), tally)
    for collected in journal.wanted(run["conversations"]):
        writer.add(collected)
    shards = [*writer.close(), *write_prompts(storage, prompts)]
    counts = tally.as_json()
    manifest = {
        "run": run | versions(run.get("recipe", "")),
        **({OPTIONS: dict(options)} if options else {}),
        "counts": counts,
        # The cost of these conversations; null where no price is known.
        "cost": cost(counts["tokens"]),
        "prices": dict(prices),
        # Differs between executions of the same run.
        "arrival": {
            "duplicates": journal.duplicates,
            "discarded": journal.accepted + journal.rejected - tally.accepted - tally.rejected,
            "topics": dict(topics),
            "services": listed(writer.services, services),
            # All calls count, also those whose conversation was dropped or that were repeated.
            **({"spent": list(spent)} if spent else {}),
        },
    }
    write_manifest(storage, manifest, shards)
    return counts


def counts_so_far(journal: Journal, conversations: int) -> dict[str, Any]:
    """Counts the dataset as it would be if it were written from the journal as it is."""
    tally = Tally()
    for accepted in (True, False):
        kept = (one for one in journal.wanted(conversations) if accepted != bool(one.reasons))
        while group := list(islice(kept, GROUP_ROWS)):
            tally.add(rows((one.conversation for one in group), group[0].recipe), accepted=accepted)
    return tally.as_json()


# Frames that share a flush.
_AT_ONCE = 256


def restore_journal(dataset: Dataset, journal: Path) -> None:
    """The journal appears complete or not at all."""
    unfinished = journal.with_name("restored")
    unfinished.unlink(missing_ok=True)
    asyncio.run(_write(Frames(unfinished), dataset))
    unfinished.rename(journal)


async def _write(frames: Frames, dataset: Dataset) -> None:
    try:
        collected = _collected(dataset)
        while group := list(islice(collected, _AT_ONCE)):
            await asyncio.gather(*(frames.append(one.SerializeToString()) for one in group))
    finally:
        frames.close()


def _collected(dataset: Dataset) -> Iterator[Collected]:
    times = timings_by_id(dataset.timings())
    for rejected in (False, True):
        for batch in dataset.batches(rejected=rejected):
            reasons = batch[REASONS.name].to_pylist() if rejected else [()] * batch.num_rows
            kept = batch.drop_columns([REASONS.name]) if rejected else batch
            for message, why in zip(messages(kept), reasons, strict=True):
                conversation = Conversation.FromString(message)
                taken = times.get(conversation.id)
                restored = Collected(
                    conversation=timed(conversation, taken).SerializeToString(deterministic=True),
                    reasons=why,
                    id=conversation.id,
                    ordinal=conversation.ordinal,
                    attempt=conversation.attempt,
                    recipe=recipe_of(batch),
                )
                if taken:
                    restored.timings.collected_at = taken.collected_at
                    restored.timings.services.extend(taken.services)
                yield restored
