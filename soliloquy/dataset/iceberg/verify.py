"""Checks a dataset in a table: every file and row, and that no conversation occurs twice."""

from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.dataset.iceberg.files import DataFile, file_batches
from soliloquy.dataset.iceberg.reading import TableRows
from soliloquy.dataset.iceberg.rows import BUCKET_ORDINALS, PARTITIONED_BY, leaves, recipe_rows
from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.rows import recipe_named
from soliloquy.dataset.selection import NoDataset


def table_findings(location: str) -> Iterator[str]:
    """Yields one line for each discrepancy; raises NoDataset."""
    source = TableRows(location)
    files = sorted(
        ((kind, file) for kind in (ACCEPTED, REJECTED) for file in source.files(kind)), key=lambda one: one[1].bucket
    )
    # A conversation that came twice is in the same bucket twice: its id follows from its problem.
    for _, alike in groupby(files, lambda one: one[1].bucket):
        ids: set[str] = set()
        for kind, file in alike:
            try:
                yield from _file(source, kind, file, ids)
            except (NoDataset, pa.ArrowException) as error:
                yield str(error)


def _file(source: TableRows, kind: str, file: DataFile, ids: set[str]) -> Iterator[str]:
    wanted, rows = source.schema(kind), 0
    place = dict(zip(PARTITIONED_BY, (source.location.dataset, kind, file.bucket), strict=True))
    columns = {*leaves(wanted), *PARTITIONED_BY}
    for batch in file_batches(source.table, file, columns, recipe=recipe_named(wanted)):
        recipe_rows(batch, wanted).validate(full=True)
        rows += batch.num_rows
        for name, value in place.items():
            if not pc.all(pc.equal(batch[name], value)).as_py():
                yield f"{file.path} holds rows whose {name} is not {value}"
        found = zip(batch["id"].to_pylist(), batch["ordinal"].to_pylist(), strict=True)
        for conversation_id, ordinal in found:
            if conversation_id in ids:
                yield f"{file.path} holds {conversation_id} again"
            if ordinal // BUCKET_ORDINALS != file.bucket:
                yield f"{file.path} holds {conversation_id} of problem {ordinal}, which belongs to another bucket"
            ids.add(conversation_id)
    if rows != file.rows:
        yield f"{file.path} has {rows} rows; the table says {file.rows}"
