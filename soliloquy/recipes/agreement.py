"""Whether the tutor's evaluations agree with what its programs found; which go together is the recipe's policy."""

from collections.abc import Collection, Mapping

from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.manners import Findings
from soliloquy.runtime.values import verdict
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Turn

# The letters of the evaluations that agree with a verdict of the code, "right" or "wrong".
AgreeingLetters = Mapping[str, Collection[str]]


def letter_of(turn: Turn) -> str:
    """Of the tutor's evaluation; empty where it gives none."""
    return EVALUATION_LETTERS.get(turn.tutor.evaluation, "")


def code_verdict(calculation: Calculation) -> bool | None:
    """Whether the code found the student's answer right; None if it reached no verdict."""
    return verdict(calculation.attempts[-1].execution) if calculation.attempts else None


def agrees(turn: Turn, agreeing: AgreeingLetters) -> bool | None:
    """Whether the tutor's evaluation agrees with its code; None if the code reached no verdict."""
    found = code_verdict(turn.calculation)
    return None if found is None else letter_of(turn) in agreeing["right" if found else "wrong"]


def contradictions(conversation: Conversation, agreeing: AgreeingLetters) -> Findings:
    for turn in conversation.turns:
        if agrees(turn, agreeing) is False:
            yield turn.number, f"evaluated {letter_of(turn)!r} against the code's verdict"
