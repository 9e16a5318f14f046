"""A conversation as one JSON record: messages, moves, executions, draws and annotations."""

from typing import Any

from soliloquy.recipes.agreement import code_verdict
from soliloquy.recipes.codes import EVALUATION_LETTERS, INTENTS
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.labels_pb2 import Confusion, ConversationLabels, StudentLabels
from soliloquy.recipes.mathdial.moves import (
    belief_name,
    category_name,
    intent_name,
    move_name,
    resolution_name,
)
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.mathdial.rules import calculates, consistent
from soliloquy.recipes.records import call_record, ending_fields, header_fields, soliloquy_record
from soliloquy.v1.conversation_pb2 import Conversation, StudentReply, Turn, TutorReply


def record(conversation: Conversation) -> dict[str, Any]:
    labels = ConversationLabels.FromString(conversation.labels)
    return {
        **header_fields(conversation),
        "confusion": _confusion(confusion_of(conversation.problem.enrichment)),
        "persona": conversation.persona,
        "student": {
            "name": labels.student_name,
            "pronoun": labels.pronoun,
            "reasons_wanted": labels.reasons_wanted,
        },
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
        "annotation": {
            "resolution": resolution_name(conversation.resolution) or None,
            "student_consistent": consistent(conversation),
            "student_calculates": calculates(conversation),
            "typical_confusion": labels.typical_confusion or None,
            "typical_interactions": labels.typical_interactions or None,
        },
    }


def _confusion(confusion: Confusion) -> dict[str, Any]:
    return {
        "solution": confusion.solution,
        "answer": confusion.answer,
        "description": confusion.description,
        "category": category_name(confusion.category),
        "first_wrong_step": confusion.first_wrong_step,
        "samples": confusion.samples,
        "agreeing": confusion.agreeing,
        "discarded": {one.because: one.samples for one in confusion.discarded},
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "number": turn.number,
        "student": _student(turn.student, turn) if turn.HasField("student") else None,
        "soliloquy": soliloquy_record(turn, POLICY["agreeing"]),
        "tutor": _tutor(turn.tutor),
        "calls": [call_record(call) for call in turn.calls],
    }


def _student(reply: StudentReply, turn: Turn) -> dict[str, Any]:
    labels = StudentLabels.FromString(reply.labels)
    return {
        "text": reply.text,
        "intent": INTENTS.get(reply.intent),
        "belief": belief_name(labels.belief),
        "reasons": labels.reasons,
        "found_right": code_verdict(turn.calculation),
    }


def _tutor(reply: TutorReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "thoughts": reply.thoughts,
        "evaluation": EVALUATION_LETTERS.get(reply.evaluation),
        "move": move_name(reply),
        "intent": intent_name(reply),
    }
