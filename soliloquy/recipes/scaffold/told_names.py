"""Finds names in an expected answer that nobody has told the student: code, and letters of somebody else's."""

import re
from collections.abc import Iterator

from soliloquy.recipes.symbols import SYMBOLS, is_word
from soliloquy.runtime.files import table_beside
from soliloquy.texts.utterances import FUNCTION_WORDS, content_words
from soliloquy.truth.expressions import Expression
from soliloquy.truth.laws import expression, laws_in
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Problem, Quantity, StepKind

_POLICY = table_beside(__file__, "told_names.toml")
# "3x + b", "the area A", and neither an article nor a pronoun.
_LETTER = re.compile(r"(?<![^\W\d_])(?!(?:a|I|A (?=[a-z]))(?:\W|$))[^\W\d_](?![^\W\d_'’])")
# "q = 100 - p", as a program writes it.
_DEFINITION = re.compile(r"\W*\w+\s*=")


def undefined_names(answer: str, problem: Problem, said: str = "") -> set[str]:
    """Returns the names of an equation that neither the problem nor what was said before holds.

    "F = m × a" is a law in its usual letters, "riding = cars × per" is code. Where a problem is about letters, and in
    the definition of what is not measured, no letter is usual.
    """
    names = {name for side in _sides(answer) for name in side.symbols} if "=" in answer else set[str]()
    # In "120 pages, since 60 + 60 = 120" a word stands before the equation.
    names -= {name for name in names if is_word(name) and name in FUNCTION_WORDS}
    text = f"{problem.question}\n{said}"
    strange = names - set(_LETTER.findall(text))
    quantities = {one.symbol: one for step in problem.steps for one in (step.result, *step.inputs)}
    if any(map(is_word, names)):
        known = {*content_words(text), *(one.name for one in quantities.values())} - {"a"}
        return {name for name in strange if name not in known and name.lower() not in known}
    if any(step.kind == StepKind.STEP_KIND_ALGEBRA for step in problem.steps):
        return strange
    of_answer = {name: quantities[name] for name in names if name in quantities}
    is_law = any(name.lower() in SYMBOLS or _is_measured(one) for name, one in of_answer.items())
    if not is_law and _DEFINITION.match(answer):
        return strange & of_answer.keys()
    return {name for name in strange & of_answer.keys() if _is_named_by_unit(name, of_answer[name])}


def _sides(answer: str) -> Iterator[Expression]:
    for left, right in laws_in(answer):
        yield from (side for side in (expression(left), expression(right)) if side is not None)


def _is_measured(quantity: Quantity) -> bool:
    return unit(quantity.unit).kind.split(" ")[0].split("^")[0] not in _POLICY["unmeasured"]


def _is_named_by_unit(name: str, quantity: Quantity) -> bool:
    """Whether a name is that of a program, such as "I_mA" for a current in milliamperes."""
    index = name.partition("_")[2]
    return bool(index) and unit(index) == unit(quantity.unit)
