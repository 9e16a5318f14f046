"""Looks which runs have all their conversations in their datasets, and reads single ones."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from itertools import islice

from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.manifest import UnreadableManifest, read_manifest, shards_of
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.reading import messages
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.gateway.index import Entry
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.runs import KnownRun

# The pause between two looks at the dataset of one run, which doubles while conversations are missing.
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
# Datasets looked at in one go: in an object store each look is a request.
MOST_LOOKS = 64


class DatasetLooks:
    def __init__(self, datasets: str | None) -> None:
        """`datasets` is the collector's folder or object store; None where the gateway does not see it."""
        self._datasets = datasets
        # For each run, the time of the next look, and the pause after it.
        self._next: dict[str, tuple[float, float]] = {}

    async def look(self, runs: Iterable[KnownRun]) -> list[str]:
        """Counts what the datasets of ended runs hold; returns the runs of which nothing is missing since."""
        due = list(islice(self._due(runs), MOST_LOOKS)) if self._datasets else []
        for known in due:
            known.stored = await asyncio.to_thread(stored, Storage(f"{self._datasets}/{known.id}"))
        return [known.id for known in due if known.is_stored]

    def _due(self, runs: Iterable[KnownRun]) -> Iterator[KnownRun]:
        now = time.monotonic()
        for known in runs:
            if not known.is_over or known.is_stored:
                self._next.pop(known.id, None)
                continue
            at, pause = self._next.get(known.id, (now, FIRST_PAUSE_SECONDS))
            if at <= now:
                self._next[known.id] = (now + pause, min(2 * pause, LONGEST_PAUSE_SECONDS))
                yield known


def stored(place: Storage) -> int:
    """Counts the conversations in a dataset; 0 for one that cannot be read, which a download explains."""
    try:
        manifest = read_manifest(place)
    except (OSError, UnreadableManifest):
        return 0
    return sum(shard.rows for shard in shards_of(manifest, ACCEPTED, REJECTED)) if manifest else 0


async def read_conversation(entry: Entry, transport: Transport, datasets: str | None) -> Conversation:
    """`datasets` is the collector's folder or object store; raises Refusal where the conversation is in neither."""
    conversation = await asyncio.to_thread(_in_datasets, entry, datasets) if datasets else None
    if conversation is None and entry.origin:
        conversation = await _in_topic(entry.origin, entry.shown.id, transport)
    if conversation is None:
        raise Refusal(
            Code.UNAVAILABLE,
            f"conversation {entry.shown.id} of run {entry.shown.run} cannot be read: its topic has dropped it, "
            "and no dataset here holds it; start the gateway with the collector's --data or --store",
        )
    return conversation


def _in_datasets(entry: Entry, datasets: str) -> Conversation | None:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.reading import Dataset, NoDataset

    try:
        return Dataset(f"{datasets}/{entry.shown.run}").whole(entry.shown.id, rejected=not entry.shown.accepted)
    except NoDataset:
        return None


async def _in_topic(origin: Origin, conversation_id: str, transport: Transport) -> Conversation | None:
    if origin.topic != TOPIC_OF[ConversationFinished].name:
        return None
    events = transport.read(origin.topic, [origin.partition], {origin.partition: origin.offset})
    async with aclosing(messages(events)) as heard:
        async for _, message in heard:
            assert isinstance(message, ConversationFinished)
            return message.conversation if message.conversation.id == conversation_id else None
    return None
