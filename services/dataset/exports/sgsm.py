"""SGSM's rows, the problems of MATHWELL: a word problem with the Python function that solves it."""

import math
import re
from collections.abc import Sequence
from typing import Any

from services.dataset.exports.dialogue import Dialogue, Unfit
from services.dataset.exports.format import Choice, Format, Row, text_of

_FUNCTION = re.compile(r"\s*(?:import \w+\s+)*def solution\(")


def columns(choice: Choice) -> list[str]:
    if not choice.solutions:
        return ["problem.question", "problem.topic", "extra"]
    steps = [f"problem.steps.{field}" for field in ("explanation", "expression", "inputs", "result")]
    return ["problem.question", "problem.topic", "problem.solution", "problem.answer", *steps, "extra"]


def row(dialogue: Dialogue, choice: Choice) -> Row | None:
    """None for a problem of which no program is known: one without numbers."""
    told: Row = {"question": dialogue.question}
    if choice.solutions:
        given = _FUNCTION.match(dialogue.solution)
        solution = dialogue.solution if given else _function(dialogue.steps)
        if not solution:
            return None
        told |= {"solution": solution, "answer": dialogue.answer}
    return {**told, "topic": dialogue.topic} if dialogue.question.strip() else None


def _function(steps: Sequence[dict[str, Any]]) -> str:
    """The steps that calculate, as one function; empty where none does."""
    lines: list[str] = []
    known: set[str] = set()
    for step in steps:
        if not step["expression"] or step["result"] is None:
            continue
        lines.append(f"# {' '.join(step['explanation'].split())}")
        lines += [
            f"{quantity['symbol']} = {_number(quantity['value'])}{_comment(quantity)}"
            for quantity in step["inputs"]
            if quantity["symbol"] not in known
        ]
        result = step["result"]["symbol"]
        lines.append(f"{result} = {step['expression']}")
        known |= {result, *(quantity["symbol"] for quantity in step["inputs"])}
    if not lines:
        return ""
    if any("math." in line for line in lines):
        lines.insert(0, "import math")
    return "\n    ".join(["def solution():", *lines, f"return {result}"])


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _comment(quantity: dict[str, Any]) -> str:
    told = quantity["name"] + (f" in {quantity['unit']}" if quantity["unit"] else "")
    return f"  # {' '.join(told.split())}" if told.strip() else ""


def dialogue(row: Row) -> Dialogue:
    if not text_of(row, "question").strip():
        raise Unfit("it has no `question`")
    return Dialogue(
        question=text_of(row, "question"),
        solution=text_of(row, "solution"),
        answer=_answer(row.get("answer")),
        topic=text_of(row, "topic"),
    )


def _answer(given: Any) -> float | None:
    try:
        answer = float(given)
    except (ValueError, TypeError, OverflowError):
        return None
    return answer if math.isfinite(answer) and not isinstance(given, bool) else None


FORMAT = Format(
    suffixes=(".jsonl", ".csv"),
    columns=columns,
    row=row,
    dialogue=dialogue,
    made=(),
    holds_hidden=False,
    once_a_problem=True,
    wants="a problem with a calculation",
)
