"""Merges the small files of a store of tables, and removes what no snapshot needs any more."""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.iceberg.files import KEYS, planned
from soliloquy.dataset.iceberg.tables import Location, Tables, attempt

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile, ManifestFile
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.snapshots import Snapshot

# Each commit of a collector makes one of these fail that is under way, and merging took longer than many tries.
_TRIES = 100
# One commit replaces files of about so many bytes.
_COMMIT_BYTES = 256 * 1024**2


@dataclass(kw_only=True, slots=True)
class Compaction:
    """Counts files that were merged and those made of them, snapshots that expired, and files that were removed.

    Orphans are what commits left when they were killed.
    """

    merged: int = 0
    written: int = 0
    expired: int = 0
    removed: int = 0
    orphans: int = 0


def compact(location: Location, keep_seconds: float) -> Compaction:
    """Snapshots of the last `keep_seconds` can still be read; raises StorageUnavailable."""
    from soliloquy.dataset.iceberg.orphans import remove_orphans

    tables, done = Tables.opened(location), Compaction()
    for table in (tables.conversations, tables.runs):
        try:
            attempt(location, partial(_merge, table, done))
        finally:
            # The more snapshots there are, the longer each commit takes.
            attempt(location, partial(_expire, table, keep_seconds, done))
        done.orphans += attempt(location, partial(remove_orphans, table))
    return done


def _merge(table: "Table", done: Compaction) -> None:
    """Leaves one file in each partition."""
    from pyiceberg.io.pyarrow import _dataframe_to_data_files

    partitions: defaultdict[str, list[tuple[FileScanTask, int]]] = defaultdict(list)
    for task, sequence in planned(table):
        partitions[repr(task.file.partition)].append((task, sequence))
    old: list[DataFile] = []
    new: list[DataFile] = []
    for tasks in partitions.values():
        if len(tasks) > 1 or tasks[0][0].delete_files:
            new += _dataframe_to_data_files(table.metadata, _merged(table, tasks), table.io)
            old += [task.file for task, _ in tasks]
        if sum(file.file_size_in_bytes for file in old) > _COMMIT_BYTES:
            _replace(table, old, new, done)
            old, new = [], []
    if old:
        _replace(table, old, new, done)


def _merged(table: "Table", tasks: Iterable[tuple["FileScanTask", int]]) -> pa.Table:
    """Returns the rows of files in the order of their run, each with the number of the commit that brought it."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    scan, parts = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()), []
    for task, sequence in tasks:
        part = scan.to_table([task])
        if (place := part.schema.get_field_index("arrival")) >= 0:
            brought = pc.coalesce(part["arrival"], pa.scalar(sequence, pa.int64()))
            part = part.set_column(place, "arrival", brought)
        parts.append(part)
    merged = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
    keys = [(name, "ascending") for name in KEYS if name in merged.column_names]
    return merged.take(pc.sort_indices(merged, sort_keys=keys)) if keys else merged


def _replace(table: "Table", old: Sequence["DataFile"], new: Sequence["DataFile"], done: Compaction) -> None:
    """Commits new files for old ones, unless somebody else has replaced one of them meanwhile."""
    from pyiceberg.exceptions import CommitFailedException, ValidationException

    for tries_left in reversed(range(_TRIES)):
        try:
            with table.transaction() as transaction, transaction.update_snapshot().overwrite() as snapshot:
                for file in old:
                    snapshot.delete_data_file(file)
                for file in new:
                    snapshot.append_data_file(file)
        except (CommitFailedException, ValidationException) as error:
            table.refresh()
            if isinstance(error, CommitFailedException) and tries_left:
                continue
            for file in new:
                table.io.delete(file.file_path)
            if isinstance(error, CommitFailedException):
                raise
            return
        done.merged += len(old)
        done.written += len(new)
        return


def _expire(table: "Table", keep_seconds: float, done: Compaction) -> None:
    """Removes the snapshots that are older, and the files that only they need."""
    from pyiceberg.exceptions import CommitFailedException

    oldest = (time.time() - keep_seconds) * 1000
    protected = {one.snapshot_id for one in table.metadata.refs.values()}
    expired = [one for one in table.snapshots() if one.timestamp_ms < oldest and one.snapshot_id not in protected]
    if not expired:
        return
    manifests = _manifests(table, expired)
    for tries_left in reversed(range(_TRIES)):
        try:
            table.maintenance.expire_snapshots().by_ids([one.snapshot_id for one in expired]).commit()
            break
        except CommitFailedException:
            if not tries_left:
                raise
            table.refresh()
    done.expired += len(expired)
    kept = _manifests(table.refresh(), table.snapshots())
    gone = {path: manifest for path, manifest in manifests.items() if path not in kept}
    files = _files(table, gone.values()) - _files(table, kept.values())
    for path in (*files, *gone, *(one.manifest_list for one in expired)):
        table.io.delete(path)
        done.removed += 1


def _manifests(table: "Table", snapshots: Iterable["Snapshot"]) -> dict[str, "ManifestFile"]:
    return {one.manifest_path: one for snapshot in snapshots for one in snapshot.manifests(table.io)}


def _files(table: "Table", manifests: Iterable["ManifestFile"]) -> set[str]:
    """Returns the files that the manifests list as there."""
    return {entry.data_file.file_path for one in manifests for entry in one.fetch_manifest_entry(table.io)}
