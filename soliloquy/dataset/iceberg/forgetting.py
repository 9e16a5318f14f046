"""Removes conversations from tables, and sees to it that no collector brings them back."""

from collections.abc import Collection
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import And

from soliloquy.dataset.iceberg.rows import FORGOTTEN
from soliloquy.dataset.iceberg.tables import Location, Tables, among, attempt, equal

# A conversation that is forgotten keeps these columns, so that it counts as stored.
_LEFT = ("dataset", "kind", "bucket", "id", "ordinal", "attempt")


def forget_rows(location: str, ids: Collection[str] | None) -> set[str]:
    """Returns the ids of those that were there; raises MissingDataset and StorageUnavailable."""
    place = Location.parsed(location)
    tables = Tables.opened(place)
    if ids is None:
        return attempt(place, lambda: forget_dataset(tables, place.dataset))
    return attempt(place, lambda: _forget(tables, place.dataset, ids))


def forget_dataset(tables: Tables, dataset: str) -> set[str]:
    """Removes all rows of a dataset; a repeat changes nothing."""
    here = equal("dataset", dataset)
    for table in (tables.conversations, tables.runs):
        while table.refresh().scan(row_filter=here, selected_fields=("dataset",), limit=1).to_arrow().num_rows:
            # Somebody else may commit meanwhile.
            with suppress(CommitFailedException):
                table.delete(here)
    return set()


def _forget(tables: Tables, dataset: str, ids: Collection[str]) -> set[str]:
    here = And(equal("dataset", dataset), among("id", ids))
    while True:
        table = tables.conversations.refresh()
        rows = table.scan(row_filter=here, selected_fields=_LEFT).to_arrow()
        rows = rows.filter(pc.not_equal(rows["kind"], FORGOTTEN))
        if not rows.num_rows:
            return set()
        kind = pa.array([FORGOTTEN] * rows.num_rows, rows.schema.field("kind").type)
        left = rows.set_column(rows.schema.get_field_index("kind"), rows.schema.field("kind"), kind)
        try:
            with table.transaction() as change:
                change.delete(here)
                change.append(left)
            return set(rows["id"].to_pylist())
        except CommitFailedException:
            # Somebody else has committed meanwhile.
            continue
