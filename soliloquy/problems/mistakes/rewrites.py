"""The wrong forms of an expression that students arrive at: other operations, dropped parts, inverted relations."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from soliloquy.runtime.files import table_beside

FACTORS: dict[str, float] = table_beside(__file__, "factors.toml")

COFUNCTION = {"sin": "cos", "cos": "sin", "tan": "sin", "asin": "acos", "acos": "asin", "atan": "asin"}
SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


def other_formulas(tree: ast.expr, *, converts: bool) -> Iterator[ast.expr]:
    """Forgets a factor or an exponent, takes another function, or swaps × with ÷ and + with −."""
    if not converts:
        yield from islice(_each(tree, _without_constant), 1)
        yield from islice(_each(tree, _without_exponent), 1)
        yield from islice(_each(tree, _other_function), 1)
    yield from islice(_each(tree, _swapped), 2)
    if not converts:
        yield from islice(_each(tree, _without_part), 2)


def other_quantities(tree: ast.expr, others: Sequence[str]) -> Iterator[ast.expr]:
    """Takes another quantity of the problem where a part stands that is measured alike."""
    symbols = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"math"})
    for other in others:
        for symbol in symbols:
            yield from islice(_each(tree, partial(_renamed, symbol=symbol, original=other)), 1)


def other_evaluations(tree: ast.expr) -> Iterator[ast.expr]:
    """Enters the right expression wrongly: without its brackets, powers as products, angles as radians."""
    yield from islice(_each(tree, _power_as_product), 1)
    yield from islice(_each(tree, _without_brackets), 1)
    yield from islice(_each(tree, _root_as_half), 1)


def other_rearrangements(tree: ast.expr) -> Iterator[ast.expr]:
    """Inverts the whole relation or a part of it."""
    yield from islice(_each(tree, _inverse), 2)
    yield ast.BinOp(ast.Constant(1), ast.Div(), tree)


def other_conversions(tree: ast.expr, unit: str, *, converts: bool, converted: Mapping[str, str]) -> Iterator[ast.expr]:
    """Leaves an input unconverted, then applies a factor that depends on the unit; counts have none."""
    if converts:
        yield from islice(_each(tree, _without_constant), 1)
    for symbol, original in converted.items():
        yield from islice(_each(tree, partial(_renamed, symbol=symbol, original=original)), 1)
    if unit in FACTORS:
        factor = ast.Constant(FACTORS[unit])
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


def _without_part(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=ast.Name() as left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=ast.Name()):
            return left
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.Add() | ast.Sub(), right=ast.Name()):
            return left
    return None


def _power_as_product(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=2)):
            return ast.BinOp(base, ast.Mult(), ast.Constant(2))
    return None


def _root_as_half(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[argument]):
            return ast.BinOp(argument, ast.Div(), ast.Constant(2))
    return None


def _without_brackets(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.BinOp(left=above, op=ast.Div(), right=ast.BinOp(left=left, op=ast.Mult(), right=right)):
            return ast.BinOp(ast.BinOp(above, ast.Div(), left), ast.Mult(), right)
        case ast.BinOp(
            left=above, op=ast.Div(), right=ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right)
        ):
            return ast.BinOp(ast.BinOp(above, ast.Div(), left), op, right)
        case ast.BinOp(
            left=ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right),
            op=ast.Mult() | ast.Div() as over,
            right=last,
        ):
            return ast.BinOp(left, op, ast.BinOp(right, over, last))
        case ast.BinOp(
            left=first, op=ast.Mult(), right=ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right)
        ):
            return ast.BinOp(ast.BinOp(first, ast.Mult(), left), op, right)
    return None


def _renamed(node: ast.expr, *, symbol: str, original: str) -> ast.expr | None:
    return ast.Name(original) if isinstance(node, ast.Name) and node.id == symbol else None
