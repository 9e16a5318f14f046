"""Finds the results that a tutor's message reveals before the student has reached them."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from soliloquy.recipes.soliloquy.facts import Facts, is_weak, matches
from soliloquy.truth.numbers import EXACT
from soliloquy.truth.quantities import WrittenQuantity, is_same
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Quantity

# A tutor's hint within this distance of a result reveals it; a student's answer has the problem's own tolerance.
_TOLERANCE = 0.005


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
        if is_weak(one):
            continue
        # Two distances are not 2 cm, and a quarter of a wave is not 0.25 m, but may be 25 %.
        is_bare = one.digits == EXACT and one.unit is None
        counts = is_bare and (one.word.endswith("s") or text.startswith(" of ", one.end))
        kept = [(at, own) for at, own in hidden if not counts or unit(own.unit).measure in ("", "percent")]
        # The same quantity in another unit may be a later step's result.
        at = next((at for at, own in kept if is_same(one, own.value, own.unit, _TOLERANCE, roughly=True)), None)
        if any(math.isclose(one.value, value, rel_tol=_TOLERANCE) for value in computed):
            # The tutor asks for the result of its own program, whatever was read of the plan.
            at = number
        if at is not None and not facts.is_given(one) and not any(_is_as_written(one, own, facts) for own in reached):
            yield EarlyResult(step=at, text=text[one.start : one.end].strip())


def informative_quantities(told: Iterable[WrittenQuantity], heard: Sequence[WrittenQuantity]) -> list[WrittenQuantity]:
    """Returns the quantities that nobody has said before and that are unlikely to be a factor, a count or zero."""
    return [
        one
        for one in told
        if one.value
        and one.digits < EXACT
        and (one.unit is not None or one.digits > 1)
        # In whatever unit the reader finds.
        and not any(math.isclose(abs(one.value), abs(other.value), rel_tol=_TOLERANCE) for other in heard)
    ]


def _is_as_written(written: WrittenQuantity, result: Quantity, facts: Facts) -> bool:
    """Whether this is the result in its own unit; in another unit it may be a later step's conversion."""
    own = unit(result.unit)
    alike = written.unit is not None and (written.unit.kind, written.unit.factor) == (own.kind, own.factor)
    return alike and matches(written, result, facts.tolerance)
