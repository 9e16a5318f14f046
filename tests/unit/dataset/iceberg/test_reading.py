"""A table is read in one state and in the order of its run, and reading goes on with what comes later."""

from pathlib import Path

import pytest

from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.reading import Dataset, NoDataset, place_after
from soliloquy.dataset.report.writing import write_report
from soliloquy.dataset.timings import timings_by_id
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ServiceDescribed
from tests.unit.dataset.iceberg.catalogs import catalog_in, collected, commit
from tests.unit.dataset.small import small


def one(number: int, run: str = "run") -> Conversation:
    made = small(number)
    made.run.id = run
    return made


def numbers(dataset: Dataset, after: str | None = None) -> list[int]:
    return [one for batch in dataset.batches(["ordinal"], after=after) for one in batch["ordinal"].to_pylist()]


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def test_a_reader_sees_one_state_while_collectors_commit(location: Location) -> None:
    opened = Dataset(commit(location, [one(3), one(1)]))
    commit(location, [one(2)])
    assert numbers(opened) == [1, 3]
    assert numbers(Dataset(f"{location}/run")) == [1, 2, 3]


def test_reading_goes_on_with_what_came_later_wherever_it_belongs(location: Location) -> None:
    place = commit(location, [one(5), one(9000), one(1)])
    places = [None, *(at for at, _ in Dataset(place).placed())]
    commit(location, [one(0), one(4), one(9001)])
    assert [numbers(Dataset(place), after) for after in places] == [
        [0, 1, 4, 5, 9000, 9001],
        [5, 9000, 0, 4, 9001],
        [9000, 0, 4, 9001],
        [0, 4, 9001],
    ]
    *_, last = Dataset(place).batches(["id"])
    assert numbers(Dataset(place), place_after(last)) == []


def test_datasets_in_one_table_are_apart(location: Location) -> None:
    commit(location, [one(1), one(2)], ["repeated: turn 2"])
    other = commit(location, [one(1, "other")])
    assert [found.run.id for found in Dataset(other)] == ["other"]
    assert Dataset(other).count(rejected=True) == 0
    assert [found.id for found in Dataset(f"{location}/run").conversations(rejected=True)] == ["c1", "c2"]


def test_a_table_keeps_the_services_of_its_conversations(location: Location, tmp_path: Path) -> None:
    described = ServiceDescribed(service="tutor", version="1.0", settings='{"model": "small"}')
    group = collected([one(1), one(2), one(3)])
    for each, services in zip(group, (["d1"], ["d1", "d2"], ()), strict=True):
        each.timings.services.extend(services)
    writer = TableWriter(location)
    writer.services = {"d1": described, "d3": described}
    writer.append([("run", each) for each in group])
    dataset = Dataset(f"{location}/run")
    assert [list(one.services) for one in timings_by_id(dataset.timings()).values()] == [["d1"], ["d1", "d2"], []]
    counted = write_report(dataset, tmp_path / "report.html", lambda bank: {})
    told = {"service": "tutor", "version": "1.0", "settings": {"model": "small"}}
    assert counted.manifest["arrival"]["services"] == [
        told | {"digest": "d1", "conversations": 2},
        {"service": "unknown", "digest": "d2", "conversations": 1},
    ]


def test_times_are_read_for_accepted_and_rejected_conversations(location: Location) -> None:
    commit(location, [one(7)], ["repeated: turn 2"])
    place = commit(location, [one(8)])
    assert timings_by_id(Dataset(place).timings())["c7"].collected_at == 1700000000.5
    assert {*timings_by_id(Dataset(place).timings())} == {"c7", "c8"}


def test_what_is_no_dataset_in_a_table_says_what_to_do(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoDataset, match=r"holds no datasets: start a collector with --store iceberg:prod/tutoring$"):
        Dataset(f"{location}/run")
    commit(location, [one(1)])
    with pytest.raises(NoDataset, match=r"is no dataset: use iceberg:prod/tutoring/DATASET; it holds run$"):
        Dataset(f"{location}/rum")
    with Tables.opened(location).conversations.transaction() as change:
        change.set_properties({"soliloquy.format": "2"})
    with pytest.raises(NoDataset, match="has tables of format 2; this version reads format 1: update soliloquy"):
        Dataset(f"{location}/run")
    with pytest.raises(NoDataset, match="no catalog 'test' is configured: set PYICEBERG_CATALOG__TEST__URI"):
        Dataset("iceberg:test/tutoring/run")
    with pytest.raises(NoDataset, match="invalid location 'iceberg:prod': use iceberg:CATALOG/NAMESPACE"):
        Dataset("iceberg:prod")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", "sqlite:////nothing/catalog.db")
    with pytest.raises(NoDataset, match=r"iceberg:prod/tutoring/run failed \(.*unable to open database file"):
        Dataset(f"{location}/run")


def test_a_place_of_another_kind_is_refused(location: Location) -> None:
    with pytest.raises(NoDataset, match=r"'5' is not a place in iceberg:prod/tutoring/run: use one such as 0-17/3:250"):
        numbers(Dataset(commit(location, [one(1)])), "5")


def test_a_file_that_is_gone_or_damaged_is_named(location: Location) -> None:
    place = commit(location, [one(1)])
    [file] = Tables.opened(location).conversations.scan().plan_files()
    path = Path(file.file.file_path.removeprefix("file://"))
    path.write_bytes(b"PAR1" + b"x" * (path.stat().st_size - 4))
    with pytest.raises(NoDataset, match=rf"{path.name} cannot be read \("):
        list(Dataset(place))
    path.unlink()
    with pytest.raises(NoDataset, match=rf"{path.name}, but it is not there: restore it, or roll the table back"):
        list(Dataset(place))


def test_a_snapshot_that_was_rolled_back_reads_as_it_was(location: Location) -> None:
    place = commit(location, [one(1)])
    table = Tables.opened(location).conversations
    before = table.current_snapshot()
    assert before is not None
    commit(location, [one(2)])
    [*_, last] = Dataset(place).batches(["id"])
    table.refresh().manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()
    assert numbers(Dataset(place)) == [1]
    assert numbers(Dataset(place), place_after(last)) == []
    commit(location, [one(2)])
    assert numbers(Dataset(place), place_after(last)) == [2]
