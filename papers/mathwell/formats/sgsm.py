"""SGSM's rows, as MATHWELL writes them: a word problem with the Python function that solves it."""

import math
from typing import Any

from soliloquy.dataset.exports.dialogue import CannotConvert, Dialogue
from soliloquy.dataset.exports.format import ExportOptions, Format, Row, text_of
from soliloquy.recipes.programs import solution_program
from soliloquy.v1.conversation_pb2 import Quantity, Step

RECIPE = "mathwell"


def columns(choice: ExportOptions) -> list[str]:
    if not choice.solutions:
        return ["problem.question", "problem.topic", "extra"]
    steps = [f"problem.steps.{field}" for field in ("explanation", "expression", "inputs", "result")]
    return ["problem.question", "problem.topic", "problem.solution", "problem.answer", *steps, "extra"]


def row(dialogue: Dialogue, choice: ExportOptions) -> Row | None:
    """Returns None for a problem without a program, such as one without numbers."""
    problem: Row = {"question": dialogue.question}
    if choice.solutions:
        solution = solution_program(dialogue.solution, map(_step, dialogue.steps))
        if not solution:
            return None
        problem |= {"solution": solution, "answer": dialogue.answer}
    return {**problem, "topic": dialogue.topic} if dialogue.question.strip() else None


def _step(step: dict[str, Any]) -> Step:
    inputs = [Quantity(**quantity) for quantity in step["inputs"]]
    result = Quantity(**step["result"]) if step["result"] else None
    return Step(explanation=step["explanation"], expression=step["expression"], inputs=inputs, result=result)


def dialogue(row: Row) -> Dialogue:
    if not text_of(row, "question").strip():
        raise CannotConvert("`question` is missing")
    return Dialogue(
        recipe=RECIPE,
        question=text_of(row, "question"),
        solution=text_of(row, "solution"),
        answer=_answer(row.get("answer")),
        topic=text_of(row, "topic"),
    )


def _answer(value: Any) -> float | None:
    try:
        answer = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return answer if math.isfinite(answer) and not isinstance(value, bool) else None


FORMAT = Format(
    title="MATHWELL's rows, a word problem and its program each",
    suffixes=(".jsonl", ".csv"),
    columns=columns,
    row=row,
    dialogue=dialogue,
    always=("question", "topic"),
    holds_hidden=False,
    once_a_problem=True,
    wants="a problem with a calculation",
)
