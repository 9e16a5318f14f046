"""Finds results of the student that the tutor decides to judge without a calculation."""

from collections.abc import Sequence

from soliloquy.recipes.manners import Findings
from soliloquy.truth.number_format import format_value
from soliloquy.truth.quantities import values_in
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Turn


def check_uncalculated(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    """Finds results that are claimed, other than numbers of the question."""
    for turn in turns:
        if turn.HasField("calculation") or turn.student.intent == Intent.INTENT_OPENING:
            continue
        question = conversation.problem.question
        if result := next((claim for claim in turn.student.claims if claim.value not in values_in(question)), None):
            yield turn.number, f"the student comes to {format_value(result.value, result.unit)!r}"
