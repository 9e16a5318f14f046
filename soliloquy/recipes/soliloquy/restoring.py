"""A conversation from its record, as far as its prompts and the truth check need it."""

from typing import Any

from soliloquy.recipes.codes import EVALUATIONS, INTENTS, STATES, STRATEGIES
from soliloquy.recipes.restoring import attempt_of, problem_of
from soliloquy.v1.conversation_pb2 import (
    Calculation,
    Conversation,
    StudentReply,
    Turn,
    TutorReply,
)

_INTENTS = {name: intent for intent, name in INTENTS.items()}
_STRATEGIES = {name: strategy for strategy, name in STRATEGIES.items()}


def restored(record: dict[str, Any]) -> Conversation:
    return Conversation(
        id=record["id"],
        problem=problem_of(record["problem"]),
        persona=record["persona"],
        person=record["person"],
        turns=[_turn(turn) for turn in record["turns"]],
        ending=f"ENDING_{record['ending'].upper()}",
        ending_reason=record["ending_reason"],
    )


def _turn(turn: dict[str, Any]) -> Turn:
    student, soliloquy, tutor = turn["student"], turn["soliloquy"], turn["tutor"]
    attempts = [attempt_of(attempt) for attempt in soliloquy["attempts"]]
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
