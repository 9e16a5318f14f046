"""Reads datasets from a folder or an object store, as conversations or as Arrow batches."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from google.protobuf.message import DecodeError

from soliloquy.dataset.frames import read_payloads
from soliloquy.dataset.layout import ACCEPTED, PROMPTS, REJECTED, TIMED, UNFINISHED_PROMPTS, WORKING
from soliloquy.dataset.manifest import Shard, UnreadableManifest, read_manifest, shards_of
from soliloquy.dataset.prompts import read_prompts
from soliloquy.dataset.rows import (
    REASONS,
    RECIPE,
    NotRows,
    completed,
    is_complete,
    messages,
    recipe_named,
    recipe_of,
    rows,
    schema,
)
from soliloquy.dataset.storage import Storage
from soliloquy.dataset.timings import without_timings
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.files import NotRegular, read_json
from soliloquy.runtime.parquet import BoundedParquetFile, TooLarge
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected

ROWS_AT_ONCE = 500
# The key of a batch's end in its schema's metadata.
AFTER = b"after"
_JOURNAL = re.compile(r"journal(-\d+)?")
_LIST = re.compile(r"\.list\.(element|item)\b")

_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=", "in", "not in")
# Conditions that must all hold: a column, a comparison, and a value, for `in` and `not in` a list of values.
Filter = Sequence[tuple[str, str, Any]]


class NoDataset(Failure):
    """There is no readable dataset; the message says why and what to do."""


class Dataset:
    """The conversations of a dataset in the order of their run.

    A column is named by its path, without lists: `problem.topic`, `turns.student.text`, or `turns` for all below it.
    A place to continue `after` is a shard and a number of its rows: `accepted/00001.parquet:250`.
    """

    def __init__(self, folder: str | Path) -> None:
        """Raises NoDataset."""
        self.folder = str(folder)
        try:
            self._storage = Storage(self.folder)
            manifest = read_manifest(self._storage)
        except (UnreadableManifest, OSError) as error:
            raise NoDataset(_one_line(error)) from error
        # The manifest of a run that is over names all that counts; its journal may be that of an extension.
        is_over = manifest is not None and "segments" not in manifest["arrival"]
        folder_here = None if is_over else self._storage.folder
        journals = sorted(folder_here.glob(f"{WORKING}/journal*")) if folder_here else []
        self._journals = [path for path in journals if _JOURNAL.fullmatch(path.name)]
        self._unfinished_prompts = folder_here / WORKING / UNFINISHED_PROMPTS if folder_here else None
        if manifest is None and not self._journals:
            there = self._storage.folder is None or self._storage.folder.exists()
            nothing = "holds no conversations" if there else "does not exist"
            raise NoDataset(f"{folder} {nothing}: generate a dataset with soliloquy generate --out {folder}")
        # An unfinished run has journals, and no manifest yet.
        self.manifest: dict[str, Any] = manifest or {"shards": [], "arrival": {}}
        self._bytes = {shard["name"]: shard["bytes"] for shard in self.manifest["shards"]}

    def __iter__(self) -> Iterator[Conversation]:
        return self.conversations()

    def conversations(self, *, rejected: bool = False) -> Iterator[Conversation]:
        """Yields the conversations of the shards, then those still in the journals."""
        yield from (conversation for _, conversation in self.placed(rejected=rejected))
        kept = (one for one in self._unsharded() if bool(one.reasons) == rejected)
        for recipe, alike in groupby(kept, key=attrgetter("recipe")):
            while group := [one.conversation for one in islice(alike, ROWS_AT_ONCE)]:
                yield from map(self._with_prompts, _read(group, recipe))

    @functools.cached_property
    def recipe(self) -> str:
        """The recipe of the conversations, or of the first of them; the default one if there are none."""
        for rejected in (False, True):
            for batch in self.batches(["run"], rejected=rejected):
                return recipe_of(batch)
        return next((one.recipe for one in self._unsharded()), "") or DEFAULT

    @functools.cached_property
    def prompts(self) -> Mapping[str, str]:
        """The prompt files of a run that changed those of its recipe, all of them; empty for any other."""
        try:
            texts = read_prompts(self._storage, shards_of(self.manifest, PROMPTS))
        except FileNotFoundError as error:
            raise NoDataset(f"{self.folder}: the manifest lists {error}, but it is not there") from error
        unfinished = self._unfinished_prompts
        return _unfinished(unfinished) if unfinished and unfinished.exists() else texts

    def recipes(self, *, rejected: bool = False) -> list[str]:
        """Returns the recipes of the conversations; reads no rows but of shards that name no recipe."""
        found = []
        for shard in self._shards(rejected):
            with self._opened(shard.name) as file:
                found.append(recipe_named(file.schema_arrow))
        # Until 0.2 a shard could hold several.
        several = () if all(found) else map(recipe_of, self.batches(["run.recipe"], rejected=rejected))
        return list(dict.fromkeys(several or found))

    def count(self, *, rejected: bool = False) -> int:
        return sum(shard.rows for shard in self._shards(rejected))

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        rejected: bool = False,
        where: Filter = (),
        after: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yields a few hundred rows at a time: `columns` and those of `where`, or all columns except `without`.

        Rejected rows also have `reasons`. `place_after(batch)` is the place to continue after.
        """
        wanted = None if columns is None else [*columns, *(name for name, _, _ in where)]
        for name, start in self._from(after, rejected):
            with self._opened(name) as shard:
                kind = schema(recipe_named(shard.schema_arrow))
                of = name.partition("/")[0]
                has_all = is_complete(shard.schema_arrow, of)
                condition = _condition(where, kind)
                leaves = _leaves(shard, wanted, without) if has_all else None
                candidates = self._candidate_groups(name, condition) if has_all else None
                first = 0
                for group in range(shard.num_row_groups):
                    end = first + shard.metadata.row_group(group).num_rows
                    if end > start and (candidates is None or group in candidates):
                        for batch in shard.batches(leaves, [group]):
                            first += batch.num_rows
                            rest = batch.slice(max(0, batch.num_rows - max(0, first - start)))
                            place = first - rest.num_rows
                            for part in (rest,) if has_all else completed(rest, of):
                                place += part.num_rows
                                matching = part if condition is None else part.filter(condition)
                                if matching.num_rows:
                                    metadata = {RECIPE: recipe_of(part), AFTER: f"{name}:{place}"}
                                    yield matching.replace_schema_metadata(metadata)
                    first = end

    def timings(self) -> Iterator[pa.RecordBatch]:
        """Yields the times of all conversations, accepted and rejected."""
        for shard in shards_of(self.manifest, TIMED):
            with self._opened(shard.name) as file:
                for batch in file.batches():
                    yield from completed(batch, TIMED)

    def placed(self, *, rejected: bool = False, after: str | None = None) -> Iterator[tuple[str, Conversation]]:
        """Yields each conversation with the place to continue after it."""
        for batch in self.batches(rejected=rejected, after=after):
            name, _, end = place_after(batch).rpartition(":")
            first = int(end) - batch.num_rows + 1
            for row, message in enumerate(messages(batch), start=first):
                yield f"{name}:{row}", self._with_prompts(Conversation.FromString(message))

    def find(self, conversation_id: str, *, rejected: bool = False) -> Conversation:
        """Returns the conversation whose id begins so; raises NoDataset unless there is exactly one."""
        found = [one for one in self.conversations(rejected=rejected) if one.id.startswith(conversation_id)]
        if len(found) != 1:
            kind = "rejected" if rejected else "accepted"
            lists = f"soliloquy show {self.folder} --rejected" if rejected else f"soliloquy tail {self.folder}"
            raise NoDataset(
                f"{len(found)} {kind} conversations have an id that begins with {conversation_id!r}: {lists} lists them"
            )
        return found[0]

    def rejections(self) -> dict[str, list[str]]:
        """Maps the id of each rejected conversation to the reasons."""
        found: dict[str, list[str]] = {}
        for batch in self.batches(["id", REASONS.name], rejected=True):
            found.update(zip(batch["id"].to_pylist(), batch[REASONS.name].to_pylist(), strict=True))
        return found | {one.id: list(one.reasons) for one in self._unsharded() if one.reasons}

    def whole(self, conversation_id: str, *, rejected: bool = False) -> Conversation | None:
        """Returns the conversation with this id; reads nothing but the ids of the others."""
        for batch in self.batches(["id"], rejected=rejected):
            name, _, end = place_after(batch).rpartition(":")
            if (row := pc.index(batch["id"], conversation_id).as_py()) >= 0:
                before = int(end) - batch.num_rows + row
                return next(found for _, found in self.placed(rejected=rejected, after=f"{name}:{before}"))
        for kept in self._unsharded():
            if kept.id == conversation_id:
                return self._with_prompts(next(_read([kept.conversation], kept.recipe)))
        return None

    def _with_prompts(self, conversation: Conversation) -> Conversation:
        if self.prompts:
            conversation.run.prompts.update(self.prompts)
        return conversation

    def _unsharded(self) -> Iterator[Collected]:
        """Yields the conversations that are in no shard yet."""
        # Earlier segments are in shards, even if their files are not removed yet.
        first = self.manifest["arrival"].get("segments", 0)
        for path in (path for path in self._journals if int(path.name.partition("-")[2] or first) >= first):
            try:
                yield from (Collected.FromString(payload) for payload in read_payloads(path))
            except (DecodeError, OSError) as error:
                raise NoDataset(_one_line(error)) from error

    def _shards(self, rejected: bool) -> list[Shard]:
        return shards_of(self.manifest, REJECTED if rejected else ACCEPTED)

    def _from(self, after: str | None, rejected: bool) -> Iterator[tuple[str, int]]:
        """Yields the remaining shards, each with the number of rows to skip."""
        names = [shard.name for shard in self._shards(rejected)]
        if after is None:
            yield from ((name, 0) for name in names)
            return
        at, _, row = after.rpartition(":")
        if at not in names or not row.isdecimal():
            raise NoDataset(f"{after!r} is not a place in {self.folder}: use one such as accepted/00000.parquet:250")
        yield at, int(row)
        yield from ((name, 0) for name in names[names.index(at) + 1 :])

    @contextmanager
    def _opened(self, name: str) -> Iterator[BoundedParquetFile]:
        try:
            with (
                self._storage.opened_by_arrow(name) as file,
                BoundedParquetFile(file) as shard,
            ):
                if file.size() != (listed := self._bytes[name]):
                    told = f"{name} has {file.size():,} bytes; the manifest says {listed:,}"
                    raise NoDataset(f"{self.folder}: {told}: restore the file, or generate the dataset again")
                yield shard
        except FileNotFoundError as error:
            raise NoDataset(f"{self.folder}: the manifest lists {name}, but it is not there") from error
        except (TooLarge, NotRegular) as error:
            raise NoDataset(f"{self.folder}: {name} cannot be read: {error.strerror or error}") from error
        except NotRows as error:
            raise NoDataset(f"{self.folder}: {name} holds no rows of a dataset: {error}") from error
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise NoDataset(f"{self.folder}: {name} is damaged ({_one_line(error)})") from error

    def _candidate_groups(self, name: str, condition: pc.Expression | None) -> set[int] | None:
        """Returns the row groups that may match, by Parquet's statistics; None for all."""
        if condition is None:
            return None
        # Few reads have a condition, and this takes 50 ms to load.
        from pyarrow.dataset import ParquetFileFormat

        files, root = self._storage.for_arrow()
        fragment = ParquetFileFormat().make_fragment(f"{root}/{name}", filesystem=files)
        return {group.id for group in fragment.subset(condition).row_groups}


def _read(unsharded: Sequence[bytes], recipe: str) -> Iterator[Conversation]:
    try:
        read = messages(without_timings(rows(unsharded, recipe)))
    except ValueError as error:
        raise NoDataset(f"a conversation of the journal cannot be read ({_one_line(error)})") from error
    return map(Conversation.FromString, read)


def _unfinished(prompts: Path) -> dict[str, str]:
    try:
        texts = read_json(prompts)
        return {str(name): str(text) for name, text in texts.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise NoDataset(f"{prompts} cannot be read ({_one_line(error)})") from error


def place_after(batch: pa.RecordBatch) -> str:
    """Returns the place at which a batch ends, for `after` of a later read."""
    place: bytes = batch.schema.metadata[AFTER]
    return place.decode()


def _condition(where: Filter, schema: pa.Schema) -> pc.Expression | None:
    """Raises NoDataset for a condition that no row of this schema can be asked."""
    for name, comparison, value in where:
        if comparison not in _COMPARISONS:
            raise NoDataset(f"unknown comparison {comparison!r} of {name!r}: use one of {', '.join(_COMPARISONS)}")
        kind = _type_of(name, schema)
        try:
            if kind is not None:
                schema.empty_table().filter(_expression([(name, comparison, value)]))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            held = "further columns" if pa.types.is_struct(kind) else kind
            raise NoDataset(f"{name!r} holds {held}, not {value!r}") from error
    return _expression(where) if where else None


def _expression(where: Filter) -> pc.Expression:
    return pq.filters_to_expression([[(tuple(name.split(".")), *rest) for name, *rest in where]])


def _type_of(name: str, schema: pa.Schema) -> pa.DataType | None:
    """Returns the type of a column; None if there is no such column. Raises NoDataset for a list."""
    within: pa.Schema | pa.StructType = schema
    kind = None
    for part in name.split("."):
        kind = within.field(part).type if within.get_field_index(part) >= 0 else None
        if kind is not None and pa.types.is_list(kind):
            raise NoDataset(f"{name!r} is a list: filter by a column with one value for each conversation")
        within = kind if kind is not None and pa.types.is_struct(kind) else pa.struct([])
    return kind


def _leaves(shard: pq.ParquetFile, wanted: Sequence[str] | None, without: Sequence[str]) -> list[str] | None:
    """Returns Parquet's paths of the wanted columns; None for all."""
    paths = {path: _LIST.sub("", path) for path in (shard.schema.column(at).path for at in range(len(shard.schema)))}
    if wanted is None:
        rest = [path for path, plain in paths.items() if not any(_is_below(plain, name) for name in without)]
        return rest if without else None
    leaves = []
    for name in wanted:
        below = [path for path, plain in paths.items() if _is_below(plain, name)]
        # Each recipe has labels of its own.
        if not below and "labels" not in name.split("."):
            raise NoDataset(f"{name!r} is not a column of a conversation: see the contract")
        leaves += below
    return leaves


def _is_below(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
