"""Checks a dataset against its manifest: every count and checksum, and that no conversation occurs twice."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from soliloquy.dataset.ids import IdSet
from soliloquy.dataset.labelling import installed
from soliloquy.dataset.layout import ACCEPTED, KINDS, PROMPTS, TABLES, TIMED, WORKING
from soliloquy.dataset.manifest import MANIFEST, Shard, UnreadableManifest, read_manifest, shards_of, versions
from soliloquy.dataset.rows import NotRows, completed, is_complete, recipe_named, recipe_of
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import COUNTED_BY_RECIPES, Tally
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.parquet import BoundedParquetFile

_CHUNK = 1024 * 1024


def findings_at(location: str) -> Iterator[str]:
    """Yields one line for each discrepancy of a dataset in a folder, an object store or a table."""
    if location.startswith(TABLES):
        # Imported here because only datasets in tables need it.
        from soliloquy.dataset.iceberg.verify import table_findings

        return table_findings(location)
    return findings(Storage(location))


def findings(storage: Storage) -> Iterator[str]:
    """Yields one line for each discrepancy."""
    try:
        manifest = read_manifest(storage)
    except UnreadableManifest as error:
        yield str(error)
        return
    if manifest is None:
        if storage.folder and not storage.folder.exists():
            raise Failure(f"{storage} does not exist: use the folder or URL of a dataset")
        if storage.folder and (storage.folder / WORKING).exists():
            yield f"{storage} is not finished: run its command again to finish it"
        else:
            yield f"{storage} holds no {MANIFEST}: use the folder or URL of a dataset"
        return
    shards = shards_of(manifest, *KINDS, PROMPTS)
    listed = {shard.name for shard in shards}
    for kind in (*KINDS, PROMPTS):
        yield from (f"{name} is not in the manifest" for name in storage.names(kind) if name not in listed)
    verification = _Verification(storage, manifest)
    for shard in shards:
        yield from verification.check(shard)
    yield from verification.check_totals()


class _Verification:
    def __init__(self, storage: Storage, manifest: dict[str, Any]) -> None:
        self._storage = storage
        self._manifest = manifest
        self._same_contract = (
            manifest["run"].get("protos_sha256") == versions(manifest["run"].get("recipe", ""))["protos_sha256"]
        )
        # A finished run's conversations are in its order; a collector writes them as they arrive.
        self._wanted: int | None = manifest["run"].get("conversations")
        self._last: dict[str, list[int]] = {}
        self._ids, self._timed = IdSet(), IdSet()
        self._tally = Tally()
        self._unread = False
        self._all_installed = True

    def check(self, shard: Shard) -> Iterator[str]:
        try:
            yield from self._file(shard)
            if shard.kind == PROMPTS:
                return
            with self._storage.opened(shard.name) as file:
                yield from self._rows(shard, BoundedParquetFile(file))
        except FileNotFoundError:
            self._unread = True
            yield f"{shard.name} is missing"
        except (pa.ArrowException, OSError, UnicodeDecodeError, NotRows) as error:
            self._unread = True
            yield f"{shard.name} cannot be read ({error})"

    def check_totals(self) -> Iterator[str]:
        """Checks what needs all shards; skipped if a shard could not be read."""
        if self._unread:
            return
        counted, listed = self._tally.as_json(), self._manifest["counts"]
        # Another version reads programs and messages otherwise.
        reads_alike = self._all_installed and self._same_contract
        # Manifests of earlier versions list fewer counts.
        for name in listed:
            if counted.get(name) != listed[name] and (reads_alike or name not in COUNTED_BY_RECIPES):
                yield f"the manifest counts {listed[name]} {name}; there are {counted.get(name)}"
        if self._wanted is not None and self._tally.accepted > self._wanted:
            yield f"{self._tally.accepted} are accepted; the run asked for {self._wanted}"

    def _file(self, shard: Shard) -> Iterator[str]:
        digest, size = hashlib.sha256(), 0
        with self._storage.opened(shard.name) as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
        if size != shard.bytes:
            yield f"{shard.name} has {size} bytes; the manifest says {shard.bytes}"
        elif digest.hexdigest() != shard.sha256:
            yield f"{shard.name} does not match the checksum in the manifest"

    def _rows(self, shard: Shard, file: BoundedParquetFile) -> Iterator[str]:
        kind = file.schema_arrow
        if self._same_contract and installed(recipe_named(kind)) and not is_complete(kind, shard.kind):
            yield f"{shard.name} has columns that differ from the contract"
        if file.metadata.num_rows != shard.rows:
            yield f"{shard.name} has {file.metadata.num_rows} rows; the manifest says {shard.rows}"
        for batch in file.batches():
            for rows in completed(batch, shard.kind):
                yield from self._timings(rows, shard) if shard.kind == TIMED else self._conversations(rows, shard)

    def _timings(self, batch: pa.RecordBatch, shard: Shard) -> Iterator[str]:
        for conversation_id in batch["id"].to_pylist():
            if conversation_id not in self._ids and not self._unread:
                yield f"{shard.name} times {conversation_id}, which the dataset does not hold"
            if not self._timed.add(conversation_id):
                yield f"{shard.name} times {conversation_id} again"

    def _conversations(self, batch: pa.RecordBatch, shard: Shard) -> Iterator[str]:
        self._all_installed &= installed(recipe_of(batch)) is not None
        columns = (batch[name].to_pylist() for name in ("id", "ordinal", "attempt"))
        for conversation_id, *at in zip(*columns, strict=True):
            if not self._ids.add(conversation_id):
                yield f"{shard.name} holds {conversation_id} again"
            if self._wanted is not None and at <= self._last.get(shard.kind, [-1, -1]):
                yield f"{shard.name} holds {conversation_id} out of order"
            self._last[shard.kind] = at
        self._tally.add(batch, accepted=shard.kind == ACCEPTED)
