"""Finds the verdicts of `math.isclose` at the top level of a snippet, for the host to recompute."""

import ast
import math
import sys
from dataclasses import dataclass

_TOLERANCES = {"rel_tol": 1e-09, "abs_tol": 0.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """`name = math.isclose(left, right, rel_tol=.., abs_tol=..)`; each side is a variable or a number."""

    name: str
    left: str | float
    right: str | float
    rel_tol: float
    abs_tol: float


class Bindings:
    """Counts how often each name is bound, in which top-level statement last, and to what.

    An origin is "math", "math.isclose" and so on, or "" for anything else.
    """

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.origins: dict[str, set[str]] = {}

    def add(self, name: str, origin: str, place: int) -> None:
        self.times[name] = self.times.get(name, 0) + 1
        self.last[name] = max(place, self.last.get(name, 0))
        self.origins.setdefault(name, set()).add(origin)


def find(body: list[ast.stmt], bindings: Bindings) -> tuple[Verdict, ...]:
    """Returns the verdicts whose variables keep their values to the end."""
    found = []
    for place, statement in enumerate(body):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and len(statement.targets) == 1:
            verdict = _read(statement.targets[0], statement.value, bindings)
            if verdict is not None and _lasts(verdict, place, bindings):
                found.append(verdict)
    return tuple(found)


def _read(target: ast.expr, call: ast.Call, bindings: Bindings) -> Verdict | None:
    if not (isinstance(target, ast.Name) and _is_isclose(call.func, bindings) and len(call.args) == 2):
        return None
    left, right = (_operand(argument) for argument in call.args)
    tolerances = dict(_TOLERANCES)
    for keyword in call.keywords:
        number = _number(keyword.value)
        if number is None or not 0 <= number < math.inf or keyword.arg not in tolerances:
            return None
        tolerances[keyword.arg] = number
    if left is None or right is None:
        return None
    return Verdict(name=target.id, left=left, right=right, **tolerances)


def _is_isclose(function: ast.expr, bindings: Bindings) -> bool:
    if isinstance(function, ast.Name):
        return bindings.origins.get(function.id) == {"math.isclose"}
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "isclose"
        and isinstance(function.value, ast.Name)
        and bindings.origins.get(function.value.id) == {"math"}
    )


def _operand(node: ast.expr) -> str | float | None:
    return node.id if isinstance(node, ast.Name) else _number(node)


def _number(node: ast.expr) -> float | None:
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        node = node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        # An int stays exact; isclose accepts none larger than a float.
        return sign * node.value if abs(node.value) <= sys.float_info.max or isinstance(node.value, float) else None
    return None


def _lasts(verdict: Verdict, place: int, bindings: Bindings) -> bool:
    operands = [side for side in (verdict.left, verdict.right) if isinstance(side, str)]
    return bindings.times[verdict.name] == 1 and all(bindings.last.get(name, place) < place for name in operands)
