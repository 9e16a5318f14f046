"""Finds the results that a tutor's message reveals before the student has reached them."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from soliloquy.recipes.soliloquy.facts import Facts, is_weak, matches
from soliloquy.truth.numbers import EXACT
from soliloquy.truth.quantities import WrittenQuantity, is_same
from soliloquy.truth.unit_table import NO_UNIT
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Quantity

# A tutor's hint within this distance of a result reveals it; a student's answer has the problem's own tolerance.
_TOLERANCE = 0.005
# Kinds of units that may express a part of something.
_SHARES = (NO_UNIT.kind, unit("%").kind)
_ABOUT = re.compile(
    r"\b(?:over|above|under|below|more than|less than|nearly|almost|close to|just|roughly|about)\b[\w\s]*$", re.I
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyResult:
    """A result that the tutor's message reveals before the student has reached it."""

    step: int
    text: str


def early_results(
    text: str,
    told: Sequence[WrittenQuantity],
    said: Collection[int],
    facts: Facts,
    number: int,
    computed: Sequence[float],
) -> Iterator[EarlyResult]:
    hidden = [(at, result) for place, (at, result) in enumerate(facts.results) if at >= number and place not in said]
    unreached = {at for at, _ in hidden}
    reached = [result for at, result in facts.results if at <= number and at not in unreached]
    for one in told:
        if is_weak(one) or facts.is_given(one) or any(_is_as_written(one, result, facts) for result in reached):
            continue
        if any(math.isclose(one.value, value, rel_tol=_TOLERANCE) for value in computed):
            # The tutor asks for the result of its own program, whatever was read of the plan.
            yield EarlyResult(step=number, text=text[one.start : one.end].strip())
            continue
        # The same quantity in another unit may be a later step's result.
        at = next((at for at, result in hidden if _hints_at(text, one, result)), None)
        if at is not None:
            yield EarlyResult(step=at, text=text[one.start : one.end].strip())


def informative_quantities(told: Iterable[WrittenQuantity], heard: Sequence[WrittenQuantity]) -> list[WrittenQuantity]:
    """Returns the quantities that nobody has said before and that are unlikely to be a factor, a count or zero."""
    return [one for one in told if _is_measured(one) and not _is_heard(one, heard)]


def _hints_at(text: str, one: WrittenQuantity, result: Quantity) -> bool:
    wanted = unit(result.unit)
    if one.digits == EXACT and one.word.endswith("s") and wanted != NO_UNIT and not wanted.kind.startswith("counted "):
        # Two distances are not 2 cm.
        return False
    if one.digits == EXACT and one.unit is None and wanted.kind not in _SHARES and text.startswith(" of ", one.end):
        # A quarter of a wave is not 0.25 m, but may be 25 %.
        return False
    # A hint need not be exact to reveal a result.
    if is_same(one, result.value, result.unit, _TOLERANCE, roughly=True):
        return True
    if one.digits < 2 or not _ABOUT.search(text[max(0, one.start - 24) : one.start]):
        return False
    return is_same(one, result.value, result.unit, 0.03, roughly=True)


def _is_as_written(written: WrittenQuantity, result: Quantity, facts: Facts) -> bool:
    """Whether this is the result in its own unit; in another unit it may be a later step's conversion."""
    own = unit(result.unit)
    alike = written.unit is not None and (written.unit.kind, written.unit.factor) == (own.kind, own.factor)
    return alike and matches(written, result, facts.tolerance)


def _is_measured(written: WrittenQuantity) -> bool:
    """Whether a number has a unit or two digits, and is neither zero nor a word."""
    return bool(written.value) and written.digits < EXACT and (written.unit is not None or written.digits > 1)


def _is_heard(written: WrittenQuantity, heard: Iterable[WrittenQuantity]) -> bool:
    """Whether somebody has said the number, in whatever unit the reader finds."""
    return any(math.isclose(abs(written.value), abs(one.value), rel_tol=_TOLERANCE) for one in heard)
