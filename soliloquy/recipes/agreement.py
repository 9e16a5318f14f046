"""Compares the tutor's evaluations with its programs' verdicts, by the recipe's table of which go together."""

import re
from collections.abc import Collection, Mapping, Sequence

from soliloquy.programs.operations import calculates
from soliloquy.recipes.codegen import has_run, output
from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.manners import Findings
from soliloquy.recipes.reached_values import (
    compares_own_number,
    confirms,
    corrects,
    denied_value,
    found_right,
    misreported_value,
    refutes,
)
from soliloquy.recipes.verdicts import is_of_student, verdict
from soliloquy.v1.conversation_pb2 import (
    INTENT_WRONG,
    VERIFICATION_NONE,
    VERIFICATION_PROGRAM,
    VERIFICATION_STEP,
    VERIFICATION_UNSPECIFIED,
    Calculation,
    Conversation,
    Turn,
    Verification,
)

# The letters of answers that are wrong, right or partly right.
_VERDICTS = {"a": "wrong", "b": "right", "c": "partly right"}
# A program may have run and found nothing.
_TELLING = re.compile(r"= .*(?:\d|True|False)")
# Maps the code's verdict, "right" or "wrong", to the evaluation letters that agree with it.
AgreeingLetters = Mapping[str, Collection[str]]


def letter_of(turn: Turn) -> str:
    """Returns the letter of the tutor's evaluation; empty if it gave none."""
    return EVALUATION_LETTERS.get(turn.tutor.evaluation, "")


def calls_answer(turn: Turn) -> str:
    """Says what the tutor finds of an answer, in the words of a reason that is sent back."""
    return f"calls the answer {_VERDICTS[letter_of(turn)]}"


def code_verdict(calculation: Calculation) -> bool | None:
    """Whether the code found the student's answer right; None if it reached no verdict, or none that counts."""
    is_heard = calculation.attempts and not calculation.overruled
    return verdict(calculation.attempts[-1].execution) if is_heard else None


def agrees(turn: Turn, agreeing: AgreeingLetters) -> bool | None:
    """Whether the tutor's evaluation agrees with its code; None if either reached no verdict."""
    letter = letter_of(turn)
    if letter not in _VERDICTS or turn.calculation.overruled:
        return None
    found = code_verdict(turn.calculation)
    if found and letter not in agreeing["right"] and compares_own_number(turn):
        return True if refutes(turn) else None
    found = found_right(turn) if found is None else found
    if found and letter in agreeing["wrong"] and corrects(turn):
        return True
    if found is not None:
        return letter in agreeing["right" if found else "wrong"]
    fits = (letter in agreeing["right"] and confirms(turn)) or (letter in agreeing["wrong"] and refutes(turn))
    return True if fits else None


def is_mistaken(turn: Turn) -> bool:
    """Whether the student's message was meant to be wrong, or the tutor calls it wrong, even in part."""
    return turn.student.intent == INTENT_WRONG or letter_of(turn) in ("a", "c")


def verdict_is_true(turn: Turn, right: bool | None) -> bool | None:
    """Whether the tutor rightly calls a message right or wrong; None if it does not, or if that is unknown."""
    judged_right = {"b": True, "a": False}.get(letter_of(turn))
    return None if right is None or judged_right is None else judged_right == right


def verification(turn: Turn, *, settled: bool) -> Verification:
    """Returns what the verdict of a reply rests on: a settled value with or without a program, or nothing."""
    if letter_of(turn) not in _VERDICTS:
        return VERIFICATION_UNSPECIFIED
    calculation = turn.calculation
    told = not calculation.overruled and has_run(calculation) and _TELLING.search(output(calculation)) is not None
    if not settled:
        return VERIFICATION_NONE
    # A program that compares a number with itself supports nothing.
    counts = told and calculates(calculation.attempts[-1].code, is_of_student)
    return VERIFICATION_PROGRAM if counts else VERIFICATION_STEP


def contradictions(conversation: Conversation, turns: Sequence[Turn], agreeing: AgreeingLetters) -> Findings:
    for turn in (turn for turn in turns if not turn.calculation.overruled):
        if agrees(turn, agreeing) is False:
            found = code_verdict(turn.calculation)
            is_right = found_right(turn) if found is None else found
            yield turn.number, f"it {calls_answer(turn)}, and the program finds it {'right' if is_right else 'wrong'}"
        elif denied := denied_value(turn):
            yield turn.number, f"denies {denied!r}, which the program came to"
        elif reported := misreported_value(turn):
            yield turn.number, f"reports {reported!r}, which the program did not come to"
