"""Removes conversations from a dataset, and sees to it that no collector brings them back."""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from soliloquy.dataset.folder import Folder
from soliloquy.dataset.layout import ACCEPTED, KINDS, PROMPTS, TABLES, TIMED, WORKING
from soliloquy.dataset.lineage import listed
from soliloquy.dataset.lock import FOLDER_LOCK, LOCK, Locked, write_lock
from soliloquy.dataset.manifest import (
    MANIFEST,
    Shard,
    forgotten_in,
    lists_of,
    read_manifest,
    services_in,
    shards_of,
    write_manifest,
)
from soliloquy.dataset.reading import Dataset
from soliloquy.dataset.rows import completed
from soliloquy.dataset.shards import remove_leftovers
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.tally import Tally
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.parquet import BoundedParquetFile


def forget(location: str, ids: Collection[str] | None) -> set[str]:
    """Removes these conversations, or the whole dataset without ids; a repeat finishes what a kill broke off.

    Returns the ids of those that were there. Raises NoDataset, and Failure where somebody writes the dataset.
    """
    Dataset(location)
    if location.startswith(TABLES):
        from soliloquy.dataset.iceberg.forgetting import forget_rows

        return forget_rows(location, ids)
    place = Storage(location)
    with _locked(place):
        if ids is None:
            if place.read(MANIFEST) is not None:
                place.remove(MANIFEST)
            place.remove_all()
            return set()
        if any(Folder(location).unsharded()):
            raise Failure(f"{place} has conversations in no shard yet: let its collector or its command end first")
        manifest = read_manifest(place)
        assert manifest
        return _Forgetting(place, manifest, ids).run()


@contextmanager
def _locked(place: Storage) -> Iterator[None]:
    """Keeps away the command that made the dataset, and the collector whose store it is in."""
    with ExitStack() as held:
        try:
            if place.folder is None:
                store = Storage(place.url.rpartition("/")[0])
                if store.read(LOCK) is not None:
                    raise Locked(f"a collector is writing {store}")
            else:
                for working in (place.folder.parent, place.folder / WORKING):
                    if (working / FOLDER_LOCK).exists():
                        held.enter_context(write_lock(place, working))
        except Locked as error:
            raise Failure(f"{error}: stop it first") from error
        yield


class _Forgetting:
    def __init__(self, place: Storage, manifest: dict[str, Any], ids: Collection[str]) -> None:
        self._place = place
        self._manifest = manifest
        self._ids = pa.array(sorted(ids), pa.string())
        self._found: set[str] = set()
        self._tally = Tally()
        self._services: Counter[str] = Counter()

    def run(self) -> set[str]:
        """Writes the shards that are left, then the manifest that names them, and only then removes the others."""
        shards = shards_of(self._manifest, *KINDS, PROMPTS)
        with tempfile.TemporaryDirectory() as scratch:
            kept = [self._rewritten(one, Path(scratch) / "shard") if one.kind in KINDS else one for one in shards]
        if self._found:
            lists = {one.name for one in lists_of(self._manifest)}
            manifest = {name: part for name, part in self._manifest.items() if name not in ("lists", "shards")}
            forgotten = sorted({*forgotten_in(manifest), *self._found})
            services = listed(self._services, {}, services_in(manifest))
            arrival = manifest["arrival"] | {"forgotten": forgotten, "services": services}
            manifest |= {"counts": self._tally.as_json(), "arrival": arrival}
            write_manifest(self._place, manifest, kept)
            for name in lists - {one.name for one in lists_of(manifest)}:
                self._place.remove(name)
        # Also those that an earlier call left.
        remove_leftovers(self._place, kept)
        return self._found

    def _rewritten(self, shard: Shard, scratch: Path) -> Shard:
        with self._place.opened(shard.name) as opened, BoundedParquetFile(opened) as file, ExitStack() as written:
            if not any(pc.any(pc.is_in(ids["id"], self._ids)).as_py() for ids in file.batches(["id"])):
                for batch in file.batches():
                    self._left(batch, shard.kind)
                return shard
            writer = written.enter_context(pq.ParquetWriter(scratch, file.schema_arrow, compression="zstd"))
            for group in range(file.num_row_groups):
                left = (self._left(batch, shard.kind) for batch in file.batches(groups=[group]))
                writer.write_table(pa.Table.from_batches(left, file.schema_arrow))
        content, rows = scratch.read_bytes(), pq.read_metadata(scratch).num_rows
        # Readers find the former shard under its name until the manifest is there.
        name = _named_anew(shard.name)
        self._place.put(name, scratch)
        return Shard(name=name, rows=rows, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())

    def _left(self, batch: pa.RecordBatch, kind: str) -> pa.RecordBatch:
        is_wanted = pc.invert(pc.is_in(batch["id"], self._ids))
        self._found.update(batch["id"].filter(pc.invert(is_wanted)).to_pylist())
        left = batch.filter(is_wanted)
        if kind == TIMED and "services" in left.schema.names:
            self._services.update(pc.list_flatten(left["services"]).to_pylist())
        elif kind != TIMED and left.num_rows:
            for rows in completed(left, kind):
                self._tally.add(rows, accepted=kind == ACCEPTED)
        return left


def _named_anew(shard: str) -> str:
    """Returns the name with another second number: accepted/00003.1.parquet follows accepted/00003.parquet."""
    base = shard.removesuffix(".parquet")
    first, _, second = base.rpartition(".")
    return f"{first}.{int(second) + 1}.parquet" if first and second.isdecimal() else f"{base}.1.parquet"
