"""A written problem as one JSON record: commission, problem, execution, opinions and measures."""

from typing import Any

from soliloquy.recipes.mathwell.commissions import authorship_of
from soliloquy.recipes.records import calculation_record, call_record, ending_fields, fields_of, header_fields
from soliloquy.v1.conversation_pb2 import Conversation, Turn


def record(conversation: Conversation) -> dict[str, Any]:
    authorship = authorship_of(conversation.problem)
    return {
        **header_fields(conversation),
        "commission": fields_of(authorship.commission),
        "opinions": [fields_of(opinion) for opinion in authorship.opinions],
        "measures": fields_of(authorship.measures),
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "student": None,
        "soliloquy": {
            "use_python": turn.HasField("calculation"),
            **calculation_record(turn.calculation),
            "agrees": None,
        },
        "tutor": None,
        "calls": [call_record(call) for call in turn.calls],
    }
