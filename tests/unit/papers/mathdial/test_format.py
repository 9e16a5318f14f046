"""Files as MathDial published its own: all of it comes in, and goes out the same to the byte."""

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from soliloquy.cli.main import commands
from soliloquy.client import Dataset
from soliloquy.dataset.exports.format import ExportOptions
from soliloquy.recipes.mathdial.confusion import confusion_of, labelled
from soliloquy.recipes.mathdial.labels_pb2 import Confusion, ConversationLabels
from soliloquy.recipes.mathdial.moves import move_name
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Resolution
from soliloquy_papers.mathdial.formats import mathdial
from tests.unit.dataset.small import small, told

PLAIN: dict[str, Any] = {
    "qid": 5000012,
    "scenario": 3,
    "question": "Ana has 3 bags of 4 pears. How many pears?",
    "ground_truth": "She has 3 * 4 = 12 pears.\n 12",
    "student_incorrect_solution": "She has 3 + 4 = 7 pears.\n 7",
    "student_profile": "Ana is a 7th grade student. She tends to choose an operation by the words of a problem.",
    "teacher_described_confusion": "Adds where she should multiply.",
    "self-correctness": "Yes, but I had to reveal the answer",
    "self-typical-confusion": 4.0,
    "self-typical-interactions": 5.0,
    "conversation": "Teacher: (generic)Hi Ana!|EOM|Teacher: (probing)Why did you add?|EOM|Ana: I thought: bags.|EOM|"
    "Ana: |EOM|Teacher: (telling)It is 12.",
}
NOTHING = dict.fromkeys(PLAIN)
SPOKEN = (
    "Teacher: (focus)What is asked?<EOM>Ana: Pears.<EOM>Teacher: (generic)Good.",
    "Teacher: (focus)What is asked?|EOM|Ana: Pears.<EOM>|EOM|Teacher: (generic)Good.",
    "Teacher: (focus)What is asked?|EOM|",
    "Teacher: (Focus) Look again.|EOM|Teacher:|EOM|Ana:|EOM||EOM|Student: 12/1",
    "Teacher: (praise)Good!|EOM|Teacher:no blank|EOM|Ana: hi|EOM|Ben: me too|EOM|and a word of nobody",
    'Teacher: (probing)"Why",\r\nyou ask?|EOM|Zoë: 3 × 4 → “12”',
    "Ana: hello",
    "",
)
ROWS = [
    PLAIN,
    NOTHING,
    *(PLAIN | {name: None} for name in PLAIN),
    *(PLAIN | {"conversation": spoken} for spoken in SPOKEN),
    *(PLAIN | {"self-correctness": word} for word in ("Yes", "No", "no idea")),
    PLAIN | {"self-typical-confusion": 2, "self-typical-interactions": "7", "qid": "5000012"},
]

Writing = Callable[[Path, Iterable[dict[str, Any]]], None]


def as_csv(**style: Any) -> Writing:
    def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(next(iter(rows := list(rows)))), **style)
            writer.writeheader()
            writer.writerows(rows)

    return write


def as_lines(begin: str = "", end: str = "\n", last: str = "\n", slash: str = "/", **style: Any) -> Writing:
    def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
        text = end.join(json.dumps(row, **style).replace("/", slash) for row in rows)
        path.write_bytes((begin + text + last).encode())

    return write


def indexed(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """With a column of the row's number before the others, as tables are saved."""
    return [{"": at} | row for at, row in enumerate(rows)]


def shuffled(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in sorted(row)} for row in rows]


@pytest.mark.parametrize(
    ("file", "write", "rows"),
    [
        ("train.csv", as_csv(lineterminator="\n"), ROWS),
        ("train.csv", as_csv(lineterminator="\r\n", quoting=csv.QUOTE_ALL), ROWS),
        ("train.csv", as_csv(lineterminator="\n", delimiter=";"), indexed(ROWS)),
        ("train.jsonl", as_lines(), ROWS),
        ("train.jsonl", as_lines(separators=(",", ":"), slash="\\/"), ROWS),
        ("train.jsonl", as_lines(ensure_ascii=False, last=""), shuffled(ROWS)),
        ("train.jsonl", as_lines("\ufeff", "\r\n", "\r\n"), [*indexed(ROWS), {"conversation": SPOKEN[0]}]),
    ],
    ids=["pandas", "quoted", "semicolons", "dumps", "pandas-json", "no-last-end", "ragged"],
)
def test_a_published_file_comes_back_to_the_byte(
    tmp_path: Path, file: str, write: Writing, rows: list[dict[str, Any]]
) -> None:
    source, again = tmp_path / file, tmp_path / f"again-{file}"
    write(source, rows)
    soliloquy("import", source, "--format", "mathdial", "--out", tmp_path / "imported")
    soliloquy("export", tmp_path / "imported", "--format", "mathdial", "--out", again)
    assert again.read_bytes() == source.read_bytes()


def test_what_a_row_says_is_in_the_contracts_own_fields(tmp_path: Path) -> None:
    [one] = imported(tmp_path, PLAIN)
    labels = ConversationLabels.FromString(one.labels)
    assert (one.run.recipe, one.problem.answer.value, labels.student_name) == ("mathdial", 12, "Ana")
    assert (one.ending, one.resolution) == (Ending.ENDING_SOLVED, Resolution.RESOLUTION_REVEALED)
    assert (labels.typical_confusion, labels.typical_interactions) == (4, 5)
    confusion = confusion_of(one.problem.enrichment)
    assert (confusion.solution, confusion.description) == (
        PLAIN["student_incorrect_solution"],
        PLAIN["teacher_described_confusion"],
    )
    assert one.persona == PLAIN["student_profile"]
    assert [(turn.student.text, move_name(turn.tutor), turn.tutor.text) for turn in one.turns] == [
        ("", "generic", "Hi Ana!"),
        ("", "probing", "Why did you add?"),
        ("I thought: bags.", "", ""),
        ("", "telling", "It is 12."),
    ]
    assert [turn.HasField("student") for turn in one.turns] == [False, False, True, True]
    assert set(json.loads(one.extra)["mathdial"]) == {
        "qid",
        "scenario",
        "self-typical-confusion",
        "self-typical-interactions",
    }


def test_an_end_of_message_is_none_of_its_words_and_an_unknown_move_is(tmp_path: Path) -> None:
    rows = [PLAIN | {"conversation": spoken} for spoken in SPOKEN]
    found = [[(turn.student.text, turn.tutor.text) for turn in one.turns] for one in imported(tmp_path, *rows)]
    assert found[0] == found[1] == [("", "What is asked?"), ("Pears.", "Good.")]
    assert found[2] == [("", "What is asked?")]
    assert found[3] == [("", " Look again."), ("", ""), ("", ""), ("12/1", "")]
    assert found[4][0] == ("", "(praise)Good!")
    assert found[4][-1] == ("me too|EOM|and a word of nobody", "")


def test_a_conversation_of_ours_says_who_the_student_is_in_a_sentence_and_is_known_by_it() -> None:
    labels = ConversationLabels(student_name="Mia").SerializeToString()
    grown = small(labels=labels, resolution=Resolution.RESOLUTION_REVEALED)
    grown.run.recipe, grown.persona = "mathdial", "ideas"
    grown.problem.enrichment.labels = labelled(Confusion(description="Divides by the distance."))
    row = mathdial.row(told(grown), ExportOptions(leave_out=frozenset({"hidden"})))
    assert row["student_profile"].startswith("Mia is a sixth-grade student. Mia knows rules")
    assert row["self-correctness"] == "Yes, but I had to reveal the answer"
    assert row["teacher_described_confusion"] == "Divides by the distance."
    assert (row["self-typical-confusion"], row["self-typical-interactions"]) == (None, None)
    back = mathdial.dialogue(row)
    assert (back.persona, back.labels["conversation.student_name"], back.resolution) == ("ideas", "Mia", "revealed")


def test_a_resolution_that_mathdial_has_no_words_for_is_left_out() -> None:
    told_otherwise = told(small())._replace(resolution="../../etc/passwd")
    assert mathdial.row(told_otherwise, ExportOptions())["self-correctness"] is None


def test_what_was_imported_is_shown_checked_and_counted(tmp_path: Path) -> None:
    imported(tmp_path, *ROWS)
    folder = tmp_path / "imported"
    assert "Why did you add?" in soliloquy("show", folder)
    assert "its prompts are unknown" in soliloquy("show", folder, "--prompts", failing=True)
    assert soliloquy("check", folder, failing=True)
    assert "The report" in soliloquy("report", folder)
    text = (folder / "README.md").read_text("utf-8")
    for figure in (
        "| problems | 3 |",
        "| message-reply pairs | 2 |",
        "| probing | 16 |",
        "| revealed | 20 |",
    ):
        assert figure in text


def imported(tmp_path: Path, *rows: dict[str, Any]) -> list[Conversation]:
    source = tmp_path / "rows.jsonl"
    as_lines()(source, rows)
    soliloquy("import", source, "--format", "mathdial", "--out", tmp_path / "imported")
    return list(Dataset(tmp_path / "imported"))


def soliloquy(*arguments: object, failing: bool = False) -> str:
    result = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    assert (result.exit_code != 0) is failing, result.output
    return result.output
