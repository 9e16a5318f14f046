"""The code of a solution, read and calculated step by step without being run."""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce

# Numbers of a school book; beyond them a power would take for ever.
_LARGEST = 1e15
_MOST_CHARACTERS = 8_000
# Counted as often as each is used: what is used twice, and that twice again, has no end.
_MOST_TERMS = 150

_SIGNS: Mapping[type[ast.operator], tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", math.pow),
}
_ROUNDING: Mapping[str, Callable[[float], float]] = {
    "int": math.trunc,
    "float": float,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
}


class NotFollowed(Exception):
    """The code does something that is no step of arithmetic; the message says what."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A number with how it was come by. Two that are written alike are still two."""

    value: float
    # "" for a number as it stands in the code; else one of + - * / // % **, or the function's name.
    operation: str = ""
    parts: "Sequence[Term]" = ()
    # The variable that it was put into.
    name: str = ""
    # How many it was made of, itself among them.
    size: int = 1

    def walk(self) -> "Iterator[Term]":
        """Itself and all that it was made of; what is used twice comes twice."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def numbers(self) -> "list[Term]":
        """The numbers as written, each once."""
        return list({id(term): term for term in self.walk() if not term.operation}.values())

    @property
    def addends(self) -> int:
        """How many numbers a sum is of."""
        return sum(part.addends for part in self.parts) if self.operation == "+" else 1

    @property
    def operations(self) -> list[str]:
        return [term.operation for term in {id(term): term for term in self.walk()}.values() if term.operation]


_Known = dict[str, "Term | list[Term]"]


# Judges, measures and the scripted writer ask the same of a problem.
@lru_cache(256)
def worked(code: str) -> Term:
    """What `solution()` returns; raises NotFollowed."""
    if len(code) > _MOST_CHARACTERS:
        raise NotFollowed(f"it has {len(code)} characters; {_MOST_CHARACTERS} are read")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotFollowed(f"it is no Python ({type(error).__name__})") from error
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "solution"]
    if not functions:
        raise NotFollowed("it has no function solution()")
    try:
        return _returned(functions[-1].body)
    except (ArithmeticError, ValueError) as error:
        raise NotFollowed(f"it cannot be calculated: {error}") from error
    except RecursionError as error:
        raise NotFollowed("its calculation is nested too deeply") from error


def _returned(body: Sequence[ast.stmt]) -> Term:
    known: _Known = {}
    for statement in body:
        match statement:
            case ast.Return(value=ast.expr() as value):
                return _number(value, known)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                known[name] = _named(_read(value, known), name)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                combined = ast.BinOp(left=ast.Name(id=target.id, ctx=ast.Load()), op=op, right=value)
                known[name] = _named(_read(combined, known), name)
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case _:
                raise NotFollowed(f"line {statement.lineno} is no step of arithmetic")
    raise NotFollowed("it returns nothing")


def _named(value: Term | list[Term], name: str) -> Term | list[Term]:
    # What has a name already is the same number under another one.
    return replace(value, name=name) if isinstance(value, Term) and not value.name else value


def _number(node: ast.expr, known: _Known) -> Term:
    value = _read(node, known)
    if isinstance(value, list):
        raise NotFollowed(f"{ast.unparse(node)} is a list where a number is wanted")
    return value


def _read(node: ast.expr, known: _Known) -> Term | list[Term]:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _made(float(value), "", ())
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_number(element, known) for element in elements]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand, known)
            return _made(-inner.value, "negative", (inner,))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            return _combined(op, _number(left, known), _number(right, known))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="math"), attr=name), args=arguments):
            return _called(name, [_read(argument, known) for argument in arguments])
    raise NotFollowed(f"{ast.unparse(node)[:60]!r} is no step of arithmetic")


def _combined(op: ast.operator, left: Term, right: Term) -> Term:
    sign, function = _SIGNS[type(op)]
    return _made(function(left.value, right.value), sign, (left, right))


def _called(name: str, arguments: list[Term | list[Term]]) -> Term:
    # max(3, 4) and max([3, 4]) alike.
    first, rest = (arguments[0], arguments[1:]) if arguments else ([], [])
    terms = [*first, *_plain(rest)] if isinstance(first, list) else _plain(arguments)
    if name == "len" and isinstance(first, list):
        return _made(float(len(first)), "len", ())
    if name == "sum" and terms:
        return reduce(lambda left, right: _combined(ast.Add(), left, right), terms)
    if name in ("max", "min") and terms:
        return _made((max if name == "max" else min)(term.value for term in terms), name, terms)
    if name == "round" and terms:
        digits = int(terms[1].value) if len(terms) > 1 else 0
        return _made(round(terms[0].value, digits), "round", terms[:1])
    if name in _ROUNDING and len(terms) == 1:
        return _made(float(_ROUNDING[name](terms[0].value)), name, terms)
    raise NotFollowed(f"{name}() is no step of arithmetic")


def _plain(arguments: Sequence[Term | list[Term]]) -> list[Term]:
    return [argument for argument in arguments if isinstance(argument, Term)]


def _made(value: float, operation: str, parts: Sequence[Term]) -> Term:
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise NotFollowed("a number grows beyond all bounds")
    size = 1 + sum(part.size for part in parts)
    if size > _MOST_TERMS:
        raise NotFollowed(f"it calculates with more than {_MOST_TERMS} numbers")
    return Term(value, operation, parts, size=size)
