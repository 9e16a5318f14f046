"""The mistakes at a step, one for each error strategy, by the wrong ways that its file states or that rules derive."""

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from soliloquy.problems.mistakes.causes import Names, cause, miscalculation, wording
from soliloquy.problems.mistakes.rewrites import (
    other_conversions,
    other_evaluations,
    other_formulas,
    other_quantities,
    other_rearrangements,
)
from soliloquy.recipes.plausibility import is_plausible
from soliloquy.truth.expressions import UNWORKABLE, Expression, Values
from soliloquy.truth.number_format import SIGNIFICANT_DIGITS, format_number, tidy
from soliloquy.v1 import conversation_pb2 as pb

Strategy = Literal["formula", "rearrangement", "conversion"]
STRATEGIES: Mapping[Strategy, pb.ErrorStrategy] = {
    "formula": pb.ERROR_STRATEGY_FORMULA,
    "rearrangement": pb.ERROR_STRATEGY_REARRANGEMENT,
    "conversion": pb.ERROR_STRATEGY_CONVERSION,
}

# Slips differ from the right value by more than this share, far beyond the tolerance of an answer.
MARGIN = 0.04
# Two digits that are misread for each other.
_DIGITS = re.compile(r"[1-9]\.?[1-9]")
# The wrong ways of a step that are looked at: the first that a person could hand in is taken.
_LOOKED_AT = 8


class WrongWay(NamedTuple):
    strategy: pb.ErrorStrategy
    # The wrong expressions that it may lead to, likeliest first.
    candidates: Iterable[Expression]
    # The misconception behind it, as the student would say it; empty if it has no name.
    because: str = ""


class RightWay(NamedTuple):
    """The right way to take a step, the symbol of its result, and what its quantities are called."""

    expression: Expression
    symbol: str
    names: Names
    converts: bool = False


def wrong_ways(
    right: Expression,
    *,
    unit: str,
    converts: bool = False,
    converted: Mapping[str, str] = {},
    others: Sequence[str] = (),
    stated: Sequence[WrongWay] = (),
) -> Sequence[WrongWay]:
    """Returns the wrong ways for an expression: those that its file states, then those of the rules.

    A step whose file names misconceptions has no others: rules know nothing of what a student thinks there.
    `converts` marks a step that converts units; `converted` maps a symbol that an earlier step converted to the
    symbol that it was converted from; `others` are quantities of the problem that are measured as one of its parts is.
    """
    if any(way.because for way in stated):
        return stated
    rules: Sequence[tuple[pb.ErrorStrategy, Iterator[ast.expr]]] = [
        (pb.ERROR_STRATEGY_FORMULA, other_formulas(right.tree, converts=converts)),
        (pb.ERROR_STRATEGY_REARRANGEMENT, other_rearrangements(right.tree)),
        (pb.ERROR_STRATEGY_CONVERSION, other_conversions(right.tree, unit, converts=converts, converted=converted)),
        (pb.ERROR_STRATEGY_FORMULA, other_quantities(right.tree, others)),
        (pb.ERROR_STRATEGY_ARITHMETIC, other_evaluations(right.tree)),
    ]
    ways: list[WrongWay] = []
    for strategy, trees in rules:
        # The ways that the file states for a strategy come before the first rules for it.
        is_first = all(way.strategy != strategy for way in ways)
        own = [way.candidates for way in stated if is_first and way.strategy == strategy]
        ways.append(WrongWay(strategy, chain(*own, (Expression(tree=tree) for tree in trees))))
    return ways


def mistakes(
    ways: Sequence[WrongWay], values: Values, texts: Mapping[str, str], *, right: RightWay, value: float, pick: int
) -> list[pb.Slip]:
    """Returns the slip of each way that is clearly wrong here, and one that is misread or miscalculated.

    `value` is the right one; `pick` chooses among wordings and digits. Of two slips that come to the same, only the
    first explains the value.
    """
    found: dict[float, pb.Slip] = {}
    startling: dict[float, pb.Slip] = {}
    for way in ways:
        chosen = _likeliest(way.candidates, values, value, right)
        if chosen is None:
            continue
        expression, wrong = chosen
        because = way.because or cause(
            right.expression, expression, right.names, pick=pick + len(found), converts=right.converts
        )
        written = expression.working.format_map(texts) or format_number(wrong)
        stays = way.because or is_plausible(wrong, value, right.names.unit, converts=right.converts)
        (found if stays else startling).setdefault(wrong, _slip(right, way.strategy, written, wrong, because))
    if not found:
        found = startling
    if not any(slip.strategy == pb.ERROR_STRATEGY_ARITHMETIC for slip in found.values()):
        last = _misread(values, texts, right, value, pick) or _miscalculated(value, texts, right, pick)
        found.setdefault(last.value, last)
    return list(found.values())


def _slip(right: RightWay, strategy: pb.ErrorStrategy, working: str, value: float, because: str) -> pb.Slip:
    stated = f"{right.symbol} = {working}"
    return pb.Slip(strategy=strategy, working=stated, value=value, unit=right.names.unit, because=because)


def _clearly_wrong(wrong: float, right: float) -> bool:
    off = abs(wrong - right)
    # inf and nan never count as clearly wrong.
    return wrong != 0 and off > MARGIN * abs(wrong) and off > MARGIN * abs(right)


def _likeliest(
    candidates: Iterable[Expression], values: Values, right: float, way: RightWay
) -> tuple[Expression, float] | None:
    """Returns the first expression that is clearly wrong and plausible, else the first that is clearly wrong."""
    first = None
    for candidate, _ in zip(candidates, range(_LOOKED_AT), strict=False):
        try:
            value = tidy(candidate.calculation(values))
        except (*UNWORKABLE, KeyError):
            continue
        if not _clearly_wrong(value, right):
            continue
        if is_plausible(value, right, way.names.unit, converts=way.converts):
            return candidate, value
        first = first or (candidate, value)
    return first


def _misread(values: Values, texts: Mapping[str, str], right: RightWay, value: float, pick: int) -> pb.Slip | None:
    """Takes two digits of a given number for each other; None if none has two that differ."""
    symbols = right.expression.symbols
    for place in range(len(symbols)):
        symbol = symbols[(place + pick) % len(symbols)]
        if symbol not in texts or not (found := _DIGITS.search(texts[symbol])) or found[0] == found[0][::-1]:
            continue
        read = texts[symbol][: found.start()] + _turned(found[0]) + texts[symbol][found.end() :]
        taken = float(read.strip("()"))
        try:
            wrong = tidy(right.expression.calculation({**values, symbol: taken}))
        except UNWORKABLE:
            continue
        # A misread number must not be the right result: quoting it would tell the answer.
        if (
            taken != value
            and _clearly_wrong(wrong, value)
            and is_plausible(wrong, value, right.names.unit, converts=True)
        ):
            slots = {"part": f"the {name}" if (name := right.names.quantities.get(symbol)) else symbol}
            because = wording("misread", right.names, slots | {"factor": read.strip("()")}, pick)
            working = right.expression.working.format_map({**texts, symbol: read})
            return _slip(right, pb.ERROR_STRATEGY_ARITHMETIC, working, wrong, because)
    return None


def _turned(digits: str) -> str:
    return digits[-1] + digits[1:-1] + digits[0]


def _miscalculated(value: float, texts: Mapping[str, str], right: RightWay, pick: int) -> pb.Slip:
    """Transposes digits or loses a carry; the decimal point stays, so that counts stay whole."""
    mistaken = _other_digits(value, pick) if value else 1.0
    because = miscalculation(right.expression, right.names, pick=pick)
    working = right.expression.working.format_map(texts) or format_number(mistaken)
    return _slip(right, pb.ERROR_STRATEGY_ARITHMETIC, working, mistaken, because)


def _other_digits(right: float, pick: int) -> float:
    mantissa, exponent = f"{abs(right):.{SIGNIFICANT_DIGITS - 1}e}".split("e")
    first, second = mantissa[0], mantissa[2]
    if pick % 2 == 0 and second not in ("0", first):
        mistaken = float(f"{second}.{first}{mantissa[3:]}")
    else:
        mistaken = float(mantissa) + (-1 if float(mantissa) >= 2 else 1)
    return math.copysign(tidy(mistaken * 10.0 ** int(exponent)), right)
