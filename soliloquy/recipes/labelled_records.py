"""Converts conversations to JSON records by the descriptors of their labels, for recipes without their own."""

from typing import Any

from google.protobuf.json_format import MessageToDict

from soliloquy.recipes.agreement import AgreeingLetters
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS
from soliloquy.recipes.labels import Labels
from soliloquy.recipes.records import (
    call_record,
    ending_fields,
    enum_name,
    header_fields,
    soliloquy_record,
)
from soliloquy.v1.conversation_pb2 import Conversation, Resolution, Turn


def record(conversation: Conversation, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    return {
        **header_fields(conversation),
        "labels": {
            "conversation": _read(labels, "conversation", conversation.labels),
            "problem": _read(labels, "problem", conversation.problem.labels),
            "enrichment": _read(labels, "enrichment", conversation.problem.enrichment.labels),
        },
        "persona": conversation.persona,
        "turns": [_turn(turn, labels, agreeing) for turn in conversation.turns],
        **ending_fields(conversation),
        "resolution": enum_name(Resolution.Name(conversation.resolution), "RESOLUTION_"),
    }


def _turn(turn: Turn, labels: Labels, agreeing: AgreeingLetters) -> dict[str, Any]:
    student, tutor = turn.student, turn.tutor
    return {
        "number": turn.number,
        "labels": _read(labels, "turn", turn.labels),
        "student": {
            "text": student.text,
            "intent": INTENTS.get(student.intent),
            "labels": _read(labels, "student", student.labels),
        }
        if turn.HasField("student")
        else None,
        "soliloquy": soliloquy_record(turn, agreeing),
        "tutor": {
            "text": tutor.text,
            "thoughts": tutor.thoughts,
            "evaluation": EVALUATION_LETTERS.get(tutor.evaluation),
            "labels": _read(labels, "tutor", tutor.labels),
        }
        if turn.HasField("tutor")
        else None,
        "calls": [call_record(call) for call in turn.calls],
    }


def _read(labels: Labels, place: str, stored: bytes) -> dict[str, Any]:
    kind = getattr(labels, place)
    return MessageToDict(kind.FromString(stored), preserving_proto_field_name=True) if kind else {}
