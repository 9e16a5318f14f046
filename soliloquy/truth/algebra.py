"""Compares laws and expressions with computer algebra (sympy)."""

import ast
import math
from itertools import permutations
from typing import Any

import sympy

from soliloquy.truth.expressions import Expression, Unworkable
from soliloquy.truth.laws import Law

# The tolerance for floats that are equal up to rounding.
_EXACT = 1e-9


def is_solved_by(law: Law, symbol: str, expression: Expression) -> bool:
    """Whether substituting the expression for the symbol turns the law into an identity."""
    first, *others = [_symbolic(side) for side in law.sides]
    solution = {_symbol(symbol): _symbolic(expression)}
    return all(sympy.simplify((first - other).subs(solution)) == 0 for other in others)


def are_equal(one: Expression, other: Expression) -> bool:
    """Whether two expressions have the same value for any values of their letters."""
    return bool(sympy.simplify(_symbolic(one) - _symbolic(other)) == 0)


def are_equivalent(one: Law, other: Law) -> bool | None:
    """Whether two laws hold for the same values; None if their symbols differ or neither can be solved."""
    if one.symbols != other.symbols:
        return None
    if len(one.symbols) == 1:
        return _roots(one) == _roots(other)
    # Algebra can take half a minute with exponentials; most unequal laws already differ at any point.
    if _meet(one, other) is False:
        return False
    differences = [_symbolic(law.sides[0]) - _symbolic(law.sides[1]) for law in (one, other)]
    for symbol in map(_symbol, sorted(one.symbols)):
        try:
            solved = [sympy.solve(difference, symbol) for difference in differences]
        except NotImplementedError:
            continue
        if all(solved):
            crossed = zip(solved, reversed(differences), strict=True)
            return all(sympy.simplify(law.subs(symbol, root)) == 0 for roots, law in crossed for root in roots)
    return None


def _roots(equation: Law) -> set[Any]:
    """Returns what the only letter of an equation may stand for, negative numbers too."""
    (name,) = equation.symbols
    unknown = sympy.Symbol(name)
    left, right = (_symbolic(side).subs(_symbol(name), unknown) for side in equation.sides[:2])
    if sympy.simplify(left - right) == 0:
        # Holds for any number.
        return {unknown}
    return {sympy.nsimplify(root) for root in sympy.solve(left - right, unknown)}


def _meet(one: Law, other: Law) -> bool | None:
    """Whether the second law holds at a point of the first; None if no point is easy to find."""
    for name, expression in permutations(one.sides, 2):
        if isinstance(name.tree, ast.Name) and name.tree.id not in expression.symbols:
            values = {symbol: 1 / (place + math.e) for place, symbol in enumerate(expression.symbols)}
            try:
                values[name.tree.id] = expression.value(values)
                return other.holds(values, _EXACT)
            except Unworkable:
                return None
    return None


def _symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, positive=True)


def _symbolic(expression: Expression) -> Any:
    # Laws use radians throughout. The text of an expression holds nothing but whitelisted arithmetic.
    names: dict[str, Any] = {"radians": _itself, "degrees": _itself, "log10": _log10, "e": sympy.E}
    names |= {name: _symbol(name) for name in expression.symbols}
    return sympy.sympify(expression.text.replace("math.", ""), locals=names, rational=True)


def _itself(angle: Any) -> Any:
    return angle


def _log10(argument: Any) -> Any:
    return sympy.log(argument, 10)
