"""A step's mistakes, one for each error strategy, worked out with the problem's own numbers."""

import math
from collections.abc import Mapping, Sequence

from soliloquy.problems.mistakes.wrong_ways import WrongWays
from soliloquy.truth.expressions import UNWORKABLE, Expression, Values
from soliloquy.truth.number_format import SIGNIFICANT_DIGITS, format_number, tidy
from soliloquy.v1 import conversation_pb2 as pb

# Those of the ways that lead to a wrong expression, then the slip of the pen in the right one.
STRATEGIES = (
    pb.ERROR_STRATEGY_FORMULA,
    pb.ERROR_STRATEGY_REARRANGEMENT,
    pb.ERROR_STRATEGY_CONVERSION,
    pb.ERROR_STRATEGY_ARITHMETIC,
)
# A slip lies further than this from the right value, well beyond the tolerance of an answer.
MARGIN = 0.04
# The ways to slip with the pen; any other loses a carry.
TRANSPOSED, POINT_RIGHT, POINT_LEFT = 0, 2, 3


def slips(
    ways: Sequence[WrongWays],
    right: Expression,
    values: Values,
    texts: Mapping[str, str],
    *,
    result: pb.Quantity,
    pick: int,
) -> list[pb.Slip]:
    """The mistakes at a step with this result."""
    working = right.working.format_map(texts)
    found = mistakes(ways, values, texts, value=result.value, working=working, pick=pick)
    return [
        pb.Slip(strategy=strategy, working=f"{result.symbol} = {working}", value=value, unit=result.unit)
        for strategy, (working, value) in zip(STRATEGIES, found, strict=True)
    ]


def mistakes(
    ways: Sequence[WrongWays], values: Values, texts: Mapping[str, str], *, value: float, working: str, pick: int
) -> list[tuple[str, float]]:
    """A working and the wrong value it gives for each of STRATEGIES.

    `value` and `working` are the right ones; `pick` chooses among the slips of the pen.
    """
    found = [_first_apart(way, values, texts, value) for way in ways]
    mistaken = miscalculated(value, pick=pick)
    found.append((working or format_number(mistaken), mistaken))
    return found


def clearly_wrong(wrong: float, right: float) -> bool:
    off = abs(wrong - right)
    # Nothing is further off than infinity, nor than what is no number.
    return wrong != 0 and off > MARGIN * abs(wrong) and off > MARGIN * abs(right)


def _first_apart(way: WrongWays, values: Values, texts: Mapping[str, str], right: float) -> tuple[str, float]:
    """The working of the likeliest expression whose value is clearly wrong, and that value."""
    for candidate in way.candidates:
        try:
            value = tidy(candidate.calculation(values))
        except UNWORKABLE:
            continue
        if clearly_wrong(value, right):
            return candidate.working.format_map(texts) or format_number(value), value
    value = miscalculated(right, pick=way.strategy)
    return format_number(value), value


def miscalculated(right: float, *, pick: int) -> float:
    """A slip of the pen: digits transposed, a carry lost or the point misplaced."""
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
