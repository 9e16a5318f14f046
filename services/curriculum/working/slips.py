"""A step's mistakes, one for each error strategy, worked out with the problem's own numbers."""

import math
from collections.abc import Mapping, Sequence

from soliloquy.v1 import conversation_pb2 as pb

from services.curriculum.working.expressions import Expression, Unworkable, Values
from services.curriculum.working.figures import SIGNIFICANT_DIGITS, tidy, written
from services.curriculum.working.wrong_ways import WrongWays

# A slip lies further than this from the right value, well beyond the tolerance of an answer.
MARGIN = 0.04


def slips(
    ways: Sequence[WrongWays],
    right: Expression,
    values: Values,
    texts: Mapping[str, str],
    *,
    result: pb.Quantity,
    pick: int,
) -> list[pb.Slip]:
    """One slip a strategy; `pick` chooses among the slips of the pen."""
    chosen = [_first_apart(way, values, texts, result=result) for way in ways]
    value = miscalculated(result.value, pick=pick)
    working = f"{result.symbol} = {_worked(right, texts) or written(value)}"
    chosen.append(pb.Slip(strategy=pb.ERROR_STRATEGY_ARITHMETIC, working=working, value=value, unit=result.unit))
    return chosen


def apart(wrong: float, right: float) -> bool:
    return math.isfinite(wrong) and wrong != 0 and abs(wrong - right) > MARGIN * max(abs(wrong), abs(right))


def _first_apart(way: WrongWays, values: Values, texts: Mapping[str, str], *, result: pb.Quantity) -> pb.Slip:
    for candidate in way.candidates:
        try:
            value = tidy(candidate.value(values))
        except Unworkable:
            continue
        if apart(value, result.value):
            working = f"{result.symbol} = {_worked(candidate, texts) or written(value)}"
            return pb.Slip(strategy=way.strategy, working=working, value=value, unit=result.unit)
    value = miscalculated(result.value, pick=way.strategy)
    return pb.Slip(strategy=way.strategy, working=f"{result.symbol} = {written(value)}", value=value, unit=result.unit)


def _worked(expression: Expression, texts: Mapping[str, str]) -> str:
    """The formula and the same with numbers; nothing where the expression is a bare number."""
    if not expression.operates:
        return ""
    numbers = expression.template.format_map(texts)
    return f"{expression.formula} = {numbers}" if expression.symbols else numbers


def miscalculated(right: float, *, pick: int) -> float:
    """A slip of the pen: digits transposed, a carry lost or the point misplaced."""
    if right == 0:
        return 1.0
    mantissa, exponent = f"{abs(right):.{SIGNIFICANT_DIGITS - 1}e}".split("e")
    scale = 10.0 ** int(exponent)
    sign = math.copysign(1.0, right)
    first, second = mantissa[0], mantissa[2]
    lost_carry = float(mantissa) + (-1 if float(mantissa) >= 2 else 1)
    transposed = float(f"{second}.{first}{mantissa[3:]}") if second not in ("0", first) else lost_carry
    ways = (transposed, lost_carry, float(mantissa) * 10, float(mantissa) / 10)
    return sign * tidy(ways[pick % len(ways)] * scale)
