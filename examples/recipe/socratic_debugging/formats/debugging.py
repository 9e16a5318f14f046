"""A line for each conversation: the program, the bug's kind, and what was said in turns."""

from typing import Any

from soliloquy.dataset.exports.dialogue import Dialogue, Exchange
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of


def columns(choice: ExportOptions) -> list[str]:
    return ["run.recipe", "problem.topic", "problem.question", "turns.student.text", "turns.tutor.text"]


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    said: list[Any] = [[turn.student, turn.reply] for turn in dialogue.answered()]
    return {"id": dialogue.id, "bug": dialogue.topic, "program": dialogue.question, "said": said} if said else None


def dialogue(row: Row) -> Dialogue:
    said = [Exchange(student=student, reply=reply) for student, reply in row.get("said") or ()]
    made = Dialogue(id=text_of(row, "id"), recipe="debugging", turns=said)
    return made._replace(topic=text_of(row, "bug"), question=text_of(row, "program"))


FORMAT = Format(
    title="programs with the questions about them",
    suffixes=(".jsonl",),
    columns=columns,
    row=row,
    dialogue=dialogue,
    made=("program", "bug", "said"),
    holds_hidden=False,
)
