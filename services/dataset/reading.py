"""A dataset as it is read: Arrow batches of the columns that are wanted, from a folder or any object store."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs
from soliloquy.v1.conversation_pb2 import Conversation

from services.dataset.rows import SCHEMA, messages

FORMAT = 2
ROWS_AT_ONCE = 500
# Of a column; else a whole row group of it would be held.
READ_AT_ONCE = 1_048_576
# Where a batch ends, in its schema's metadata.
AFTER = b"after"
_LIST = re.compile(r"\.list\.(element|item)\b")

# A column, one of ==, !=, <, >, <=, >=, in and not in, and a value; all of them hold for a row that is wanted.
Filter = Sequence[tuple[str, str, Any]]


class NoDataset(Exception):
    """What is there cannot be read as a dataset; the message says why and what to do."""


class Dataset:
    """The conversations of a dataset in the order of their run, as far as its manifest lists them.

    A column is named by its path, lists left out: `problem.topic`, `turns.student.text`, or `turns` for all below.
    A place to go on `after` is a shard and how many of its rows are done with: `accepted/00001.parquet:250`.
    """

    def __init__(self, folder: str | Path) -> None:
        """Raises NoDataset."""
        self.folder = str(folder)
        try:
            files, self._root = url_to_fs(self.folder)
        except (ImportError, ValueError) as error:
            raise NoDataset(f"{self.folder} cannot be opened ({_one_line(error)})") from error
        local = isinstance(files, LocalFileSystem)
        self._files = fs.LocalFileSystem() if local else fs.PyFileSystem(fs.FSSpecHandler(files))
        self.manifest = self._read_manifest()

    def __iter__(self) -> Iterator[Conversation]:
        return (conversation for _, conversation in self.placed())

    def count(self, *, rejected: bool = False) -> int:
        return sum(rows for _, rows in self._shards(rejected))

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        rejected: bool = False,
        where: Filter = (),
        after: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Rows a few hundred at a time: all columns, or those asked for and those that `where` looks at.

        Rejected ones have their `reasons` besides. `place_after(batch)` is the place to go on after.
        """
        wanted = None if columns is None else [*columns, *(name for name, _, _ in where)]
        condition = pq.filters_to_expression([_nested(where)]) if where else None
        for name, start in self._from(after, rejected):
            with self._opened(name) as shard:
                leaves = None if wanted is None else _leaves(shard, wanted)
                promising = self._promising(name, condition)
                first = 0
                for group in range(shard.num_row_groups):
                    behind = first + shard.metadata.row_group(group).num_rows
                    if behind > start and (promising is None or group in promising):
                        for batch in shard.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=leaves):
                            first += batch.num_rows
                            left = batch.slice(max(0, batch.num_rows - max(0, first - start)))
                            kept = left if condition is None else left.filter(condition)
                            if kept.num_rows:
                                yield kept.replace_schema_metadata({AFTER: f"{name}:{first}"})
                    first = behind

    def messages(self, *, rejected: bool = False, where: Filter = (), after: str | None = None) -> Iterator[bytes]:
        """Each conversation as the serialised protobuf message that it was."""
        for batch in self.batches(rejected=rejected, where=where, after=after):
            yield from messages(batch.select(SCHEMA.names))

    def placed(self, *, rejected: bool = False, after: str | None = None) -> Iterator[tuple[str, Conversation]]:
        """Each conversation, with the place to go on after it."""
        for batch in self.batches(rejected=rejected, after=after):
            name, _, behind = place_after(batch).rpartition(":")
            first = int(behind) - batch.num_rows + 1
            for row, message in enumerate(messages(batch.select(SCHEMA.names)), start=first):
                yield f"{name}:{row}", Conversation.FromString(message)

    def find(self, conversation_id: str) -> Conversation:
        """The conversation of an id, or of the only id that begins like that; raises NoDataset."""
        found = []
        for batch in self.batches(["id"]):
            name, _, behind = place_after(batch).rpartition(":")
            matching = pc.starts_with(batch["id"], conversation_id).to_pylist()
            found += [f"{name}:{int(behind) - len(matching) + row}" for row, fits in enumerate(matching) if fits]
        if len(found) != 1:
            raise NoDataset(f"{len(found)} conversations have an id that begins with {conversation_id!r}")
        return next(conversation for _, conversation in self.placed(after=found[0]))

    def _read_manifest(self) -> dict[str, Any]:
        path = f"{self._root}/manifest.json"
        try:
            with self._files.open_input_stream(path) as file:
                manifest = json.loads(file.read())
            form = manifest["format"]
        except (FileNotFoundError, NotADirectoryError):
            grow = f"grow some with soliloquy generate --out {self.folder}"
            raise NoDataset(f"{self.folder} holds no conversations: {grow}") from None
        except (ValueError, TypeError, KeyError, OSError) as error:
            raise NoDataset(f"{path} is not readable ({_one_line(error)})") from error
        if form == 1:
            raise NoDataset(f"{self.folder} holds a dataset of format 1, of an earlier version: grow it again")
        if form != FORMAT:
            raise NoDataset(f"{path} is of format {form!r}; this version reads {FORMAT}: update soliloquy")
        return dict(manifest)

    def _shards(self, rejected: bool) -> list[tuple[str, int]]:
        kind = "rejected/" if rejected else "accepted/"
        try:
            shards = [(str(shard["name"]), int(shard["rows"])) for shard in self.manifest["shards"]]
        except (KeyError, TypeError, ValueError) as error:
            raise NoDataset(f"{self._root}/manifest.json lists no shards ({error!r})") from error
        return [(name, rows) for name, rows in shards if name.startswith(kind)]

    def _from(self, after: str | None, rejected: bool) -> Iterator[tuple[str, int]]:
        """The shards that are left, and how many rows of each are done with."""
        names = [name for name, _ in self._shards(rejected)]
        if after is None:
            yield from ((name, 0) for name in names)
            return
        at, _, row = after.rpartition(":")
        if at not in names or not row.isdecimal():
            raise NoDataset(f"{after!r} is no place in {self.folder}: one is like accepted/00000.parquet:250")
        yield at, int(row)
        yield from ((name, 0) for name in names[names.index(at) + 1 :])

    @contextmanager
    def _opened(self, name: str) -> Iterator[pq.ParquetFile]:
        try:
            with (
                self._files.open_input_file(f"{self._root}/{name}") as file,
                pq.ParquetFile(file, pre_buffer=False, buffer_size=READ_AT_ONCE) as shard,
            ):
                yield shard
        except FileNotFoundError as error:
            raise NoDataset(f"{self.folder}: the manifest lists {name}, but it is not there") from error
        except (pa.ArrowException, OSError) as error:
            raise NoDataset(f"{self.folder}: {name} is damaged ({_one_line(error)})") from error

    def _promising(self, name: str, condition: pc.Expression | None) -> set[int] | None:
        """The row groups that may hold a row of the kind, by Parquet's statistics; None for all."""
        if condition is None:
            return None
        parquet = pyarrow.dataset.ParquetFileFormat()
        fragment = parquet.make_fragment(f"{self._root}/{name}", filesystem=self._files)
        return {group.id for group in fragment.subset(condition).row_groups}


def place_after(batch: pa.RecordBatch) -> str:
    """Where a batch that was read ends, for another reading to go on after it."""
    place: bytes = batch.schema.metadata[AFTER]
    return place.decode()


def _nested(where: Filter) -> list[tuple[tuple[str, ...], str, Any]]:
    for name, _, _ in where:
        within: pa.Schema | pa.StructType = SCHEMA
        for part in name.split("."):
            if pa.types.is_list(kind := within.field(part).type if within.get_field_index(part) >= 0 else pa.null()):
                raise NoDataset(f"{name!r} is of a list: a filter looks at one value a conversation")
            within = kind if pa.types.is_struct(kind) else pa.struct([])
    return [(tuple(name.split(".")), comparison, value) for name, comparison, value in where]


def _leaves(shard: pq.ParquetFile, wanted: Sequence[str]) -> list[str]:
    """Parquet's own paths of the columns below those that are wanted."""
    paths = {path: _LIST.sub("", path) for path in (shard.schema.column(at).path for at in range(len(shard.schema)))}
    leaves = []
    for name in wanted:
        below = [path for path, plain in paths.items() if plain == name or plain.startswith(f"{name}.")]
        if not below:
            raise NoDataset(f"{name!r} is no column of a conversation: see SCHEMA in services/dataset/rows.py")
        leaves += below
    return leaves


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
