"""Finds results of the student that the tutor decides to judge without a calculation."""

import re
from collections.abc import Iterator, Sequence

from soliloquy.recipes.manners import Findings
from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_format import format_value
from soliloquy.truth.quantities import WrittenQuantity, quantities_in, values_in
from soliloquy.v1.conversation_pb2 import Conversation, Intent, StudentReply, Turn

# A message of so few words holds nothing but its answer.
_SHORT = 6
# "2000 times that of an electron"
_IS_FACTOR = re.compile(r"\s*(?:of|times)\b")


def check_uncalculated(conversation: Conversation, turns: Sequence[Turn]) -> Findings:
    """Finds results that are presented as such, other than numbers of the question."""
    for turn in turns:
        if turn.HasField("calculation") or turn.student.intent == Intent.INTENT_OPENING:
            continue
        given = values_in(conversation.problem.question)
        if result := next((shown for value, shown in _results(turn.student) if value not in given), None):
            yield turn.number, f"the student comes to {result!r}"


def _results(said: StudentReply) -> Iterator[tuple[float, str]]:
    """Yields the results of a message and how it gives them: as its speaker claims them, else as its words do."""
    if said.claims_by:
        yield from ((claim.value, format_value(claim.value, claim.unit)) for claim in said.claims)
        return
    text = without_markup(said.text)
    is_answer = len(text.split()) <= _SHORT and "?" not in text
    for one in quantities_in(text):
        if (one.stated or is_answer) and _is_calculated(text, one):
            yield one.value, " ".join(text[one.start : one.end].split())


def _is_calculated(text: str, written: WrittenQuantity) -> bool:
    """Whether a number looks like a result: it is not zero, no part of a formula, and not in words, as in a reason."""
    is_part = written.term or _IS_FACTOR.match(text, written.end) is not None
    return bool(written.value) and not written.spelled and not is_part
