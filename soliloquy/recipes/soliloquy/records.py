"""Writes a conversation as a JSON record, without anything that depends on the machine."""

from typing import Any

from soliloquy.recipes.codes import STRATEGIES
from soliloquy.recipes.records import ending_fields, header_fields, turn_fields
from soliloquy.recipes.soliloquy.codes import STATE_LETTERS
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels, TutorLabels
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def record(conversation: Conversation) -> dict[str, Any]:
    return {
        **header_fields(conversation),
        "persona": conversation.persona,
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    drawn = StudentLabels.FromString(turn.student.labels)
    tutor = TutorLabels.FromString(turn.tutor.labels)
    return {
        "number": turn.number,
        **turn_fields(
            turn,
            POLICY["agreeing"],
            student={"strategy": STRATEGIES.get(drawn.strategy)},
            tutor={"action": tutor.action, "step": tutor.step, "state": STATE_LETTERS.get(tutor.state)},
        ),
    }
