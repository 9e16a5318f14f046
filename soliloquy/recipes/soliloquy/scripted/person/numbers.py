"""Finds the number that a person answers with, and the step whose result it may be."""

from collections.abc import Sequence

from soliloquy.recipes.soliloquy.facts import Facts
from soliloquy.recipes.soliloquy.scripted.person.message import Act, PersonMessage
from soliloquy.recipes.soliloquy.scripted.person.vocabulary import belongs, is_usual
from soliloquy.recipes.soliloquy.scripted.steps import is_numeric
from soliloquy.truth.quantities import WrittenQuantity, calculations_in, is_same, quantities_in
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import STEP_KIND_CONVERT, Problem, Step


def number_in(text: str, problem: Problem, step: Step, *, asks: bool) -> PersonMessage | None:
    """Returns the number that a message answers with; None if it holds none that could be an answer."""
    numeric = [other for other in problem.steps if is_numeric(other)]
    if not numeric:
        return None
    facts = Facts(problem)
    found = [one for one in quantities_in(text) if not one.term or one.stated]
    bare = _is_answer(text, problem, found)
    ahead = [other for other in numeric if other.number >= step.number]
    last = _last(found, numeric, facts, bare=bare) or next(calculations_in(text), None)
    if last is None:
        return None
    reached = _reached(last, ahead, facts)
    if reached is not None and (bare or last.digits > 1 or last.unit or last.stated or belongs(last.word, problem)):
        return _reaching(text, last, reached, step, facts)
    if (known := _reached(last, numeric, facts)) is not None:
        if bare:
            return PersonMessage(act=Act.KNOWN, text=text, step=known, value=_value(last, known))
        return None if asks else PersonMessage(act=Act.UNREADABLE, text=text, step=step, lacks="known")
    if asks or not bare or last not in found:
        return None
    if not is_numeric(step):
        return PersonMessage(act=Act.UNREADABLE, text=text, step=step, lacks="no_number")
    if _is_unconverted(last, step):
        return PersonMessage(act=Act.UNREADABLE, text=text, step=step, lacks="other_unit")
    if not last.stated and sum(not facts.is_given(one) for one in found) > 1:
        # Any of several numbers may be the answer.
        return None
    if last.unit is not None and last.unit.kind != unit(step.result.unit).kind:
        return None
    return PersonMessage(act=Act.NUMBER, text=text, step=step, value=_value(last, step))


def _last(
    found: Sequence[WrittenQuantity], numeric: Sequence[Step], facts: Facts, *, bare: bool
) -> WrittenQuantity | None:
    """Returns the number that a message comes to, past the values and counts that it only mentions."""
    for one in reversed(found):
        mentioned = facts.is_given(one) or (one.digits == 1 and one.unit is None and not one.stated)
        if _reached(one, numeric, facts) is not None or not mentioned or bare:
            return one
    return None


def _reaching(text: str, one: WrittenQuantity, reached: Step, step: Step, facts: Facts) -> PersonMessage:
    value = _value(one, reached)
    if (
        one.unit is None
        and reached.number != step.number
        and any(is_same(one, slip.value, "", facts.tolerance) for slip in step.slips)
    ):
        return PersonMessage(act=Act.UNREADABLE, text=text, step=step, lacks="which_unit")
    if abs(value - reached.result.value) > facts.tolerance * abs(reached.result.value):
        return PersonMessage(act=Act.UNREADABLE, text=text, step=reached, lacks="digits")
    return PersonMessage(act=Act.NUMBER, text=text, step=reached, value=value)


def _reached(one: WrittenQuantity, steps: Sequence[Step], facts: Facts) -> Step | None:
    return next(
        (
            step
            for step in steps
            if is_same(one, step.result.value, step.result.unit, facts.tolerance) and not _is_unconverted(one, step)
        ),
        None,
    )


def _is_unconverted(one: WrittenQuantity, step: Step) -> bool:
    """Whether a step asks to convert the number into another unit: 215 g where kilograms are wanted."""
    return step.kind == STEP_KIND_CONVERT and one.unit is not None and one.unit.factor != unit(step.result.unit).factor


def _value(one: WrittenQuantity, step: Step) -> float:
    """Returns the number in the unit that the step asks for."""
    wanted = unit(step.result.unit)
    if one.unit is None or one.unit.kind != wanted.kind or not wanted.kind:
        return one.value * one.unit.factor if one.unit is not None and one.unit.kind == "dimensionless" else one.value
    return wanted.of(one.value, one.unit)


def _is_answer(text: str, problem: Problem, numbers: Sequence[WrittenQuantity]) -> bool:
    """Whether a message says nothing but numbers and words that belong to the problem or to any answer."""
    rest = text
    for one in reversed(numbers):
        rest = f"{rest[: one.start]} {rest[one.end :]}"
    return bool(numbers) and is_usual(rest, problem)
