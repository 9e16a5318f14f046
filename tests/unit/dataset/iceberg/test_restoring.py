"""Tables that their catalog has lost are registered again from the files of the warehouse, and writers go on."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.iceberg.compaction import compact
from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.dataset.verify import findings_at
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.iceberg.test_writing import RUN, arrivals, held, once


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def lose_catalog(folder: Path) -> None:
    with sqlite3.connect(folder / "catalog.db") as catalog:
        catalog.executescript("DROP TABLE iceberg_tables; DROP TABLE iceberg_namespace_properties")


def recovered(location: Location) -> str:
    done = CliRunner().invoke(commands, ["recover", str(location)])
    assert done.exit_code == 0, done.output
    return done.output


def current(location: Location) -> list[str]:
    tables = Tables.opened(location)
    return [table.metadata_location for table in (tables.conversations, tables.runs)]


def test_a_lost_catalog_is_told_of_the_latest_state_of_each_table(location: Location, tmp_path: Path) -> None:
    before = TableWriter(location)
    for ordinal in range(12):
        before.append(arrivals(ordinal))
    before.mark_read(before.unread)
    latest = current(location)
    lose_catalog(tmp_path)
    names = zip(("conversations", "runs"), latest, strict=True)
    assert recovered(location) == "".join(f"{location}: {name} is registered as {file} says\n" for name, file in names)
    assert list(findings_at(f"{location}/{RUN}")) == []
    for writer in (before, TableWriter(location)):
        writer.append(arrivals(*range(14)))
        # The topics are read again by the collector that goes on.
        assert writer.unread
    assert held(location) == once(range(14))
    refused = CliRunner().invoke(commands, ["recover", str(location)], env={"SOLILOQUY_KAFKA": ""})
    assert refused.output.endswith(f"recover requires --kafka HOST:PORT: {location} itself has lost nothing\n")


def test_no_writer_begins_anew_over_the_files_of_lost_tables(location: Location, tmp_path: Path) -> None:
    writer = TableWriter(location)
    writer.append(arrivals(0))
    lose_catalog(tmp_path)
    with pytest.raises(StorageUnavailable):
        writer.append(arrivals(0, 1))
    for each in (writer, TableWriter(location)):
        with pytest.raises(StorageUnavailable, match=f"lost conversations, .*: run soliloquy recover {location}$"):
            each.append(arrivals(0, 1))
    recovered(location)
    writer.append(arrivals(0, 1))
    assert held(location) == once(range(2))


KILLED = """
import os, sys
from pyiceberg.catalog.sql import SqlCatalog
from soliloquy.dataset.iceberg.tables import Location
from soliloquy.dataset.iceberg.writing import TableWriter
from tests.unit.dataset.iceberg.test_writing import arrivals

write = SqlCatalog._write_metadata
def and_die(*given, **named):
    write(*given, **named)
    os._exit(9)
writer = TableWriter(Location.parsed(sys.argv[1]))
writer.append(arrivals(0, 1))
SqlCatalog._write_metadata = staticmethod(and_die)
writer.append(arrivals(2, 3))
"""


def test_a_commit_that_was_killed_before_its_end_doubles_nothing(location: Location, tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(location)], env={**os.environ, "PYTHONPATH": "."})
    assert killed.returncode == 9
    [committed, _] = current(location)
    lose_catalog(tmp_path)
    assert committed not in recovered(location)
    assert list(findings_at(f"{location}/{RUN}")) == []
    # Its events were never confirmed, so that they come again.
    TableWriter(location).append(arrivals(2, 3, 4))
    assert held(location) == once(range(5))


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def without_manifests(file: Path) -> None:
    # As pyiceberg leaves a commit that another one preceded.
    later = max(file.parent.glob("snap-*.avro"), key=lambda path: path.stat().st_mtime_ns)
    later.unlink()


@pytest.mark.parametrize("harm", [cut_off, without_manifests])
def test_metadata_that_are_not_whole_are_passed_over(
    location: Location, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    writer = TableWriter(location)
    for ordinal in range(3):
        writer.append(arrivals(ordinal))
    [file, _] = current(location)
    harm(Path(file.removeprefix("file://")))
    lose_catalog(tmp_path)
    assert file not in recovered(location)
    assert held(location) == once(range(2))
    # The mark has the third read again.
    writer.append(arrivals(0, 1, 2))
    assert held(location) == once(range(3))


def test_a_table_that_had_the_name_before_is_not_taken(location: Location, tmp_path: Path) -> None:
    earlier = TableWriter(location)
    for ordinal in range(9):
        earlier.append(arrivals(ordinal))
    lose_catalog(tmp_path)
    left = tmp_path / "warehouse" / "tutoring"
    aside = left.rename(tmp_path / "aside")
    TableWriter(location).append(arrivals(20))
    latest = current(location)
    shutil.copytree(aside, left, dirs_exist_ok=True)
    lose_catalog(tmp_path)
    recovered(location)
    assert held(location) == once([20])
    assert latest[1] in current(location)


def test_a_compacted_table_is_restored_whole(location: Location, tmp_path: Path) -> None:
    for ordinal in range(3):
        TableWriter(location).append(arrivals(ordinal))
    compact(location, 0.0)
    lose_catalog(tmp_path)
    recovered(location)
    assert list(findings_at(f"{location}/{RUN}")) == []
    assert held(location) == once(range(3))


def test_a_store_that_never_was_is_not_recovered(location: Location) -> None:
    refused = CliRunner().invoke(commands, ["recover", str(location)])
    assert refused.exit_code == 2
    assert "has the table conversations: set PYICEBERG_CATALOG__PROD__WAREHOUSE to the URL above" in refused.output
