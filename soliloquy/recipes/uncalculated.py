"""Finds results of the student that the tutor decides to judge without a calculation."""

import re
from collections.abc import Sequence

from soliloquy.recipes.manners import Findings
from soliloquy.truth.markup import without_markup
from soliloquy.truth.quantities import WrittenQuantity, quantities_in, values_in
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Turn

# A message of so few words holds nothing but its answer.
_SHORT = 6
# "2000 times that of an electron"
_IS_FACTOR = re.compile(r"\s*(?:of|times)\b")


def check_uncalculated(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    """Finds results that are presented as such, other than numbers of the question."""
    for turn in turns:
        if turn.HasField("calculation") or turn.student.intent == Intent.INTENT_OPENING:
            continue
        text = without_markup(turn.student.text)
        is_answer = len(text.split()) <= _SHORT and "?" not in text
        results = [one for one in quantities_in(text) if (one.stated or is_answer) and _is_calculated(text, one)]
        given = values_in(conversation.problem.question)
        if result := next((one for one in results if one.value not in given), None):
            yield turn.number, f"the student comes to {' '.join(text[result.start : result.end].split())!r}"


def _is_calculated(text: str, written: WrittenQuantity) -> bool:
    """Whether a number looks like a result: it is not zero, no part of a formula, and not in words, as in a reason."""
    is_part = written.term or _IS_FACTOR.match(text, written.end) is not None
    return bool(written.value) and not written.spelled and not is_part
