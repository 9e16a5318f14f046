"""`soliloquy verify`: a line for each thing that is not as the manifest says."""

import json
from pathlib import Path

import pytest

from soliloquy.dataset.storage import Storage
from soliloquy_services.collector.dataset import write_dataset
from soliloquy_services.collector.journal import Journal
from tests.e2e.runs import SOLILOQUY, run, said
from tests.unit.collector.collecting import numbered


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    with Journal(tmp_path / "journal") as journal:
        await journal.add(numbered(0), [])
        identity = {"conversations": 1}
        write_dataset(Storage(tmp_path), tmp_path / ".run", journal, run=identity, cost=lambda _: {}, topics={})
    return tmp_path


def test_a_sound_dataset_is_said_to_be_sound(folder: Path) -> None:
    result = run([SOLILOQUY, "verify", str(folder)])
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"{folder}: matches manifest.json\n"


def test_what_is_wrong_is_a_line_each_and_the_status_says_so(folder: Path) -> None:
    (folder / "accepted" / "00000.parquet").write_bytes(b"no shard")
    result = said([SOLILOQUY, "verify", str(folder)])
    assert (result.returncode, result.stderr) == (1, "")
    assert [line.partition(" ")[0] for line in result.stdout.splitlines()] == ["accepted/00000.parquet"] * 2
    told = said([SOLILOQUY, "verify", str(folder), "--json"])
    assert told.returncode == 1
    assert json.loads(told.stdout) == {"dataset": str(folder), "findings": result.stdout.splitlines()}


def test_an_unfinished_dataset_is_named_with_what_finishes_it(unfinished: Path) -> None:
    told = said([SOLILOQUY, "verify", str(unfinished)])
    assert told.returncode == 1
    assert told.stdout == f"{unfinished} is not finished: run its command again to finish it\n"
