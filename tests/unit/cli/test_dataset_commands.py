"""Checks what `export`, `import`, `tail`, `show` and `check` print of small datasets, and their one-line errors."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from soliloquy.cli.main import commands
from soliloquy.v1.conversation_pb2 import Conversation
from tests.datasets import rewritten
from tests.unit.dataset.small import dataset, small


def soliloquy(*words: object) -> Result:
    return CliRunner().invoke(commands, [str(word) for word in words])


def refused(*words: object) -> str:
    """The one line that is said of a command that cannot be done."""
    result = soliloquy(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr.splitlines()[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return dataset(tmp_path / "grown", [small(0), small(1)], [small(2)], rejected=[small(9)])


def test_a_report_keeps_a_card_and_says_that_it_tells_something_else(folder: Path) -> None:
    assert soliloquy("report", folder).stderr == soliloquy("report", folder).stderr == ""
    card = folder / "README.md"
    card.write_text("Ours.", "utf-8")
    assert (
        soliloquy("report", folder).stderr
        == f"{card} has other words or figures and is kept: remove it for a new card\n"
    )
    assert card.read_text("utf-8") == "Ours."


def test_an_export_says_what_it_wrote(folder: Path, tmp_path: Path) -> None:
    result = soliloquy("export", folder, "--format", "openai", "--out", tmp_path / "chat.jsonl")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"3 rows in {tmp_path / 'chat.jsonl'}\n"
    split = ("--splits", "a=0.5,b=0.5", "--out", tmp_path / "parts", "--json")
    told = json.loads(soliloquy("export", folder, "--format", "fastchat", *split).stdout)
    assert sum(told["written"].values()) == 3
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["a.json", "b.json"]


def test_an_export_says_what_the_format_cannot_have_of_ours(folder: Path, tmp_path: Path) -> None:
    result = soliloquy("export", folder, "--format", "mathdial", "--out", tmp_path / "rows.csv")
    assert result.exit_code == 0
    assert "self-typical-confusion" in result.stderr
    conceptual = small(3)
    conceptual.problem.ClearField("steps")
    mixed = dataset(tmp_path / "mixed", [small(0), conceptual])
    result = soliloquy("export", mixed, "--format", "sgsm", "--out", tmp_path / "rows.jsonl")
    assert result.stdout.startswith("1 rows in")
    assert result.stderr == "1 left out: sgsm requires a problem with a calculation\n"


def test_what_is_imported_is_a_dataset_that_is_shown(folder: Path, tmp_path: Path) -> None:
    for name, file in (("openai", "chat.jsonl"), ("mathdial", "rows.csv"), ("sgsm", "rows.jsonl"), ("hf", "saved")):
        back = tmp_path / f"from-{name}"
        assert soliloquy("export", folder, "--format", name, "--out", tmp_path / file).exit_code == 0
        result = soliloquy("import", tmp_path / file, "--format", name, "--out", back)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == f"3 conversations in {back}\n"
        shown = soliloquy("show", back)
        assert shown.exit_code == 0, shown.stderr
        assert "A cart rolls 6 m in 2 s" in shown.stdout
        assert soliloquy("tail", back).exit_code == 0


def test_what_cannot_be_done_is_one_line(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "chat.jsonl"
    openai = ("--format", "openai", "--out", out)
    assert "'yaml' is not one of" in refused("export", folder, "--format", "yaml", "--out", out)
    assert "holds no conversations" in refused("export", tmp_path, *openai)
    assert "--splits: invalid split 'train'" in refused("export", folder, *openai, "--splits", "train")
    assert "no such file" in refused("import", tmp_path / "none.jsonl", *openai)
    assert "unknown suffix" in refused("import", _file(tmp_path / "x.doc"), *openai)
    out.write_text("mine", "utf-8")
    assert "chat.jsonl exists: choose another --out" in refused("export", folder, *openai)
    assert "--formulas requires a format of CSV: openai is none" in refused("export", folder, *openai, "--formulas")
    in_the_way = ("--format", "openai", "--out", out / "x.jsonl")
    assert "cannot be written" in refused("export", folder, *in_the_way)
    assert out.read_text("utf-8") == "mine"


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_a_spreadsheet_runs_no_cell_of_a_csv_export(tmp_path: Path, begin: str) -> None:
    hostile, said = small(0), f"{begin}cmd|'/C calc'!A0"
    hostile.problem.question, hostile.problem.solution = said, "-3.5"
    folder = dataset(tmp_path / "grown", [hostile])
    for option, question in (((), f"'{said}"), (("--formulas",), said)):
        out = tmp_path / f"rows{len(option)}.csv"
        assert soliloquy("export", folder, "--format", "mathdial", "--out", out, *option).exit_code == 0
        with out.open(encoding="utf-8", newline="") as file:
            [row] = csv.DictReader(file)
        assert (row["question"], row["ground_truth"]) == (question, "-3.5")
        back, again = tmp_path / f"back{len(option)}", tmp_path / f"again{len(option)}.csv"
        assert soliloquy("import", out, "--format", "mathdial", "--out", back).exit_code == 0
        assert soliloquy("export", back, "--format", "mathdial", "--out", again).exit_code == 0
        assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("is_vouched", [False, True], ids=["behind the manifest's back", "with the manifest"])
@pytest.mark.parametrize("column", ["ordinal", "ending", "turns"])
def test_a_shard_that_lacks_a_column_is_one_line_of_every_command(
    folder: Path, tmp_path: Path, column: str, *, is_vouched: bool
) -> None:
    manifest = (folder / "manifest.json").read_bytes()
    rewritten(folder, "accepted/00000.parquet", lambda table: table.drop_columns([column]))
    if not is_vouched:
        (folder / "manifest.json").write_bytes(manifest)
    why = (
        f"holds no rows of a dataset: it has no column '{column}'" if is_vouched else "has .* manifest says .*: restore"
    )
    export = ("export", folder, "--format", "openai", "--out", tmp_path / "chat.jsonl")
    commands_on_one = [(name, folder) for name in ("report", "show", "check", "tail")]
    for command in (export, *commands_on_one, ("compare", folder, folder)):
        assert re.search(f"accepted/00000.parquet {why}", refused(*command))
    assert [path.name for path in tmp_path.iterdir()] == ["grown"]


def test_a_rejected_shard_without_reasons_is_one_line(folder: Path) -> None:
    rewritten(folder, "rejected/00000.parquet", lambda table: table.drop_columns(["reasons"]))
    for command in (("report", folder), ("show", folder, "--rejected")):
        assert "rejected/00000.parquet holds no rows of a dataset: it has no column 'reasons'" in refused(*command)


def _file(path: Path) -> Path:
    path.write_text("x", "utf-8")
    return path


def test_tail_tells_of_each_conversation_in_a_line(folder: Path) -> None:
    result = soliloquy("tail", folder)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    words = "c0 solved 2 turns 1 with Python motion A cart rolls 6 m in 2 s. How fast is it?"
    assert " ".join(lines[0].split()) == words
    assert result.stderr == "to continue from here: --after accepted/00001.parquet:1\n"


def test_tail_goes_on_after_a_place(folder: Path) -> None:
    records = [json.loads(line) for line in soliloquy("tail", folder, "--json").stdout.splitlines()]
    assert [record["id"] for record in records] == ["c0", "c1", "c2"]
    for number, record in enumerate(records, start=1):
        left = soliloquy("tail", folder, "--after", record["after"], "--json").stdout.splitlines()
        assert [json.loads(line)["id"] for line in left] == ["c0", "c1", "c2"][number:]
    assert "is not a place in" in refused("tail", folder, "--after", "nowhere", "--json")


def test_tail_follows_a_dataset_that_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look is followed by a pause; in it another shard is written, and at last somebody presses Ctrl-C."""
    folder = tmp_path / "growing"
    folder.mkdir()
    grown: list[Sequence[Conversation]] = [[small(0)], [small(0)], [small(0), small(1)]]

    def pause(_: float) -> None:
        if not grown:
            raise KeyboardInterrupt
        shards = [[conversation] for conversation in grown.pop(0)]
        dataset(folder, *shards)

    monkeypatch.setattr("soliloquy.cli.datasets.time.sleep", pause)
    result = soliloquy("tail", folder, "--follow", "--json")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["c0", "c1"]
    assert result.exit_code == 1


def test_tail_wants_one_source(folder: Path) -> None:
    assert "tail requires either the DIR" in refused("tail")
    assert "tail requires either" in refused("tail", folder, "--kafka", "127.0.0.1:9")


def test_show_finds_a_conversation_and_says_where_there_is_none(folder: Path, tmp_path: Path) -> None:
    assert "s by t, so 3 m/s" in soliloquy("show", folder, "c2").stdout
    assert "3 accepted conversations have an id" in refused("show", folder, "c")
    assert "holds no conversations" in refused("show", tmp_path)
    imported = small(5)
    imported.persona = ""
    assert "its prompts are unknown" in refused("show", dataset(tmp_path / "i", [imported]), "--prompts")


def test_show_has_the_reasons_of_a_rejected_conversation(folder: Path, tmp_path: Path) -> None:
    listed = soliloquy("show", folder, "--rejected").stdout.splitlines()
    assert listed[-2:] == ["rejected: repeated: turn 2", "c9  repeated: turn 2"]
    assert soliloquy("show", folder, "c9", "--rejected").stdout.splitlines()[-1] == "rejected: repeated: turn 2"
    assert "0 accepted conversations have an id" in refused("show", folder, "c9")
    assert "holds no rejected conversations yet" in refused("show", dataset(tmp_path / "a", [small(0)]), "--rejected")


def test_check_reads_what_was_accepted_or_rejected(folder: Path, tmp_path: Path) -> None:
    accepted = json.loads(soliloquy("check", folder, "--json").stdout)
    rejected = json.loads(soliloquy("check", folder, "--rejected", "--json").stdout)
    assert (accepted["figures"]["conversations"], rejected["figures"]["conversations"]) == (3, 1)
    unknown = small(4)
    unknown.run.recipe = "elsewhere"
    assert "conversation c4 cannot be checked" in refused("check", dataset(tmp_path / "u", [unknown]))
    shard = folder / "accepted" / "00000.parquet"
    shard.write_bytes(b"nonsense")
    assert "accepted/00000.parquet is damaged" in refused("check", folder)
    assert "accepted/00000.parquet is damaged" in refused("export", folder, "--format", "hf", "--out", tmp_path / "x")


def test_check_of_conversations_without_a_recipe_is_no_success(tmp_path: Path) -> None:
    chats = [small(number) for number in range(3)]
    for chat in chats[:2]:
        chat.run.ClearField("recipe")
    some = soliloquy("check", dataset(tmp_path / "some", chats), "--json")
    figures = json.loads(some.stdout)["figures"]
    assert (some.exit_code, figures["unchecked"], figures["conversations"]) == (0, 2, 1)
    said = refused("check", dataset(tmp_path / "none", chats[:2]))
    assert said.startswith("soliloquy: none of 2 conversations in ")
    assert "they name no recipe" in said
