"""Registers tables anew in a catalog that has lost them."""

import time
from collections.abc import Iterator
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata

from soliloquy.dataset.iceberg.tables import NAMES, UNREAD, Location, attempt, opened_catalog
from soliloquy.dataset.iceberg.warehouse import metadata_files
from soliloquy.runtime.failure import Failure

# The files with the highest numbers and those written last, of which one was current.
_CANDIDATES = 20


def restore(location: Location) -> dict[str, str]:
    """Returns the metadata file of each table that was lost; raises Failure where there is none."""
    catalog = opened_catalog(location)
    return attempt(location, lambda: _restored(location, catalog))


def _restored(location: Location, catalog: Catalog) -> dict[str, str]:
    lost = [name for name in NAMES if not catalog.table_exists((location.namespace, name))]
    newest = {name: _newest(location, catalog, name) for name in lost}
    if lost:
        catalog.create_namespace_if_not_exists(location.namespace)
    for name, url in newest.items():
        table = catalog.register_table((location.namespace, name), url)
        if name == "conversations":
            # The file may be of a commit that failed beside another one at the time of the loss.
            with table.transaction() as change:
                change.set_properties({UNREAD: str(time.time())})
    return newest


def _newest(location: Location, catalog: Catalog, name: str) -> str:
    """Returns the latest file whose state is whole; a commit that was killed may have left it."""
    files = metadata_files(catalog, location.namespace, name)
    orders = (lambda url: files[url][0], lambda url: files[url][1].mtime_ns)
    io = load_file_io(catalog.properties)
    candidates = dict(_readable(io, {url for order in orders for url in sorted(files, key=order)[-_CANDIDATES:]}))
    if candidates:
        # Another table may have had the name before.
        last = max(candidates.values(), key=lambda metadata: metadata.last_updated_ms).table_uuid
        ours = [url for url, metadata in candidates.items() if metadata.table_uuid == last]
        for url in sorted(ours, key=lambda url: (files[url][0], candidates[url].last_updated_ms), reverse=True):
            if _is_whole(io, candidates[url]):
                return url
    raise Failure(
        f"{location}: neither its catalog nor its warehouse {catalog.properties.get('warehouse', '')!r} has the table "
        f"{name}: set PYICEBERG_CATALOG__{location.catalog.upper()}__WAREHOUSE to the URL above {location.namespace}"
    )


def _readable(io: FileIO, urls: set[str]) -> Iterator[tuple[str, TableMetadata]]:
    for url in urls:
        # Cut off, or removed meanwhile.
        with suppress(ValueError, ValidationError, FileNotFoundError):
            yield url, FromInputFile.table_metadata(io.new_input(url))


def _is_whole(io: FileIO, metadata: TableMetadata) -> bool:
    """Whether the current snapshot can be read up to the names of its files."""
    snapshot = metadata.current_snapshot()
    try:
        for manifest in snapshot.manifests(io) if snapshot else ():
            manifest.fetch_manifest_entry(io)
    except (ValueError, EOFError, FileNotFoundError):
        return False
    return True
