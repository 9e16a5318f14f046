"""Reads a dataset from the shards of a folder or an object store, and from the journals of an unfinished run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.message import DecodeError

from soliloquy.dataset.frames import read_messages
from soliloquy.dataset.layout import PROMPTS, TIMED, UNFINISHED_PROMPTS, WORKING
from soliloquy.dataset.manifest import UnreadableManifest, read_manifest, shards_of
from soliloquy.dataset.prompts import read_prompts
from soliloquy.dataset.rows import RECIPE, NotRows, completed, is_complete, recipe_named, recipe_of, schema
from soliloquy.dataset.selection import LIST, Filter, MissingDataset, NoDataset, condition, selected
from soliloquy.dataset.source import AFTER
from soliloquy.dataset.storage import Storage
from soliloquy.runtime.failure import one_line
from soliloquy.runtime.files import NotRegular, read_json
from soliloquy.runtime.parquet import BoundedParquetFile, TooLarge
from soliloquy.v1.dataset_pb2 import Collected

_JOURNAL = re.compile(r"journal(-\d+)?")


class Folder:
    """The rows of shards are in the order of their arrival, which is that of the run once it is over."""

    def __init__(self, folder: str) -> None:
        """Raises NoDataset."""
        self._folder = folder
        try:
            self._storage = Storage(folder)
            manifest = read_manifest(self._storage)
        except (UnreadableManifest, OSError) as error:
            raise NoDataset(one_line(error)) from error
        # The manifest of a run that is over names all that counts; its journal may be that of an extension.
        is_over = manifest is not None and "segments" not in manifest["arrival"]
        folder_here = None if is_over else self._storage.folder
        journals = sorted(folder_here.glob(f"{WORKING}/journal*")) if folder_here else []
        self._journals = [path for path in journals if _JOURNAL.fullmatch(path.name)]
        self._unfinished_prompts = folder_here / WORKING / UNFINISHED_PROMPTS if folder_here else None
        if manifest is None and not self._journals:
            there = self._storage.folder is None or self._storage.folder.exists()
            nothing = "holds no conversations" if there else "does not exist"
            raise MissingDataset(f"{folder} {nothing}: generate a dataset with soliloquy generate --out {folder}")
        # An unfinished run has journals, and no manifest yet.
        self.manifest: dict[str, Any] = manifest or {"shards": [], "arrival": {}}
        self._bytes = {shard["name"]: shard["bytes"] for shard in self.manifest["shards"]}

    def recipes(self, kind: str) -> list[str]:
        found = []
        for shard in shards_of(self.manifest, kind):
            with self._opened(shard.name) as file:
                found.append(recipe_named(file.schema_arrow))
        # Until 0.2 a shard could hold several.
        return found if all(found) else [recipe_of(batch) for batch in self.batches(kind, ["run.recipe"])]

    def count(self, kind: str) -> int:
        return sum(shard.rows for shard in shards_of(self.manifest, kind))

    def batches(
        self,
        kind: str,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        where: Filter = (),
        after: str | None = None,
        last: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        wanted = None if columns is None else [*columns, *(name for name, _, _ in where)]
        for name, start in self._from(after, kind):
            with self._opened(name) as shard:
                has_all = is_complete(shard.schema_arrow, kind)
                matches = condition(where, schema(recipe_named(shard.schema_arrow)))
                leaves = _leaves(shard, wanted, without) if has_all else None
                candidates = self._candidate_groups(name, matches) if has_all else None
                first = 0
                for group in range(shard.num_row_groups):
                    end = first + shard.metadata.row_group(group).num_rows
                    if end > start and (candidates is None or group in candidates):
                        for batch in shard.batches(leaves, [group]):
                            first += batch.num_rows
                            rest = batch.slice(max(0, batch.num_rows - max(0, first - start)))
                            place = first - rest.num_rows
                            for part in (rest,) if has_all else completed(rest, kind):
                                place += part.num_rows
                                matching = part if matches is None else part.filter(matches)
                                if matching.num_rows:
                                    metadata = {RECIPE: recipe_of(part), AFTER: f"{name}:{place}"}
                                    yield matching.replace_schema_metadata(metadata)
                    first = end

    def timings(self) -> Iterator[pa.RecordBatch]:
        for shard in shards_of(self.manifest, TIMED):
            with self._opened(shard.name) as file:
                for batch in file.batches():
                    yield from completed(batch, TIMED)

    def prompts(self) -> Mapping[str, str]:
        try:
            texts = read_prompts(self._storage, shards_of(self.manifest, PROMPTS))
        except FileNotFoundError as error:
            raise NoDataset(f"{self._folder}: the manifest lists {error}, but it is not there") from error
        unfinished = self._unfinished_prompts
        return _unfinished(unfinished) if unfinished and unfinished.exists() else texts

    def unsharded(self) -> Iterator[Collected]:
        # Earlier segments are in shards, even if their files are not removed yet.
        first = self.manifest["arrival"].get("segments", 0)
        for path in (path for path in self._journals if int(path.name.partition("-")[2] or first) >= first):
            try:
                yield from (Collected.FromString(payload) for payload in read_messages(path))
            except (DecodeError, OSError) as error:
                raise NoDataset(one_line(error)) from error

    def _from(self, after: str | None, kind: str) -> Iterator[tuple[str, int]]:
        """Yields the remaining shards, each with the number of rows to skip."""
        names = [shard.name for shard in shards_of(self.manifest, kind)]
        if not after:
            yield from ((name, 0) for name in names)
            return
        at, _, row = after.rpartition(":")
        if at not in names or not row.isdecimal():
            raise NoDataset(f"{after!r} is not a place in {self._folder}: use one such as accepted/00000.parquet:250")
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
                    raise NoDataset(f"{self._folder}: {told}: restore the file, or generate the dataset again")
                yield shard
        except FileNotFoundError as error:
            raise NoDataset(f"{self._folder}: the manifest lists {name}, but it is not there") from error
        except (TooLarge, NotRegular) as error:
            raise NoDataset(f"{self._folder}: {name} cannot be read: {error.strerror or error}") from error
        except NotRows as error:
            raise NoDataset(f"{self._folder}: {name} holds no rows of a dataset: {error}") from error
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise NoDataset(f"{self._folder}: {name} is damaged ({one_line(error)})") from error

    def _candidate_groups(self, name: str, matches: pc.Expression | None) -> set[int] | None:
        """Returns the row groups that may match, by Parquet's statistics; None for all."""
        if matches is None:
            return None
        # Few reads have a condition, and this takes 50 ms to load.
        from pyarrow.dataset import ParquetFileFormat

        files, root = self._storage.for_arrow()
        fragment = ParquetFileFormat().make_fragment(f"{root}/{name}", filesystem=files)
        return {group.id for group in fragment.subset(matches).row_groups}


def _leaves(shard: BoundedParquetFile, wanted: Sequence[str] | None, without: Sequence[str]) -> list[str] | None:
    """Returns Parquet's paths of the wanted columns; None for all."""
    if wanted is None and not without:
        return None
    paths = (shard.schema.column(at).path for at in range(len(shard.schema)))
    return selected({path: LIST.sub("", path) for path in paths}, wanted, without)


def _unfinished(prompts: Path) -> dict[str, str]:
    try:
        texts = read_json(prompts)
        return {str(name): str(text) for name, text in texts.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise NoDataset(f"{prompts} cannot be read ({one_line(error)})") from error
