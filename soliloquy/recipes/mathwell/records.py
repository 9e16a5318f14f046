"""A written problem as one JSON record: commission, problem, execution, opinions and measures."""

from typing import Any

from soliloquy.recipes.mathwell.commissions import authorship_of
from soliloquy.recipes.mathwell.labels_pb2 import Authorship
from soliloquy.recipes.records import attempt_record, call_record, ending_fields, enum_name, header_fields
from soliloquy.v1.conversation_pb2 import Conversation, Ruling, Turn


def record(conversation: Conversation) -> dict[str, Any]:
    return {
        **header_fields(conversation),
        **_authorship(authorship_of(conversation.problem)),
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
    }


def _authorship(authorship: Authorship) -> dict[str, Any]:
    commission, measures = authorship.commission, authorship.measures
    return {
        "commission": {
            "topic": commission.topic,
            "grade": commission.grade,
            "operations": list(commission.operations),
            "examples": [{"question": one.question, "solution": one.solution} for one in commission.examples],
        },
        "opinions": [
            {
                "criterion": one.criterion,
                "ruling": enum_name(Ruling.Name(one.ruling), "RULING_"),
                "judge": one.judge,
                "because": one.because,
            }
            for one in authorship.opinions
        ],
        "measures": {
            "reading_grade": measures.reading_grade,
            "tokens": measures.tokens,
            "operations": list(measures.operations),
            "names_topic": measures.names_topic,
            "likeness": measures.likeness,
        },
    }


def _turn(turn: Turn) -> dict[str, Any]:
    calculation = turn.calculation
    return {
        "number": turn.number,
        "student": None,
        "soliloquy": {
            "use_python": turn.HasField("calculation"),
            "description": calculation.description,
            "attempts": [attempt_record(attempt) for attempt in calculation.attempts],
            "agrees": None,
        },
        "tutor": None,
        "calls": [call_record(call) for call in turn.calls],
    }
