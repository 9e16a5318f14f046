"""The shards of a dataset's folder, read one batch of rows after the other."""

import json
from collections.abc import Iterator
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

ACCEPTED, REJECTED, TIMINGS = "accepted", "rejected", "timings"
_ROWS = 1_000


class Parts:
    def __init__(self, folder: str) -> None:
        """A path, or any URL that fsspec knows."""
        self._files, self._folder = fsspec.core.url_to_fs(folder)

    def manifest(self) -> dict[str, Any] | None:
        """None where no run has finished."""
        path = f"{self._folder}/manifest.json"
        return dict(json.loads(self._files.cat_file(path))) if self._files.exists(path) else None

    def rows(self, part: str) -> int:
        return sum(pq.read_metadata(path, filesystem=self._files).num_rows for path in self._shards(part))

    def batches(self, part: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        for path in self._shards(part):
            with self._files.open(path) as file:
                yield from pq.ParquetFile(file).iter_batches(_ROWS, columns=columns)

    def _shards(self, part: str) -> list[str]:
        return sorted(self._files.glob(f"{self._folder}/{part}/*.parquet"))
