"""Rows from Parquet files and from folders that Hugging Face's `datasets` saved."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from soliloquy.problems.files.reading.rows import Alternatives, RefusedRow, SourceRow, UnreadableSource, require_columns
from soliloquy.runtime.arrow_stream import opened_stream
from soliloquy.runtime.failure import one_line
from soliloquy.runtime.files import read_json, require_regular
from soliloquy.runtime.parquet import READ_AT_ONCE, bounded_batches

ROWS_AT_ONCE = 256


def parquet_rows(path: Path, needed: Iterable[Alternatives]) -> Iterator[SourceRow | RefusedRow]:
    try:
        require_regular(path)
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_AT_ONCE) as file:
            require_columns(path, needed, file.schema_arrow.names)
            yield from _rows(path.name, bounded_batches(path, file, ROWS_AT_ONCE))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableSource(f"{path}: not readable as Parquet: {one_line(error)}") from error


def datasets_rows(folder: Path, needed: Iterable[Alternatives]) -> Iterator[SourceRow | RefusedRow]:
    """Yields the rows of one split, or of all splits of a dictionary, each row with its split as a cell."""
    if (folder / "state.json").is_file():
        yield from _split_rows(folder, "", needed)
    elif (folder / "dataset_dict.json").is_file():
        for split in _described(folder / "dataset_dict.json", "splits"):
            yield from _split_rows(folder / Path(str(split)).name, str(split), needed)
    else:
        raise UnreadableSource(
            f"{folder}: not saved by `datasets`: it has neither a state.json nor a dataset_dict.json"
        )


def _split_rows(folder: Path, split: str, needed: Iterable[Alternatives]) -> Iterator[SourceRow | RefusedRow]:
    for data in _described(folder / "state.json", "_data_files"):
        # The name only: a path could point outside the folder.
        path = folder / Path(str(data.get("filename") if isinstance(data, dict) else data)).name
        label = f"{split}/{path.name}" if split else path.name
        try:
            with opened_stream(path) as stream:
                require_columns(path, needed, stream.schema.names)
                for row in _rows(label, stream):
                    if split and isinstance(row, SourceRow):
                        yield SourceRow(place=row.place, cells={"split": split, **row.cells})
                    else:
                        yield row
        except (pa.ArrowException, OSError) as error:
            raise UnreadableSource(f"{path}: not readable as an Arrow stream: {one_line(error)}") from error


def _described(path: Path, key: str) -> list[Any]:
    try:
        described = read_json(path)[key]
    except OSError as error:
        raise UnreadableSource(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableSource(f"{path}: not what `datasets` writes: {one_line(error)}") from error
    if not isinstance(described, list):
        raise UnreadableSource(f"{path}: not what `datasets` writes: {key} is no list")
    return described


def _rows(label: str, batches: Iterable[Any]) -> Iterator[SourceRow | RefusedRow]:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            for cells in _cells(batch.slice(start, ROWS_AT_ONCE)):
                number += 1
                place = f"{label} row {number}"
                if isinstance(cells, UnicodeDecodeError):
                    yield RefusedRow(place=place, field="text", reason=f"not UTF-8 at byte {cells.start + 1} of a cell")
                else:
                    yield SourceRow(place=place, cells=cells)


def _cells(batch: Any) -> Iterator[dict[str, Any] | UnicodeDecodeError]:
    """Falls back to single rows if a cell contains bytes that are not UTF-8."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError as error:
        if batch.num_rows == 1:
            yield error
            return
        for at in range(batch.num_rows):
            yield from _cells(batch.slice(at, 1))
