"""A Parquet file of a few kilobytes that comes to gigabytes is refused before it is decoded."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from soliloquy.runtime.arrow_stream import opened_stream
from soliloquy.runtime.files import NotRegular
from soliloquy.runtime.parquet import MOST_BYTES, BoundedParquetFile, TooLarge, bounded_batches

_WORD = "x" * 100_000


def read(path: Path) -> int:
    with BoundedParquetFile(path) as file:
        return sum(batch.num_rows for batch in file.batches())


def written(path: Path, column: pa.Array, **options: object) -> Path:
    pq.write_table(pa.table({"text": column}), path, compression="zstd", **options)
    return path


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_text_that_repeats_counts_as_often_as_it_is_read(tmp_path: Path, dictionary: bool) -> None:
    few, many = ([_WORD] * (share * MOST_BYTES // len(_WORD) // 2) for share in (1, 3))
    assert read(written(tmp_path / "few.parquet", pa.array(few), use_dictionary=dictionary)) == len(few)
    bomb = written(tmp_path / "many.parquet", pa.array(many), use_dictionary=dictionary)
    assert bomb.stat().st_size < MOST_BYTES / 100
    with pytest.raises(TooLarge, match=r"row group 0 takes over \d+ MB"):
        read(bomb)


def test_texts_in_lists_count_too(tmp_path: Path) -> None:
    values = pa.array([_WORD]).dictionary_encode().take(pa.array([0] * 1000)).dictionary_decode()
    lists = pa.ListArray.from_arrays(pa.array([0, 0, 1000]), values)
    with pytest.raises(TooLarge, match="row group 0"):
        read(written(tmp_path / "lists.parquet", lists))


def test_a_list_without_end_is_refused_by_its_length(tmp_path: Path) -> None:
    values = pa.array(range(1)).take(pa.array([0] * 9_000_000, pa.int8()))
    lists = pa.ListArray.from_arrays(pa.array([0, 9_000_000]), values)
    with pytest.raises(TooLarge, match="9,000,000 values in one column"):
        read(written(tmp_path / "long.parquet", lists))


def test_texts_that_are_not_utf_8_are_invalid(tmp_path: Path) -> None:
    broken = pa.array([b"\xff\xfe"]).view(pa.string())
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        read(written(tmp_path / "broken.parquet", broken))


def test_a_large_group_is_read_in_parts_unless_a_column_is_compressed_beyond_all_texts(tmp_path: Path) -> None:
    numbers = pa.array(np.arange(9_000_000))
    with pq.ParquetFile(written(tmp_path / "long.parquet", numbers, row_group_size=len(numbers))) as file:
        assert sum(batch.num_rows for batch in bounded_batches(tmp_path / "long.parquet", file, 100_000)) == len(
            numbers
        )
    bomb = written(tmp_path / "bomb.parquet", pa.array(["x" * MOST_BYTES * 2]), use_dictionary=False)
    with pq.ParquetFile(bomb) as file, pytest.raises(TooLarge, match=r"text in row group 0 is compressed [\d,]+-fold"):
        next(bounded_batches(bomb, file, 256))


def written_stream(path: Path, column: pa.Array, compression: str | None = None) -> Path:
    batch = pa.record_batch({"text": column})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return path


def rows(path: Path) -> list[object]:
    with opened_stream(path) as stream:
        return [row for batch in stream for row in batch.to_pylist()]


def test_a_plain_stream_is_read(tmp_path: Path) -> None:
    assert rows(written_stream(tmp_path / "a.arrow", pa.array(["a", None]))) == [{"text": "a"}, {"text": None}]


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_compressed_stream_is_refused(tmp_path: Path, compression: str) -> None:
    with pytest.raises(pa.ArrowInvalid, match="it is compressed"):
        rows(written_stream(tmp_path / "a.arrow", pa.array(["x" * 1_000_000]), compression))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x"] * 9).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays(pa.array([9]), pa.array(["x"])),
        pa.array(["x"], pa.string_view()),
    ],
)
def test_types_that_store_a_value_once_are_refused(tmp_path: Path, column: pa.Array) -> None:
    with pytest.raises(pa.ArrowInvalid, match="which `datasets` does not write"):
        rows(written_stream(tmp_path / "a.arrow", column))


def test_what_is_no_stream_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("text " * 99)
    for name in ("empty", "text"):
        with pytest.raises((pa.ArrowInvalid, OSError)):
            rows(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegular):
        rows(tmp_path / "pipe")
