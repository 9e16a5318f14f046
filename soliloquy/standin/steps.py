"""Writes a step of a problem out: its calculation, its answer, and what would give it away."""

import re
from collections.abc import Sequence

from soliloquy.recipes.scene import Scene
from soliloquy.recipes.symbols import is_conversion, is_word
from soliloquy.standin.claims import same
from soliloquy.truth.exactness import is_exact
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.number_format import format_quantity, format_value, written_number
from soliloquy.truth.quantities import calculations_in, values_in
from soliloquy.truth.stated_answer import answer_in
from soliloquy.v1.conversation_pb2 import STEP_KIND_KNOWNS, Problem, Quantity, Slip, Step

_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
# Matches a symbol, as opposed to a function or a number.
_SYMBOL = re.compile(r"(?<![\w.])(?!π)[^\W\d]\w*\b(?!\()")


def step_of(scene: Scene) -> Step:
    """Returns the step at hand."""
    return scene.problem.steps[int(scene.slot("step")) - 1]


def is_numeric(step: Step) -> bool:
    return step.HasField("result")


def working(step: Step) -> str:
    """Writes the step out in numbers, "2 × 3²"; empty if it calculates nothing."""
    if not step.expression:
        return ""
    return parse_expression(step.expression).template.format(**{one.symbol: _put_in(one.value) for one in step.inputs})


def numbers_of(slip: Slip) -> str:
    """Returns the calculation of a mistake in numbers: "2 / 6" of "a = m / F = 2 / 6"; empty if it shows none."""
    *before, last = slip.working.split(" = ")
    # "914 / 100" after a formula is its working, although it can be read as a fraction.
    is_result = before and not (" / " in last and _SYMBOL.search(before[-1]))
    if is_result and (value := answer_in(last, slip.unit)) is not None and same(value, slip.value):
        last = before[-1]
    return "" if _SYMBOL.search(last) else last


def spoken_formula(step: Step) -> str:
    """Returns the formula as a person would say it; empty for one in the names of a program."""
    names = _SYMBOL.findall(step.formula)
    return "" if any(map(is_word, names)) or is_conversion(names) else step.formula


def written(result: Quantity) -> str:
    """Writes a result as exactly as it has to be given: counts and money are not rounded."""
    if is_exact(result.value, result.unit):
        return format_value(result.value, result.unit)
    return format_quantity(result)


def listed(quantities: Sequence[Quantity]) -> str:
    return " and ".join(
        f"{format_quantity(one)} for the {one.name}" if one.name else format_quantity(one) for one in quantities
    )


def givens(problem: Problem) -> Sequence[Quantity]:
    """Returns the quantities that the steps take from the question."""
    derived = {step.result.symbol for step in problem.steps}
    known = {one.symbol: one for step in problem.steps for one in step.inputs if one.symbol not in derived}
    return [*known.values()]


def answer(step: Step) -> str:
    """Returns what a right answer to a step without a number says."""
    if step.kind == STEP_KIND_KNOWNS and step.inputs:
        return listed(step.inputs)
    return step.formula or first_sentence(step.explanation)


def idea_of(step: Step) -> str:
    """Returns the idea of a step; empty if it needs numbers."""
    idea = first_sentence(step.explanation)
    return "" if any(character.isdigit() or character in "=?" for character in idea) else idea


def first_sentence(text: str) -> str:
    return _SENTENCE_END.split(" ".join(text.split()))[0].rstrip(".")


def gives_away(text: str, problem: Problem, step: Step) -> bool:
    """Whether a text reveals the result of this step, a later one, or the final answer."""
    hidden = [later.result.value for later in problem.steps[step.number - 1 :] if is_numeric(later)]
    told = values_in(text) | {calculated.value for calculated in calculations_in(text)}
    return any(same(value, secret) for value in told for secret in [*hidden, problem.answer.value])


def _put_in(value: float) -> str:
    number = written_number(value)
    return f"({number})" if value < 0 or "^" in number else number
