"""Compares the tutor's evaluations with its programs' verdicts, by the recipe's table of which go together."""

import re
from collections.abc import Collection, Mapping, Sequence

from soliloquy.recipes.codegen import has_run, output
from soliloquy.recipes.codes import EVALUATION_LETTERS
from soliloquy.recipes.manners import Findings
from soliloquy.recipes.verdicts import verdict
from soliloquy.runtime.values import plain
from soliloquy.truth.numbers import Number, numbers_in_digits
from soliloquy.v1.conversation_pb2 import (
    VERIFICATION_NONE,
    VERIFICATION_PROGRAM,
    VERIFICATION_STEP,
    VERIFICATION_UNSPECIFIED,
    Calculation,
    Conversation,
    Problem,
    Turn,
    Verification,
)

# The letters of answers that are wrong, right or partly right.
_VERDICTS = tuple("abc")
# How far a rounded number may be from its value, relative to it, and how far binary fractions are off.
_ROUGH, _NOISE = 0.05, 1e-9
# A program may have run and found nothing.
_TELLING = re.compile(r"= .*(?:\d|True|False)")
# Maps the code's verdict, "right" or "wrong", to the evaluation letters that agree with it.
AgreeingLetters = Mapping[str, Collection[str]]


def letter_of(turn: Turn) -> str:
    """Returns the letter of the tutor's evaluation; empty if it gave none."""
    return EVALUATION_LETTERS.get(turn.tutor.evaluation, "")


def code_verdict(calculation: Calculation) -> bool | None:
    """Whether the code found the student's answer right; None if it reached no verdict."""
    return verdict(calculation.attempts[-1].execution) if calculation.attempts else None


def agrees(turn: Turn, agreeing: AgreeingLetters) -> bool | None:
    """Whether the tutor's evaluation agrees with its code; None if either reached no verdict."""
    found = code_verdict(turn.calculation)
    if found is None and _states_what_was_calculated(turn):
        found = True
    if found is None or letter_of(turn) not in _VERDICTS:
        return None
    return letter_of(turn) in agreeing["right" if found else "wrong"]


def _states_what_was_calculated(turn: Turn) -> bool:
    """Whether a program that compares nothing came to numbers only, all of which the student states."""
    if not has_run(turn.calculation):
        return False
    found = [named.value for named in turn.calculation.attempts[-1].execution.values]
    values = [float(plain(value)) for value in found if value.WhichOneof("kind") in ("real", "integer")]
    stated = numbers_in_digits(turn.student.text)
    return len(values) == len(found) > 0 and not {*values} - _rounded([*stated], values)


def _rounded(stated: Sequence[Number], values: Sequence[float]) -> set[float]:
    return {value for value in values if any(_is_rounded(value, one) for one in stated)}


def _is_rounded(value: float, stated: Number) -> bool:
    """Whether the number is the value with fewer digits, of which a single one would say too little."""
    return abs(value - stated.value) <= min(stated.half, _ROUGH * abs(value)) + _NOISE * abs(value)


def verdict_is_true(turn: Turn, right: bool | None) -> bool | None:
    """Whether the tutor rightly calls a message right or wrong; None if it does not, or if that is unknown."""
    judged_right = {"b": True, "a": False}.get(letter_of(turn))
    return None if right is None or judged_right is None else judged_right == right


def verification(turn: Turn, problem: Problem, *, settled: bool) -> Verification:
    """Returns what the verdict of a reply rests on; `settled` by a result that was worked through."""
    if letter_of(turn) not in _VERDICTS:
        return VERIFICATION_UNSPECIFIED
    if problem.contradicting_programs:
        # Whatever the tutor calculates may follow the solution into its error.
        return VERIFICATION_NONE
    if has_run(turn.calculation) and _TELLING.search(output(turn.calculation)):
        return VERIFICATION_PROGRAM
    return VERIFICATION_STEP if settled else VERIFICATION_NONE


def contradictions(conversation: Conversation, agreeing: AgreeingLetters) -> Findings:
    for turn in conversation.turns:
        if agrees(turn, agreeing) is False:
            yield turn.number, f"evaluated {letter_of(turn)!r} against the code's verdict"
