"""A conversation that is forgotten is in no row of a table, and no collector brings it back."""

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.forgetting import forget
from soliloquy.dataset.iceberg.compaction import compact
from soliloquy.dataset.iceberg.tables import Location
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.reading import Dataset, NoDataset
from soliloquy.dataset.verify import findings_at
from tests.unit.collector.collecting import numbered
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.iceberg.test_writing import RUN, arrivals, once


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def read(place: str) -> Counter[str]:
    return Counter(one.id for one in Dataset(place).conversations())


def test_no_collector_brings_it_back_and_its_place_counts(location: Location) -> None:
    before = TableWriter(location)
    before.append(arrivals(0, 1, 2))
    place = f"{location}/{RUN}"
    assert forget(place, [numbered(1).id, "unknown"]) == {numbered(1).id}
    assert forget(place, [numbered(1).id]) == set()
    for writer in (before, TableWriter(location)):
        writer.append(arrivals(0, 1, 2, 3))
        assert writer.count(RUN) == 4
    for _ in range(2):
        assert (read(place), list(findings_at(place))) == (once((0, 2, 3)), [])
        compact(location, 0.0)
        assert TableWriter(location).count(RUN) == 4


def test_the_certificate_says_what_is_gone_and_what_expires_when(location: Location) -> None:
    TableWriter(location).append(arrivals(0, 1))
    gone = numbered(1).id
    told = CliRunner().invoke(commands, ["forget", f"{location}/{RUN}", "--conversation", gone])
    first, *rest = told.output.splitlines()
    assert first.startswith(f"{location}/{RUN}: 1 conversation is removed on ")
    assert sum("conversation.finished" in line for line in rest if line.startswith("gone from Kafka by ")) == 1
    assert "elsewhere: tables: soliloquy compact removes the earlier states that hold it" in rest
    assert told.exit_code == 0
    again = CliRunner().invoke(commands, ["forget", f"{location}/{RUN}", "--conversation", gone])
    assert (again.exit_code, again.output.splitlines()[1]) == (1, f"not there: {gone}")


def test_a_whole_dataset_leaves_no_row_and_no_name(location: Location) -> None:
    TableWriter(location).append(arrivals(0, 1))
    forget(f"{location}/{RUN}", None)
    with pytest.raises(NoDataset):
        Dataset(f"{location}/{RUN}")
