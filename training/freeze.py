"""Conversations as they stood at one moment, in a dataset's folder of their own: the same source gives the same bytes.

What is read is known by the offsets of its topic or by the digests of its shards; both are in the manifest.
"""

import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from soliloquy.v1.events_pb2 import ConversationFinished

from services.dataset.reading import NoDataset
from services.dataset.rows import SCHEMA, rows
from services.recipes.recipe import find
from services.runtime.passing import messages
from services.runtime.topics import TOPIC_OF
from services.runtime.transports.port import Transport
from training.settings import CannotTrain
from training.source import conversations, opened

FINISHED = TOPIC_OF[ConversationFinished].name
FORMAT = 2
SHARD_ROWS = 10_000
GROUP_ROWS = 500
_MANIFEST = "manifest.json"

Offsets = Mapping[int, int]


class Shards:
    """Writes rows in the order in which they come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._group: list[bytes] = []
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0
        self.written: list[dict[str, Any]] = []

    def add(self, conversation: bytes) -> None:
        self._group.append(conversation)
        if len(self._group) == GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._end()

    def _flush(self) -> None:
        if not self._group:
            return
        if self._writer is None:
            self._name = f"accepted/{len(self.written):05d}.parquet"
            (self._folder / "accepted").mkdir(exist_ok=True)
            self._writer = pq.ParquetWriter(self._folder / self._name, SCHEMA, compression="zstd")
        self._writer.write_batch(rows(self._group))
        self._rows += len(self._group)
        self._group = []
        if self._rows >= SHARD_ROWS:
            self._end()

    def _end(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        path = self._folder / self._name
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = path.stat().st_size
        self.written.append({"name": self._name, "rows": self._rows, "bytes": size, "sha256": digest})
        self._writer, self._rows = None, 0


def freeze_dataset(data: str, folder: Path) -> dict[str, Any]:
    """The accepted conversations of a dataset; returns the manifest."""
    source = [shard for shard in opened(data).manifest["shards"] if str(shard["name"]).startswith("accepted/")]
    with _frozen(folder) as (shards, manifest):
        for conversation in conversations(data):
            shards.add(conversation.SerializeToString())
        manifest["source"] = {"shards": [{key: shard[key] for key in ("name", "sha256")} for shard in source]}
    return manifest


async def freeze_topic(
    transport: Transport, offsets: Offsets, folder: Path, *, begins: Offsets | None = None
) -> dict[str, Any]:
    """The accepted ones among those that finished before these offsets, partition by partition, each once.

    `begins` are the first offsets of an earlier freeze, which are still to be there.
    """
    rejected = 0
    with _frozen(folder) as (shards, manifest):
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
                    shards.add(conversation.SerializeToString())
        for number, begin in (begins or {}).items():
            if (found := starts.get(number, offsets[number])) != begin:
                raise CannotTrain(
                    f"partition {number} of {FINISHED} begins at offset {found}, and at {begin} when it was frozen: "
                    "what came before is gone; leave out --offsets"
                )
        spans = {str(number): [starts.get(number, end), end] for number, end in sorted(offsets.items())}
        manifest["source"] = {"topic": FINISHED, "offsets": spans}
        manifest["counts"] = {"rejected": rejected}
    return manifest


def recorded_offsets(manifest: Path) -> tuple[Offsets, Offsets]:
    """Those that an earlier freeze began and ended at."""
    try:
        spans = json.loads(manifest.read_bytes())["source"]["offsets"]
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


@contextmanager
def _frozen(folder: Path) -> Iterator[tuple[Shards, dict[str, Any]]]:
    """A folder that appears whole, with the manifest filled in within this block."""
    if folder.exists():
        raise CannotTrain(f"{folder} is there already: choose another --out")
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    manifest: dict[str, Any] = {"format": FORMAT, "run": {"soliloquy": version("soliloquy")}}
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        shards = Shards(unfinished)
        yield shards, manifest
        shards.close()
        manifest["counts"] = {"accepted": sum(shard["rows"] for shard in shards.written), **manifest.get("counts", {})}
        manifest["shards"] = shards.written
        (unfinished / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
        unfinished.replace(folder)
    except (OSError, pa.ArrowException) as error:
        raise CannotTrain(f"{folder} cannot be written ({error}): make room, or choose another --out") from error
    except NoDataset as error:
        raise CannotTrain(str(error)) from error
