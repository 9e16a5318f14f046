"""Conversations as they stood at one moment, in a dataset's folder of their own: the same source gives the same bytes.

What is read is known by the offsets of its topic or by the digests of its shards; both are in the manifest.
"""

import json
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from soliloquy.v1.events_pb2 import ConversationFinished

from services.dataset.layout import ACCEPTED, ShardLimits
from services.dataset.manifest import shards_of, versions, write_manifest
from services.dataset.place import Place
from services.dataset.reading import NoDataset
from services.dataset.shards import DatasetWriter
from services.dataset.tally import Tally
from services.dataset.timings import apart
from services.recipes.recipe import find
from services.runtime.passing import messages
from services.runtime.topics import TOPIC_OF
from services.runtime.transports.port import Transport
from training.settings import CannotTrain
from training.source import conversations, opened

FINISHED = TOPIC_OF[ConversationFinished].name

Offsets = Mapping[int, int]


def freeze_dataset(data: str, folder: Path) -> dict[str, Any]:
    """The accepted conversations of a dataset; returns the manifest."""
    source = [{"name": shard.name, "sha256": shard.sha256} for shard in shards_of(opened(data).manifest, ACCEPTED)]
    with _frozen(folder) as frozen:
        for conversation in conversations(data):
            frozen.add(conversation)
        frozen.source = {"shards": source}
    return frozen.manifest


async def freeze_topic(
    transport: Transport, offsets: Offsets, folder: Path, *, begins: Offsets | None = None
) -> dict[str, Any]:
    """The accepted ones among those that finished before these offsets, partition by partition, each once.

    `begins` are the first offsets of an earlier freeze, which are still to be there.
    """
    rejected = 0
    with _frozen(folder) as frozen:
        starts: dict[int, int] = {}
        for number, end in sorted(offsets.items()):
            seen: set[str] = set()
            async for offset, conversation in _finished(transport, number, end):
                starts.setdefault(number, offset)
                if conversation.id in seen:
                    continue
                # A conversation is always in the same partition, and the first one counts.
                seen.add(conversation.id)
                if find(conversation.run.recipe).faults(conversation):
                    rejected += 1
                else:
                    frozen.add(conversation)
        for number, begin in (begins or {}).items():
            if (found := starts.get(number, offsets[number])) != begin:
                raise CannotTrain(
                    f"partition {number} of {FINISHED} begins at offset {found}, and at {begin} when it was frozen: "
                    "what came before is gone; leave out --offsets"
                )
        spans = {str(number): [starts.get(number, end), end] for number, end in sorted(offsets.items())}
        frozen.source = {"topic": FINISHED, "offsets": spans, "rejected": rejected}
    return frozen.manifest


def recorded_offsets(manifest: Path) -> tuple[Offsets, Offsets]:
    """Those that an earlier freeze began and ended at."""
    try:
        spans = json.loads(manifest.read_bytes())["run"]["frozen"]["offsets"]
        begins = {int(number): int(begin) for number, (begin, _) in spans.items()}
        return begins, {int(number): int(end) for number, (_, end) in spans.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotTrain(
            f"{manifest} holds no offsets ({error!r}): name the manifest.json of a frozen topic"
        ) from error


async def _finished(transport: Transport, number: int, end: int) -> AsyncIterator[tuple[int, Any]]:
    if end == 0:
        return
    reached = -1
    async with aclosing(transport.read(FINISHED, [number])) as deliveries:
        async for delivery, message in messages(deliveries):
            if delivery.offset >= end:
                return
            reached = delivery.offset
            assert isinstance(message, ConversationFinished)
            yield reached, message.conversation
    if reached < 0:
        raise CannotTrain(f"partition {number} of {FINISHED} no longer holds what was before its offset {end}")


class Frozen:
    """A dataset of accepted conversations in the order in which they come."""

    def __init__(self, folder: Path) -> None:
        self._place, self._tally = Place(folder), Tally()
        self._writer = DatasetWriter(self._place, folder, (), ShardLimits())
        self.source: dict[str, Any] = {}
        self.manifest: dict[str, Any] = {}

    def add(self, conversation: Conversation) -> None:
        # When it finished, and how long that took, is no part of what is learned.
        kept, _ = apart(conversation, at=0.0)
        self._writer.add(Collected(conversation=kept.SerializeToString(deterministic=True)))
        self._tally.add(kept, accepted=True)

    def close(self) -> None:
        self.manifest = {
            "run": {"frozen": self.source, **versions()},
            "counts": self._tally.as_json(),
            "cost": {},
            "arrival": {},
        }
        write_manifest(self._place, self.manifest, self._writer.close())


@contextmanager
def _frozen(folder: Path) -> Iterator[Frozen]:
    """A folder that appears whole, with what is added within this block."""
    if folder.exists():
        raise CannotTrain(f"{folder} is there already: choose another --out")
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        frozen = Frozen(unfinished)
        yield frozen
        frozen.close()
        unfinished.replace(folder)
    except (OSError, pa.ArrowException) as error:
        raise CannotTrain(f"{folder} cannot be written ({error}): make room, or choose another --out") from error
    except NoDataset as error:
        raise CannotTrain(str(error)) from error
