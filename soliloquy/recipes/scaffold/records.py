"""Writes a conversation as a JSON record with its plan and everything that was sent back."""

from typing import Any

from soliloquy.recipes.records import (
    calculation_record,
    discarded_counts,
    ending_fields,
    fields_of,
    header_fields,
    turn_fields,
)
from soliloquy.recipes.scaffold.memory import plan_of, solved, sub_question
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.scaffold.rules import consistent
from soliloquy.recipes.scaffold.states import NAMES, drawn_state, found_state
from soliloquy.v1.conversation_pb2 import Conversation, RejectedTry, Turn

EVALUATIONS_IN_WORDS = {
    "a": "incorrect",
    "b": "correct",
    "d": "confused",
    "e": "irrelevant",
    "f": "a question",
    "g": "nothing to judge",
}


def record(conversation: Conversation) -> dict[str, Any]:
    plan = plan_of(conversation.problem)
    return {
        **header_fields(conversation),
        "plan": fields_of(plan) | {"discarded": discarded_counts(plan.discarded)},
        "persona": conversation.persona,
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
        "annotation": {**fields_of(conversation, "resolution"), "student_consistent": consistent(conversation)},
    }


def _turn(turn: Turn) -> dict[str, Any]:
    rejected = [_rejected_try(one) for one in turn.student.rejected]
    student = {"learner_state": NAMES.get(drawn_state(turn)), "rejected": rejected}
    return {
        "number": turn.number,
        "sub_question": sub_question(turn),
        "solved": solved(turn),
        **turn_fields(
            turn,
            POLICY["agreeing"],
            student=student if turn.HasField("student") else None,
            tutor={"learner_state": NAMES.get(found_state(turn))},
        ),
    }


def _rejected_try(one: RejectedTry) -> dict[str, Any]:
    soliloquy = calculation_record(one.calculation) if one.HasField("calculation") else None
    return {**fields_of(one, "text", "because", "judge"), "soliloquy": soliloquy}
