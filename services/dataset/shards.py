"""Collected conversations as Parquet files of a bounded size: accepted, rejected, and their timings apart."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from soliloquy.v1.dataset_pb2 import Collected

from services.dataset.layout import ACCEPTED, KINDS, REJECTED, TIMED, ShardLimits
from services.dataset.manifest import Shard
from services.dataset.place import Place
from services.dataset.rows import REASONS, SCHEMA, TIMINGS, rows, timing_rows
from services.dataset.tally import Tally

# Rows that are compressed and read together.
GROUP_ROWS = 1000
GROUP_BYTES = 16 * 1024**2


class DatasetWriter:
    """Writes conversations in the order in which they come; each shard appears whole, under the next free number."""

    def __init__(
        self, place: Place, scratch: Path, present: Sequence[Shard], limits: ShardLimits, tally: Tally
    ) -> None:
        """What it writes is added to the tally."""
        self._tally = tally
        made: dict[str, tuple[pa.Schema, Callable[[Sequence[Collected]], pa.RecordBatch]]] = {
            ACCEPTED: (SCHEMA, self._accepted),
            REJECTED: (SCHEMA.append(REASONS), self._rejected),
            TIMED: (TIMINGS, _timings),
        }
        self._kinds = {
            kind: _Kind(kind, schema, batch, place, scratch, sum(shard.kind == kind for shard in present), limits)
            for kind, (schema, batch) in made.items()
        }

    def add(self, collected: Collected) -> None:
        self._kinds[REJECTED if collected.reasons else ACCEPTED].add(collected)
        if collected.HasField("timings"):
            self._kinds[TIMED].add(collected)

    def close(self) -> list[Shard]:
        """Those that it has written, which count once a manifest names them."""
        return [shard for kind in self._kinds.values() for shard in kind.close()]

    def _accepted(self, group: Sequence[Collected]) -> pa.RecordBatch:
        return self._counted(group, accepted=True)

    def _rejected(self, group: Sequence[Collected]) -> pa.RecordBatch:
        reasons = pa.array([list(one.reasons) for one in group], REASONS.type)
        return self._counted(group, accepted=False).append_column(REASONS, reasons)

    def _counted(self, group: Sequence[Collected], *, accepted: bool) -> pa.RecordBatch:
        made = rows(one.conversation for one in group)
        self._tally.add(made, accepted=accepted)
        return made


def _timings(group: Sequence[Collected]) -> pa.RecordBatch:
    return timing_rows(one.timings.SerializeToString() for one in group)


class _Kind:
    """The shards of one kind."""

    def __init__(
        self,
        kind: str,
        schema: pa.Schema,
        batch: Callable[[Sequence[Collected]], pa.RecordBatch],
        place: Place,
        scratch: Path,
        first: int,
        limits: ShardLimits,
    ) -> None:
        self._kind = kind
        self._schema = schema
        self._batch = batch
        self._place = place
        self._scratch = scratch / f"{kind}.unfinished"
        self._first = first
        self._limits = limits
        self._shards: list[Shard] = []
        self._writer: pq.ParquetWriter | None = None
        self._group: list[Collected] = []
        self._group_bytes = self._rows = self._bytes = 0

    def add(self, collected: Collected) -> None:
        size = len(collected.conversation)
        if self._rows == self._limits.rows or (self._rows and self._bytes + size > self._limits.bytes):
            self._finish()
        elif len(self._group) == GROUP_ROWS or (self._group and self._group_bytes + size > GROUP_BYTES):
            self._write_group()
        self._group.append(collected)
        self._group_bytes += size
        self._rows += 1
        self._bytes += size

    def close(self) -> list[Shard]:
        if self._rows:
            self._finish()
        return self._shards

    def _write_group(self) -> None:
        if self._writer is None:
            self._scratch.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._scratch, self._schema, compression="zstd")
        self._writer.write_batch(self._batch(self._group))
        self._group, self._group_bytes = [], 0

    def _finish(self) -> None:
        self._write_group()
        assert self._writer
        self._writer.close()
        with self._scratch.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        name = f"{self._kind}/{self._first + len(self._shards):05}.parquet"
        size = self._scratch.stat().st_size
        self._shards.append(Shard(name=name, rows=self._rows, bytes=size, sha256=digest))
        self._place.put(name, self._scratch)
        self._writer, self._rows, self._bytes = None, 0, 0


def remove_leftovers(place: Place, counting: Sequence[Shard]) -> None:
    """Shards that no manifest names: of a start that ended before it could write one."""
    counted = {shard.name for shard in counting}
    for kind in KINDS:
        for name in place.names(kind):
            if name not in counted:
                place.remove(name)
