"""An Arrow stream that `datasets` would not write is refused before its rows are in memory."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from soliloquy.runtime.arrow_stream import opened_stream
from soliloquy.runtime.regular_file import NotRegular


def written(path: Path, column: pa.Array, compression: str | None = None) -> Path:
    batch = pa.record_batch({"text": column})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema, options=options) as stream:
        stream.write_batch(batch)
    return path


def rows(path: Path) -> list[object]:
    with opened_stream(path) as stream:
        return [row for batch in stream for row in batch.to_pylist()]


def test_a_plain_stream_is_read(tmp_path: Path) -> None:
    assert rows(written(tmp_path / "a.arrow", pa.array(["a", None]))) == [{"text": "a"}, {"text": None}]


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_compressed_stream_is_refused(tmp_path: Path, compression: str) -> None:
    with pytest.raises(pa.ArrowInvalid, match="it is compressed"):
        rows(written(tmp_path / "a.arrow", pa.array(["x" * 1_000_000]), compression))


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
        rows(written(tmp_path / "a.arrow", column))


def test_what_is_no_stream_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("text " * 99)
    for name in ("empty", "text"):
        with pytest.raises((pa.ArrowInvalid, OSError)):
            rows(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegular):
        rows(tmp_path / "pipe")
