"""Writes a step of a problem out: its working, its answer, and what would give it away."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from soliloquy.recipes.scene import Scene
from soliloquy.recipes.symbols import is_conversion, is_word
from soliloquy.standin.phrasebook import Phrasebook, book_of
from soliloquy.standin.slips import same
from soliloquy.truth.exactness import is_exact
from soliloquy.truth.number_format import format_quantity, format_rounded, format_value
from soliloquy.truth.quantities import calculations_in, values_in
from soliloquy.v1.conversation_pb2 import STEP_KIND_ALGEBRA, STEP_KIND_KNOWNS, Problem, Quantity, Step

_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_WHOLE = re.compile(r"(?<=\d)\.0(?!\d)")
# Replaces Python's notation with the textbook's; angles are in degrees.
_WRITTEN = {
    re.compile(r"\bradians\(([^()\s]+)\)"): r"\1°",
    re.compile(r"\bradians\("): "(",
    re.compile(r"^degrees\((.*)\)$"): r"\1",
    re.compile(r"\ba(?=(?:sin|cos|tan)\()"): "arc",
    re.compile(r"\bsqrt\("): "√(",
    re.compile(r"\blog\("): "ln(",
    re.compile(r"\blog10\("): "log(",
    re.compile(r"\bpi\b"): "π",
}


@cache
def book() -> Phrasebook:
    return book_of(Path(__file__))


def step_of(scene: Scene) -> Step:
    """Returns the step at hand."""
    return scene.problem.steps[int(scene.slot("step")) - 1]


def sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(" ".join(text.split()))


def is_numeric(step: Step) -> bool:
    return step.HasField("result")


def working(step: Step) -> str:
    """Puts the numbers into the expression: "2 × 3^2"."""
    values = {quantity.symbol: _in_working(quantity) for quantity in step.inputs}
    text = _NAME.sub(lambda name: values.get(name.group(), name.group()), step.expression)
    text = _WHOLE.sub("", text.replace("math.", "").replace(" ** ", "^").replace("**", "^"))
    for python, written in _WRITTEN.items():
        text = python.sub(written, text)
    return text.replace(" * ", " × ").replace("*", " × ")


def spoken_formula(formula: str) -> str:
    """Returns a formula that a person would say; empty for one of a program: "beats = rate × sleep_min"."""
    names = _NAME.findall(formula)
    return "" if any(map(is_word, names)) or is_conversion(names) else formula


def written(result: Quantity) -> str:
    """Writes a result as exactly as it has to be given: counts and money are not rounded."""
    if is_exact(result.value, result.unit):
        return format_value(result.value, result.unit)
    return format_quantity(result)


def list_values(quantities: Sequence[Quantity]) -> str:
    """Lists them as "m = 2 kg and a = 3 m/s^2", by name where a symbol is that of a program."""
    spoken = [spoken_formula(one.symbol) for one in quantities]
    return _join(
        [
            f"{symbol} = {format_quantity(one)}" if symbol else f"{format_quantity(one)} for the {one.name}"
            for one, symbol in zip(quantities, spoken, strict=True)
        ]
    )


def list_names(quantities: Sequence[Quantity]) -> str:
    return _join([f"the {quantity.name}" for quantity in quantities if quantity.name])


def answer(step: Step) -> str:
    """Returns what a right answer to a step without a number says."""
    if step.kind == STEP_KIND_KNOWNS and step.inputs:
        return list_values(step.inputs)
    return step.formula or sentences(step.explanation)[0].rstrip(".")


def answer_form(step: Step) -> str:
    """Names the wordings that suit the answer."""
    if step.kind == STEP_KIND_KNOWNS and step.inputs:
        return "knowns"
    if step.kind == STEP_KIND_ALGEBRA:
        return "algebra"
    return "formula" if step.formula else "idea"


def idea_of(step: Step) -> str:
    """Returns the idea of a step; empty if it needs numbers."""
    idea = sentences(step.explanation)[0].rstrip(".") if step.explanation else ""
    return "" if any(character.isdigit() or character in "=?" for character in idea) else idea


def gives_away(text: str, problem: Problem, step: Step) -> bool:
    """Whether a text reveals the result of this step, a later one, or the final answer."""
    hidden = [later.result.value for later in problem.steps if later.number >= step.number and is_numeric(later)]
    told = values_in(text) | {calculated.value for calculated in calculations_in(text)}
    return any(same(value, secret) for value in told for secret in [*hidden, problem.answer.value])


def _in_working(quantity: Quantity) -> str:
    # Keeps enough digits that rounding an input cannot change the result.
    digits = 4
    while digits < 15 and float(f"{quantity.value:.{digits}g}") != quantity.value:
        digits += 1
    text = format_rounded(quantity.value, digits)
    return f"({text})" if quantity.value < 0 or "^" in text else text


def _join(items: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
