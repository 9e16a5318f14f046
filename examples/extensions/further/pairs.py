"""A line for each conversation: its question, and what student and tutor said in turns."""

from soliloquy.dataset.exports.dialogue import Dialogue, Exchange
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of


def columns(choice: ExportOptions) -> list[str]:
    return ["problem.question", "turns.student.text", "turns.tutor.text"]


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    pairs = [[turn.student, turn.reply] for turn in dialogue.answered()]
    return {"question": dialogue.question, "pairs": pairs} if pairs else None


def dialogue(row: Row) -> Dialogue:
    turns = [Exchange(student=student, reply=reply) for student, reply in row.get("pairs") or ()]
    return Dialogue(question=text_of(row, "question"), turns=turns)


FORMAT = Format(
    title="a question and pairs of messages",
    suffixes=(".jsonl",),
    columns=columns,
    row=row,
    dialogue=dialogue,
    made=("question", "pairs"),
    holds_hidden=False,
)
