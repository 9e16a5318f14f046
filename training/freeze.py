"""Freezes conversations into a dataset of their own: the same source gives the same bytes.

The manifest identifies the source by the offsets of its topic or the digests of its shards.
"""

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from soliloquy.dataset.layout import ACCEPTED, ShardLimits
from soliloquy.dataset.manifest import read_manifest, shards_of, versions, write_manifest
from soliloquy.dataset.prompts import write_prompts
from soliloquy.dataset.shards import DatasetWriter
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.recipes.prompts import own_texts
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Undecodable, message_of
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import read_json
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Delivery, Transport
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.runs_pb2 import Run
from soliloquy_training.source import conversations, opened

FINISHED = TOPIC_OF[ConversationFinished].name

Offsets = Mapping[int, int]
# Returns whether to exclude an accepted conversation.
LeaveOut = Callable[[Conversation], bool]


def freeze_dataset(data: str, folder: Path) -> dict[str, Any]:
    """Freezes the accepted conversations of a dataset; returns the manifest."""
    source = [{"name": shard.name, "sha256": shard.sha256} for shard in shards_of(opened(data).manifest, ACCEPTED)]
    return freeze(conversations(data), folder, {"shards": source})


def freeze(found: Iterable[Conversation], folder: Path, source: Mapping[str, Any]) -> dict[str, Any]:
    """Freezes these conversations; returns the manifest, which records their source."""
    with _new_dataset(folder, source) as (add, manifest):
        for conversation in found:
            add(conversation)
    return manifest


async def freeze_topic(
    transport: Transport,
    offsets: Offsets,
    folder: Path,
    *,
    begins: Offsets | None = None,
    leave_out: LeaveOut = lambda _: False,
) -> dict[str, Any]:
    """Freezes the accepted conversations before these offsets, partition by partition, each once.

    `begins` are the offsets to start at, which the topic must still hold.
    """
    counts = Counter(rejected=0, passed_over=0)
    source: dict[str, Any] = {"topic": FINISHED}
    with _new_dataset(folder, source) as (add, manifest):
        starts: dict[int, int] = {}
        for number, end in sorted(offsets.items()):
            # A conversation never changes its partition.
            begin, accepted = (begins or {}).get(number, 0), AcceptedFilter(leave_out)
            async for offset, conversation in _finished(transport, number, begin, end):
                starts.setdefault(number, offset)
                if conversation is None:
                    counts["passed_over"] += 1
                elif accepted.lets_through(conversation):
                    add(conversation)
            counts["rejected"] += accepted.rejected
        for number, begin in (begins or {}).items():
            if (found := starts.get(number, offsets[number])) != begin:
                raise Failure(
                    f"partition {number} of {FINISHED} starts at offset {found}, not at {begin} as when it was frozen: "
                    "earlier messages are gone; leave out --offsets"
                )
        spans = {str(number): [starts.get(number, end), end] for number, end in sorted(offsets.items())}
        source.update(offsets=spans, **counts)
    return manifest


def finished_freeze(folder: Path) -> dict[str, Any]:
    """Returns the manifest of the dataset that was frozen into a folder; empty if none was."""
    manifest = read_manifest(Storage(folder))
    return manifest if manifest and "frozen" in manifest["run"] else {}


def recorded_offsets(manifest: Path) -> tuple[Offsets, Offsets]:
    """Returns the offsets that an earlier freeze started and ended at."""
    try:
        spans = read_json(manifest)["run"]["frozen"]["offsets"]
        begins = {int(number): int(begin) for number, (begin, _) in spans.items()}
        return begins, {int(number): int(end) for number, (_, end) in spans.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{manifest} holds no offsets ({error!r}): use the manifest.json of a frozen topic") from error


async def _finished(
    transport: Transport, number: int, begin: int, end: int
) -> AsyncIterator[tuple[int, Conversation | None]]:
    """Yields offsets and conversations; None for a message that cannot be decoded."""
    if begin >= end:
        return
    reached = -1
    async with aclosing(transport.read(FINISHED, [number], {number: begin})) as deliveries:
        async for delivery in deliveries:
            if delivery.offset >= end:
                return
            reached = delivery.offset
            yield reached, finished_in(delivery)
    if reached < 0:
        raise Failure(f"partition {number} of {FINISHED} no longer holds the messages before offset {end}")


class AcceptedFilter:
    """Lets each accepted conversation through once, unless it is excluded."""

    def __init__(self, leave_out: LeaveOut) -> None:
        self._leave_out = leave_out
        self._seen: set[str] = set()
        self.rejected = 0

    def lets_through(self, conversation: Conversation) -> bool:
        if conversation.id in self._seen or self._leave_out(conversation):
            return False
        self._seen.add(conversation.id)
        rejected = bool(find(conversation.run.recipe).faults(conversation))
        self.rejected += rejected
        return not rejected


def finished_in(delivery: Delivery) -> Conversation | None:
    """Returns None for a message that cannot be decoded; there is no dead-letter topic here."""
    try:
        message = message_of(delivery.event)
    except Undecodable:
        return None
    assert isinstance(message, ConversationFinished)
    return message.conversation


@contextmanager
def _new_dataset(
    folder: Path, source: Mapping[str, Any]
) -> Iterator[tuple[Callable[[Conversation], None], dict[str, Any]]]:
    """Creates the folder atomically at the end of the block, and fills the manifest that it yields."""
    if folder.exists():
        raise Failure(f"{folder} already exists: choose another --out")
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    place, tally, manifest = Storage(unfinished), Tally(), dict[str, Any]()
    first: Run | None = None
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        writer = DatasetWriter(place, unfinished, (), ShardLimits(), tally)

        def add(conversation: Conversation) -> None:
            nonlocal first
            first = first or conversation.run
            _require_same_prompts(first, conversation.run)
            # Without timings, which are not learned.
            serialised = conversation.SerializeToString(deterministic=True)
            writer.add(Collected(conversation=serialised, recipe=conversation.run.recipe))

        yield add, manifest
        # A dataset holds the prompts of a run that changed some once, for all of its rows.
        prompts = own_texts(first.recipe) | dict(first.prompts) if first and first.prompts else {}
        shards = [*writer.close(), *write_prompts(place, prompts)]
        manifest |= {"run": {"frozen": source, **versions()}, "counts": tally.as_json(), "cost": {}, "arrival": {}}
        write_manifest(place, manifest, shards)
        unfinished.replace(folder)
    except (OSError, pa.ArrowException) as error:
        raise Failure(f"cannot write {folder} ({error}): free some space, or choose another --out") from error


def _require_same_prompts(first: Run, other: Run) -> None:
    if _changed(first) != _changed(other):
        raise Failure(
            f"runs {first.id} and {other.id} have different prompts, and a training learns those of one run: choose "
            "the dataset of a run with --data"
        )


def _changed(run: Run) -> tuple[str, Mapping[str, str]]:
    # Conversations of several recipes go together as long as nobody changed a prompt.
    return (run.recipe, run.prompts) if run.prompts else ("", {})
