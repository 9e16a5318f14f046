"""Appends conversations to the tables of a store, each of them once, however many processes append."""

import json
import logging
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, takewhile
from operator import attrgetter
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.expressions import And
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of

from soliloquy.dataset.iceberg.file_writer import FileWriter
from soliloquy.dataset.iceberg.forgetting import forget_dataset
from soliloquy.dataset.iceberg.rows import BUCKET_ORDINALS, table_schema
from soliloquy.dataset.iceberg.tables import (
    UNREAD,
    Location,
    Tables,
    attempt,
    equal,
    require_format,
    require_installation,
)
from soliloquy.dataset.iceberg.versions import columns_by, require_known_columns
from soliloquy.dataset.ids import IdSet
from soliloquy.dataset.layout import ACCEPTED, REJECTED
from soliloquy.dataset.lineage import NONE_KNOWN, Descriptions, as_properties
from soliloquy.dataset.manifest import identity
from soliloquy.dataset.record import as_record, record_text
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.recipes.prompts import own_texts
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.runs_pb2 import Run

T = TypeVar("T")

# The snapshot property with the offset after the last event of each partition whose rows it added.
OFFSETS = "soliloquy.offsets"
# The buckets whose ids are in memory; the least recently used is forgotten first.
KNOWN_BUCKETS = 64

_log = logging.getLogger(__name__)

# A conversation and its dataset.
Arrival = tuple[str, Collected]


class _Change(Transaction):
    """Copies the metadata, which are long, only once there is something to change: that took most of a commit."""

    @property
    def table_metadata(self) -> TableMetadata:
        return super().table_metadata if self._updates else self._table.metadata


class TableWriter:
    """Used by one thread at a time; after an error, the same call can be repeated.

    Each commit asserts the snapshot whose ids are known, so that nobody adds one of its conversations in between. A
    commit of unknown outcome is found as one of somebody else: its conversations are known afterwards.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._tables: Tables | None = None
        # The snapshot whose ids are known, of the buckets that are.
        self._seen: Snapshot | None = None
        self._known: OrderedDict[tuple[str, int], IdSet] = OrderedDict()
        # The datasets that are in the table of runs, and writers of the recipes for which the table has columns.
        self._introduced: set[str] = set()
        self._writers: dict[str, FileWriter] = {}
        # Names the log whose conversations are added; empty for any.
        self.installation = ""
        # The descriptions of services, which the table keeps.
        self.services: Descriptions = NONE_KNOWN
        # The value of UNREAD when the table was last looked at.
        self.unread = ""

    def append(self, arrivals: Sequence[Arrival]) -> None:
        """Returns once the table holds them all; raises StorageUnavailable."""
        self._attempt(lambda: self._append(arrivals))

    def holds(self, dataset: str, conversation: Conversation) -> bool:
        """Whether the table held the conversation when it was last looked at; raises StorageUnavailable."""
        return self._attempt(lambda: conversation.id in self._ids(dataset, conversation.ordinal))

    def count(self, dataset: str) -> int:
        """Counts the conversations of a dataset; raises StorageUnavailable."""

        def count() -> int:
            scan = self._synced().scan(row_filter=equal("dataset", dataset))
            return sum(task.file.record_count for task in scan.plan_files())

        return self._attempt(count)

    def record(self, dataset: str, changed: RunChanged) -> None:
        """Keeps the request and the latest state of a run; raises StorageUnavailable."""
        self._attempt(lambda: self._record(dataset, changed))

    def delete(self, dataset: str) -> None:
        """Removes a dataset; raises StorageUnavailable."""
        self._attempt(lambda: forget_dataset(self._opened(), dataset))
        self._introduced.discard(dataset)
        for bucket in [bucket for bucket in self._known if bucket[0] == dataset]:
            del self._known[bucket]

    def look(self) -> None:
        """Notices what others did to the table; raises StorageUnavailable."""
        self._attempt(self._synced)

    def mark_read(self, mark: str) -> None:
        """Removes UNREAD unless it was set again meanwhile; raises StorageUnavailable."""

        def remove() -> None:
            table = self._synced()
            if self.unread == mark:
                with _Change(table) as change:
                    change.remove_properties(UNREAD)
                self._synced()

        self._attempt(remove)

    def _attempt(self, act: Callable[[], T]) -> T:
        try:
            return attempt(self._location, act)
        except StorageUnavailable:
            # It is opened anew: with the credentials of then, and nothing of what a commit without an answer left.
            self._tables = None
            raise

    def _append(self, arrivals: Sequence[Arrival]) -> None:
        new: list[Arrival] = []
        files: list[DataFile] = []
        written_for: Table | None = None
        while True:
            with suppress(CommitFailedException):
                # Files take longer than a commit: they are written before one looks at what others did meanwhile.
                table = self._prepared(self._synced() if written_for else self._opened().conversations, arrivals)
                left = self._unknown(arrivals)
                if table is written_for and left == new:
                    if new:
                        self._commit(table, new, files)
                    break
                if table is written_for:
                    for file in files:
                        table.io.delete(file.file_path)
                new, files, written_for = left, list(self._written(left)), table
        while len(self._known) > KNOWN_BUCKETS:
            self._known.popitem(last=False)

    def _prepared(self, table: Table, arrivals: Iterable[Arrival]) -> Table:
        """Returns the table with the columns of the recipes; the table of runs has their datasets."""
        first = {dataset: one for dataset, one in arrivals if dataset not in self._introduced}
        for dataset, one in first.items():
            self._introduce(dataset, Conversation.FromString(one.conversation).run)
        for recipe in {one.recipe for _, one in arrivals} - self._writers.keys():
            table = self._synced()
            with _Change(table) as change:
                with change.update_schema() as update:
                    update.union_by_name(table_schema(recipe))
                if change.table_metadata is not table.metadata:
                    change.set_properties(columns_by(recipe))
            self._writers[recipe] = FileWriter(table, recipe)
        touched = {digest for _, one in arrivals for digest in one.timings.services}
        known = as_properties({digest: self.services[digest] for digest in touched & self.services.keys()})
        if known.keys() - table.properties.keys():
            table = self._synced()
            with _Change(table) as change:
                change.set_properties(known)
        return table

    def _introduce(self, dataset: str, run: Run) -> None:
        runs = self._opened().runs.refresh()
        if not runs.scan(row_filter=equal("dataset", dataset), selected_fields=("dataset",)).to_arrow().num_rows:
            runs.append(pa.Table.from_pylist([_introduction(dataset, run)], runs.schema().as_arrow()))
        self._introduced.add(dataset)

    def _record(self, dataset: str, changed: RunChanged) -> None:
        """Leaves out a run whose counts are final and whose row is gone: its owner may have removed it."""
        while True:
            self._synced()
            runs, here = self._opened().runs.refresh(), equal("dataset", dataset)
            rows = runs.scan(row_filter=here).to_arrow().to_pylist()
            if not (rows or changed.HasField("progress")):
                rows = [_introduction(dataset, changed.run)]
            # Another collector may have heard of a later state.
            if not rows or (rows[0]["record"] and as_record(rows[0]["record"]).changed_at >= changed.changed_at):
                return
            with suppress(CommitFailedException):
                row = rows[0] | {"record": record_text(changed)}
                runs.overwrite(pa.Table.from_pylist([row], runs.schema().as_arrow()), here)
                return

    def _written(self, arrivals: Sequence[Arrival]) -> Iterator[DataFile]:
        """Writes files, which count once a commit names them."""
        for partition, alike in groupby(arrivals, key=_partition):
            group = [one for _, one in alike]
            yield self._writers[group[0].recipe].write(partition, group)

    def _commit(self, table: Table, arrivals: Sequence[Arrival], files: Iterable[DataFile]) -> None:
        with _Change(table) as change, change.update_snapshot({OFFSETS: _offsets(arrivals)}).merge_append() as add:
            for file in files:
                add.append_data_file(file)
        self._seen = table.current_snapshot()
        for dataset, one in arrivals:
            self._ids(dataset, one.ordinal).add(one.id)

    def _unknown(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Returns those that the table does not hold, in the order of their files."""
        new = {one.id: (dataset, one) for dataset, one in arrivals if one.id not in self._ids(dataset, one.ordinal)}
        return sorted(new.values(), key=lambda each: (*_partition(each), each[1].ordinal, each[1].attempt))

    def _ids(self, dataset: str, ordinal: int) -> IdSet:
        """Returns the ids of a bucket."""
        bucket = dataset, ordinal // BUCKET_ORDINALS
        if bucket not in self._known:
            wanted = And(equal("dataset", dataset), equal("bucket", bucket[1]))
            stored = self._opened().conversations.scan(row_filter=wanted, selected_fields=("id",)).to_arrow()
            self._known[bucket] = ids = IdSet()
            for conversation_id in stored["id"].to_pylist():
                ids.add(conversation_id)
        self._known.move_to_end(bucket)
        return self._known[bucket]

    def _opened(self) -> Tables:
        if self._tables is None:
            self._tables = Tables.created(self._location)
            # One that is no ancestor of the current snapshot was rolled back while nobody looked.
            snapshots = self._tables.conversations.snapshots()
            self._seen = max(snapshots, key=attrgetter("sequence_number"), default=None)
            self._known.clear()
            self._introduced.clear()
            self._writers.clear()
        return self._tables

    def _synced(self) -> Table:
        """Returns the table as it is now; the ids that were added meanwhile are known."""
        table = self._opened().conversations
        try:
            table.refresh()
        except (NoSuchTableError, ValueError):
            # Somebody dropped the table, and perhaps made another one of its name.
            self._tables = None
            table = self._opened().conversations
        require_format(self._location, table)
        require_known_columns(self._location.store, table.properties)
        require_installation(self._location, table, self.installation)
        if _id(table.current_snapshot()) != _id(self._seen):
            since, is_rolled_back = _since(table, self._seen)
            if is_rolled_back:
                _log.error("%s was rolled back: all that the topics hold is read again", self._location)
                with _Change(table) as change:
                    change.set_properties({UNREAD: str(time.time())})
            self._learn(table, since)
            self._seen = table.current_snapshot()
        self.unread = table.properties.get(UNREAD, "")
        return table

    def _learn(self, table: Table, since: Sequence[Snapshot] | None) -> None:
        """Adds the ids of these snapshots to the known ones; forgets all if that cannot be told from snapshots."""
        if since is None or any(one.summary is None or one.summary.operation != Operation.APPEND for one in since):
            self._known.clear()
        if since and self._known:
            scan = table.incremental_append_scan()
            first, last = since[-1].snapshot_id, since[0].snapshot_id
            for task in scan.from_snapshot_id_inclusive(first).to_snapshot_id_inclusive(last).plan_files():
                partition = task.file.partition
                if ids := self._known.get((partition[0], partition[2])):
                    with table.io.new_input(task.file.file_path).open() as stream:
                        added = pq.read_table(cast("Any", stream), columns=["id"])["id"].to_pylist()
                    for conversation_id in added:
                        ids.add(conversation_id)


def _introduction(dataset: str, run: Run) -> dict[str, Any]:
    texts = own_texts(run.recipe) | dict(run.prompts) if run.prompts else {}
    return {"dataset": dataset, "identity": json.dumps(identity(run)), "prompts": list(texts.items()), "record": ""}


def _partition(arrival: Arrival) -> tuple[str, str, int]:
    dataset, one = arrival
    return dataset, REJECTED if one.reasons else ACCEPTED, one.ordinal // BUCKET_ORDINALS


def _offsets(arrivals: Iterable[Arrival]) -> str:
    offsets: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for _, one in arrivals:
        if one.HasField("origin"):
            known = offsets[one.origin.topic]
            known[one.origin.partition] = max(one.origin.offset + 1, known.get(one.origin.partition, 0))
    return json.dumps(offsets)


def _id(snapshot: Snapshot | None) -> int | None:
    return snapshot.snapshot_id if snapshot else None


def _since(table: Table, seen: Snapshot | None) -> tuple[list[Snapshot] | None, bool]:
    """Returns the snapshots after one, newest first, None if that cannot be told; and whether it was rolled back."""
    head = table.current_snapshot()
    if seen is None:
        return None, False
    earliest = seen.sequence_number or 0
    since = list(takewhile(lambda one: (one.sequence_number or 0) > earliest, ancestors_of(head, table.metadata)))
    before = since[-1].parent_snapshot_id if since else _id(head)
    if before == seen.snapshot_id:
        return since, False
    # One whose parent the table no longer lists may descend from what was seen.
    has_expired = bool(since) and (before is None or table.snapshot_by_id(before) is None)
    return None, not has_expired
