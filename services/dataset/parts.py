"""The shards of a dataset, read one batch of rows after the other."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.core import url_to_fs

ACCEPTED, REJECTED, TIMINGS = "accepted", "rejected", "timings"
_ROWS = 1_000
_LIST = re.compile(r"\.list\.(element|item)\b")


class NoDataset(Exception):
    """There is no manifest; the message says what to do."""


class Parts:
    def __init__(self, folder: str) -> None:
        """A path, or any URL that fsspec knows; raises NoDataset."""
        self._files, self._root = url_to_fs(folder)
        try:
            self.manifest: dict[str, Any] = json.loads(self._files.cat_file(f"{self._root}/manifest.json"))
        except FileNotFoundError:
            raise NoDataset(f"{folder} holds no finished dataset: grow one with soliloquy generate --out") from None

    def rows(self, part: str) -> int:
        return sum(shard["rows"] for shard in self._shards(part))

    def batches(self, part: str, without: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """A column is left out by the path of its fields, lists not named: turns.calls.raw."""
        for shard in self._shards(part):
            with self._files.open(f"{self._root}/{shard['name']}") as file, pq.ParquetFile(file) as rows:
                paths = [rows.schema.column(place).path for place in range(len(rows.schema))]
                columns = [path for path in paths if not _LIST.sub("", path).startswith(tuple(without))]
                yield from rows.iter_batches(_ROWS, columns=columns)

    def _shards(self, part: str) -> list[dict[str, Any]]:
        return [shard for shard in self.manifest["shards"] if shard["name"].startswith(f"{part}/")]
