"""Tables in a catalog behind a REST server keep the promises that they keep in a database."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.iceberg import orphans
from soliloquy.dataset.iceberg.compaction import compact
from soliloquy.dataset.iceberg.tables import Location
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.dataset.verify import findings_at
from tests.integration.dataset.test_table_datasets import opened
from tests.lakehouse.lakehouse import STORE, environment
from tests.lakehouse.store import ObjectDisk
from tests.rest_catalog import RestCatalog
from tests.unit.collector.collecting import numbered
from tests.unit.dataset.iceberg.test_writing import RUN, arrivals, held, once, roll_back
from tests.waiting import until

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]
LOCATION = Location.parsed(STORE)


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RestCatalog]:
    with ObjectDisk(tmp_path) as warehouse, RestCatalog(tmp_path, warehouse) as started:
        for name, value in environment(started.url, warehouse).items():
            monkeypatch.setenv(name, value)
        yield started


async def test_collectors_go_on_by_themselves_after_the_server_was_away(
    catalog: RestCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.collector.table_datasets.PAUSE_SECONDS", 0.2)
    async with opened(LOCATION) as one, opened(LOCATION) as other:
        for start in range(0, 40, 10):
            both = [each.add(numbered(ordinal), []) for each in (one, other) for ordinal in range(start, start + 10)]
            adding = asyncio.gather(*both)
            if start == 20:
                catalog.kill()
                await until(lambda: one.fault and other.fault)
                await asyncio.to_thread(catalog.start)
            await adding
    assert held(LOCATION) == once(range(40))
    assert list(findings_at(f"{STORE}/{RUN}")) == []


async def test_a_store_that_takes_no_writes_for_a_time_delays_conversations(
    catalog: RestCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("soliloquy_services.collector.table_datasets.PAUSE_SECONDS", 0.2)
    async with opened(LOCATION) as datasets:
        await datasets.add(numbered(0), [])
        catalog.warehouse.kill()
        catalog.warehouse.start("--readonly")
        adding = asyncio.create_task(datasets.add(numbered(1), []))
        await until(lambda: datasets.fault)
        assert "nothing can be committed" in datasets.fault
        assert "ACCESS_DENIED" in datasets.fault
        assert "\n" not in datasets.fault
        assert held(LOCATION) == once(range(1))
        catalog.warehouse.kill()
        catalog.warehouse.start()
        await adding
        await until(lambda: not datasets.fault)
    assert held(LOCATION) == once(range(2))


def test_a_table_is_compacted_rolled_back_and_filled_again(catalog: RestCatalog) -> None:
    writer = TableWriter(LOCATION)
    for ordinal in range(3):
        writer.append(arrivals(ordinal))
    assert compact(LOCATION, 0.0).written == 1
    writer.append(arrivals(3))
    roll_back(LOCATION)
    writer.append(arrivals(*range(4)))
    assert writer.unread
    assert held(LOCATION) == once(range(4))
    told = CliRunner().invoke(commands, ["forget", f"{STORE}/{RUN}", "--conversation", numbered(1).id])
    assert told.exit_code == 0, told.output
    assert list(findings_at(f"{STORE}/{RUN}")) == []


_KILLED = """
import os
from pyiceberg.catalog.rest import RestCatalog
from soliloquy.dataset.iceberg.tables import Location
from soliloquy.dataset.iceberg.writing import TableWriter
from tests.unit.dataset.iceberg.test_writing import arrivals

writer = TableWriter(Location.parsed("iceberg:prod/tutoring"))
writer.append(arrivals(0, 1))
RestCatalog.commit_table = lambda *_: os._exit(9)
writer.append(arrivals(2, 3))
"""


def test_a_server_that_has_lost_its_tables_is_told_of_them(
    catalog: RestCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED], env={**os.environ, "PYTHONPATH": "."})
    assert killed.returncode == 9
    monkeypatch.setattr(orphans, "SAFE_SECONDS", -60.0)
    # Its data file, its manifest and the list of manifests.
    assert compact(LOCATION, 3600.0).orphans == 3
    catalog.kill()
    catalog.file.unlink()
    catalog.start()
    with pytest.raises(StorageUnavailable, match="its catalog has lost conversations"):
        TableWriter(LOCATION).append(arrivals(2))
    told = CliRunner().invoke(commands, ["recover", STORE])
    assert told.output.count(" is registered as s3://warehouse/tables/tutoring/") == 2, told.output
    TableWriter(LOCATION).append(arrivals(0, 2, 3))
    assert held(LOCATION) == once(range(4))
    assert list(findings_at(f"{STORE}/{RUN}")) == []
