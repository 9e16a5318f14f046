"""Collectors whose datasets are tables: what is handled is committed, and what somebody takes away comes again."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from soliloquy.dataset.iceberg.restoring import restore
from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.runs.recovery import recover
from soliloquy.runtime.distribution import NAME, installed_version
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.embedded import EmbeddedTransport
from soliloquy_services.collector.settings import LiveSettings
from soliloquy_services.collector.table_datasets import TableDatasets
from tests.e2e.collectors import harmed
from tests.integration.dataset.test_lost_datasets import RUN, Collector, once, reconciled
from tests.unit.collector.collecting import numbered
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.iceberg.test_restoring import lose_catalog
from tests.unit.dataset.iceberg.test_versions import set_property
from tests.waiting import until

CONVERSATIONS = 10


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soliloquy_services.collector.reconciliation.LOOK_SECONDS", 0.05)
    monkeypatch.setattr("soliloquy_services.collector.table_datasets.LOOK_SECONDS", 0.2)
    monkeypatch.setattr("soliloquy_services.collector.table_datasets.PAUSE_SECONDS", 0.1)


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def opened(location: Location, seconds: float = 0.1) -> TableDatasets:
    return TableDatasets(LiveSettings(store=str(location), shard_seconds=seconds))


def held(location: Location) -> Counter[str]:
    table = Tables.opened(location).conversations
    return Counter(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())


def holds_all(location: Location) -> bool:
    with contextlib.suppress(Failure):
        return held(location) == once(CONVERSATIONS)
    # Somebody has purged the tables.
    return False


async def test_collectors_beside_each_other_hold_each_conversation_once(location: Location) -> None:
    async with opened(location) as one, opened(location) as other:
        adding = [each.add(numbered(ordinal), []) for each in (one, other) for ordinal in range(CONVERSATIONS)]
        await asyncio.gather(*adding)
        assert held(location) == once(CONVERSATIONS)
        assert await one.written(RUN) == CONVERSATIONS


async def test_what_waits_is_committed_when_the_collector_stops(location: Location) -> None:
    async with opened(location, seconds=600.0) as datasets:
        adding = asyncio.create_task(datasets.add(numbered(0), []))
        await until(lambda: datasets._waiting)
    await adding
    assert held(location) == once(1)


async def test_a_full_commit_waits_for_nothing(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("soliloquy_services.collector.table_datasets.COMMIT_ROWS", 3)
    async with opened(location, seconds=600.0) as datasets:
        await asyncio.gather(*(datasets.add(numbered(ordinal), []) for ordinal in range(3)))
    assert held(location) == once(3)


def test_a_dataset_is_no_store(location: Location) -> None:
    with pytest.raises(Failure, match="iceberg:prod/tutoring/mine is a dataset: use iceberg:prod/tutoring as"):
        TableDatasets(LiveSettings(store=f"{location}/mine"))


def roll_back(location: Location) -> None:
    table = Tables.opened(location).conversations
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().rollback_to_snapshot(first).commit()


def purge(location: Location) -> None:
    tables = Tables.opened(location)
    for table in (tables.conversations, tables.runs):
        table.catalog.purge_table(table.name())


@pytest.mark.parametrize("harm", [roll_back, purge])
@pytest.mark.parametrize("runs", [True, pytest.param(False, marks=pytest.mark.thorough)])
async def test_what_somebody_takes_away_is_read_again(
    tmp_path: Path, location: Location, harm: Callable[[Location], None], runs: bool
) -> None:
    async def collected(transport: EmbeddedTransport, datasets: TableDatasets, *, taken: bool) -> None:
        async with reconciled(datasets, transport) as reconciliation:
            await until(lambda: not datasets.unread)
            collector = Collector(transport=transport, datasets=datasets, reconciliation=reconciliation)
            if taken:
                for part in (range(3), range(3, CONVERSATIONS)):
                    await collector.finish(*part)
                    await collector.collect()
            if taken and runs:
                harm(location)
            await until(lambda: holds_all(location))

    async with EmbeddedTransport(tmp_path / "log.sqlite") as transport:
        async with opened(location) as datasets:
            await collected(transport, datasets, taken=True)
        if not runs:
            harm(location)
            async with opened(location) as datasets:
                await collected(transport, datasets, taken=False)
    assert held(location) == once(CONVERSATIONS)


async def test_a_collector_goes_on_once_its_lost_catalog_is_recovered(tmp_path: Path, location: Location) -> None:
    async with (
        EmbeddedTransport(tmp_path / "log.sqlite") as transport,
        opened(location) as datasets,
        reconciled(datasets, transport) as reconciliation,
    ):
        await until(lambda: not datasets.unread)
        collector = Collector(transport=transport, datasets=datasets, reconciliation=reconciliation)
        await collector.finish(*range(3))
        await collector.collect()
        lose_catalog(tmp_path)
        await until(lambda: f"run soliloquy recover {location}" in datasets.fault)
        restore(location)
        await collector.finish(*range(3, CONVERSATIONS))
        await collector.collect()
        await until(lambda: not (datasets.fault or datasets.unread))
    assert held(location) == once(CONVERSATIONS)


async def test_a_collector_waits_until_it_is_as_new_as_the_tables(location: Location) -> None:
    async with opened(location) as datasets:
        await datasets.add(numbered(0), [])
        set_property(location, f"soliloquy.columns-by.{NAME}", "99.0")
        async with opened(location) as restarted:
            adding = [asyncio.create_task(each.add(numbered(1), [])) for each in (datasets, restarted)]
            await until(lambda: datasets.fault and restarted.fault)
            why = f"{location} has columns of {NAME} 99.0; this is {installed_version()}: update {NAME}"
            assert datasets.fault == restarted.fault == f"collector: nothing can be committed ({why})"
            assert held(location) == once(1)
            # Somebody decides otherwise.
            set_property(location, f"soliloquy.columns-by.{NAME}", "0.1")
            await asyncio.gather(*adding)
    assert held(location) == once(2)


async def test_a_second_installation_adds_nothing_until_the_tables_are_handed_over(
    tmp_path: Path, location: Location
) -> None:
    async def collect(ordinal: int, datasets: TableDatasets, transport: EmbeddedTransport) -> None:
        datasets.installation = transport.installation
        await datasets.add(numbered(ordinal), [])

    async with (
        EmbeddedTransport(tmp_path / "log.sqlite") as first,
        EmbeddedTransport(tmp_path / "other.sqlite") as second,
        opened(location) as ours,
        opened(location) as theirs,
    ):
        await collect(0, ours, first)
        adding = asyncio.create_task(collect(1, theirs, second))
        await until(lambda: theirs.fault)
        why = (
            f"{location} belongs to {first.installation}, and this is {second.installation}: use a namespace of its own"
        )
        assert why in theirs.fault
        await ours.add(numbered(2), [])
        assert held(location).keys() == {numbered(ordinal).id for ordinal in (0, 2)}
        assert [one.accepted async for one in recover(str(location), second)] == [2]
        # It is told no second time.
        assert [one async for one in recover(str(location), second)] == []
        await adding
        refused = asyncio.create_task(ours.add(numbered(3), []))
        await until(lambda: ours.fault)
        refused.cancel()
    assert held(location) == once(3)


@pytest.mark.parametrize(
    ("act", "error"),
    [
        ("pyiceberg.catalog.sql.SqlCatalog.load_table", ConnectionError("the catalog does not answer")),
        ("pyiceberg.io.pyarrow.PyArrowFile.create", PermissionError("the warehouse is read-only")),
        ("pyiceberg.io.pyarrow.PyArrowFile.create", PermissionError("the token has expired")),
    ],
)
async def test_what_fails_for_a_time_delays_conversations_and_loses_none(
    location: Location, monkeypatch: pytest.MonkeyPatch, act: str, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    async with opened(location) as datasets:
        await datasets.add(numbered(0), [])
        with monkeypatch.context() as away:
            away.setattr(act, fail)
            adding = asyncio.create_task(datasets.add(numbered(1), []))
            await until(lambda: datasets.fault)
            expected = f"collector: nothing can be committed ({location} failed ({error}))"
            assert datasets.fault == expected
        await adding
        await until(lambda: not datasets.fault)
    assert held(location) == once(2)


@pytest.mark.timeout(240)
async def test_collectors_that_are_killed_lose_nothing_and_keep_nothing_twice(
    tmp_path: Path, location: Location
) -> None:
    harm = await harmed(tmp_path, kills=1, seed=7, store=str(location), collectors=2)
    assert harm.kept == Counter(harm.published)
