"""Files of an export: whole or not there, split by problem, and read by those they are for."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from soliloquy.cli.exchange import export as export_command
from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import NAMES, ExportOptions
from soliloquy.dataset.exports.importing import import_rows
from soliloquy.dataset.exports.splitting import InvalidSplits, Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure
from tests.unit.dataset.labelled import RECIPES, labelled
from tests.unit.dataset.small import dataset, small

# Logs of others come back as they were; ours are none.
OURS = [name for name in NAMES if name not in ("transcripts", "preferences")]
SUFFIXES = {"openai": ".jsonl", "mathdial": ".csv", "sgsm": ".jsonl", "hf": ""}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    grown = [small(number) for number in range(20)]
    for conversation in grown:
        conversation.problem.id = f"p{conversation.ordinal // 2}"
    return dataset(tmp_path_factory.mktemp("exported"), grown[:15], grown[15:], rejected=[small(90)])


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".json":
        return list(json.loads(path.read_bytes()))
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [{name: cell or None for name, cell in row.items()} for row in csv.DictReader(file)]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def imported(source: Path, name: str, out: Path) -> Path:
    import_rows(source, name, out, [] if source.is_dir() else source_rows(rows_of(source)), report=pytest.fail)
    return out


def source_rows(rows: Iterable[dict[str, Any]]) -> list[tuple[str, dict[str, Any] | str]]:
    return [(f"given:{number}", row) for number, row in enumerate(rows, start=1)]


def contents(path: Path) -> Mapping[str, bytes]:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("choice", [ExportOptions(), ExportOptions(leave_out=frozenset({"hidden", "solutions"}))])
@pytest.mark.parametrize("name", OURS)
def test_a_file_that_is_imported_and_exported_is_the_same(
    folder: Path, tmp_path: Path, name: str, choice: ExportOptions
) -> None:
    first, second = (tmp_path / f"{which}{SUFFIXES.get(name, '.json')}" for which in ("first", "second"))
    counts = export(Dataset(folder), name, first, choice=choice)
    assert counts.written.total() == (10 if name in ("sgsm", "alpaca") else 20)
    back = imported(first, name, tmp_path / "imported")
    export(Dataset(back), name, second, choice=choice)
    assert contents(first) == contents(second)
    manifest = json.loads((back / "manifest.json").read_bytes())
    assert (manifest["run"]["imported"]["format"], manifest["run"]["imported"]["file"]) == (name, first.name)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("name", ["mathdial", "sharegpt", "hf"])
def test_a_file_of_any_recipe_is_the_same_again(tmp_path: Path, name: str, recipe: str) -> None:
    first, second = (tmp_path / f"{which}{SUFFIXES.get(name, '.json')}" for which in ("first", "second"))
    folder = dataset(tmp_path / "dataset", [labelled(small(1), recipe)])
    export(Dataset(folder), name, first, choice=ExportOptions())
    export(Dataset(imported(first, name, tmp_path / "imported")), name, second, choice=ExportOptions())
    assert contents(first) == contents(second)


def test_the_origin_says_what_stays_unset(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.jsonl"
    export(Dataset(folder), "openai", out, choice=ExportOptions(leave_out=frozenset({"hidden"})))
    manifest = json.loads((imported(out, "openai", tmp_path / "back") / "manifest.json").read_bytes())
    assert {"persona", "ending", "turns.calculation", "problem.id"} <= {*manifest["run"]["imported"]["unset"]}
    assert not {"turns.student.text", "problem.question"} & {*manifest["run"]["imported"]["unset"]}


def test_a_split_parts_no_problem_and_loses_nothing(folder: Path, tmp_path: Path) -> None:
    shares = Splits.read("train=0.5,validation=0.25,test=0.25")
    counts = export(Dataset(folder), "soliloquies", tmp_path / "parts", choice=ExportOptions(), shares=shares)
    parts = {name: rows_of(tmp_path / "parts" / f"{name}.json") for name in shares.of}
    assert {name: len(rows) for name, rows in parts.items()} == counts.written
    assert sorted(row["id"] for rows in parts.values() for row in rows) == sorted(f"c{n}" for n in range(20))
    problems = [{row["Problem"] for row in rows} for rows in parts.values()]
    assert all(problems)
    assert sum(map(len, problems)) == len(set.union(*problems)) == 10


def test_a_part_without_rows_has_no_file(folder: Path, tmp_path: Path) -> None:
    counts = export(
        Dataset(folder), "openai", tmp_path / "x", choice=ExportOptions(), shares=Splits.read("all=1,none=0")
    )
    assert counts.written == {"all": 20, "none": 0}
    assert names_in(tmp_path / "x") == ["all.jsonl"]


@pytest.mark.parametrize("text", ["", "train", "train=0.9", "a=0.5,a=0.5", "../x=1", "a=2,b=-1", "a=nan"])
def test_shares_that_cannot_be_meant_are_refused(text: str) -> None:
    with pytest.raises(InvalidSplits):
        Splits.read(text)


def test_rejected_ones_are_exported_when_asked_for(folder: Path, tmp_path: Path) -> None:
    export(Dataset(folder), "soliloquies", tmp_path / "rejected.json", choice=ExportOptions(), rejected=True)
    assert [row["id"] for row in rows_of(tmp_path / "rejected.json")] == ["c90"]


def test_what_is_there_already_stays_as_it_is(folder: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.jsonl"
    there.write_text("mine", "utf-8")
    with pytest.raises(Failure, match=r"there\.jsonl exists: choose another --out"):
        export(Dataset(folder), "openai", there, choice=ExportOptions())
    with pytest.raises(Failure, match=r"there\.jsonl exists: choose another --out"):
        import_rows(there, "openai", there, [], report=pytest.fail)
    assert there.read_text("utf-8") == "mine"
    assert names_in(tmp_path) == ["there.jsonl"]


def test_nothing_is_left_of_an_export_that_cannot_be(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"end its name with \.jsonl"):
        export(Dataset(folder), "openai", tmp_path / "x.xlsx", choice=ExportOptions())
    silent = small()
    silent.ClearField("turns")
    mute = dataset(tmp_path / "mute", [silent])
    with pytest.raises(Failure, match="has a reply of the tutor, which openai needs"):
        export(Dataset(mute), "openai", tmp_path / "x.jsonl", choice=ExportOptions())
    other = small(2)
    other.run.recipe = "mathdial"
    mixed = dataset(tmp_path / "mixed", [small()], [other])
    with pytest.raises(Failure, match="conversation c2 has the recipe 'mathdial'"):
        export(Dataset(mixed), "soliloquies", tmp_path / "x.json", choice=ExportOptions())
    empty = dataset(tmp_path / "empty")
    with pytest.raises(Failure, match="holds no accepted conversation"):
        export(Dataset(empty), "hf", tmp_path / "x", choice=ExportOptions())
    assert names_in(tmp_path) == ["empty", "mixed", "mute"]


def test_a_row_that_cannot_be_used_is_named_by_its_place(tmp_path: Path) -> None:
    source = tmp_path / "given.jsonl"
    source.write_text("{}", "utf-8")
    search = {"function": {"name": "search", "arguments": "{}"}}
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("openai", {}, "given:1: `messages` is missing"),
        ("openai", {"messages": [{"role": "tool", "content": "x"}]}, "given:1: message 1: unexpected role"),
        ("openai", {"messages": [{"role": "assistant", "tool_calls": [search]}]}, "not of 'search'"),
        ("sharegpt", {"conversations": [{"from": "observation", "value": "x"}]}, "message 1: unexpected speaker"),
        ("fastchat", {"conversations": [{"from": "gpt", "value": "x"}]}, "message 1: human must speak"),
        ("soliloquies", {"Question": "x"}, "`conversations` is not a list of messages"),
        ("soliloquies", {"conversations": [{"from": "python_output", "value": "x = 1"}]}, "message 1: not what"),
        ("mathdial", {"question": "x"}, "`conversation` is missing"),
        ("sgsm", {"solution": "x"}, "`question` is missing"),
    ]
    for name, row, said in wrong:
        complaints: list[str] = []
        with pytest.raises(Failure, match="holds no conversations that can be read as"):
            import_rows(source, name, tmp_path / "out", source_rows([row]), report=complaints.append)
        assert said in complaints[0]
    with pytest.raises(Failure, match="is not a folder saved by `datasets`"):
        import_rows(tmp_path, "hf", tmp_path / "out", [], report=pytest.fail)
    assert names_in(tmp_path) == ["given.jsonl"]


def test_rows_that_cannot_be_used_are_left_out_and_the_others_are_kept(tmp_path: Path) -> None:
    source, complaints = tmp_path / "given.jsonl", list[str]()
    source.write_text("{}", "utf-8")
    chat = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    rows = [*source_rows([chat, {}, chat]), ("given:4", "text: not JSON")]
    counts = import_rows(source, "openai", tmp_path / "out", rows, report=complaints.append)
    assert (counts.written, counts.refused) == (2, 2)
    assert complaints == ["given:2: `messages` is missing", "given:4: text: not JSON"]
    assert len([*Dataset(tmp_path / "out")]) == 2


def test_rows_with_the_same_id_are_kept_apart(tmp_path: Path) -> None:
    source = tmp_path / "twins.json"
    hi = {"from": "human", "value": "hi"}
    twins = [{"id": "same", "conversations": [hi, {"from": "gpt", "value": reply}]} for reply in "xy"]
    source.write_text(json.dumps(twins), "utf-8")
    back, told = tmp_path / "back", list[str]()
    counts = import_rows(source, "fastchat", back, source_rows(twins), report=told.append)
    assert (counts.repeated_ids, counts.refused) == (1, 0)
    assert told == ["given:2: id: the same as at given:1; the conversation gets an id of its own"]
    ids = [conversation.id for conversation in Dataset(back)]
    assert len({*ids}) == 2
    export(Dataset(back), "fastchat", tmp_path / "again.json", choice=ExportOptions())
    assert rows_of(tmp_path / "again.json") == twins


@pytest.mark.parametrize("leave_out", [(), ("--leave-out", "hidden")])
def test_a_format_with_nothing_hidden_has_every_imported_field_again(tmp_path: Path, leave_out: Sequence[str]) -> None:
    source, again = tmp_path / "rows.jsonl", tmp_path / "again.jsonl"
    row = {"question": "2 + 2?", "solution": "def solution():\n    return 4", "answer": 4, "topic": "sums", "grade": 3}
    source.write_text(json.dumps(row) + "\n", "utf-8")
    place = str(imported(source, "sgsm", tmp_path / "imported"))
    export_command.main([place, "--format", "sgsm", "--out", str(again), *leave_out], standalone_mode=False)
    assert again.read_bytes() == source.read_bytes()
