"""Writes collected conversations as Parquet shards: accepted ones, rejected ones, and their timings."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.dataset.layout import ACCEPTED, KINDS, REJECTED, TIMED, ShardLimits
from soliloquy.dataset.manifest import Shard
from soliloquy.dataset.rows import REASONS, rows
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.dataset.timings import timings, without_timings
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected

# The largest row group.
GROUP_ROWS = 1000
GROUP_BYTES = 16 * 1024**2


class DatasetWriter:
    """Writes conversations in the order of their arrival.

    Each shard appears complete, under the next free number, and holds the conversations of one recipe.
    """

    def __init__(
        self, storage: Storage, scratch: Path, present: Sequence[Shard], limits: ShardLimits, tally: Tally
    ) -> None:
        """Adds what it writes to the tally."""
        self._limits = limits
        self._tally = tally
        # The conversations that each service touched, by its digest.
        self.services: Counter[str] = Counter()
        self._shards = {
            kind: _ShardFiles(kind, storage, scratch, sum(shard.kind == kind for shard in present)) for kind in KINDS
        }
        self._kinds = {
            kind: _RowBuffer(self._shards[kind], limits, partial(self._rows, kind)) for kind in (ACCEPTED, REJECTED)
        }

    def add(self, collected: Collected) -> None:
        self._kinds[REJECTED if collected.reasons else ACCEPTED].add(collected)

    def close(self) -> list[Shard]:
        """Returns the shards written, which count once a manifest names them."""
        for kind in self._kinds.values():
            kind.finish()
        self._shards[TIMED].finish()
        return [shard for shards in self._shards.values() for shard in shards.finished]

    def _rows(self, kind: str, group: Sequence[Collected]) -> pa.RecordBatch:
        """Writes the timings and counts the rows."""
        grown = rows((one.conversation for one in group), group[0].recipe)
        # Imported conversations have no timings.
        if group[0].HasField("timings"):
            timed = self._shards[TIMED]
            if timed.rows + len(grown) > self._limits.rows:
                timed.finish()
            whole = (Conversation.FromString(one.conversation) for one in group)
            noted = [one.timings for one in group]
            timed.write(timings(whole, (one.collected_at for one in noted), (one.services for one in noted)))
            for one in noted:
                self.services.update(one.services)
        kept = without_timings(grown)
        self._tally.add(kept, accepted=kind == ACCEPTED)
        if kind == ACCEPTED:
            return kept
        return kept.append_column(REASONS, pa.array([list(one.reasons) for one in group], REASONS.type))


class _RowBuffer:
    """Collects the conversations of one kind, accepted or rejected, into row groups and shards."""

    def __init__(
        self, shards: "_ShardFiles", limits: ShardLimits, to_rows: Callable[[Sequence[Collected]], pa.RecordBatch]
    ) -> None:
        self._shards = shards
        self._limits = limits
        self._to_rows = to_rows
        self._group: list[Collected] = []
        self._group_bytes = self._rows = self._bytes = 0

    def add(self, collected: Collected) -> None:
        size = len(collected.conversation)
        if self._group and collected.recipe != self._group[0].recipe:
            self.finish()
        if self._rows == self._limits.rows or (self._rows and self._bytes + size > self._limits.bytes):
            self.finish()
        elif len(self._group) == GROUP_ROWS or (self._group and self._group_bytes + size > GROUP_BYTES):
            self._write()
        self._group.append(collected)
        self._group_bytes += size
        self._rows += 1
        self._bytes += size

    def finish(self) -> None:
        if self._group:
            self._write()
        self._shards.finish()
        self._rows = self._bytes = 0

    def _write(self) -> None:
        self._shards.write(self._to_rows(self._group))
        self._group, self._group_bytes = [], 0


class _Writer(pq.ParquetWriter):  # type: ignore[misc]  # Arrow has no types.
    """Once thrown away, it writes no more: pyarrow's would end the file, and print that a full disk lets it not."""

    def __del__(self) -> None:
        pass


class _ShardFiles:
    """The shards of one kind."""

    def __init__(self, kind: str, storage: Storage, scratch: Path, first: int) -> None:
        self._kind = kind
        self._storage = storage
        self._scratch = scratch / f"{kind}.unfinished"
        self._first = first
        self._writer: _Writer | None = None
        # The rows of the shard being written.
        self.rows = 0
        self.finished: list[Shard] = []

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._scratch.parent.mkdir(parents=True, exist_ok=True)
            self._writer = _Writer(self._scratch, batch.schema, compression="zstd")
        self._writer.write_batch(batch)
        self.rows += len(batch)

    def finish(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        with self._scratch.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        name = f"{self._kind}/{self._first + len(self.finished):05}.parquet"
        size = self._scratch.stat().st_size
        self.finished.append(Shard(name=name, rows=self.rows, bytes=size, sha256=digest))
        self._storage.put(name, self._scratch)
        self._writer, self.rows = None, 0


def remove_leftovers(storage: Storage, counting: Sequence[Shard]) -> None:
    """Removes shards that the manifest does not name; a start that was killed before its manifest left them."""
    counted = {shard.name for shard in counting}
    for kind in KINDS:
        for name in storage.names(kind):
            if name not in counted:
                storage.remove(name)
