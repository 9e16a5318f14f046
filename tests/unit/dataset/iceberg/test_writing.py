"""Any number of writers append conversations to a table, each of them once, whatever happens to the table."""

import json
import os
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from soliloquy.dataset.iceberg import writing
from soliloquy.dataset.iceberg.rows import BUCKET_ORDINALS
from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.dataset.iceberg.writing import OFFSETS, Arrival, TableWriter
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy_services.collector.journal import collected_now
from tests.unit.collector.collecting import numbered
from tests.unit.dataset.iceberg.catalogs import catalog_in

RUN = numbered(0).run.id


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def arrivals(*ordinals: int) -> list[Arrival]:
    return [(RUN, collected_now(numbered(ordinal), [], None)) for ordinal in ordinals]


def held(location: Location) -> Counter[str]:
    table = Tables.opened(location).conversations
    return Counter(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())


def once(ordinals: Iterable[int]) -> Counter[str]:
    return Counter(numbered(ordinal).id for ordinal in ordinals)


def test_writers_that_take_turns_add_each_conversation_once(location: Location) -> None:
    one, other = TableWriter(location), TableWriter(location)
    one.append(arrivals(0, 1))
    other.append(arrivals(1, 2))
    one.append(arrivals(2, 3, 3))
    assert held(location) == once(range(4))
    assert one.count(RUN) == other.count(RUN) == 4


def test_writers_that_append_at_once_add_each_conversation_once(location: Location) -> None:
    def append(writer: TableWriter, first: int) -> None:
        for start in range(first, 20 + first, 2):
            writer.append(arrivals(*range(start, start + 6)))

    Tables.created(location)
    threads = [threading.Thread(target=append, args=(TableWriter(location), first)) for first in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert held(location) == once(range(25))


def test_a_commit_whose_answer_is_lost_is_not_repeated(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = TableWriter(location)
    writer.append(arrivals(0))
    commit = SqlCatalog.commit_table

    def commit_and_break(*given: Any) -> Any:
        monkeypatch.setattr(SqlCatalog, "commit_table", commit)
        commit(*given)
        raise ConnectionError("the answer is lost")

    monkeypatch.setattr(SqlCatalog, "commit_table", commit_and_break)
    with pytest.raises(StorageUnavailable, match="the answer is lost"):
        writer.append(arrivals(0, 1, 2))
    writer.append(arrivals(0, 1, 2))
    assert held(location) == once(range(3))


def test_credentials_that_expire_are_replaced_by_those_of_then(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, load = "PYICEBERG_CATALOG__PROD__TOKEN", SqlCatalog.load_table

    def load_with_token(catalog: SqlCatalog, name: Any) -> Any:
        if catalog.properties["token"] != os.environ[token]:
            raise PermissionError("the token has expired")
        return load(catalog, name)

    monkeypatch.setattr(SqlCatalog, "load_table", load_with_token)
    monkeypatch.setenv(token, "first")
    writer = TableWriter(location)
    writer.append(arrivals(0))
    monkeypatch.setenv(token, "second")
    with pytest.raises(StorageUnavailable, match="the token has expired"):
        writer.append(arrivals(0, 1))
    writer.append(arrivals(0, 1))
    assert held(location) == once(range(2))


def test_what_others_add_while_a_recipe_gets_its_columns_is_known(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, other = TableWriter(location), TableWriter(location)
    other.append(arrivals(0))
    writer.append(arrivals(0))
    commit = SqlCatalog.commit_table

    def commit_after_another(*given: Any) -> Any:
        monkeypatch.setattr(SqlCatalog, "commit_table", commit)
        other.append(arrivals(1))
        return commit(*given)

    monkeypatch.setattr(SqlCatalog, "commit_table", commit_after_another)
    again = arrivals(1)
    again[0][1].recipe = "mathdial"
    writer.append(again)
    assert held(location) == once(range(2))


def test_a_commit_says_how_far_the_partitions_of_its_rows_were_read(location: Location) -> None:
    places = [(0, 7), (1, 3), (0, 5)]
    given = arrivals(0, 1, 2)
    for (_, one), (partition, offset) in zip(given, places, strict=True):
        one.origin.CopyFrom(Origin(topic="conversation.finished", partition=partition, offset=offset))
    TableWriter(location).append(given)
    snapshot = Tables.opened(location).conversations.current_snapshot()
    assert snapshot
    assert snapshot.summary
    assert json.loads(snapshot.summary[OFFSETS] or "") == {"conversation.finished": {"0": 8, "1": 4}}


def test_a_run_is_described_once(location: Location) -> None:
    for _ in range(2):
        TableWriter(location).append(arrivals(0))
    [row] = Tables.opened(location).runs.scan().to_arrow().to_pylist()
    assert row["dataset"] == RUN
    assert json.loads(row["identity"])["run"] == RUN


def test_a_table_has_no_settings_of_columns_that_it_lacks(location: Location) -> None:
    tables, prefix = Tables.created(location), "write.metadata.metrics.column."
    for table in (tables.conversations, tables.runs):
        named = {name.removeprefix(prefix) for name in table.properties if name.startswith(prefix)}
        assert "dataset" in named <= set(table.schema().column_names)


def test_ids_that_are_forgotten_are_read_again(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "KNOWN_BUCKETS", 1)
    far = 3 * BUCKET_ORDINALS
    writer = TableWriter(location)
    for _ in range(2):
        writer.append(arrivals(0))
        writer.append(arrivals(far))
        writer.append(arrivals(0, far))
    assert held(location) == once([0, far])


def test_what_was_rolled_back_can_be_added_again_and_is_to_be_read_again(location: Location) -> None:
    writer = TableWriter(location)
    writer.append(arrivals(0))
    writer.append(arrivals(1))
    writer.mark_read(writer.unread)
    assert not writer.unread
    roll_back(location)
    restarted = TableWriter(location)
    for each in (writer, restarted):
        each.look()
        assert each.unread
    writer.append(arrivals(0, 1))
    assert held(location) == once(range(2))
    # Somebody else who has read what there is does not take the mark of a later rollback away.
    before = writer.unread
    roll_back(location)
    writer.look()
    restarted.mark_read(before)
    assert restarted.unread


def roll_back(location: Location) -> None:
    table = Tables.opened(location).conversations
    snapshot = table.current_snapshot()
    assert snapshot
    assert snapshot.parent_snapshot_id
    table.manage_snapshots().rollback_to_snapshot(snapshot.parent_snapshot_id).commit()


def test_a_table_that_was_purged_is_made_again_and_filled(location: Location) -> None:
    writer = TableWriter(location)
    writer.append(arrivals(0))
    writer.mark_read(writer.unread)
    tables = Tables.opened(location)
    for table in (tables.conversations, tables.runs):
        table.catalog.purge_table(table.name())
    writer.append(arrivals(0, 1))
    assert writer.unread
    assert held(location) == once(range(2))
    assert Tables.opened(location).runs.scan().count() == 1


def test_snapshots_that_expired_were_not_rolled_back(location: Location) -> None:
    writer, other = TableWriter(location), TableWriter(location)
    writer.append(arrivals(0))
    writer.mark_read(writer.unread)
    for ordinal in (1, 2, 3):
        other.append(arrivals(ordinal))
    table = Tables.opened(location).conversations
    expired = [one.snapshot_id for one in table.snapshots()[:-1]]
    table.maintenance.expire_snapshots().by_ids(expired).commit()
    writer.append(arrivals(0, 1, 2, 3, 4))
    assert not writer.unread
    assert held(location) == once(range(5))


def test_rows_that_somebody_deleted_can_be_added_again(location: Location) -> None:
    writer = TableWriter(location)
    writer.append(arrivals(0, 1))
    Tables.opened(location).conversations.delete(f"id = '{numbered(0).id}'")
    writer.append(arrivals(0, 1))
    assert held(location) == once(range(2))
