"""Writes a conversation with its labels as a JSON record, for recipes without a form of their own."""

from typing import Any

from soliloquy.recipes.agreement import AgreeingLetters
from soliloquy.recipes.labels import Labels
from soliloquy.recipes.records import ending_fields, fields_of, header_fields, turn_fields
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def record(conversation: Conversation, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    problem = conversation.problem
    return {
        **header_fields(conversation),
        "labels": {
            **_read(labels, "conversation", conversation.labels),
            **_read(labels, "problem", problem.labels),
            **_read(labels, "enrichment", problem.enrichment.labels),
        },
        **fields_of(conversation, "persona", "resolution"),
        "turns": [_turn(turn, labels, agreeing) for turn in conversation.turns],
        **ending_fields(conversation),
    }


def _turn(turn: Turn, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    return {
        "number": turn.number,
        "labels": _read(labels, "turn", turn.labels),
        **turn_fields(
            turn,
            agreeing,
            student=_read(labels, "student", turn.student.labels),
            tutor=_read(labels, "tutor", turn.tutor.labels),
        ),
    }


def _read(labels: Labels, place: str, stored: bytes) -> dict[str, Any]:
    kind = getattr(labels, place)
    return fields_of(kind.FromString(stored)) if kind else {}
