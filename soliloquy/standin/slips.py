"""Reads the working of a mistake, as a student tells it and a tutor recognises it."""

import math
import re

from soliloquy.recipes.learner.knowledge import is_miscalculation
from soliloquy.texts.phrases import says
from soliloquy.truth.stated_answer import answer_in
from soliloquy.v1.conversation_pb2 import Slip, Step

# Matches a symbol, as opposed to a function or a number.
_SYMBOL = re.compile(r"(?<![\w.])(?!π)[^\W\d]\w*\b(?!\()")
_POWER_OF_TEN = re.compile(r"(?P<open>\(?)(?P<number>\d(?:\.\d+)?)e(?P<power>-?\d+)\b(?P<close>\)?)")
# Readers take two numbers for the same if they differ by less than this.
_SAME = 0.01


def split_working(slip: Slip) -> tuple[str, str]:
    """Splits a mistake's working into formula and numbers: "a = m / F = 2 / 6" into "a = m / F" and "2 / 6"."""
    pieces = [piece.strip() for piece in slip.working.split(" = ")]
    # "914 / 100" after a formula is its working, although it can be read as a fraction.
    is_result = len(pieces) > 1 and not (" / " in pieces[-1] and _SYMBOL.search(pieces[-2]))
    if is_result and (written := answer_in(pieces[-1], slip.unit)) is not None and same(written, slip.value):
        pieces.pop()
    numbers = "" if _SYMBOL.search(pieces[-1]) else pieces.pop()
    # Right answers are written this way too, so the notation does not tell them apart.
    numbers = _POWER_OF_TEN.sub(_written, numbers).replace("²", "^2").replace("³", "^3")
    return " = ".join(pieces[:2]) if len(pieces) > 1 else "", numbers


def kind_of_mistake(slip: Slip | None, step: Step) -> str:
    """Names the wordings that suit a working: its numbers are wrong, its result alone, or the way that it shows."""
    if slip is None or not says(slip.working, step.formula):
        return "shown"
    return "miscalculated" if is_miscalculation(slip, step) else "misread"


def _written(power: re.Match[str]) -> str:
    """Writes a power of ten as people do, in brackets where it is part of a calculation."""
    written = f"{power['number']} × 10^{power['power']}"
    if power[0] == power.string:
        return written
    return f"{power['open'] or '('}{written}{power['close'] or ')'}"


def same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME)
