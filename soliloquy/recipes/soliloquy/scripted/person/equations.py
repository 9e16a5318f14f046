"""Finds the equations that a person writes in the symbols of a problem, and the program that tests one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from soliloquy.truth.expressions import Expression, Unworkable
from soliloquy.truth.laws import expression, law
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step

_EQUALS = re.compile(r"[=≈]")
_CLAUSE = re.compile(r"[,;:!?]|\.(?=\s|$)|→")
_OPERATOR = re.compile(r"[-+*/^()√·×²³\d]")
_NAME = re.compile(r"[^\W\d]\w*")
_GREEK = {"η": "eta", "λ": "lambda", "ρ": "rho", "μ": "mu", "ω": "omega", "φ": "phi", "θ": "theta", "α": "alpha"}
_SAME = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Equation:
    left: Expression
    right: Expression

    @property
    def symbols(self) -> set[str]:
        return {*self.left.symbols, *self.right.symbols}

    def holds(self, values: Mapping[str, float]) -> bool:
        try:
            left, right = self.left.value(values), self.right.value(values)
        except Unworkable:
            return False
        return abs(left - right) <= _SAME * abs(right)


def equations_in(text: str, problem: Problem) -> list[Equation]:
    """Returns the equations whose every symbol is one of the problem's."""
    known = tuple(sorted(quantities(problem)))
    text = _spelled(text, known)
    return [
        Equation(left=left, right=right)
        for before, after in pairwise(_EQUALS.split(text))
        if (left := _side(_CLAUSE.split(before)[-1], known, at_end=True))
        and (right := _side(_CLAUSE.split(after)[0], known, at_end=False))
    ]


def is_identity(equation: Equation) -> bool:
    """Whether the equation holds for any values, and so says nothing."""
    return equation.holds({symbol: 1.37 + 0.61 * place for place, symbol in enumerate(sorted(equation.symbols))})


def formula_of(step: Step, problem: Problem) -> Equation | None:
    """Returns the formula of a step; None if it has none in symbols."""
    found = equations_in(step.formula, problem)
    return found[0] if found else None


def symbols_of(step: Step) -> set[str]:
    return law(step.formula).symbols if "=" in step.formula else set()


def quantities(problem: Problem) -> dict[str, Quantity]:
    """Returns the quantity of every symbol."""
    found: dict[str, Quantity] = {}
    for step in problem.steps:
        for quantity in (*step.inputs, *([step.result] if step.HasField("result") else [])):
            found.setdefault(quantity.symbol, quantity)
    return found


def values(problem: Problem) -> dict[str, float]:
    return {symbol: quantity.value for symbol, quantity in quantities(problem).items()}


def test_of(equation: Equation, problem: Problem) -> Step:
    """Returns a step that divides one side by the other: an equation that holds comes to 1."""
    known = quantities(problem)
    return Step(
        formula="ratio = left / right",
        expression=f"({equation.left.text}) / ({equation.right.text})",
        inputs=[known[symbol] for symbol in sorted(equation.symbols)],
        result=Quantity(symbol="ratio", name="left side divided by right side", value=1.0),
    )


def _side(text: str, known: tuple[str, ...], *, at_end: bool) -> Expression | None:
    """Parses the side of an equation, without the words of the sentence before or behind it."""
    words = text.split()
    for dropped in range(len(words)):
        kept, rest = (
            (words[dropped:], words[:dropped])
            if at_end
            else (words[: len(words) - dropped], words[len(words) - dropped :])
        )
        # A formula that is cut at an operator is another formula.
        if any(_OPERATOR.search(word) for word in rest):
            return None
        found = expression(" ".join(kept), known)
        if found is not None and found.symbols:
            return found
    return None


def _spelled(text: str, known: tuple[str, ...]) -> str:
    """Spells symbols as the problem does: η as eta, l as L where no other symbol is meant."""
    for letter, name in _GREEK.items():
        text = text.replace(letter, name)
    folded: dict[str, list[str]] = {}
    for symbol in known:
        folded.setdefault(symbol.casefold().replace("_", ""), []).append(symbol)

    def respelled(found: re.Match[str]) -> str:
        alike = folded.get(found[0].casefold().replace("_", ""), [])
        return alike[0] if found[0] not in known and len(alike) == 1 else found[0]

    return _NAME.sub(respelled, text)
