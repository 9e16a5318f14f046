"""A change behind the collectors' backs in a table is found, in one line that names the file."""

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.iceberg.tables import Location, Tables
from soliloquy.dataset.verify import findings_at
from tests.unit.dataset.iceberg.catalogs import catalog_in, collected, commit, in_table
from tests.unit.dataset.iceberg.test_reading import one


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def test_a_table_that_collectors_wrote_has_no_finding(location: Location) -> None:
    commit(location, [one(4), one(5000)], ["repeated: turn 2"])
    place = commit(location, [one(1), one(6000)])
    assert list(findings_at(place)) == []
    told = CliRunner().invoke(commands, ["verify", place])
    assert told.output == f"{place}: 2 accepted and 2 rejected conversations, each once\n"
    assert told.exit_code == 0


def test_a_conversation_that_is_there_twice_is_found(location: Location) -> None:
    place = commit(location, [one(1)], ["repeated: turn 2"])
    again = in_table("run", collected([one(1)]))
    Tables.opened(location).conversations.append(pa.Table.from_batches([again]))
    [line] = findings_at(place)
    assert "kind=rejected" in line
    assert line.endswith(".parquet holds c1 again")


def test_rows_in_a_wrong_partition_are_found(location: Location) -> None:
    place = commit(location, [one(1)])
    batch = in_table("run", collected([one(5000)]))
    wrong = batch.set_column(batch.schema.get_field_index("bucket"), "bucket", pa.array([7], pa.int32()))
    Tables.opened(location).conversations.append(pa.Table.from_batches([wrong]))
    assert [line.partition(" holds ")[2] for line in findings_at(place)] == [
        "c5000 of problem 5000, which belongs to another bucket"
    ]


def test_a_file_that_is_gone_or_cut_off_is_found(location: Location) -> None:
    place = commit(location, [one(1)])
    commit(location, [one(2)])
    paths = sorted(
        Path(task.file.file_path.removeprefix("file://"))
        for task in Tables.opened(location).conversations.scan().plan_files()
    )
    paths[0].unlink()
    whole = paths[1].stat().st_size
    paths[1].write_bytes(paths[1].read_bytes()[:-10])
    found = sorted(findings_at(place))
    assert len(found) == 2
    assert any(f"{paths[0].name}, but it is not there" in line for line in found)
    assert any(f"{paths[1].name} has {whole - 10:,} bytes; the table says {whole:,}" in line for line in found)
