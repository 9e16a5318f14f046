"""MathDial's rows: the dialogue in one cell, with the move of each of the teacher's turns."""

import re
from collections.abc import Iterator, Mapping

from soliloquy.dataset.exports.dialogue import CannotConvert, Dialogue, Exchange
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.dataset.exports.transcript import Transcript
from soliloquy.recipes import recipe
from soliloquy.recipes.mathdial.labels_pb2 import Move
from soliloquy.runtime.files import table_beside

RECIPE = "mathdial"

# MathDial's move for each numbered action of our other recipes.
_MOVES = {int(action): move for action, move in table_beside(__file__, "moves.toml").items()}
_TELLING = "telling"
_END = "|EOM|"
_OTHER_END = "<EOM>"
_ENDS = re.compile(f"({re.escape(_END)}|{re.escape(_OTHER_END)})")
_NAMES = "|".join(name.removeprefix("MOVE_").lower() for name, move in Move.items() if move)
_TEACHER = re.compile(rf"Teacher: ?(?:\(\s*({_NAMES})\s*\))?(.*)", re.DOTALL | re.IGNORECASE)
_STUDENT = re.compile(r"([^:|\n]{1,40}):(?: (.*)|\s*)", re.DOTALL)
_NOBODY = "Student"
_ANSWER = re.compile(r"(?:####)?\s*[$€£]?\s*(-?[\d,]*\.?\d+)\s*%?\s*")
_RESOLVED = {"solved": "Yes", "revealed": "Yes, but I had to reveal the answer", "unsolved": "No"}
_RESOLUTIONS = {written: resolution for resolution, written in _RESOLVED.items()}
_NAME = "conversation.student_name"
_WRONG, _CONFUSION = "enrichment.confusion.solution", "enrichment.confusion.description"
_TYPICAL_CONFUSION, _TYPICAL_INTERACTIONS = "conversation.typical_confusion", "conversation.typical_interactions"


def columns(choice: ExportOptions) -> list[str]:
    solution = ["problem.solution"] if choice.solutions else []
    turns = ["turns.student.text", "turns.tutor.text", "turns.tutor.labels"]
    confusion = ["problem.enrichment.labels.confusion.solution", "problem.enrichment.labels.confusion.description"]
    whole = ["run.recipe", "persona", "ending", "resolution", "labels", "extra"]
    return ["problem.question", *solution, *confusion, *turns, *whole]


def row(dialogue: Dialogue, choice: ExportOptions) -> Row:
    return {
        "qid": dialogue.problem_id,
        "scenario": None,
        "question": dialogue.question,
        "ground_truth": dialogue.solution if choice.solutions else None,
        "student_incorrect_solution": dialogue.labels.get(_WRONG),
        "student_profile": _profile(dialogue.persona, dialogue.labels.get(_NAME, ""), dialogue.prompts),
        "teacher_described_confusion": dialogue.labels.get(_CONFUSION),
        "self-correctness": _correctness(dialogue),
        "self-typical-confusion": dialogue.labels.get(_TYPICAL_CONFUSION),
        "self-typical-interactions": dialogue.labels.get(_TYPICAL_INTERACTIONS),
        "conversation": dialogue.extra.get("end", _END).join(_transcript_lines(dialogue)),
    }


def _personas(prompts: Mapping[str, str]) -> Mapping[str, str]:
    return recipe.find(RECIPE).personas(prompts)


def _profile(persona: str, name: str, prompts: Mapping[str, str]) -> str:
    """Describes the student in a sentence; a persona that the recipe does not know is a sentence already."""
    manner = _personas(prompts).get(persona)
    return f"{name} is a sixth-grade student. {name} {manner}" if manner else persona


def _correctness(dialogue: Dialogue) -> str | None:
    """Without a resolution, a solved conversation with a telling move counts as revealed."""
    if dialogue.resolution:
        # A damaged or newer dataset may hold a resolution that MathDial has no words for.
        return _RESOLVED.get(dialogue.resolution)
    if not dialogue.ending:
        return None
    if dialogue.ending != "solved":
        return _RESOLVED["unsolved"]
    revealed = any(_move_of_action(turn) == _TELLING for turn in dialogue.turns)
    return _RESOLVED["revealed" if revealed else "solved"]


def _move_of_action(turn: Exchange) -> str | None:
    return _MOVES.get(int(turn.labels.get("tutor.action", 0)))


def _transcript_lines(dialogue: Dialogue) -> Iterator[str]:
    for turn in dialogue.turns:
        if turn.student is not None:
            yield f"{dialogue.labels.get(_NAME, _NOBODY)}: {turn.student}"
        if turn.reply is not None:
            move = turn.labels.get("tutor.move") or _move_of_action(turn)
            yield f"Teacher: ({move}){turn.reply}" if move else f"Teacher: {turn.reply}"


def dialogue(row: Row) -> Dialogue:
    """Leaves an unknown move in the text."""
    if "conversation" not in row:
        raise CannotConvert("`conversation` is missing")
    conversation = text_of(row, "conversation")
    transcript, names = Transcript(), list[str]()
    for message in _messages(conversation):
        if teacher := _TEACHER.fullmatch(message):
            labels = {"tutor.move": teacher[1].lower()} if teacher[1] else {}
            transcript.reply({"reply": teacher[2], "labels": labels})
        elif student := _STUDENT.fullmatch(message):
            transcript.student(student[2] or "")
            names.append(student[1])
        else:
            raise CannotConvert(f"no speaker is named for {message[:40]!r}")
    name = names[0] if names and names[0] != _NOBODY else ""
    resolution = _RESOLUTIONS.get(text_of(row, "self-correctness"), "")
    solution = text_of(row, "ground_truth")
    labelled = {
        _NAME: name,
        _WRONG: text_of(row, "student_incorrect_solution"),
        _CONFUSION: text_of(row, "teacher_described_confusion"),
        _TYPICAL_CONFUSION: _rating(row, "self-typical-confusion"),
        _TYPICAL_INTERACTIONS: _rating(row, "self-typical-interactions"),
    }
    return Dialogue(
        recipe=RECIPE,
        problem_id=text_of(row, "qid"),
        question=text_of(row, "question"),
        solution=solution,
        answer=_answer(solution),
        persona=_persona(text_of(row, "student_profile"), name),
        resolution=resolution,
        ending="solved" if resolution in ("solved", "revealed") else "",
        labels={label: value for label, value in labelled.items() if value},
        turns=transcript.turns(),
        extra={} if _END in conversation or _OTHER_END not in conversation else {"end": _OTHER_END},
    )


def _persona(profile: str, name: str) -> str:
    """Returns the persona with this profile, or the profile itself."""
    return next((persona for persona in _personas({}) if _profile(persona, name, {}) == profile), profile)


def _answer(solution: str) -> float | None:
    """Returns the number that stands alone in the last line."""
    last = _ANSWER.fullmatch(solution.rpartition("\n")[2])
    return float(last[1].replace(",", "")) if last else None


def _rating(row: Row, field: str) -> int:
    rating = text_of(row, field).removesuffix(".0")
    return int(rating) if rating in ("1", "2", "3", "4", "5") else 0


def _messages(text: str) -> list[str]:
    """Splits the text; a piece without a speaker belongs to the message before it, and an empty piece is dropped."""
    first, *rest = _ENDS.split(text)
    messages = [first] if first.strip() else []
    for end, piece in zip(rest[::2], rest[1::2], strict=True):
        if not piece.strip():
            continue
        if not messages or _TEACHER.fullmatch(piece) or _STUDENT.fullmatch(piece):
            messages.append(piece)
        else:
            messages[-1] += end + piece
    return messages


FORMAT = Format(
    title="MathDial's rows, without hidden states",
    suffixes=(".csv", ".jsonl"),
    columns=columns,
    row=row,
    dialogue=dialogue,
    always=(
        *("qid", "scenario", "question", "student_incorrect_solution", "student_profile", "conversation"),
        *("teacher_described_confusion", "self-correctness", "self-typical-confusion", "self-typical-interactions"),
    ),
    holds_hidden=False,
    empty=("scenario", "self-typical-confusion", "self-typical-interactions"),
)
