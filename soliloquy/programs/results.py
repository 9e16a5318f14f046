"""Works out what a short Python program returns or prints, without running it.

Only numbers, lists and the statements of school programs are known, and every step counts against a limit: a program
that does anything else has no result here.
"""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from soliloquy.programs.operations import calculates

# Larger numbers would overflow soon.
_LARGEST = 1e100
_MOST_STEPS = 20_000
_LONGEST = 20_000
_DEEPEST = 60
_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (abs, round, min, max, sum, len, int, float, divmod, sorted, list, range)
}
_NAMES = (
    *("sqrt", "ceil", "floor", "trunc", "gcd", "comb", "perm", "factorial", "hypot", "pow", "isqrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "radians", "degrees", "exp", "log", "log10", "log2"),
)
_MATH: dict[str, Callable[..., Any]] = {name: getattr(math, name) for name in _NAMES}
_COMPARING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONSTANTS = {"pi": math.pi, "e": math.e}
# Python computes these at once, however large the result.
_GROWING = frozenset(["factorial", "comb", "perm"])
_LARGEST_ARGUMENT = 1_000
Value = Any


class _Unreadable(Exception):
    """The program does something that is not known here, or takes too long."""


class _Returned(Exception):
    def __init__(self, value: Value) -> None:
        self.value = value


def program_result(code: str) -> float | None:
    """Returns the number that a program returns or prints last, or assigns in its last line; None if unknown."""
    if len(code) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            tree = ast.parse(code)
        program = _Program()
        value = _number(program.run(tree.body))
        # "x = 10" alone may be prose.
        return value if program.functions or program.printed is not None or calculates(code) else None
    except (_Unreadable, SyntaxError, ArithmeticError, ValueError, TypeError, LookupError, RecursionError, MemoryError):
        return None


def _number(value: Value) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _Unreadable
    return float(value)


class _Program:
    def __init__(self) -> None:
        self.steps = 0
        self.depth = 0
        self.called = False
        self.functions: dict[str, ast.FunctionDef] = {}
        # The last printed value, and the value of the last line at the top level.
        self.printed: Value = None
        self.last: Value = None

    def run(self, body: Sequence[ast.stmt]) -> Value:
        self.functions = {one.name: one for one in body if isinstance(one, ast.FunctionDef)}
        names: dict[str, Value] = {"__name__": "__main__"}
        for statement in body:
            if not isinstance(statement, ast.FunctionDef):
                self._statement(statement, names)
        if self.printed is not None:
            return self.printed
        if self.functions and not self.called:
            *_, function = self.functions.values()
            return self._call(function, [], names)
        return self.last

    def _call(self, function: ast.FunctionDef, arguments: Sequence[Value], outside: dict[str, Value]) -> Value:
        """Calls with defaults for the last arguments."""
        wanted = [one.arg for one in function.args.args]
        defaults = [self._value(one, outside) for one in function.args.defaults]
        missing = len(wanted) - len(arguments)
        given = [*arguments, *(defaults[len(defaults) - missing :] if missing else [])]
        self.depth += 1
        self.called = True
        if len(given) != len(wanted) or self.depth > _DEEPEST:
            raise _Unreadable
        try:
            self._block(function.body, {**outside, **dict(zip(wanted, given, strict=True))})
        except _Returned as returned:
            return returned.value
        finally:
            self.depth -= 1
        raise _Unreadable

    def _block(self, body: Sequence[ast.stmt], names: dict[str, Value]) -> None:
        for statement in body:
            self._statement(statement, names)

    def _statement(self, statement: ast.stmt, names: dict[str, Value]) -> None:
        self._count()
        match statement:
            case (
                ast.Assign(targets=[target], value=ast.expr() as value)
                | ast.AnnAssign(target=target, annotation=ast.Name() | ast.Subscript(), value=ast.expr() as value)
            ):
                self._assign(target, self._value(value, names), names)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self._assign(target, self._operate(op, names[name], self._value(value, names)), names)
            case ast.Return(value=ast.expr() as value):
                raise _Returned(self._value(value, names))
            case ast.If(test=test, body=body, orelse=otherwise):
                self._block(body if self._value(test, names) else otherwise, names)
            case ast.For(target=target, iter=iterated, body=body, orelse=[]):
                for item in self._value(iterated, names):
                    self._count()
                    self._assign(target, item, names)
                    self._block(body, names)
            case ast.While(test=test, body=body, orelse=[]):
                while self._value(test, names):
                    self._count()
                    self._block(body, names)
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=printed)):
                self._print(printed, names)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() | ast.Name() as value):
                self.last = self._value(value, names)
            case ast.Import(names=[ast.alias(name="math", asname=None)]):
                pass
            case ast.ImportFrom(module="math", names=imported):
                if any(one.asname or one.name not in {*_MATH, *_CONSTANTS} for one in imported):
                    raise _Unreadable
                names |= {one.name: _CONSTANTS[one.name] for one in imported if one.name in _CONSTANTS}
            case _:
                raise _Unreadable

    def _print(self, printed: Sequence[ast.expr], names: dict[str, Value]) -> None:
        """Takes the number that is printed, with words around it or without."""
        parts = [part for one in printed for part in (one.values if isinstance(one, ast.JoinedStr) else [one])]
        told = [one.value if isinstance(one, ast.FormattedValue) else one for one in parts]
        values = [self._value(one, names) for one in told]
        numbers = [value for value in values if not isinstance(value, str)]
        # A line of words leaves the number before it; of several numbers, none is the result.
        self.printed = numbers[0] if len(numbers) == 1 else self.printed if not numbers else math.nan

    def _assign(self, target: ast.expr, value: Value, names: dict[str, Value]) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = value
                self.last = self.last if self.depth else value
            case ast.Tuple(elts=targets) | ast.List(elts=targets) if len(targets) == len(value):
                for one, part in zip(targets, value, strict=True):
                    self._assign(one, part, names)
            case _:
                raise _Unreadable

    def _value(self, node: ast.expr, names: dict[str, Value]) -> Value:
        self._count()
        match node:
            case ast.Constant(value=int() | float() | str() as constant):
                return constant
            case ast.Name(id=name):
                return names[name]
            case ast.BinOp(left=left, op=op, right=right):
                return self._operate(op, self._value(left, names), self._value(right, names))
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
                return _SIGNS[type(sign)](self._value(operand, names))
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self._value(one, names) for one in (left, *others)]
                return all(self._operate(op, *pair) for op, pair in zip(ops, pairwise(sides), strict=True))
            case ast.BoolOp(op=op, values=values):
                found = [self._value(one, names) for one in values]
                return all(found) if isinstance(op, ast.And) else any(found)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self._value(body if self._value(test, names) else otherwise, names)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._value(one, names) for one in items]
            case ast.Subscript(value=held, slice=index):
                return self._value(held, names)[self._value(index, names)]
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in _CONSTANTS:
                return _CONSTANTS[name]
            case ast.GeneratorExp(elt=item, generators=[clause]) | ast.ListComp(elt=item, generators=[clause]):
                return list(self._comprehended(item, clause, dict(names)))
            case ast.Call(func=called, args=arguments, keywords=[]):
                return self._called(called, [self._value(one, names) for one in arguments], names)
        raise _Unreadable

    def _comprehended(self, item: ast.expr, clause: ast.comprehension, names: dict[str, Value]) -> Iterator[Value]:
        for one in self._value(clause.iter, names):
            self._assign(clause.target, one, names)
            if all(self._value(condition, names) for condition in clause.ifs):
                yield self._value(item, names)

    def _called(self, called: ast.expr, arguments: Sequence[Value], names: dict[str, Value]) -> Value:
        self._count(sum(len(one) for one in arguments if isinstance(one, list | range)))
        match called:
            case ast.Name(id=name) if name in self.functions:
                return self._call(self.functions[name], arguments, names)
            case ast.Name(id="str") if isinstance(arguments[0], int):
                return str(arguments[0])
            case ast.Name(id="range") if max(map(abs, arguments), default=0) > _MOST_STEPS:
                raise _Unreadable
            case ast.Name(id=name) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*arguments)
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="math"), attr=name) if name in _MATH:
                if name in _GROWING and max(map(abs, arguments), default=0) > _LARGEST_ARGUMENT:
                    raise _Unreadable
                return _MATH[name](*arguments)
        raise _Unreadable

    def _operate(self, op: ast.AST, left: Value, right: Value) -> Value:
        if type(op) not in _OPERATORS:
            raise _Unreadable
        if isinstance(op, _COMPARING):
            return _OPERATORS[type(op)](left, right)
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise _Unreadable
        if isinstance(op, ast.Pow) and abs(right) * math.log10(abs(left) + 1) > math.log10(_LARGEST):
            raise _Unreadable
        result = _OPERATORS[type(op)](left, right)
        if isinstance(result, complex) or abs(result) > _LARGEST:
            raise _Unreadable
        return result

    def _count(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > _MOST_STEPS:
            raise _Unreadable
