"""Restores the journal of a finished run from its dataset, so that the run can be extended."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from soliloquy.dataset.frames import Frames
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import REASONS, messages, recipe_of
from soliloquy.dataset.timings import timed, timings_by_id
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected

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
                yield restored
