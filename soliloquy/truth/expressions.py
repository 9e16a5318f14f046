"""Parses whitelisted arithmetic, calculates it without `eval`, and writes it as textbooks do."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

from soliloquy.truth.number_format import format_number

MAX_LENGTH = 300
# Arithmetic needs no quotes or escapes, and Python's parser warns about some of them.
FOREIGN = frozenset("\\\"'#\n\r\0")
_SLOT = re.compile(r"\{([^{}]+)\}")

Values = Mapping[str, float]
Number = TypeVar("Number")

FUNCTIONS: dict[str, Callable[[float], float]] = {
    name: getattr(math, name)
    for name in ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees", "exp", "log", "log10")
} | {"floor": lambda number: float(math.floor(number)), "ceil": lambda number: float(math.ceil(number))}
CONSTANTS = {"pi": math.pi, "e": math.e}


@dataclass(frozen=True, kw_only=True, slots=True)
class Arithmetic(Generic[Number]):
    """Operators, functions and numbers, with or without units."""

    operators: Mapping[type[ast.operator], Callable[[Number, Number], Number]]
    negative: Callable[[Number], Number]
    function: Callable[[str], Callable[[Number], Number]]
    number: Callable[[float], Number]


BASIC_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FLOATS: Arithmetic[float] = Arithmetic(
    # `math.pow`, because `**` returns a complex number for a negative base.
    operators={**BASIC_OPERATORS, ast.Pow: math.pow},
    negative=operator.neg,
    function=FUNCTIONS.__getitem__,
    number=float,
)


class BadExpression(ValueError):
    """The text is not arithmetic, or uses something that is not allowed here."""


class Unworkable(ArithmeticError):
    """The expression has no finite value for these numbers."""


# The exceptions of a calculation that has no value.
UNWORKABLE = (ArithmeticError, ValueError)


@dataclass(frozen=True, kw_only=True)
class Expression:
    """Its forms are computed on first use: most wrong ways to a result never need them."""

    # Contains only what the whitelist allows: built by `parse_expression`, `from_tree`, or from parts of their trees.
    tree: ast.expr

    @cached_property
    def text(self) -> str:
        return ast.unparse(self.tree)

    @cached_property
    def symbols(self) -> Sequence[str]:
        names = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return tuple(sorted(names - {"math"}))

    @property
    def numbers(self) -> Sequence[float]:
        constants = (node for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return [float(node.value) for node in constants if isinstance(node.value, int | float)]

    @cached_property
    def calculation(self) -> Callable[[Values], float]:
        return calculation(self.tree, FLOATS)

    @cached_property
    def template(self) -> str:
        """The textbook notation with a slot for each symbol: "{m} × {a}"."""
        return _render(self.tree)[0]

    @cached_property
    def formula(self) -> str:
        """The textbook notation with symbols: "m × a"."""
        return _SLOT.sub(r"\1", self.template) if self.symbols else self.template

    @cached_property
    def working(self) -> str:
        """The formula with its template, "m × a = {m} × {a}"; empty for a bare number."""
        bare = self.tree.operand if isinstance(self.tree, ast.UnaryOp) else self.tree
        if isinstance(bare, ast.Constant):
            return ""
        return f"{self.formula} = {self.template}" if self.symbols else self.template

    def value(self, values: Values) -> float:
        try:
            value = self.calculation(values)
        except KeyError as error:
            raise Unworkable(f"{self.text}: no value for {error.args[0]}") from error
        except UNWORKABLE as error:
            raise Unworkable(f"{self.text}: {error}") from error
        if not math.isfinite(value):
            raise Unworkable(f"{self.text}: the result is not finite")
        return value


# An import parses each expression twice: in the source's notation and in ours.
@lru_cache(1024)
def parse_expression(text: str) -> Expression:
    if len(text) > MAX_LENGTH:
        raise BadExpression(f"{text[:20]!r}.. has {len(text)} characters; the maximum is {MAX_LENGTH}")
    if not FOREIGN.isdisjoint(text):
        raise BadExpression(f"{text!r} is not arithmetic: it contains a quote, a comment, an escape or a line break")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise BadExpression(f"{text!r} is not a Python expression") from error
    return from_tree(tree)


def from_tree(tree: ast.expr) -> Expression:
    """Builds the expression of an arbitrary tree; raises BadExpression if it is not arithmetic."""
    expression = Expression(tree=tree)
    _ = expression.calculation
    return expression


def calculation(node: ast.expr, using: Arithmetic[Number]) -> Callable[[Mapping[str, Number]], Number]:
    """Builds one closure per node; raises BadExpression for a node that is not whitelisted."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in using.operators:
            binary, first, second = using.operators[type(op)], calculation(left, using), calculation(right, using)
            return lambda values: binary(first(values), second(values))
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _constant(using.number(_finite(number)))
        case ast.Name(id="math"):
            raise BadExpression("math is not a quantity; write math.pi or math.sqrt(..)")
        case ast.Name(id=symbol):
            return operator.itemgetter(symbol)
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in CONSTANTS:
            return _constant(using.number(CONSTANTS[name]))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negative, inner = using.negative, calculation(operand, using)
            return lambda values: negative(inner(values))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[argument], keywords=[]) if (
            name in FUNCTIONS
        ):
            function, inner = using.function(name), calculation(argument, using)
            return lambda values: function(inner(values))
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            raise BadExpression(f"{name}(..) is unknown; write math.{name}(..)")
    raise BadExpression(
        f"{ast.unparse(node)!r} is not allowed; use numbers, symbols, + - * / ** and math.{', '.join(FUNCTIONS)}"
    )


def _finite(number: float) -> float:
    try:
        constant = float(number)
    except OverflowError as error:
        raise BadExpression(f"a number of {len(str(number))} digits is too large") from error
    if not math.isfinite(constant):
        raise BadExpression("a number is too large")
    return constant


def _constant(constant: Number) -> Callable[[Mapping[str, Number]], Number]:
    return lambda values: constant


SIGNS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: (" + ", 1),
    ast.Sub: (" - ", 1),
    ast.Mult: (" × ", 2),
    ast.Div: (" / ", 2),
    ast.Pow: ("^", 4),
}
NEGATION, ATOM = 3, 5
TRIGONOMETRY = {"sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan"}
NAMES = {"sqrt": "√", "log": "ln", "log10": "log", "exp": "exp", **TRIGONOMETRY}
RAISED = {2: "²", 3: "³"}


def _render(node: ast.expr) -> tuple[str, int]:
    """Returns the text of a node and its binding strength."""
    match node:
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as exponent)) if exponent in RAISED:
            return f"{_in_brackets(left, ATOM)}{RAISED[exponent]}", SIGNS[ast.Pow][1]
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return f"{_in_brackets(left, ATOM)}^{_in_brackets(right, ATOM)}", SIGNS[ast.Pow][1]
        case ast.BinOp(left=left, op=op, right=right):
            sign, binding = SIGNS[type(op)]
            return f"{_in_brackets(left, binding)}{sign}{_in_brackets(right, binding + 1)}", binding
        case ast.Constant(value=int() | float() as number):
            return format_number(float(number)), ATOM
        case ast.Name(id=symbol):
            return f"{{{symbol}}}", ATOM
        case ast.Attribute(attr=name):
            return {"pi": "π"}.get(name, name), ATOM
        case ast.UnaryOp(operand=operand):
            return f"-{_in_brackets(operand, NEGATION + 1)}", NEGATION
        case ast.Call(func=ast.Attribute(attr="radians"), args=[argument]):
            return f"{_in_brackets(argument, ATOM)}°", ATOM
        case ast.Call(func=ast.Attribute(attr="degrees"), args=[argument]):
            return _render(argument)
        case ast.Call(func=ast.Attribute(attr="floor"), args=[argument]):
            return f"⌊{_render(argument)[0]}⌋", ATOM
        case ast.Call(func=ast.Attribute(attr="ceil"), args=[argument]):
            return f"⌈{_render(argument)[0]}⌉", ATOM
        case ast.Call(func=ast.Attribute(attr=name), args=[argument]):
            return f"{NAMES[name]}({_render(argument)[0]})", ATOM
    raise AssertionError(f"{ast.dump(node)} passed the whitelist but cannot be written")


def _in_brackets(node: ast.expr, binding: int) -> str:
    text, own = _render(node)
    return text if own >= binding else f"({text})"


def in_brackets(number: str) -> str:
    """Puts a number with a sign or an exponent in brackets."""
    return f"({number})" if number[0] == "-" or "e" in number else number
