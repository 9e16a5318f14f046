"""Bounds what a Parquet file comes to in memory: a few kilobytes may decompress to gigabytes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from soliloquy.runtime.arrow import pa

# The buffer of one column; without it, a whole row group of the column would be in memory.
READ_AT_ONCE = 1_048_576
# The limit of a row group's size: four times that of our own datasets.
MOST_BYTES = 64 * 1024**2
# The most values of a column, in lists too, among the rows of a group.
_MOST_VALUES = 8_000_000
# Texts are compressed five-fold, and a column of few values ten times as well.
_MOST_RATIO = 200
# Encodings in which each text is stored in full.
_AS_STORED = {"PLAIN", "RLE", "BIT_PACKED"}
_ROWS_AT_ONCE = 500


class TooLarge(OSError):
    """The rows do not fit into memory."""


class BoundedParquetFile(pq.ParquetFile):  # type: ignore[misc]  # Arrow has no types.
    """Reads row groups that decode to no more than `MOST_BYTES`, and checks their texts and lists."""

    def __init__(self, source: Any) -> None:
        super().__init__(source, pre_buffer=False, buffer_size=READ_AT_ONCE)
        self._origin = source

    def batches(
        self, columns: Sequence[str] | None = None, groups: Iterable[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Raises TooLarge, and ArrowException for content that is invalid."""
        for group in range(self.num_row_groups) if groups is None else groups:
            require_bounded(self._origin, self.metadata.row_group(group), group, MOST_BYTES, columns)
            for batch in self.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=columns):
                batch.validate(full=True)
                yield batch


def bounded_batches(source: Any, file: pq.ParquetFile, rows: int) -> Iterator[pa.RecordBatch]:
    """Yields so many rows at a time of a file whose row groups may be of any size; raises TooLarge."""
    for group in range(file.num_row_groups):
        described = file.metadata.row_group(group)
        for at in range(described.num_columns):
            _require_pages(described.column(at), group)
        # The columns of a batch; a whole group is read in pages.
        share = max(1, described.num_rows // rows)
        require_bounded(source, described, group, share * MOST_BYTES)
        yield from file.iter_batches(rows, row_groups=[group])


def _require_pages(chunk: Any, group: int) -> None:
    """Raises TooLarge for a column that may decompress to more in one page than fits into memory."""
    ratio = chunk.total_uncompressed_size / max(1, chunk.total_compressed_size)
    if chunk.total_uncompressed_size > MOST_BYTES and ratio > _MOST_RATIO:
        size = f"{ratio:,.0f}-fold, from {chunk.total_uncompressed_size / 1e6:,.0f} MB"
        raise TooLarge(f"{chunk.path_in_schema} in row group {group} is compressed {size}")


def require_bounded(
    source: Any, described: Any, group: int, most_bytes: int, columns: Sequence[str] | None = None
) -> None:
    """Raises TooLarge if the wanted columns of a row group take more than `most_bytes` once they are decoded."""
    chunks = [described.column(at) for at in range(described.num_columns)]
    wanted = [chunk for chunk in chunks if columns is None or chunk.path_in_schema in columns]
    values = max((chunk.num_values for chunk in wanted), default=0)
    most_values = _MOST_VALUES * max(1, most_bytes // MOST_BYTES)
    if values > most_values:
        raise TooLarge(f"row group {group} has {values:,} values in one column; the most is {most_values:,}")
    size = sum(chunk.total_uncompressed_size for chunk in wanted)
    # A text that repeats is stored once.
    repeated = [
        chunk
        for chunk in wanted
        if chunk.physical_type == "BYTE_ARRAY"
        and not _AS_STORED.issuperset(chunk.encodings)
        and chunk.total_uncompressed_size * chunk.num_values > most_bytes
    ]
    if size <= most_bytes and repeated:
        paths = [chunk.path_in_schema for chunk in repeated]
        counts = {chunk.path_in_schema: chunk.num_values for chunk in repeated}
        size += _repetitions(source, group, paths, counts, most_bytes)
    if size > most_bytes:
        raise TooLarge(
            f"row group {group} takes over {size / 1e6:,.0f} MB once it is decompressed; the most is "
            f"{most_bytes / 1e6:,.0f} MB"
        )


def _repetitions(source: Any, group: int, paths: Sequence[str], counts: dict[str, int], most_bytes: int) -> int:
    """Returns the bytes of the texts of these columns; stops where they can no longer exceed, or have exceeded."""
    # Not closed: that would close the source.
    file = pq.ParquetFile(source, read_dictionary=list(paths), pre_buffer=False, buffer_size=READ_AT_ONCE)
    size, unknown = 0, set(paths)
    longest: dict[str, int] = {}
    for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=list(paths), use_threads=False):
        for path, leaf in _leaves("", pa.StructArray.from_arrays(batch.columns, batch.schema.names)):
            if not len(leaf.dictionary):
                continue
            lengths = pc.binary_length(leaf.dictionary)
            size += pc.sum(lengths.take(leaf.indices.drop_null())).as_py() or 0
            longest[path] = max(longest.get(path, 0), pc.max(lengths).as_py() or 0)
            unknown.discard(path)
        if size > most_bytes:
            return size
        if not unknown and sum(counts[path] * longest[path] for path in paths) <= most_bytes:
            return size
    return size


def _leaves(path: str, array: pa.Array) -> Iterator[tuple[str, pa.DictionaryArray]]:
    """Yields the dictionaries among the leaves of an array, each with Parquet's path of its column."""
    if pa.types.is_struct(array.type):
        for field in array.type:
            yield from _leaves(f"{path}.{field.name}".lstrip("."), array.field(field.name))
    elif pa.types.is_list(array.type):
        yield from _leaves(f"{path}.list.{array.type.value_field.name}", array.flatten())
    elif pa.types.is_dictionary(array.type):
        yield path, array
