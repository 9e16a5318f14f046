"""A conversation as one JSON record: everything said, thought, run and drawn; nothing that depends on the machine."""

from typing import Any

from soliloquy.recipes.agreement import agrees
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS, STATE_LETTERS, STRATEGIES
from soliloquy.recipes.records import attempt_record, beginning, call_record, ended
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.runtime.values import verdict
from soliloquy.v1.conversation_pb2 import (
    Conversation,
    StudentReply,
    Turn,
    TutorReply,
)


def record(conversation: Conversation) -> dict[str, Any]:
    return {
        **beginning(conversation),
        "persona": conversation.persona,
        "turns": [_turn(turn) for turn in conversation.turns],
        **ended(conversation),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    calculation = turn.calculation
    return {
        "number": turn.number,
        "student": _student(turn.student, turn),
        "soliloquy": {
            "use_python": turn.HasField("calculation"),
            "description": calculation.description,
            "attempts": [attempt_record(attempt) for attempt in calculation.attempts],
            "agrees": agrees(turn, POLICY["agreeing"]),
        },
        "tutor": _tutor(turn.tutor),
        "calls": [call_record(call) for call in turn.calls],
    }


def _student(reply: StudentReply, turn: Turn) -> dict[str, Any]:
    """The reply with its hidden labels: what was drawn, and what the calculation found."""
    attempts = turn.calculation.attempts
    return {
        "text": reply.text,
        "intent": INTENTS.get(reply.intent),
        "strategy": STRATEGIES.get(reply.strategy),
        "found_right": verdict(attempts[-1].execution) if attempts else None,
    }


def _tutor(reply: TutorReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "thoughts": reply.thoughts,
        "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
        "action": reply.action,
        "step": reply.step,
        "state": STATE_LETTERS.get(reply.state),
    }
