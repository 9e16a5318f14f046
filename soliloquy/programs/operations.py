"""Tells a calculation from a definition: `x = 10` states a number and makes it of no other."""

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence

# Functions that repeat a number or compare it.
_REPEATING = frozenset(["abs", "bool", "float", "format", "int", "isclose", "print", "round", "str"])


def calculates(code: str, is_beside: Callable[[str], bool] = lambda name: False) -> bool:
    """Whether a program or an expression has an operation, other than one on a name that is beside the point."""
    try:
        operations = [node for node in _nodes(code) if _is_operation(node)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not any(map(is_beside, _names(operation))) for operation in operations)


def numbers_in(code: str) -> Sequence[float]:
    """Returns the numbers that a program writes out."""
    written = [node.value for node in _nodes(code) if isinstance(node, ast.Constant)]
    return [float(value) for value in written if isinstance(value, int | float)]


def _nodes(code: str) -> Iterator[ast.AST]:
    with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
        return ast.walk(ast.parse(code))


def _is_operation(node: ast.AST) -> bool:
    match node:
        case ast.BinOp() | ast.AugAssign():
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name not in _REPEATING
    return False


def _names(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
