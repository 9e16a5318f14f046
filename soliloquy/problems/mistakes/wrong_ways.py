"""The mistakes at a step, one for each error strategy, by the wrong ways that its file states or that rules derive."""

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Literal, NamedTuple, get_args

from soliloquy.runtime.beside import table_beside
from soliloquy.truth.expressions import UNWORKABLE, Expression, Values, parse_expression
from soliloquy.truth.number_format import SIGNIFICANT_DIGITS, format_number, tidy
from soliloquy.v1 import conversation_pb2 as pb

UNKNOWN_UNIT = 10.0
FACTORS: dict[str, float] = table_beside(__file__, "factors.toml")

Strategy = Literal["formula", "rearrangement", "conversion"]

COFUNCTION = {"sin": "cos", "cos": "sin", "tan": "sin", "asin": "acos", "acos": "asin", "atan": "asin"}
SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}

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


class StatedWay(NamedTuple):
    """A wrong expression that a file states for a step."""

    strategy: Strategy
    expression: str
    # The misconception behind it, as the student would say it; empty if it has no name.
    because: str = ""


class WrongWay(NamedTuple):
    strategy: pb.ErrorStrategy
    # The wrong expressions that it may lead to, likeliest first.
    candidates: Iterable[Expression]
    because: str = ""


class Mistake(NamedTuple):
    strategy: pb.ErrorStrategy
    working: str
    value: float
    because: str = ""


WrongWays = Sequence[WrongWay]


def wrong_ways(
    right: Expression,
    *,
    unit: str,
    converts: bool = False,
    converted: Mapping[str, str] = {},
    stated: Sequence[StatedWay] = (),
) -> WrongWays:
    """Returns the wrong ways for an expression: those that its file states, then those of the rules.

    A step whose file names misconceptions has no others: rules know nothing of what a student thinks there.
    `converts` marks a step that converts units; `converted` maps a symbol that an earlier step converted to the
    symbol that it was converted from.
    """
    if any(way.because for way in stated):
        return [WrongWay(strategy_of(way.strategy), (parse_expression(way.expression),), way.because) for way in stated]
    rules: Mapping[Strategy, Iterator[ast.expr]] = {
        "formula": _other_formulas(right.tree, converts=converts),
        "rearrangement": _other_rearrangements(right.tree),
        "conversion": _other_conversions(right.tree, unit, converts=converts, converted=converted),
    }
    return [
        WrongWay(
            strategy_of(name),
            chain(
                [parse_expression(way.expression) for way in stated if way.strategy == name],
                (Expression(tree=tree) for tree in trees),
            ),
        )
        for name, trees in rules.items()
    ]


def strategy_of(name: Strategy) -> pb.ErrorStrategy:
    return STRATEGIES[get_args(Strategy).index(name)]


def mistakes(
    ways: WrongWays, values: Values, texts: Mapping[str, str], *, value: float, working: str, pick: int
) -> list[Mistake]:
    """Returns the mistake of each way that is clearly wrong here, and a miscalculation at the end.

    `value` and `working` are the right ones; `pick` chooses among the slips of the pen.
    """
    named = any(way.because for way in ways)
    found = []
    for way in ways:
        first = _first_apart(way.candidates, values, texts, value)
        if first is None and not named:
            slip = miscalculated(value, pick=way.strategy)
            first = format_number(slip), slip
        if first is not None:
            found.append(Mistake(way.strategy, *first, way.because))
    if named:
        # Of two misconceptions that come to the same, only the first explains the value.
        found = list({mistake.value: mistake for mistake in reversed(found)}.values())[::-1]
        # A slip of the pen leaves the decimal point in its place: whole numbers stay whole.
        pick %= POINT_RIGHT
    mistaken = miscalculated(value, pick=pick)
    return [*found, Mistake(pb.ERROR_STRATEGY_ARITHMETIC, working or format_number(mistaken), mistaken)]


def clearly_wrong(wrong: float, right: float) -> bool:
    off = abs(wrong - right)
    # inf and nan never count as clearly wrong.
    return wrong != 0 and off > MARGIN * abs(wrong) and off > MARGIN * abs(right)


def _first_apart(
    candidates: Iterable[Expression], values: Values, texts: Mapping[str, str], right: float
) -> tuple[str, float] | None:
    """Returns the working and the value of the likeliest expression that is clearly wrong, if any is."""
    for candidate in candidates:
        try:
            value = tidy(candidate.calculation(values))
        except UNWORKABLE:
            continue
        if clearly_wrong(value, right):
            return candidate.working.format_map(texts) or format_number(value), value
    return None


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


def _other_formulas(tree: ast.expr, *, converts: bool) -> Iterator[ast.expr]:
    """Forgets a factor or an exponent, takes another function, or swaps × with ÷ and + with −."""
    if not converts:
        yield from islice(_each(tree, _without_constant), 1)
        yield from islice(_each(tree, _without_exponent), 1)
        yield from islice(_each(tree, _other_function), 1)
    yield from islice(_each(tree, _swapped), 2)
    yield ast.BinOp(ast.Constant(2), ast.Mult(), tree)


def _other_rearrangements(tree: ast.expr) -> Iterator[ast.expr]:
    """Inverts the whole relation or a part of it."""
    yield from islice(_each(tree, _inverse), 2)
    yield ast.BinOp(ast.Constant(1), ast.Div(), tree)
    yield ast.BinOp(tree, ast.Mult(), ast.Constant(4))


def _other_conversions(
    tree: ast.expr, unit: str, *, converts: bool, converted: Mapping[str, str]
) -> Iterator[ast.expr]:
    """Leaves an input unconverted, then applies a factor that depends on the unit."""
    if converts:
        yield from islice(_each(tree, _without_constant), 1)
    for symbol, original in converted.items():
        yield from islice(_each(tree, partial(_renamed, symbol=symbol, original=original)), 1)
    factor = ast.Constant(FACTORS.get(unit, UNKNOWN_UNIT))
    yield ast.BinOp(tree, ast.Mult(), factor)
    yield ast.BinOp(tree, ast.Div(), factor)


Rewrite = Callable[[ast.expr], ast.expr | None]


def _each(tree: ast.expr, rewrite: Rewrite) -> Iterator[ast.expr]:
    """Yields the trees with one rewritten node, from the root down; they share all other nodes."""
    changed = rewrite(tree)
    if changed is not None:
        yield changed
    match tree:
        case ast.BinOp(left=left, op=op, right=right):
            yield from (ast.BinOp(other, op, right) for other in _each(left, rewrite))
            yield from (ast.BinOp(left, op, other) for other in _each(right, rewrite))
        case ast.UnaryOp(op=sign, operand=operand):
            yield from (ast.UnaryOp(sign, other) for other in _each(operand, rewrite))
        case ast.Call(func=function, args=[argument]):
            yield from (ast.Call(function, [other], []) for other in _each(argument, rewrite))


def _without_constant(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=ast.Constant(), right=ast.Constant()):
            return None
        case ast.BinOp(left=ast.Constant(), op=ast.Mult() | ast.Add(), right=rest):
            return rest
        case ast.BinOp(left=rest, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=ast.Constant()):
            return rest
    return None


def _without_exponent(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant()) if not isinstance(base, ast.Constant):
            return base
    return None


def _other_function(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Attribute(value=math_module, attr=name), args=[argument]) if name in COFUNCTION:
            return ast.Call(ast.Attribute(math_module, COFUNCTION[name]), [argument], [])
    return None


def _swapped(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED:
            return ast.BinOp(left, SWAPPED[type(op)](), right)
    return None


def _inverse(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=left, op=ast.Div() | ast.Mult(), right=right):
            return ast.BinOp(right, ast.Div(), left)
        case ast.BinOp(left=left, op=ast.Sub() | ast.Add(), right=right):
            return ast.BinOp(right, ast.Sub(), left)
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[argument]):
            return argument
    return None


def _renamed(node: ast.expr, *, symbol: str, original: str) -> ast.expr | None:
    return ast.Name(original) if isinstance(node, ast.Name) and node.id == symbol else None
