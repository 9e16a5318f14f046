"""Plants one error of each kind into a calculation of a solution that somebody else wrote."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from random import Random

_EQUATION = re.compile(
    r"\$?(\d[\d,]*(?:\.\d+)?)\s*([-+*/x×])\s*\$?(\d[\d,]*(?:\.\d+)?)(?![\d%/])\s*=\s*(\$?\d[\d,]*(?:\.\d+)?)( [a-z]+)?"
)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_OPERATIONS: Mapping[str, Callable[[float, float], float]] = {
    **{"+": operator.add, "-": operator.sub, "/": operator.truediv},
    **dict.fromkeys("*x×", operator.mul),
}
# School problems have these units. Only a result that has one gets another.
_UNITS = ("dollars", "hours", "minutes", "miles", "pounds", "kilograms", "liters", "degrees", "meters", "years")
_OTHERS = (1, 2, 3, 5, 7, 9, 11)
KINDS = ("sum", "unit", "nowhere")


def planted(question: str, solution: str, drawn: Random) -> Iterator[tuple[str, str, float]]:
    """Yields the kind of each error, the solution with it, and the number that is false."""
    equations = [*_EQUATION.finditer(solution)]
    if not equations:
        return
    chosen = drawn.choice(equations)
    first, sign, second, result, word = chosen.groups()
    stated = _value(result)
    wrong = stated + drawn.choice(_OTHERS)
    yield "sum", _with(solution, chosen.span(4), f"{wrong:g}"), wrong
    own = "dollars" if result.startswith("$") else (word or "").strip()
    if own in _UNITS:
        end = chosen.end(4) if result.startswith("$") else chosen.end(5)
        other = drawn.choice([unit for unit in _UNITS if unit != own])
        yield "unit", _with(solution, (chosen.start(4), end), f"{stated:g} {other}"), stated
    known = {_value(number) for number in _NUMBER.findall(f"{question} {solution}")}
    others = [_value(second) + more for more in _OTHERS if _value(second) + more not in known]
    if others:
        foreign = drawn.choice(others)
        follows = f"{round(_OPERATIONS[sign](_value(first), foreign), 2):g}"
        yield "nowhere", _with(_with(solution, chosen.span(4), follows), chosen.span(3), f"{foreign:g}"), foreign


def _value(text: str) -> float:
    return float(text.replace(",", "").lstrip("$"))


def _with(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]
