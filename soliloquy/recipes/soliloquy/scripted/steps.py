"""Writes a step of a problem out: its working, its answer, and what would give it away."""

import re
from collections.abc import Sequence

from soliloquy.recipes.scripted.slips import same
from soliloquy.recipes.symbols import is_conversion, is_word
from soliloquy.texts.phrases import without
from soliloquy.truth.exactness import is_exact
from soliloquy.truth.number_format import format_quantity, format_rounded
from soliloquy.truth.numbers import has_number_word, numbers_in_digits
from soliloquy.truth.quantities import calculations_in, quantities_in
from soliloquy.truth.stated_answer import answer_in
from soliloquy.v1.conversation_pb2 import STEP_KIND_ALGEBRA, STEP_KIND_KNOWNS, Problem, Quantity, Step

NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
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


def is_numeric(step: Step) -> bool:
    return step.HasField("result")


def is_algebra(step: Step) -> bool:
    return step.kind == STEP_KIND_ALGEBRA


def working(step: Step, digits: int = 4) -> str:
    """Puts the numbers into the expression: "2 × 3^2"."""
    values = {quantity.symbol: _in_working(quantity, digits) for quantity in step.inputs}
    text = NAME.sub(lambda name: values.get(name.group(), name.group()), step.expression)
    text = _WHOLE.sub("", text.replace("math.", "").replace(" ** ", "^").replace("**", "^"))
    for python, written in _WRITTEN.items():
        text = python.sub(written, text)
    return text.replace(" * ", " × ").replace("*", " × ")


def spoken_formula(formula: str) -> str:
    """Returns a formula that a person would say; empty for one of a program: "beats = rate × sleep_min"."""
    names = NAME.findall(formula)
    return "" if any(map(is_word, names)) or is_conversion(names) else formula


def list_values(quantities: Sequence[Quantity]) -> str:
    """Lists them as "m = 2 kg and a = 3 m/s^2"."""
    return _join([f"{quantity.symbol} = {format_quantity(quantity)}" for quantity in quantities])


def list_named_values(quantities: Sequence[Quantity]) -> str:
    """Lists them as "2 kg for the mass and 3 m/s^2 for the acceleration"."""
    return _join([f"{format_quantity(one)} for the {one.name}" for one in quantities if one.name])


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
    if is_algebra(step):
        return "algebra"
    return "formula" if step.formula else "idea"


def sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(" ".join(text.split()))


def stated_answer(text: str, step: Step) -> float | None:
    """Returns the number that a message gives for the step, ignoring those of a quoted formula."""
    return answer_in(without(text, step.formula), step.result.unit)


def stated_digits(result: Quantity) -> Sequence[int]:
    """Returns how many digits a right answer may have: of 187.96 all five, since counts and money are not rounded."""
    usual = (3, 4)
    if not is_exact(result.value, result.unit):
        return usual
    whole = (digits for digits in range(3, 13) if float(f"{result.value:.{digits}g}") == round(result.value, 2))
    least = next(whole, usual[-1])
    return (least,) if least > usual[0] else usual


def gives_away(text: str, problem: Problem, step: Step) -> bool:
    """Whether a text reveals the result of this step, a later one, or the final answer."""
    hidden = [later.result.value for later in problem.steps if later.number >= step.number and is_numeric(later)]
    if problem.HasField("answer"):
        hidden.append(problem.answer.value)
    told = [number.value for number in numbers_in_digits(text)]
    told += [calculated.value for calculated in calculations_in(text)]
    if has_number_word(text):
        told += [written.value for written in quantities_in(text)]
    return any(same(value, secret) for value in told for secret in hidden)


def _in_working(quantity: Quantity, digits: int) -> str:
    # Keeps enough digits that rounding an input cannot change the result.
    while digits < 15 and float(f"{quantity.value:.{digits}g}") != quantity.value:
        digits += 1
    text = format_rounded(quantity.value, digits)
    return f"({text})" if quantity.value < 0 or "^" in text else text


def _join(items: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
