"""Finds the data files of a dataset in one snapshot of its table, and reads their rows in the order of the run."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from soliloquy.dataset.iceberg.rows import leaves, recipe_rows
from soliloquy.dataset.iceberg.tables import equal
from soliloquy.dataset.rows import recipe_named
from soliloquy.dataset.selection import LIST, NoDataset
from soliloquy.runtime.failure import one_line

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import FileScanTask, Table

_ROWS_AT_ONCE = 500
KEYS = ["ordinal", "attempt", "id"]
_LABELS = re.compile(r"(^|\.)labels\.([^.]+)\.")


class MissingFile(NoDataset):
    """A file is not there, perhaps because a compaction has replaced it since it was looked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """The commits after number `begin`, up to `end`."""

    begin: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFile:
    path: str
    bucket: int
    rows: int
    bytes: int
    # The number of the commit that brought the file, and whether it brought all of its rows, too.
    sequence: int
    is_original: bool

    def meets(self, span: Span) -> bool:
        """Whether commits of the span may have brought some of the rows."""
        return self.sequence > span.begin and not (self.is_original and self.sequence > span.end)

    def is_within(self, span: Span) -> bool:
        """Whether commits of the span have brought all of the rows, which are older than their file or as old."""
        return self.meets(span) and (self.is_original or span.begin == 0) and self.sequence <= span.end


def planned(table: "Table", wanted: "BooleanExpression | None" = None) -> list[tuple["FileScanTask", int]]:
    """Returns the files of the current snapshot that may have wanted rows, each with the number of its commit."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.table import ManifestGroupPlanner

    if (snapshot := table.metadata.current_snapshot()) is None:
        return []
    sequences: dict[str, int] = {}

    def remember(entry: "ManifestEntry") -> bool:
        sequences[entry.data_file.file_path] = entry.sequence_number or 0
        return True

    planner = ManifestGroupPlanner(table.metadata, table.io, wanted or AlwaysTrue())
    tasks = planner.plan_files(snapshot.manifests(table.io), remember)
    return [(task, sequences[task.file.file_path]) for task in tasks]


def data_files(table: "Table", dataset: str, kind: str) -> list[DataFile]:
    """Returns the files by bucket; raises NoDataset for rows that are deleted by files of their own."""
    from pyiceberg.expressions import And

    arrival = table.schema().find_field("arrival").field_id
    found = []
    for task, sequence in planned(table, And(equal("dataset", dataset), equal("kind", kind))):
        if task.delete_files:
            raise NoDataset(f"{dataset} has rows that another program only marks as deleted: run soliloquy compact")
        found.append(
            DataFile(
                path=task.file.file_path,
                bucket=task.file.partition[2],
                rows=task.file.record_count,
                bytes=task.file.file_size_in_bytes,
                sequence=sequence,
                is_original=(task.file.null_value_counts or {}).get(arrival) == task.file.record_count,
            )
        )
    return sorted(found, key=lambda file: (file.bucket, file.sequence, file.path))


def bucket_rows(table: "Table", files: Sequence[DataFile], wanted: pa.Schema, span: Span) -> Iterator[pa.RecordBatch]:
    """Yields the wanted columns of the rows of one bucket that the span brought, by problem and attempt."""
    recipe, columns = recipe_named(wanted), set(leaves(wanted))
    if len(files) == 1 and _is_sorted(table, files[0]):
        for batch in file_batches(table, files[0], columns, span, recipe):
            yield recipe_rows(batch, wanted)
        return
    keys, parts = [], []
    for file in files:
        for batch in file_batches(table, file, columns.union(KEYS), span, recipe):
            keys.append(batch.select(KEYS))
            parts.append(recipe_rows(batch, wanted))
    if parts:
        order = pc.sort_indices(pa.Table.from_batches(keys), sort_keys=[(name, "ascending") for name in KEYS])
        rows = pa.Table.from_batches(parts).combine_chunks()
        for start in range(0, len(order), _ROWS_AT_ONCE):
            yield from rows.take(order.slice(start, _ROWS_AT_ONCE)).combine_chunks().to_batches()


def rows_in(table: "Table", files: Sequence[DataFile], span: Span) -> int:
    """Counts the rows that the span brought."""
    return sum(
        file.rows if file.is_within(span) else sum(batch.num_rows for batch in file_batches(table, file, set(), span))
        for file in files
    )


def _is_sorted(table: "Table", file: DataFile) -> bool:
    """Whether a compaction has written the rows in their order; reads nothing but the order."""
    keys = pa.Table.from_batches([batch.select(KEYS) for batch in file_batches(table, file, set(KEYS))])
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in KEYS])
    return bool(order.equals(pa.array(range(len(order)), order.type)))


def file_batches(
    table: "Table", file: DataFile, columns: set[str], span: Span | None = None, recipe: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yields these columns of a file, named without their lists and recipe; all rows without a span."""
    partly = span if span and not file.is_within(span) else None
    with _opened(table, file) as source:
        paths = [source.schema.column(at).path for at in range(len(source.schema))]
        wanted = columns.union({"id", "arrival"} if partly else {"id"})
        for batch in source.iter_batches(
            _ROWS_AT_ONCE, columns=[path for path in paths if _plain(path, recipe) in wanted]
        ):
            if partly:
                arrival = pc.coalesce(batch["arrival"], pa.scalar(file.sequence, pa.int64()))
                batch = batch.filter(pc.and_(pc.greater(arrival, partly.begin), pc.less_equal(arrival, partly.end)))
            if batch.num_rows:
                yield batch


@contextmanager
def _opened(table: "Table", file: DataFile) -> Iterator[pq.ParquetFile]:
    try:
        with table.io.new_input(file.path).open() as stream:
            size = stream.seek(0, os.SEEK_END)
            if size != file.bytes:
                raise NoDataset(f"{file.path} has {size:,} bytes; the table says {file.bytes:,}")
            with pq.ParquetFile(stream) as source:
                yield source
    except FileNotFoundError as error:
        raise MissingFile(
            f"the table lists {file.path}, but it is not there: restore it, or roll the table back"
        ) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise NoDataset(f"{file.path} cannot be read ({one_line(error)})") from error


def _plain(path: str, recipe: str) -> str:
    """Returns the path of a column; empty for the label of another recipe."""
    plain = LIST.sub("", path)
    found = _LABELS.search(plain)
    if found is None:
        return plain
    return plain[: found.end(1)] + "labels." + plain[found.end() :] if found[2] == recipe else ""
