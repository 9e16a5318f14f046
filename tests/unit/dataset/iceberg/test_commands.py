"""Commands do with a dataset in a table what they do with the same dataset in a folder."""

import json
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.dataset.iceberg.tables import Location
from soliloquy_training.continuous.sources import DatasetSource
from tests.unit.dataset.iceberg.catalogs import catalog_in, commit
from tests.unit.dataset.iceberg.test_reading import one
from tests.unit.dataset.small import dataset


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The same conversations in a folder and in a table."""
    every, rejected = [one(number) for number in (1, 2, 3, 5000)], [one(4)]
    folder = dataset(tmp_path_factory.mktemp("folder"), every, rejected=rejected)
    with pytest.MonkeyPatch.context() as monkeypatch:
        location = catalog_in(tmp_path_factory.mktemp("catalog"), monkeypatch)
        commit(location, rejected, ["repeated: turn 2"])
        commit(location, [every[3], every[0]])
        yield str(folder), commit(location, every[1:3])


def told(*words: str) -> str:
    done = CliRunner().invoke(commands, words)
    assert done.exit_code in (0, 1), done.output or done.exception
    return done.output


@pytest.mark.parametrize("words", [("check", "--json"), ("check", "--rejected"), ("show",), ("show", "--rejected")])
def test_a_command_tells_the_same(places: tuple[str, str], words: tuple[str, ...]) -> None:
    command, *options = words
    assert told(command, places[0], *options) == told(command, places[1], *options)


def test_tail_prints_the_same_conversations(places: tuple[str, str]) -> None:
    folder, table = ([json.loads(line) for line in told("tail", place, "--json").splitlines()] for place in places)
    assert [line.pop("after") for line in table][-1].endswith("/1:1")
    assert [line | {"after": ""} for line in folder] == [line | {"after": ""} for line in table]


@pytest.mark.parametrize("form", ["openai", "soliloquies"])
def test_an_export_has_the_same_bytes(places: tuple[str, str], form: str, tmp_path: Path) -> None:
    written = [tmp_path / "folder.jsonl", tmp_path / "table.jsonl"]
    for place, file in zip(places, written, strict=True):
        told("export", place, "--format", form, "--out", str(file))
    assert written[0].read_bytes() == written[1].read_bytes() != b""


def test_a_hugging_face_dataset_has_the_same_rows(places: tuple[str, str], tmp_path: Path) -> None:
    for name, place in zip(("folder", "table"), places, strict=True):
        told("export", place, "--format", "hf", "--out", str(tmp_path / name))
    folder, table = (datasets.load_from_disk(str(tmp_path / name))["train"] for name in ("folder", "table"))
    assert folder.to_list() == table.to_list()


def test_a_report_of_a_table_has_a_card_beside_it(places: tuple[str, str], tmp_path: Path) -> None:
    refused = CliRunner().invoke(commands, ["report", places[1]])
    assert "report requires --out, because iceberg:prod/tutoring/run is not a folder" in refused.output
    told("report", places[1], "--out", str(tmp_path / "page.html"))
    assert "| conversations | 4 |" in (tmp_path / "README.md").read_text("utf-8")
    assert (tmp_path / "page.html").read_text("utf-8").casefold().startswith("<!doctype html>")


def test_two_datasets_are_compared_wherever_they_are(places: tuple[str, str]) -> None:
    counted = json.loads(told("compare", *places, "--json"))["datasets"]
    assert counted[0] == counted[1]


def test_a_round_freezes_the_rows_that_it_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location: Location = catalog_in(tmp_path, monkeypatch)
    source = DatasetSource(data=commit(location, [one(5), one(1)]))
    first = source.next(None, 1, lambda _: False, lambda _: None)
    commit(location, [one(0), one(2)])
    second = source.next(first.end, 2, lambda _: False, lambda _: None)
    commit(location, [one(3)])
    frozen = []
    for number, span in enumerate((first, second)):
        source.freeze(span, tmp_path / str(number), lambda _: False)
        frozen.append(
            [json.loads(line)["id"] for line in told("tail", str(tmp_path / str(number)), "--json").split("\n")[:-1]]
        )
    assert frozen == [["c1"], ["c5", "c0"]]
