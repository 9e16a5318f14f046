"""MathDial's rows: the dialogue in one cell, each of the teacher's turns with its move."""

import re
import tomllib
from pathlib import Path

from services.dataset.exports.dialogue import Dialogue, Unfit
from services.dataset.exports.format import Choice, Format, Row, text_of
from services.dataset.exports.transcript import Transcript

_MOVES = {
    int(action): move
    for action, move in tomllib.loads(Path(__file__).with_name("moves.toml").read_text("utf-8")).items()
}
_TELLING = "telling"
_END = "|EOM|"
_TEACHER = re.compile(r"Teacher: (?:\((\w+)\))?(.*)", re.DOTALL)
_STUDENT = re.compile(r"([^:|\n]{1,40}): (.*)", re.DOTALL)
_EMPTY = (
    "scenario",
    "self-typical-confusion",
    "self-typical-interactions",
)


def columns(choice: Choice) -> list[str]:
    solution = ["problem.solution"] if choice.solutions else []
    turns = ["turns.student.text", "turns.tutor.text", "turns.tutor.action", "turns.tutor.move"]
    confusion = ["problem.enrichment.confusion.solution", "problem.enrichment.confusion.description"]
    whole = ["persona", "student_name", "ending", "resolution", "extra"]
    return ["problem.question", *solution, *confusion, *turns, *whole]


def row(dialogue: Dialogue, choice: Choice) -> Row:
    return {
        "qid": dialogue.problem_id,
        "scenario": None,
        "question": dialogue.question,
        "ground_truth": dialogue.solution if choice.solutions else None,
        "student_incorrect_solution": dialogue.wrong_solution or None,
        "student_profile": dialogue.persona,
        "teacher_described_confusion": dialogue.confusion or None,
        "self-correctness": _correctness(dialogue),
        "self-typical-confusion": None,
        "self-typical-interactions": None,
        "conversation": _END.join(_said(dialogue)),
    }


def _correctness(dialogue: Dialogue) -> str | None:
    if not dialogue.ending:
        return None
    if dialogue.ending != "solved":
        return "No"
    revealed = dialogue.resolution == "revealed" or any(_MOVES.get(turn.action) == _TELLING for turn in dialogue.turns)
    return "Yes, but I had to reveal the answer" if revealed else "Yes"


def _said(dialogue: Dialogue) -> list[str]:
    """An imported dialogue has moves and a student's name of its own."""
    moves = dialogue.extra.get("moves") or [turn.move or _MOVES.get(turn.action) for turn in dialogue.turns]
    student = dialogue.extra.get("student", dialogue.student_name or "Student")
    said = []
    for turn, move in zip(dialogue.turns, moves, strict=True):
        if turn.student is not None:
            said.append(f"{student}: {turn.student}")
        if turn.reply is not None:
            said.append(f"Teacher: ({move}){turn.reply}" if move else f"Teacher: {turn.reply}")
    return said


def dialogue(row: Row) -> Dialogue:
    if "conversation" not in row:
        raise Unfit("it has no `conversation`")
    told, names, moves = Transcript(), [], []
    for message in _messages(text_of(row, "conversation")):
        if teacher := _TEACHER.fullmatch(message):
            told.reply({"reply": teacher[2]})
            moves.append(teacher[1])
        elif student := _STUDENT.fullmatch(message):
            told.student(student[2])
            names.append(student[1])
        else:
            raise Unfit(f"nobody says {message[:40]!r}")
    turns = told.turns()
    replied = iter(moves)
    extra: Row = {"moves": [None if turn.reply is None else next(replied) for turn in turns]} if any(moves) else {}
    if names and names[0] != "Student":
        extra["student"] = names[0]
    return Dialogue(
        problem_id=text_of(row, "qid"),
        question=text_of(row, "question"),
        solution=text_of(row, "ground_truth"),
        persona=text_of(row, "student_profile"),
        ending="solved" if text_of(row, "self-correctness").startswith("Yes") else "",
        turns=turns,
        extra=extra,
    )


def _messages(text: str) -> list[str]:
    """A piece that names no speaker goes on with the message before it."""
    messages: list[str] = []
    for piece in text.split(_END) if text else []:
        if messages and not (_TEACHER.fullmatch(piece) or _STUDENT.fullmatch(piece)):
            messages[-1] += _END + piece
        else:
            messages.append(piece)
    return messages


FORMAT = Format(
    suffixes=(".csv", ".jsonl"),
    columns=columns,
    row=row,
    dialogue=dialogue,
    made=(),
    holds_hidden=False,
    empty=_EMPTY,
)
