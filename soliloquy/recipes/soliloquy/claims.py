"""Reads the student's answer in a message whose speaker does not say what it claims, and whether it is right."""

import functools
import re
from collections.abc import Sequence

from soliloquy.recipes.settled import StudentAnswer
from soliloquy.recipes.soliloquy.facts import Facts, is_weak, matches
from soliloquy.texts.phrases import says, says_exactly
from soliloquy.truth.algebra_answers import gives_algebra
from soliloquy.truth.judge import compare
from soliloquy.truth.laws import holds, laws_in
from soliloquy.truth.quantities import WrittenQuantity
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import (
    STEP_KIND_ALGEBRA,
    STEP_KIND_CONCEPT,
    STEP_KIND_KNOWNS,
    Step,
)

_SHORT_REPLY = 6


def read_answer(
    text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int, *, is_reason: bool
) -> StudentAnswer:
    """Reads no answer in the numbers of a reason, unless one is the result."""
    claim = _answer(text, written, facts, number)
    return StudentAnswer() if is_reason and claim.said and not claim.right else claim


def _answer(text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int) -> StudentAnswer:
    step = facts.problem.steps[number - 1]
    entry, is_settled = facts.ledger.of_step(number), facts.is_settled(number)
    if (named := _named_quantity(text, written, step)) is not None:
        is_result = matches(named, step.result, facts.tolerance)
        return StudentAnswer(said=_said(text, named), right=is_result, settled=is_settled, entry=entry)
    if step.kind == STEP_KIND_ALGEBRA and (right := gives_algebra(text, step.formula)) is not None:
        # The numbers of an equation are none of the results.
        return StudentAnswer(right=right, settled=True)
    quantity = _final_quantity(text, written, facts, number)
    said = _said(text, quantity) if quantity is not None else ""
    if quantity is not None and (reached := facts.reached(quantity, number)):
        return StudentAnswer(
            said=said, right=True, settled=facts.is_settled(reached), entry=facts.ledger.of_step(reached)
        )
    if not step.HasField("result"):
        right = _statement(text, written, step, facts)
        return StudentAnswer(said=said, right=right, settled=right is not None)
    if not said:
        return StudentAnswer()
    right = compare(quantity, entry) if quantity is not None and entry is not None else False
    if right is False and entry is not None and any(compare(one, entry) for one in written):
        # The right value stands in the message, too: which one is meant is a matter of understanding.
        right = None
    return StudentAnswer(said=said, right=right, settled=is_settled, entry=entry)


def _said(text: str, quantity: WrittenQuantity) -> str:
    return text[quantity.start : quantity.end].strip()


def _named_quantity(text: str, written: Sequence[WrittenQuantity], step: Step) -> WrittenQuantity | None:
    """Returns the last quantity that a message names as the one asked for: "so the speed is 5 m/s"."""
    called = _calling(step.result.name)
    stated = [one for one in written if one.stated and not one.term] if step.result.name else []
    found = [one for one in stated if called.search(text[: one.start])]
    return found[-1] if found else None


@functools.lru_cache(2048)
def _calling(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:the|my|its)\s+{re.escape(name)}\W+(?:\w+\W+){{0,2}}$", re.IGNORECASE)


def _final_quantity(text: str, written: Sequence[WrittenQuantity], facts: Facts, number: int) -> WrittenQuantity | None:
    """Returns the quantity that a message ends with, preferably in digits and in the unit asked for."""
    step = facts.problem.steps[number - 1]
    short = len(text.split()) <= _SHORT_REPLY
    loose = [one for one in written if not one.term and (short or not is_weak(one))]
    worked = any(one.term for one in written)
    open_ = [one for one in loose if (worked and one.stated) or not facts.is_given(one) or facts.reached(one, number)]
    if short and not open_ and len(written) == 1 and "?" not in text:
        # The message holds nothing else, so even a given value is meant as the answer.
        open_ = loose
    kind = unit(step.result.unit).kind if step.HasField("result") else ""
    in_kind = [one for one in open_ if one.unit is not None and one.unit.kind == kind]
    stated = [one for one in open_ if one.stated]
    chosen = in_kind or stated or (open_ if short or "?" not in text else [])
    # "0.33 T, since a thousand millitesla are one tesla"
    in_digits = [one for one in chosen if not one.spelled]
    return next(reversed(in_digits or chosen), None)


def _statement(text: str, written: Sequence[WrittenQuantity], step: Step, facts: Facts) -> bool | None:
    """Judges the answer to a step without a number: its law, its idea, or the values it lists."""
    if says_exactly(text, step.formula):
        return True
    if any(says(text, slip.working) for slip in step.slips):
        return False
    if step.kind == STEP_KIND_KNOWNS and step.inputs:
        found = [any(matches(one, known, facts.tolerance) for one in written) for known in step.inputs]
        return True if all(found) else None
    if step.kind == STEP_KIND_CONCEPT:
        idea = re.split(r"(?<=[.!?])\s", step.explanation, maxsplit=1)[0]
        return True if says(text, idea) else None
    if step.formula and says(text, step.formula):
        return True
    judged = [held for held in (holds(*sides, facts.values) for sides in laws_in(text)) if held is not None]
    return judged[-1] if judged else None
