"""A problem of a bank as a line of a problem file."""

import json
from typing import Any

from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step

from services.curriculum.bank.family import Family

# One for all lines: making it takes as long as writing a step.
ENCODER = json.JSONEncoder(ensure_ascii=False)


def line_of(number: int, family: Family) -> bytes:
    # A file leaves the slips to whoever reads it.
    row = row_of(family.problem(number, slips=False), difficulty=family.difficulty)
    return f"{ENCODER.encode(row)}\n".encode()


def row_of(problem: Problem, *, difficulty: int) -> dict[str, Any]:
    """All that a problem file has a field for."""
    row: dict[str, Any] = {
        "id": problem.id,
        "topic": problem.topic,
        "question": problem.question,
        "solution": problem.solution,
        "steps": [_step(step) for step in problem.steps],
        "extra": {"source": problem.source, "difficulty": difficulty},
    }
    if problem.HasField("answer"):
        row["answer"] = {"value": problem.answer.value, "unit": problem.answer.unit}
        row["tolerance"] = problem.tolerance
    return row


def _step(step: Step) -> dict[str, Any]:
    row: dict[str, Any] = {"ask": step.ask, "explanation": step.explanation}
    if step.formula:
        row["formula"] = step.formula
    if step.HasField("result"):
        row["expression"] = step.expression
        row["inputs"] = [_quantity(quantity) for quantity in step.inputs]
        row["result"] = _quantity(step.result)
    return row


def _quantity(quantity: Quantity) -> dict[str, Any]:
    return {"symbol": quantity.symbol, "name": quantity.name, "value": quantity.value, "unit": quantity.unit}
