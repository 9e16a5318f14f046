"""A compaction removes what killed commits left in the warehouse, and nothing that somebody may still need."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.iceberg.compaction import compact
from soliloquy.dataset.iceberg.orphans import SAFE_SECONDS
from soliloquy.dataset.iceberg.tables import Location
from soliloquy.dataset.iceberg.writing import TableWriter
from soliloquy.dataset.verify import findings_at
from tests.unit.dataset.iceberg.catalogs import catalog_in
from tests.unit.dataset.iceberg.test_restoring import KILLED
from tests.unit.dataset.iceberg.test_writing import RUN, arrivals, held, once


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return catalog_in(tmp_path, monkeypatch)


def files(folder: Path) -> set[Path]:
    return {path for path in (folder / "warehouse").rglob("*") if path.is_file()}


def age(paths: Iterable[Path], seconds: float) -> None:
    then = time.time() - seconds
    for path in paths:
        os.utime(path, (then, then))


def killed(location: Location, folder: Path) -> set[Path]:
    """Has a commit killed; returns what it left."""
    before = files(folder)
    done = subprocess.run([sys.executable, "-c", KILLED, str(location)], env={**os.environ, "PYTHONPATH": "."})
    assert done.returncode == 9
    return files(folder) - before


def test_what_killed_commits_left_is_removed_once_it_is_old(location: Location, tmp_path: Path) -> None:
    TableWriter(location).append(arrivals(0, 1))
    old, recent = killed(location, tmp_path), killed(location, tmp_path)
    assert {path.suffix for path in old} == {".parquet", ".avro", ".json"}
    age(files(tmp_path) - recent, SAFE_SECONDS + 60)
    age(recent, SAFE_SECONDS - 60)
    told = CliRunner().invoke(commands, ["compact", str(location)])
    assert told.output.endswith(f"{location}: {len(old)} files of killed commits are removed\n")
    assert not old & files(tmp_path)
    assert recent <= files(tmp_path)
    assert list(findings_at(f"{location}/{RUN}")) == []
    TableWriter(location).append(arrivals(0, 1, 2, 3))
    assert held(location) == once(range(4))


@pytest.mark.thorough
def test_states_that_can_still_be_read_keep_their_files(location: Location, tmp_path: Path) -> None:
    for ordinal in range(30):
        TableWriter(location).append(arrivals(ordinal))
    compact(location, 3600.0)
    age(files(tmp_path), 2 * SAFE_SECONDS)
    before = files(tmp_path)
    assert compact(location, 3600.0).orphans == 0
    assert files(tmp_path) == before


def test_a_stranger_s_files_are_left_alone(
    location: Location, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "other").mkdir()
    with pytest.MonkeyPatch.context() as other:
        TableWriter(catalog_in(tmp_path / "other", other)).append(arrivals(0))
    TableWriter(location).append(arrivals(0))
    shutil.copytree(tmp_path / "other" / "warehouse", tmp_path / "warehouse", dirs_exist_ok=True)
    age(files(tmp_path), 2 * SAFE_SECONDS)
    before = files(tmp_path)
    assert compact(location, 3600.0).orphans == 0
    assert before <= files(tmp_path)
    assert "files that nothing names are left" in caplog.text
    assert "is of another table" in caplog.text


def test_nothing_is_removed_where_files_of_the_table_are_not_found(
    location: Location, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    TableWriter(location).append(arrivals(0))
    mine = next(path for path in files(tmp_path) if path.suffix == ".parquet" and "conversations" in path.parts)
    shutil.copy(mine, mine.with_name("left.parquet"))
    mine.unlink()
    age(files(tmp_path), 2 * SAFE_SECONDS)
    assert compact(location, 3600.0).orphans == 0
    assert mine.with_name("left.parquet").exists()
    assert f"{mine.name} is not there" in caplog.text
