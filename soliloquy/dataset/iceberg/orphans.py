"""Removes the files that commits left in a warehouse when they were killed."""

import logging
import time
from collections.abc import Iterable

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table

from soliloquy.dataset.iceberg.warehouse import METADATA, files_under

# No commit takes that long; Spark's remove_orphan_files waits as long.
SAFE_SECONDS = 3 * 24 * 3600.0
# The kinds of files that commits write, by folder.
_WRITTEN = {"data": (".parquet",), "metadata": (".avro", METADATA)}

_log = logging.getLogger(__name__)


def remove_orphans(table: Table) -> int:
    """Removes the old files of the table's folder that no state of it names; returns how many."""
    # Without schemes: s3a and s3, or file: and file://, are the same place.
    known, found = _named(table), {}
    for folder, suffix in _WRITTEN.items():
        for url, info in files_under(f"{table.location()}/{folder}", table.io.properties):
            if url.endswith(suffix):
                found[_path(url)] = url, info.mtime.timestamp()
    before = time.time() - SAFE_SECONDS
    old = {path for path, (_, written) in found.items() if written < before} - known
    if not old:
        return 0
    strangers = [url for path, (url, _) in found.items() if path not in known and _is_of_another(table, url)]
    roots = tuple(_path(f"{table.location()}/{folder}/") for folder in _WRITTEN)
    missing = [path for path in known - found.keys() if path.startswith(roots)]
    if strangers or missing:
        why = f"{strangers[0]} is of another table" if strangers else f"{missing[0]} is not there"
        _log.warning("%d files that nothing names are left in %s, because %s", len(old), table.location(), why)
        return 0
    # Once more: what was committed since they were listed stays.
    orphans = old - _named(table.refresh())
    for path in orphans:
        table.io.delete(found[path][0])
    return len(orphans)


def _named(table: Table) -> set[str]:
    """Returns the paths of the files that a state of the table needs."""
    lists = {one.manifest_list for one in table.snapshots()}
    manifests = {one.manifest_path: one for snapshot in table.snapshots() for one in snapshot.manifests(table.io)}
    logged = {one.metadata_file for one in table.metadata.metadata_log}
    files: Iterable[str] = (
        entry.data_file.file_path for one in manifests.values() for entry in one.fetch_manifest_entry(table.io)
    )
    return {*map(_path, {table.metadata_location, *lists, *manifests, *logged, *files})}


def _is_of_another(table: Table, url: str) -> bool:
    if not url.endswith(METADATA):
        return False
    try:
        return FromInputFile.table_metadata(table.io.new_input(url)).table_uuid != table.metadata.table_uuid
    except Exception:  # Cut off, when its writer was killed.
        return False


def _path(url: str) -> str:
    return PyArrowFileIO.parse_location(url)[2]
