"""The terms of a solution: each number of its code with its derivation."""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from itertools import count, pairwise

# The largest number of a school book; a power beyond it could take forever.
_LARGEST = 1e15
# The size of a derivation, with repetitions: reusing terms can make it grow exponentially.
_MOST_TERMS = 150
# The limit for all loops together: a child could not follow more rounds either.
MOST_ROUNDS = 100

_SIGNS: Mapping[type[ast.operator], tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", math.pow),
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ROUNDING: Mapping[str, Callable[[float], float]] = {
    "int": math.trunc,
    "float": float,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
}

# The operation of a conditional result: the first part is the result, the others decided the conditions.
DECIDED = "decided"


class CannotTrace(Exception):
    """The code does something other than arithmetic; the message says what."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A number with its derivation; terms are compared by identity."""

    value: float
    # "" for a literal; else one of + - * / // % **, the name of a function, or "round" for the counter of a loop.
    operation: str = ""
    parts: "Sequence[Term]" = ()
    # The variable that the term was assigned to, and the line of the code that did so or returned the term.
    name: str = ""
    line: int = 0
    # Grows from term to term in the order of the program.
    order: int = 0
    # The number of terms in the derivation, including this one.
    size: int = 1

    def walk(self) -> "Iterator[Term]":
        """Yields the term and its derivation; a term that is used twice comes twice."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def numbers(self) -> "list[Term]":
        """The literals of the derivation, each once."""
        return list({id(term): term for term in self.walk() if not term.operation}.values())

    @property
    def addends(self) -> int:
        """The number of addends of a sum."""
        return sum(part.addends for part in self.parts) if self.operation == "+" else 1

    @property
    def operations(self) -> list[str]:
        return [term.operation for term in {id(term): term for term in self.walk()}.values() if term.operation]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """The state of a traced function."""

    names: "dict[str, Term | list[Term]]" = field(default_factory=dict)
    # Numbers in conditions, loops and branches not taken: they are used, but in no step.
    decided: list[Term] = field(default_factory=list)
    # The remaining rounds of loops.
    rounds: Iterator[int] = field(default_factory=lambda: iter(range(MOST_ROUNDS)))
    # Numbers the terms.
    order: Iterator[int] = field(default_factory=count)
    # Literals by their node, so that every round of a loop uses the same term.
    written: "dict[int, Term]" = field(default_factory=dict)


def number(node: ast.expr, known: Scope) -> Term:
    value = evaluate(node, known)
    if isinstance(value, list):
        raise CannotTrace(f"{ast.unparse(node)} is a list where a number is wanted")
    return value


def evaluate(node: ast.expr, known: Scope) -> Term | list[Term]:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return known.written.setdefault(id(node), make_term(known, float(value), "", ()))
        case ast.Name(id=name) if name in known.names:
            return known.names[name]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [number(element, known) for element in elements]
        case ast.Subscript(value=ast.Name(id=name), slice=place) if isinstance(of := known.names.get(name), list):
            return of[as_integer(number(place, known), node)]
        case ast.UnaryOp(
            op=ast.USub(),
            operand=ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=above), op=ast.FloorDiv(), right=below),
        ):
            # -(-a // b), as programs round up.
            return _called("ceil", [combine(known, ast.Div(), number(above, known), number(below, known))], known)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = number(operand, known)
            return make_term(known, -inner.value, "negative", (inner,))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            return combine(known, op, number(left, known), number(right, known))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="math"), attr=name), args=arguments):
            return _called(name, [evaluate(argument, known) for argument in arguments], known)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            met, numbers = evaluate_condition(test, known)
            known.decided.extend([*numbers, *numbers_in(orelse if met else body, known)])
            return evaluate(body if met else orelse, known)
    raise CannotTrace(f"{ast.unparse(node)[:60]!r} is no step of arithmetic")


def evaluate_condition(test: ast.expr, known: Scope) -> tuple[bool, list[Term]]:
    """Returns whether a condition is met, and the numbers that decided it."""
    match test:
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARED for op in ops):
            terms = [number(each, known) for each in (left, *others)]
            pairs = zip(ops, pairwise(terms), strict=True)
            return all(_COMPARED[type(op)](one.value, other.value) for op, (one, other) in pairs), terms
        case ast.BoolOp(op=op, values=values):
            parts = [evaluate_condition(each, known) for each in values]
            together = all if isinstance(op, ast.And) else any
            return together(met for met, _ in parts), [term for _, terms in parts for term in terms]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            met, terms = evaluate_condition(operand, known)
            return not met, terms
    raise CannotTrace(f"{ast.unparse(test)[:60]!r} is no condition of numbers")


def numbers_in(node: ast.AST, known: Scope) -> Iterator[Term]:
    """Yields the numbers of code that is not executed."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant | ast.Name):
            with suppress(CannotTrace):
                if isinstance(term := evaluate(each, known), Term):
                    yield term


def combine(known: Scope, op: ast.operator, left: Term, right: Term) -> Term:
    if isinstance(op, ast.Add) and (left.value, left.operation) == (0, ""):
        # The start of a sum.
        return right
    sign, function = _SIGNS[type(op)]
    return make_term(known, function(left.value, right.value), sign, (left, right))


def _called(name: str, arguments: list[Term | list[Term]], known: Scope) -> Term:
    # max(3, 4) and max([3, 4]) are the same.
    first, rest = (arguments[0], arguments[1:]) if arguments else ([], [])
    terms = [*first, *_plain(rest)] if isinstance(first, list) else _plain(arguments)
    if name == "len" and isinstance(first, list):
        return make_term(known, float(len(first)), "len", ())
    if name == "sum" and terms:
        return reduce(lambda left, right: combine(known, ast.Add(), left, right), terms)
    if name in ("max", "min") and terms:
        return make_term(known, (max if name == "max" else min)(term.value for term in terms), name, terms)
    if name == "round" and terms:
        digits = int(terms[1].value) if len(terms) > 1 else 0
        return make_term(known, round(terms[0].value, digits), "round", terms[:1])
    if name in _ROUNDING and len(terms) == 1:
        return make_term(known, float(_ROUNDING[name](terms[0].value)), name, terms)
    raise CannotTrace(f"{name}() is no step of arithmetic")


def _plain(arguments: Sequence[Term | list[Term]]) -> list[Term]:
    return [argument for argument in arguments if isinstance(argument, Term)]


def make_term(known: Scope, value: float, operation: str, parts: Sequence[Term]) -> Term:
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise CannotTrace("a number grows beyond all bounds")
    size = 1 + sum(part.size for part in parts)
    if size > _MOST_TERMS:
        raise CannotTrace(f"it calculates with more than {_MOST_TERMS} numbers")
    return Term(value, operation, parts, order=next(known.order), size=size)


def as_integer(term: Term, of: ast.expr) -> int:
    if not term.value.is_integer():
        raise CannotTrace(f"{ast.unparse(of)[:60]!r} counts by {term.value:g}")
    return int(term.value)
