"""Reads a dataset from one snapshot of its table."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from soliloquy.dataset.iceberg.files import DataFile, MissingFile, Span, bucket_rows, data_files, rows_in
from soliloquy.dataset.iceberg.rows import BUCKET_ORDINALS, COLLECTED_AT, SERVICES, leaves, pruned
from soliloquy.dataset.iceberg.tables import Location, Tables, attempt, equal
from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.lineage import from_properties
from soliloquy.dataset.rows import REASONS, RECIPE, messages, schema
from soliloquy.dataset.selection import Filter, MissingDataset, NoDataset, condition, selected
from soliloquy.dataset.source import AFTER
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.dataset.timings import timings, without_timings
from soliloquy.recipes.packages import DEFAULT
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected

_PLACE = re.compile(r"(\d+)-(\d+)/(\d+):(\d+)", re.ASCII)
# The most datasets that a message lists.
_LISTED = 5


class TableRows:
    """The rows of a dataset in the order of the run, whoever wrote them when.

    A place says which commits are being read, and a number of their rows in a bucket. Neither later commits nor a
    compaction change those rows and their order, so that reading continues with the rest, then with later commits.
    """

    def __init__(self, text: str) -> None:
        """Raises NoDataset."""
        try:
            self.location = location = Location.parsed(text)
            tables = Tables.opened(location)
            found = attempt(location, lambda: _runs(tables, location.dataset))
            others = [] if found else attempt(location, lambda: _datasets(tables))
        except NoDataset:
            raise
        except Failure as error:
            raise NoDataset(str(error)) from error
        if not found:
            holds = f"; it holds {', '.join(others[:_LISTED])}" + (", .." if len(others) > _LISTED else "")
            raise MissingDataset(f"{location} is no dataset: use {location.store}/DATASET{holds if others else ''}")
        self.table = tables.conversations
        self._prompts = dict(found[0]["prompts"])
        run = json.loads(found[0]["identity"])
        arrival = {"services": from_properties(self.table.properties)}
        self.manifest: dict[str, Any] = {"run": run, "shards": [], "arrival": arrival, "cost": {}}
        snapshot = self.table.metadata.current_snapshot()
        # The commits that had been made when the dataset was opened.
        self._whole = Span(begin=0, end=(snapshot.sequence_number or 0) if snapshot else 0)
        self._files: dict[str, list[DataFile]] = {}

    def recipes(self, kind: str) -> list[str]:
        return [self._recipe] if self.count(kind) else []

    def count(self, kind: str) -> int:
        return rows_in(self.table, [file for file in self.files(kind) if file.meets(self._whole)], self._whole)

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
        every = self.schema(kind)
        paths = {path: path for path in leaves(every)}
        asked = None if columns is None else [*columns, *(name for name, _, _ in where)]
        wanted = pruned(every, set(selected(paths, asked, without)) or {"id"})
        matches = condition(where, every)
        for span, first, skipped in self._spans(after, last):
            files = [file for file in self.files(kind) if file.bucket >= first and file.meets(span)]
            for bucket, alike in groupby(files, lambda file: file.bucket):
                if not _may_hold(bucket, where):
                    continue
                held, row, left_out = [*alike], 0, skipped if bucket == first else 0
                if left_out and left_out >= rows_in(self.table, held, span):
                    continue
                for batch in self._bucket(kind, held, wanted, span):
                    row += batch.num_rows
                    batch = without_timings(batch)
                    rest = batch.slice(max(0, batch.num_rows - max(0, row - left_out)))
                    matching = rest if matches is None else rest.filter(matches)
                    if matching.num_rows:
                        place = f"{span.begin}-{span.end}/{bucket}:{row}"
                        yield matching.replace_schema_metadata({RECIPE: self._recipe, AFTER: place})

    def timings(self) -> Iterator[pa.RecordBatch]:
        wanted = schema(self._recipe).append(COLLECTED_AT).append(SERVICES)
        for kind in (ACCEPTED, REJECTED):
            files = [file for file in self.files(kind) if file.meets(self._whole)]
            for _, alike in groupby(files, lambda file: file.bucket):
                for batch in self._bucket(kind, [*alike], wanted, self._whole):
                    timed = batch.filter(batch[COLLECTED_AT.name].is_valid())
                    whole = map(
                        Conversation.FromString, messages(timed.drop_columns([COLLECTED_AT.name, SERVICES.name]))
                    )
                    services = (each or () for each in timed[SERVICES.name].to_pylist())
                    yield timings(whole, timed[COLLECTED_AT.name].to_pylist(), services)

    def prompts(self) -> Mapping[str, str]:
        return self._prompts

    def unsharded(self) -> Iterator[Collected]:
        return iter(())

    def schema(self, kind: str) -> pa.Schema:
        every = schema(self._recipe)
        return every.append(REASONS) if kind == REJECTED else every

    def files(self, kind: str) -> list[DataFile]:
        if kind not in self._files:
            try:
                dataset = self.location.dataset
                self._files[kind] = attempt(self.location, lambda: data_files(self.table, dataset, kind))
            except StorageUnavailable as error:
                raise NoDataset(str(error)) from error
        return self._files[kind]

    @property
    def _recipe(self) -> str:
        return self.manifest["run"].get("recipe") or DEFAULT

    def _bucket(self, kind: str, files: list[DataFile], wanted: pa.Schema, span: Span) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a bucket; after a compaction they are in other files, and the span brought the same."""
        row = 0
        while True:
            before, done = row, 0
            try:
                for batch in bucket_rows(self.table, files, wanted, span):
                    done += batch.num_rows
                    if done > before:
                        row = done
                        yield batch.slice(max(0, batch.num_rows - (done - before)))
                return
            except MissingFile:
                self._files.clear()
                self.table.refresh()
                found = [file for file in self.files(kind) if file.bucket == files[0].bucket and file.meets(span)]
                if found == files:
                    raise
                files = found

    def _spans(self, after: str | None, last: str | None) -> Iterator[tuple[Span, int, int]]:
        """Yields the commits to read, each with the bucket to start at and the number of its rows to leave out."""
        latest = self._whole.end
        span, bucket, row = self._place(after) if after else (Span(begin=0, end=0), 0, 0)
        yield span, bucket, row
        yield Span(begin=span.end, end=self._place(last)[0].end if last else latest), 0, 0

    def _place(self, place: str) -> tuple[Span, int, int]:
        if not (found := _PLACE.fullmatch(place)):
            raise NoDataset(f"{place!r} is not a place in {self.location}: use one such as 0-17/3:250")
        begin, end, bucket, row = map(int, found.groups())
        return Span(begin=begin, end=end), bucket, row


def _runs(tables: Tables, dataset: str) -> list[dict[str, Any]]:
    """Returns what the table of runs says of a dataset, perhaps repeatedly."""
    found: list[dict[str, Any]] = tables.runs.scan(row_filter=equal("dataset", dataset)).to_arrow().to_pylist()
    return found


def _datasets(tables: Tables) -> list[str]:
    names = tables.runs.scan(selected_fields=("dataset",)).to_arrow()["dataset"]
    return sorted(set(names.to_pylist()))


def _may_hold(bucket: int, where: Filter) -> bool:
    """Whether a bucket has problems that the conditions on `ordinal` allow."""
    ordinals = range(bucket * BUCKET_ORDINALS, (bucket + 1) * BUCKET_ORDINALS)
    first, last = ordinals[0], ordinals[-1]
    allow: Mapping[str, Callable[[Any], bool]] = {
        "==": lambda value: value in ordinals,
        "in": lambda values: any(value in ordinals for value in values),
        "<": lambda value: first < value,
        "<=": lambda value: first <= value,
        ">": lambda value: last > value,
        ">=": lambda value: last >= value,
    }
    return all(allow[how](value) for name, how, value in where if name == "ordinal" and how in allow)
