"""The wrong forms of an expression that students arrive at: other operations, dropped parts, inverted relations."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, Self

from soliloquy.runtime.files import table_beside

FACTORS: dict[str, float] = table_beside(__file__, "factors.toml")


class _Rule(NamedTuple):
    """Rewrites what fits a pattern; rewrites.toml says what its letters stand for."""

    pattern: ast.expr
    result: ast.expr

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(*(ast.parse(side.strip(), mode="eval").body for side in text.split("->")))


_RULES: Mapping[str, Sequence[_Rule]] = {
    name: [_Rule.of(text) for text in texts] for name, texts in table_beside(__file__, "rewrites.toml").items()
}


def other_formulas(tree: ast.expr, *, converts: bool) -> Iterator[ast.expr]:
    """Forgets a factor or an exponent, takes another function, or swaps × with ÷ and + with −."""
    if not converts:
        yield from _rewritten(tree, "without_constant")
        yield from _rewritten(tree, "without_exponent")
        yield from _rewritten(tree, "other_function")
    yield from _rewritten(tree, "swapped", most=2)
    if not converts:
        yield from _rewritten(tree, "without_part", most=2)


def other_quantities(tree: ast.expr, others: Sequence[str]) -> Iterator[ast.expr]:
    """Takes another quantity of the problem where a part stands that is measured alike."""
    symbols = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"math"})
    return chain.from_iterable(_renamed(tree, symbol, other) for other in others for symbol in symbols)


def other_evaluations(tree: ast.expr) -> Iterator[ast.expr]:
    """Enters the right expression wrongly: without its brackets, powers as products, roots as halves."""
    yield from _rewritten(tree, "power_as_product")
    yield from _rewritten(tree, "without_brackets")
    yield from _rewritten(tree, "root_as_half")


def other_rearrangements(tree: ast.expr) -> Iterator[ast.expr]:
    """Inverts the whole relation or a part of it."""
    yield from _rewritten(tree, "inverse", most=2)
    yield ast.BinOp(ast.Constant(1), ast.Div(), tree)


def other_conversions(tree: ast.expr, unit: str, *, converts: bool, converted: Mapping[str, str]) -> Iterator[ast.expr]:
    """Leaves an input unconverted, then applies a factor that depends on the unit; counts have none."""
    if converts:
        yield from _rewritten(tree, "without_constant")
    for symbol, original in converted.items():
        yield from _renamed(tree, symbol, original)
    if unit in FACTORS:
        factor = ast.Constant(FACTORS[unit])
        yield ast.BinOp(tree, ast.Mult(), factor)
        yield ast.BinOp(tree, ast.Div(), factor)


def _rewritten(tree: ast.expr, name: str, *, most: int = 1) -> Iterator[ast.expr]:
    return islice(_each(tree, partial(_applied, _RULES[name])), most)


def _renamed(tree: ast.expr, symbol: str, other: str) -> Iterator[ast.expr]:
    def rename(node: ast.expr) -> ast.expr | None:
        return ast.Name(other) if isinstance(node, ast.Name) and node.id == symbol else None

    return islice(_each(tree, rename), 1)


def _each(tree: ast.expr, rewrite: Callable[[ast.expr], ast.expr | None]) -> Iterator[ast.expr]:
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


def _applied(rules: Sequence[_Rule], node: ast.expr) -> ast.expr | None:
    for rule in rules:
        parts: dict[str, ast.expr] = {}
        if _fits(rule.pattern, node, parts):
            return _filled(rule.result, parts)
    return None


def _fits(pattern: ast.expr, node: ast.expr, parts: dict[str, ast.expr]) -> bool:
    """Whether a node has the form of a pattern; collects what the letters of the pattern stand for."""
    match pattern, node:
        case ast.Name(id=letter), _:
            parts[letter] = node
            is_number = isinstance(node, ast.Constant)
            return {"k": is_number, "e": not is_number, "n": isinstance(node, ast.Name)}.get(letter, True)
        case ast.Constant(value=value), ast.Constant(value=other):
            return bool(value == other)
        case ast.BinOp(), ast.BinOp() if type(pattern.op) is type(node.op):
            return _fits(pattern.left, node.left, parts) and _fits(pattern.right, node.right, parts)
        case ast.Call(func=ast.Attribute(attr=name), args=[part]), ast.Call(func=ast.Attribute(attr=other), args=[own]):
            return name == other and _fits(part, own, parts)
    return False


def _filled(form: ast.expr, parts: Mapping[str, ast.expr]) -> ast.expr:
    match form:
        case ast.Name(id=letter):
            return parts[letter]
        case ast.BinOp(left=left, op=op, right=right):
            return ast.BinOp(_filled(left, parts), op, _filled(right, parts))
        case ast.Call(func=function, args=[argument]):
            return ast.Call(function, [_filled(argument, parts)], [])
    return form
