"""Computes the mistakes at a step, one for each error strategy, with the numbers of the problem."""

import math
from collections.abc import Iterable, Mapping

from soliloquy.problems.mistakes.wrong_ways import WrongWays
from soliloquy.truth.expressions import UNWORKABLE, Expression, Values
from soliloquy.truth.number_format import SIGNIFICANT_DIGITS, format_number, tidy
from soliloquy.v1 import conversation_pb2 as pb

# Three strategies lead to a wrong expression; the last one miscalculates the right one.
STRATEGIES = (
    pb.ERROR_STRATEGY_FORMULA,
    pb.ERROR_STRATEGY_REARRANGEMENT,
    pb.ERROR_STRATEGY_CONVERSION,
    pb.ERROR_STRATEGY_ARITHMETIC,
)
# Slips differ from the right value by more than this share, far beyond the tolerance of an answer.
MARGIN = 0.04
# Kinds of miscalculation; any other number means a lost carry.
TRANSPOSED, POINT_RIGHT, POINT_LEFT = 0, 2, 3


def mistakes(
    ways: WrongWays, values: Values, texts: Mapping[str, str], *, value: float, working: str, pick: int
) -> list[tuple[str, float]]:
    """Returns a working and its wrong value for each of STRATEGIES.

    `value` and `working` are the right ones; `pick` chooses among the slips of the pen.
    """
    found = [
        _first_apart(candidates, values, texts, value, pick=strategy)
        for strategy, candidates in zip(STRATEGIES[:-1], ways, strict=True)
    ]
    mistaken = miscalculated(value, pick=pick)
    found.append((working or format_number(mistaken), mistaken))
    return found


def clearly_wrong(wrong: float, right: float) -> bool:
    off = abs(wrong - right)
    # inf and nan never count as clearly wrong.
    return wrong != 0 and off > MARGIN * abs(wrong) and off > MARGIN * abs(right)


def _first_apart(
    candidates: Iterable[Expression], values: Values, texts: Mapping[str, str], right: float, *, pick: int
) -> tuple[str, float]:
    """Returns the working and the value of the likeliest expression that is clearly wrong."""
    for candidate in candidates:
        try:
            value = tidy(candidate.calculation(values))
        except UNWORKABLE:
            continue
        if clearly_wrong(value, right):
            return candidate.working.format_map(texts) or format_number(value), value
    value = miscalculated(right, pick=pick)
    return format_number(value), value


def miscalculated(right: float, *, pick: int) -> float:
    """Miscalculates: transposes digits, loses a carry or misplaces the decimal point."""
    if right == 0:
        return 1.0
    way = pick % 4
    if way == POINT_RIGHT:
        return tidy(right * 10)
    if way == POINT_LEFT:
        return tidy(right / 10)
    mantissa, exponent = f"{abs(right):.{SIGNIFICANT_DIGITS - 1}e}".split("e")
    first, second = mantissa[0], mantissa[2]
    if way == TRANSPOSED and second not in ("0", first):
        mistaken = float(f"{second}.{first}{mantissa[3:]}")
    else:
        mistaken = float(mantissa) + (-1 if float(mantissa) >= 2 else 1)
    return math.copysign(tidy(mistaken * 10.0 ** int(exponent)), right)
