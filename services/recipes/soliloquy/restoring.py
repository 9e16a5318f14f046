"""A conversation from its record, as far as its prompts and the truth check need it."""

from typing import Any

from soliloquy.v1.conversation_pb2 import (
    Calculation,
    CodeAttempt,
    Conversation,
    Enrichment,
    Problem,
    Quantity,
    Slip,
    Step,
    StudentReply,
    Turn,
    TutorReply,
)
from soliloquy.v1.sandbox_pb2 import Execution, NamedValue, Value

from services.recipes.codes import EVALUATIONS, INTENTS, STATES, STRATEGIES

_INTENTS = {name: intent for intent, name in INTENTS.items()}
_STRATEGIES = {name: strategy for strategy, name in STRATEGIES.items()}


def restored(record: dict[str, Any]) -> Conversation:
    return Conversation(
        id=record["id"],
        problem=_problem(record["problem"]),
        persona=record["persona"],
        turns=[_turn(turn) for turn in record["turns"]],
        ending=f"ENDING_{record['ending'].upper()}",
        ending_reason=record["ending_reason"],
    )


def _problem(problem: dict[str, Any]) -> Problem:
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


def _turn(turn: dict[str, Any]) -> Turn:
    student, soliloquy, tutor = turn["student"], turn["soliloquy"], turn["tutor"]
    attempts = [_attempt(attempt) for attempt in soliloquy["attempts"]]
    calculation = Calculation(description=soliloquy["description"], attempts=attempts)
    return Turn(
        number=turn["number"],
        student=StudentReply(
            text=student["text"],
            intent=_INTENTS.get(student["intent"]),
            strategy=_STRATEGIES.get(student["strategy"]),
        ),
        calculation=calculation if soliloquy["use_python"] else None,
        tutor=TutorReply(
            text=tutor["text"],
            evaluation=EVALUATIONS.get(tutor["evaluation"]),
            action=tutor["action"],
            step=tutor["step"],
            state=STATES.get(tutor["state"]),
        ),
    )


def _attempt(attempt: dict[str, Any]) -> CodeAttempt:
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
