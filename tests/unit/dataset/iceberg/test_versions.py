"""An earlier version writes nothing to tables of a later one."""

from pathlib import Path

import pytest
from pyiceberg.types import StringType

from soliloquy.dataset.iceberg import versions
from soliloquy.dataset.iceberg.tables import Location, Tables, opened_catalog
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.manifest import UnreadableManifest
from soliloquy.runtime.distribution import NAME, installed_version
from soliloquy.v1.events_pb2 import RunChanged
from tests.unit.collector.collecting import numbered
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.iceberg.test_writing import RUN, arrivals, held, once

_OURS = installed_version()
MARK = f"soliloquy.columns-by.{NAME}"


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def set_property(location: Location, name: str, value: str) -> None:
    with Tables.opened(location).conversations.transaction() as change:
        change.set_properties({name: value})


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("soliloquy.format", "2", "has tables of format 2; this version reads format 1: update soliloquy"),
        (MARK, "99.0", f"has columns of {NAME} 99.0; this is {_OURS}: update {NAME}"),
    ],
)
def test_neither_a_running_writer_nor_another_one_adds_rows(
    location: Location, name: str, value: str, why: str
) -> None:
    running = TableWriter(location)
    running.append(arrivals(0))
    set_property(location, name, value)
    for writer in (running, TableWriter(location)):
        with pytest.raises(UnreadableManifest, match=f"^{location} {why}$"):
            writer.append(arrivals(1))
        with pytest.raises(UnreadableManifest):
            writer.record("another", RunChanged(run=numbered(0).run))
    left = opened_catalog(location).load_table((location.namespace, "runs")).scan().to_arrow()
    assert left["dataset"].to_pylist() == [RUN]


def test_the_version_that_adds_columns_marks_them(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    TableWriter(location).append(arrivals(0))
    monkeypatch.setattr(versions, "version", lambda _: "99.0")
    later = TableWriter(location)
    later.append(arrivals(1))
    assert Tables.opened(location).conversations.properties[MARK] == _OURS
    with_labels = arrivals(2)
    with_labels[0][1].recipe = "mathdial"
    later.append(with_labels)
    assert Tables.opened(location).conversations.properties[MARK] == "99.0"


def test_a_column_of_ones_own_stops_no_writer(location: Location) -> None:
    writer = TableWriter(location)
    writer.append(arrivals(0))
    with Tables.opened(location).conversations.update_schema() as update:
        update.add_column("note", StringType())
    writer.append(arrivals(1))
    assert held(location) == once(range(2))
