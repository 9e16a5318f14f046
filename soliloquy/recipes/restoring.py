"""The parts of a conversation that are the same in every recipe, from its record."""

from typing import Any

from soliloquy.recipes.codes import STRATEGIES
from soliloquy.v1.conversation_pb2 import (
    CodeAttempt,
    Enrichment,
    Problem,
    Quantity,
    Slip,
    Step,
)
from soliloquy.v1.sandbox_pb2 import Execution, NamedValue, Value

_STRATEGIES = {name: strategy for strategy, name in STRATEGIES.items()}


def problem_of(problem: dict[str, Any]) -> Problem:
    return Problem(
        id=problem["id"],
        topic=problem["topic"],
        question=problem["question"],
        solution=problem["solution"],
        steps=[_step(step) for step in problem["steps"]],
        answer=_quantity(problem["answer"]),
        tolerance=problem["tolerance"],
        source=problem["source"],
        # A dataset of an earlier version says nothing of it.
        enrichment=_enrichment(problem.get("enrichment")),
    )


def _enrichment(enrichment: dict[str, Any] | None) -> Enrichment | None:
    return (
        None
        if enrichment is None
        else Enrichment(
            detailed_solution=enrichment["detailed_solution"],
            outline=enrichment["outline"],
            plain_because=enrichment["plain_because"],
        )
    )


def _step(step: dict[str, Any]) -> Step:
    return Step(
        number=step["number"],
        kind=f"STEP_KIND_{step['kind'].upper()}",
        ask=step["ask"],
        explanation=step["explanation"],
        formula=step["formula"],
        expression=step["expression"],
        inputs=[Quantity(**quantity) for quantity in step["inputs"]],
        result=_quantity(step["result"]),
        slips=[Slip(**slip | {"strategy": _STRATEGIES.get(slip["strategy"])}) for slip in step["slips"]],
    )


def _quantity(quantity: dict[str, Any] | None) -> Quantity | None:
    return None if quantity is None else Quantity(**quantity)


def attempt_of(attempt: dict[str, Any]) -> CodeAttempt:
    return CodeAttempt(
        code=attempt["code"],
        result_variables=attempt["result_variables"],
        execution=Execution(
            status=f"STATUS_{attempt['status'].upper()}",
            error=attempt["error"],
            error_line=attempt["error_line"],
            values=[NamedValue(name=name, value=_value(value)) for name, value in attempt["values"].items()],
        ),
    )


def _value(value: Any) -> Value:
    """The tagged value of a plain one; lists and mappings are shown as the text they print as."""
    if value is None:
        return Value(none=True)
    if isinstance(value, bool):
        return Value(boolean=value)
    if isinstance(value, int):
        return Value(integer=str(value))
    return Value(real=value) if isinstance(value, float) else Value(text=str(value))
