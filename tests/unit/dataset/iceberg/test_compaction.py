"""A compaction leaves few files and every row, whoever reads or commits meanwhile."""

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyiceberg.exceptions import CommitFailedException

from soliloquy.cli.main import commands
from soliloquy.dataset.iceberg import compaction
from soliloquy.dataset.iceberg.compaction import compact
from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.dataset.reading import Dataset, place_after
from soliloquy.dataset.storage import StorageUnavailable
from soliloquy.dataset.timings import timings_by_id
from soliloquy.dataset.verify import findings_at
from tests.unit.dataset.iceberg.catalogs import catalog_in, commit
from tests.unit.dataset.iceberg.test_reading import numbers, one


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def files(location: Location) -> int:
    return len([*Tables.opened(location).conversations.scan().plan_files()])


def test_merged_rows_are_the_same_rows_in_the_same_order(location: Location) -> None:
    commit(location, [one(5), one(1)])
    commit(location, [one(2)], ["repeated: turn 2"])
    commit(location, [one(9000), one(3)])
    place = commit(location, [one(0), one(9001)])
    commit(location, [one(4, "other")])
    before = list(Dataset(place)), list(Dataset(place).conversations(rejected=True)), list(Dataset(place).timings())
    told = CliRunner().invoke(commands, ["compact", str(location)])
    assert told.output == f"{location}: 7 files are merged into 3; 0 snapshots and 0 files are removed\n"
    assert files(location) == 4
    assert before[:2] == (list(Dataset(place)), list(Dataset(place).conversations(rejected=True)))
    timings = pa.Table.from_batches(Dataset(place).timings()).sort_by("id")
    assert timings == pa.Table.from_batches(before[2]).sort_by("id")
    assert list(findings_at(place)) == []
    assert compact(location, 3600.0).merged == 0


def test_reading_goes_on_after_a_compaction_where_it_was(location: Location) -> None:
    place = commit(location, [one(5), one(9000), one(1)])
    places = [None, *(at for at, _ in Dataset(place).placed())]
    commit(location, [one(0), one(4), one(9001)])
    compact(location, 3600.0)
    commit(location, [one(6)])
    left = [[0, 1, 4, 5, 6, 9000, 9001], [5, 9000, 0, 4, 6, 9001], [9000, 0, 4, 6, 9001], [0, 4, 6, 9001]]
    assert [numbers(Dataset(place), after) for after in places] == left
    compact(location, 3600.0)
    assert [numbers(Dataset(place), after) for after in places] == left
    *_, last = Dataset(place).batches(["id"])
    assert numbers(Dataset(place), place_after(last)) == []


def test_files_that_no_snapshot_needs_are_removed(location: Location, tmp_path: Path) -> None:
    commit(location, [one(1)])
    place = commit(location, [one(2)])
    compact(location, 0.0)
    data = tmp_path / "warehouse" / "tutoring" / "conversations"
    assert len([*data.glob("data/**/*.parquet")]) == 1
    table = Tables.opened(location).conversations
    assert len(table.snapshots()) == 1
    assert numbers(Dataset(place)) == [1, 2]
    needed = {path.rpartition("/")[2] for one in table.snapshots() for path in [one.manifest_list]}
    needed |= {one.manifest_path.rpartition("/")[2] for one in table.snapshots()[0].manifests(table.io)}
    assert {path.name for path in data.glob("metadata/*.avro")} == needed


def test_snapshots_expire_though_collectors_are_too_quick_for_a_merge(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        commit(location, [one(number)])

    def overtaken(*_: object) -> None:
        raise CommitFailedException

    monkeypatch.setattr(compaction, "_replace", overtaken)
    with pytest.raises(StorageUnavailable):
        compact(location, 0.0)
    assert len(Tables.opened(location).conversations.snapshots()) == 1


def test_a_reader_finishes_in_its_state_though_its_files_are_removed(location: Location) -> None:
    commit(location, [one(1), one(9000)])
    reader = Dataset(commit(location, [one(2), one(9001)]))
    batches = reader.batches(["ordinal"])
    read = next(batches)["ordinal"].to_pylist()
    commit(location, [one(3), one(9002)])
    compact(location, 0.0)
    read += [each for batch in batches for each in batch["ordinal"].to_pylist()]
    assert read == numbers(reader) == [1, 2, 9000, 9001]
    assert reader.count() == len(timings_by_id(reader.timings())) == 4


def test_what_collectors_commit_meanwhile_is_kept(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(location, [one(1)])
    place = commit(location, [one(2)])
    merged = compaction._merged

    def and_a_collector_commits(*given: object) -> pa.Table:
        commit(location, [one(3)])
        return merged(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(compaction, "_merged", and_a_collector_commits)
    assert compact(location, 3600.0).merged == 2
    assert files(location) == 2
    assert numbers(Dataset(place)) == [1, 2, 3]
    assert list(findings_at(place)) == []


def test_of_two_compactions_at_once_one_counts(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(location, [one(1)])
    place = commit(location, [one(2)])
    merged = compaction._merged

    def and_another_compacts(*given: object) -> pa.Table:
        monkeypatch.undo()
        catalog_in(Path(str(given[0].location()).removeprefix("file://")).parents[2], monkeypatch)  # type: ignore[attr-defined]
        compact(location, 3600.0)
        return merged(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(compaction, "_merged", and_another_compacts)
    assert compact(location, 3600.0).merged == 0
    assert files(location) == 1
    assert numbers(Dataset(place)) == [1, 2]
