"""Laws as textbooks write them, read by the rules of expressions and held against values and solutions, by sympy."""

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from services.truth.expressions import BadExpression, Expression, compiled

PYTHON = str.maketrans({"×": "*", "·": "*", "−": "-", "²": "**2", "³": "**3", "⁴": "**4", "^": "**", "π": " math.pi "})
FUNCTION = re.compile(r"(√|\b(?:arcsin|arccos|arctan|sin|cos|tan|sqrt|exp|log|ln))(?=\()")
NAMES = {"√": "sqrt", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "ln": "log", "log": "log10"}
# An equation within prose: operands with signs between them, which words never have.
OPERAND = r"[-−]?(?:[√\w]*\((?:[^()]|\([^()]*\))*\)|[^\W\d]\w*|\d+(?:\.\d+)?)[²³⁴]?"
SIDE = rf"{OPERAND}(?: ?[×/+−·-] ?{OPERAND})*"
EQUATION = re.compile(rf"(?<![\w×/+−·-]){SIDE}(?: = {SIDE})+")
# Results are carried on with five digits, and a law may take the difference of two of them.
ROUNDING = 0.003


@dataclass(frozen=True, kw_only=True, slots=True)
class Law:
    text: str
    # What is equal: "p / T = q / U = r / S" has three.
    sides: Sequence[Expression]

    @property
    def symbols(self) -> set[str]:
        return {symbol for side in self.sides for symbol in side.symbols}

    def holds(self, values: Mapping[str, float]) -> bool:
        first, *others = [side.value(values) for side in self.sides]
        return all(math.isclose(first, other, rel_tol=ROUNDING) for other in others)

    def is_solved_by(self, symbol: str, expression: Expression) -> bool:
        """Whether the law becomes an identity with the expression in the place of the symbol."""
        first, *others = [_symbolic(side.tree) for side in self.sides]
        solution = {_symbol(symbol): _symbolic(expression.tree)}
        return all(sympy.simplify((first - other).subs(solution)) == 0 for other in others)


def law(formula: str) -> Law:
    sides = FUNCTION.sub(lambda name: f"math.{NAMES.get(name[0], name[0])}", formula).translate(PYTHON).split("=")
    if len(sides) < 2:
        raise BadExpression(f"the law {formula!r} is no equation")
    return Law(text=formula, sides=[compiled(side) for side in sides])


def laws_in(text: str) -> Sequence[Law]:
    """The laws that a sentence quotes: "Solve P = U × I for the current"."""
    return [law(equation[0]) for equation in EQUATION.finditer(text)]


def _symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, positive=True)


def _symbolic(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=number):
            return sympy.nsimplify(number, rational=True)
        case ast.Attribute(attr=name):
            return {"pi": sympy.pi, "e": sympy.E}[name]
        case ast.Name(id=symbol):
            return _symbol(symbol)
        case ast.UnaryOp(operand=operand):
            return -_symbolic(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _operation(op, _symbolic(left), _symbolic(right))
        case ast.Call(func=ast.Attribute(attr="radians" | "degrees"), args=[argument]):
            # In a law every angle is in radians.
            return _symbolic(argument)
        case ast.Call(func=ast.Attribute(attr="log10"), args=[argument]):
            return sympy.log(_symbolic(argument), 10)
        case ast.Call(func=ast.Attribute(attr=name), args=[argument]):
            return getattr(sympy, name)(_symbolic(argument))
    raise AssertionError(f"{ast.dump(node)} passed the whitelist but has no symbolic form")


def _operation(op: ast.operator, left: Any, right: Any) -> Any:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
    return left**right
