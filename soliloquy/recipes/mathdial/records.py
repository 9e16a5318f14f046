"""A conversation as one JSON record: messages, moves, executions, draws and annotations."""

from typing import Any

from soliloquy.recipes.codes import word_of
from soliloquy.recipes.mathdial.confusion import confusion_of
from soliloquy.recipes.mathdial.labels_pb2 import Belief, Confusion, ConversationLabels, ErrorCategory, StudentLabels
from soliloquy.recipes.mathdial.moves import intent_name, move_name
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.mathdial.rules import calculates, consistent
from soliloquy.recipes.records import discarded_counts, ending_fields, fields_of, header_fields, turn_fields
from soliloquy.v1.conversation_pb2 import Conversation, Resolution, Turn


def record(conversation: Conversation) -> dict[str, Any]:
    labels = ConversationLabels.FromString(conversation.labels)
    return {
        **header_fields(conversation),
        "confusion": _confusion(confusion_of(conversation.problem.enrichment)),
        "persona": conversation.persona,
        "student": {"name": labels.student_name, "pronoun": labels.pronoun, "reasons_wanted": labels.reasons_wanted},
        "turns": [_turn(turn) for turn in conversation.turns],
        **ending_fields(conversation),
        "annotation": {
            "resolution": word_of(Resolution, conversation.resolution) or None,
            "student_consistent": consistent(conversation),
            "student_calculates": calculates(conversation),
            "typical_confusion": labels.typical_confusion or None,
            "typical_interactions": labels.typical_interactions or None,
        },
    }


def _confusion(confusion: Confusion) -> dict[str, Any]:
    fields = fields_of(confusion)
    return fields | {
        "category": word_of(ErrorCategory, confusion.category),
        "discarded": discarded_counts(confusion.discarded),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    labels = StudentLabels.FromString(turn.student.labels)
    student = {"belief": word_of(Belief, labels.belief), "reasons": labels.reasons}
    return {
        "number": turn.number,
        **turn_fields(
            turn,
            POLICY["agreeing"],
            student=student if turn.HasField("student") else None,
            tutor={"move": move_name(turn.tutor), "intent": intent_name(turn.tutor)},
        ),
    }
