"""Exports are what the tools they are for take."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from soliloquy.dataset.exports.exporting import export
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.dataset.exports.formats import hf
from soliloquy.dataset.exports.splitting import Splits
from soliloquy.dataset.reading import Dataset
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from tests.datasets import accepted_rows, written
from tests.unit.dataset.labelled import RECIPES, labelled
from tests.unit.dataset.small import dataset, small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unanswered = small(12)
    unanswered.turns.add(number=3).student.text = "And now?"
    return dataset(tmp_path_factory.mktemp("for_others"), [*map(small, range(12)), unanswered])


def keeps_openais_rules(row: dict[str, Any]) -> None:
    """Checks the rules of chat fine-tuning: roles, contents, answered calls, the assistant last."""
    assert {*row} <= {"messages", "tools", "parallel_tool_calls"}
    declared = {tool["function"]["name"] for tool in row.get("tools", []) if tool["type"] == "function"}
    awaited: list[str] = []
    ids: set[str] = set()
    for position, message in enumerate(row["messages"]):
        role = message["role"]
        assert (role == "tool") == bool(awaited), "calls are answered at once, and nothing else is"
        if role == "tool":
            assert message["tool_call_id"] == awaited.pop(0)
        elif role == "assistant" and "tool_calls" in message:
            for call in message["tool_calls"]:
                assert call["type"] == "function"
                assert call["function"]["name"] in declared
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                assert call["id"] not in ids
                ids.add(call["id"])
                awaited.append(call["id"])
            continue
        else:
            assert role in ("user", "assistant") or (role == "system" and position == 0)
        assert isinstance(message["content"], str)
    assert not awaited
    assert row["messages"][-1]["role"] == "assistant"


@pytest.mark.parametrize("hidden", [True, False])
def test_openai_rows_keep_the_rules_of_fine_tuning(folder: Path, tmp_path: Path, hidden: bool) -> None:
    left_out = frozenset(() if hidden else {"hidden"})
    export(Dataset(folder), "openai", tmp_path / "chat.jsonl", choice=ExportOptions(leave_out=left_out))
    rows = [json.loads(line) for line in (tmp_path / "chat.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 13
    for row in rows:
        keeps_openais_rules(row)


@pytest.mark.parametrize("name", ["sharegpt", "fastchat"])
def test_chats_take_turns_and_end_with_a_reply(folder: Path, tmp_path: Path, name: str) -> None:
    export(Dataset(folder), name, tmp_path / "chat.json", choice=ExportOptions())
    for row in json.loads((tmp_path / "chat.json").read_bytes()):
        asking = [message["from"] in ("human", "observation") for message in row["conversations"]]
        assert asking == [number % 2 == 0 for number in range(len(asking))]
        assert not asking[-1]


def test_hugging_faces_datasets_reads_the_folder_both_ways(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    import datasets

    out = tmp_path / "hub"
    export(Dataset(folder), "hf", out, choice=ExportOptions(), shares=Splits.read("train=0.7,test=0.3,none=0"))
    saved = datasets.load_from_disk(str(out))
    assert {*saved} == {"train", "test"}
    assert sum(len(part) for part in saved.values()) == 13
    row = saved["train"][0]
    assert row["turns"][0]["calculation"]["attempts"][1]["code"] == "v = 6 / 2\nok = v == 12"
    loaded = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert {name: len(part) for name, part in loaded.items()} == {name: len(part) for name, part in saved.items()}
    assert loaded["test"][0] == saved["test"][0]


@pytest.mark.parametrize(("name", "file"), [("openai", "chat.jsonl"), ("sharegpt", "chat.json"), ("mathdial", "x.csv")])
def test_hugging_faces_datasets_reads_the_files_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: str
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    left_out = frozenset({"hidden"} if name == "mathdial" else ())
    export(Dataset(folder), name, tmp_path / file, choice=ExportOptions(leave_out=left_out))
    kind = "csv" if file.endswith(".csv") else "json"
    loaded = datasets.load_dataset(kind, data_files=str(tmp_path / file), cache_dir=str(tmp_path / "cache"))
    assert len(loaded["train"]) == 13


@pytest.mark.parametrize(
    ("choice", "gone"),
    [
        (ExportOptions(leave_out=frozenset({"hidden"})), {"calculation", "thoughts", "intent", "calls", "steps"}),
        (ExportOptions(leave_out=frozenset({"raw"})), {"calls"}),
        (ExportOptions(leave_out=frozenset({"labels", "thoughts"})), {"intent", "strategy", "thoughts", "evaluation"}),
        (ExportOptions(leave_out=frozenset({"solutions"})), {"solution", "steps", "enrichment"}),
    ],
)
def test_what_is_left_out_of_the_folder_is_not_there(
    folder: Path, tmp_path: Path, choice: ExportOptions, gone: set[str]
) -> None:
    import pyarrow as pa

    export(Dataset(folder), "hf", tmp_path / "out", choice=choice)
    with pa.ipc.open_stream(tmp_path / "out" / "train" / "data-00000-of-00001.arrow") as stream:
        said = str(stream.schema.to_string(truncate_metadata=False, show_field_metadata=False))
        batch = stream.read_all().to_pylist()
    assert not [name for name in gone if f'"{name}"' in json.dumps(batch)], said
    assert batch[0]["turns"][0]["tutor"]["text"] == "Not yet. What is divided by what?"


@pytest.mark.parametrize("part", ["hidden", "prompts", "solutions"])
def test_what_an_import_kept_is_not_in_a_folder_that_leaves_something_out(tmp_path: Path, part: str) -> None:
    folder = dataset(tmp_path / "dataset", [small(extra='{"prompt": "kept"}')])
    for leave_out, kept in ((), '{"prompt": "kept"}'), ((part,), ""):
        out = tmp_path / f"out{len(leave_out)}"
        export(Dataset(folder), "hf", out, choice=ExportOptions(leave_out))
        [found] = map(Conversation.FromString, hf.read(out))
        assert found.extra == kept


def test_a_folder_of_several_recipes_has_the_labels_of_each(tmp_path: Path) -> None:
    recipes = [*RECIPES, *reversed(RECIPES)]
    told = [labelled(small(number), recipe) for number, recipe in enumerate(recipes)]
    shards = [(f"accepted/{number:05}.parquet", accepted_rows([one])) for number, one in enumerate(told)]
    folder = written(tmp_path / "dataset", shards)
    export(Dataset(folder), "hf", tmp_path / "out", choice=ExportOptions(), shares=Splits.read("train=0.5,test=0.5"))
    found = map(Conversation.FromString, hf.read(tmp_path / "out"))
    assert sorted(found, key=lambda one: one.id) == sorted(told, key=lambda one: one.id)


def test_labels_of_one_name_and_two_types_are_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two recipes that are packages may name labels alike; ours do not."""
    kinds = {"one": pa.int64(), "other": pa.string()}
    dataset = Dataset(folder)
    monkeypatch.setattr(dataset, "recipes", lambda **_: kinds)
    monkeypatch.setattr(hf, "schema", lambda recipe: pa.schema({"score": kinds[recipe]}))
    with pytest.raises(Failure, match=r"labels have one name and different types .*: choose another format"):
        export(dataset, "hf", tmp_path / "out", choice=ExportOptions())
