"""Writes a conversation as a JSON record, without anything that depends on the machine."""

from typing import Any

from soliloquy.recipes.agreement import code_verdict
from soliloquy.recipes.codes import (
    EVALUATION_LETTERS,
    INTENTS,
    STRATEGIES,
)
from soliloquy.recipes.records import (
    call_record,
    ending_fields,
    header_fields,
    soliloquy_record,
)
from soliloquy.recipes.soliloquy.codes import STATE_LETTERS
from soliloquy.recipes.soliloquy.labels_pb2 import StudentLabels, TutorLabels
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.v1.conversation_pb2 import (
    Conversation,
    StudentReply,
    Turn,
    TutorReply,
)


def record(conversation: Conversation) -> dict[str, Any]:
    return {
        **header_fields(conversation),
        "persona": conversation.persona,
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "student": _student(turn.student, turn),
        "soliloquy": soliloquy_record(turn, POLICY["agreeing"]),
        "tutor": _tutor(turn.tutor),
        "calls": [call_record(call) for call in turn.calls],
    }


def _student(reply: StudentReply, turn: Turn) -> dict[str, Any]:
    """Includes the hidden labels: the drawn intent and the code's verdict."""
    return {
        "text": reply.text,
        "intent": INTENTS.get(reply.intent),
        "strategy": STRATEGIES.get(StudentLabels.FromString(reply.labels).strategy),
        "found_right": code_verdict(turn.calculation),
    }


def _tutor(reply: TutorReply) -> dict[str, Any]:
    labels = TutorLabels.FromString(reply.labels)
    return {
        "text": reply.text,
        "thoughts": reply.thoughts,
        "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
        "action": labels.action,
        "step": labels.step,
        "state": STATE_LETTERS.get(labels.state),
    }
