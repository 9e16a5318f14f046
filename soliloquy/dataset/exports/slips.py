"""Counts what is odd about the messages of imported conversations; none of it keeps them out."""

from collections.abc import Iterator

from soliloquy.dataset.exports.dialogue import Dialogue, Exchange
from soliloquy.recipes.agreement import agrees, letter_of
from soliloquy.recipes.recipe import find
from soliloquy.recipes.speech import cleaned
from soliloquy.runtime.answers import is_refusal
from soliloquy.v1.conversation_pb2 import Conversation, Turn

_JUDGED = tuple("abc")


def slips_in(dialogue: Dialogue, conversation: Conversation) -> Iterator[str]:
    """Yields the name of each slip, as often as it occurs."""
    last = len(dialogue.turns)
    for number, (said, turn) in enumerate(zip(dialogue.turns, conversation.turns, strict=True), start=1):
        yield from _of_words(said)
        if (said.thoughts or said.evaluation) and not letter_of(turn):
            yield "malformed codes"
        if (said.reply is None and number < last) or (said.description is not None and not said.attempts):
            yield "missing states"
        if dialogue.recipe and _is_unjudged(turn, dialogue.recipe):
            yield "unjudged verdicts"


def _of_words(said: Exchange) -> Iterator[str]:
    for text, speaker in ((said.student, "student"), (said.reply, "tutor")):
        if text and any(piece.endswith(":") for piece in cleaned(text, speaker).cut):
            yield "leaked speakers' names"
        if text and is_refusal(text):
            yield "refusals"


def _is_unjudged(turn: Turn, recipe: str) -> bool:
    """Whether a verdict that a program was run for cannot be compared with it."""
    has_verdict = letter_of(turn) in _JUDGED and bool(turn.calculation.attempts)
    return has_verdict and agrees(turn, find(recipe).agreeing) is None
