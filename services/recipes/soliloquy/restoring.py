"""A conversation from its record, as far as its prompts need it."""

from typing import Any

from soliloquy.v1.conversation_pb2 import (
    Calculation,
    CodeAttempt,
    Conversation,
    Problem,
    Step,
    StudentReply,
    Turn,
    TutorReply,
)
from soliloquy.v1.sandbox_pb2 import Execution, NamedValue, Value

from services.recipes.soliloquy.codes import EVALUATIONS, INTENTS, STATES, STRATEGIES

_INTENTS = {name: intent for intent, name in INTENTS.items()}
_STRATEGIES = {name: strategy for strategy, name in STRATEGIES.items()}


def restored(record: dict[str, Any]) -> Conversation:
    problem = record["problem"]
    return Conversation(
        id=record["id"],
        problem=Problem(
            question=problem["question"],
            steps=[
                Step(number=step["number"], explanation=step["explanation"], formula=step["formula"])
                for step in problem["steps"]
            ],
        ),
        turns=[_turn(turn) for turn in record["turns"]],
    )


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
