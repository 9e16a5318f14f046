"""Recomputes what a manifest says: every count and checksum, and that no conversation is there twice."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.dataset.ids import IdSet
from soliloquy.dataset.layout import ACCEPTED, KINDS, TIMED
from soliloquy.dataset.manifest import MANIFEST, Shard, UnreadableManifest, read_manifest, shards_of, versions
from soliloquy.dataset.rows import completed
from soliloquy.dataset.shards import GROUP_ROWS, SCHEMAS
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally

_CHUNK = 1024 * 1024


def findings(place: Storage) -> Iterator[str]:
    """One line for each thing that is not as it should be."""
    try:
        manifest = read_manifest(place)
    except UnreadableManifest as error:
        yield str(error)
        return
    if manifest is None:
        yield f"there is no {MANIFEST}: the dataset is not finished, or never was one"
        return
    yield from _unnamed(place, manifest)
    verification = _Verification(place, manifest)
    for shard in shards_of(manifest, *KINDS):
        yield from verification.of(shard)
    yield from verification.of_all()


def _unnamed(place: Storage, manifest: dict[str, Any]) -> Iterator[str]:
    named = {shard.name for shard in shards_of(manifest, *KINDS)}
    for kind in KINDS:
        yield from (f"{name} is not in the manifest" for name in place.names(kind) if name not in named)


class _Verification:
    def __init__(self, place: Storage, manifest: dict[str, Any]) -> None:
        self._place = place
        self._manifest = manifest
        self._same_contract = manifest["run"].get("protos_sha256") == versions()["protos_sha256"]
        # A run's conversations are in its order; what was written as it came has none.
        self._wanted: int | None = manifest["run"].get("conversations")
        self._last: dict[str, list[int]] = {}
        self._ids, self._timed = IdSet(), IdSet()
        self._tally = Tally()
        self._unread = False

    def of(self, shard: Shard) -> Iterator[str]:
        try:
            yield from self._file(shard)
            with self._place.opened(shard.name) as file:
                yield from self._rows(shard, pq.ParquetFile(file))
        except FileNotFoundError:
            self._unread = True
            yield f"{shard.name} is missing"
        except (pa.ArrowException, OSError) as error:
            self._unread = True
            yield f"{shard.name} cannot be read ({error})"

    def of_all(self) -> Iterator[str]:
        """What only all shards together show; of a dataset that could not be read nothing more is said."""
        if self._unread:
            return
        counted, told = self._tally.as_json(), self._manifest["counts"]
        # One of an earlier version does not count all of it.
        for name in told:
            if counted.get(name) != told[name]:
                yield f"the manifest counts {told[name]} {name}; there are {counted.get(name)}"
        if self._wanted is not None and self._tally.accepted > self._wanted:
            yield f"{self._tally.accepted} are accepted; {self._wanted} were asked for"

    def _file(self, shard: Shard) -> Iterator[str]:
        digest, size = hashlib.sha256(), 0
        with self._place.opened(shard.name) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
        if size != shard.bytes:
            yield f"{shard.name} has {size} bytes; the manifest says {shard.bytes}"
        elif digest.hexdigest() != shard.sha256:
            yield f"{shard.name} has another checksum than the manifest says"

    def _rows(self, shard: Shard, file: pq.ParquetFile) -> Iterator[str]:
        is_complete = file.schema_arrow.equals(SCHEMAS[shard.kind])
        if self._same_contract and not is_complete:
            yield f"{shard.name} has other columns than the contract"
        if file.metadata.num_rows != shard.rows:
            yield f"{shard.name} has {file.metadata.num_rows} rows; the manifest says {shard.rows}"
        for batch in file.iter_batches(GROUP_ROWS):
            whole = batch if is_complete else completed(batch)
            yield from self._timings(whole, shard) if shard.kind == TIMED else self._conversations(whole, shard)

    def _timings(self, batch: pa.RecordBatch, shard: Shard) -> Iterator[str]:
        for conversation_id in batch["id"].to_pylist():
            if conversation_id not in self._ids and not self._unread:
                yield f"{shard.name} times {conversation_id}, which is not there"
            if not self._timed.add(conversation_id):
                yield f"{shard.name} times {conversation_id} again"

    def _conversations(self, batch: pa.RecordBatch, shard: Shard) -> Iterator[str]:
        told = (batch[name].to_pylist() for name in ("id", "ordinal", "attempt"))
        for conversation_id, *at in zip(*told, strict=True):
            if not self._ids.add(conversation_id):
                yield f"{shard.name} holds {conversation_id} again"
            if self._wanted is not None and at <= self._last.get(shard.kind, [-1, -1]):
                yield f"{shard.name} holds {conversation_id} out of order"
            self._last[shard.kind] = at
        self._tally.add(batch, accepted=shard.kind == ACCEPTED)
