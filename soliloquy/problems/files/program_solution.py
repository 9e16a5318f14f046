"""Reads the assignments of a Python function as the steps of a solution; never runs the code."""

import ast
import re
import warnings
from typing import Any

from soliloquy.problems.files.problem_row import LONGEST_TEXT
from soliloquy.truth.expressions import BadExpression, parse_expression

_COMMENT = re.compile(r"\s*#+\s*(?P<text>.*\w.*)")
_GIVEN = re.compile(r"\s*\w+ = [-+.\de]+\s*(?:#.*)?")


class _NotPlain(Exception):
    """The function does more than assign numbers and calculate with them."""


def steps_from_program(code: str) -> list[dict[str, Any]]:
    """Returns a step for each calculation, or for each comment if the function does anything else."""
    try:
        return _calculations(code)
    except _NotPlain:
        comments = [match["text"] for line in code.splitlines() if (match := _COMMENT.fullmatch(line))]
        return [{"explanation": text} for text in comments] or [{"explanation": "Work out what is asked for."}]


def _calculations(code: str) -> list[dict[str, Any]]:
    known: dict[str, float] = {}
    results: set[str] = set()
    steps: list[dict[str, Any]] = []
    lines = code.splitlines()
    for statement in _body(code):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float() as number)):
                known[name] = float(number)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as worked):
                comment = _comment_above(lines, statement.lineno) or f"Work out the {_words(name)}."
                steps.append({"explanation": comment, **_step(name, worked, known, results)})
                results.add(name)
            case ast.Return(value=ast.BinOp() as worked):
                comment = _comment_above(lines, statement.lineno) or "Work out the answer."
                steps.append({"explanation": comment, **_step("answer", worked, known, results)})
            case ast.Assign(targets=[ast.Name()], value=ast.Name()) | ast.Return(value=ast.Name()):
                pass
            case ast.Expr(value=ast.Constant()) | ast.Import(names=[ast.alias(name="math")]):
                pass
            case _:
                raise _NotPlain
    if not steps:
        raise _NotPlain
    return steps


def _body(code: str) -> list[ast.stmt]:
    if len(code) > LONGEST_TEXT:
        raise _NotPlain
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _NotPlain from error
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1:
        raise _NotPlain
    return functions[0].body


def _step(name: str, worked: ast.expr, known: dict[str, float], results: set[str]) -> dict[str, Any]:
    try:
        expression = parse_expression(ast.unparse(worked))
    except (BadExpression, RecursionError) as error:
        raise _NotPlain from error
    if not results.union(known).issuperset(expression.symbols):
        raise _NotPlain
    return {
        "expression": expression.text,
        "inputs": [
            {"symbol": symbol, "name": _words(symbol), "value": known[symbol]}
            for symbol in expression.symbols
            if symbol not in results
        ],
        "result": {"symbol": name, "name": _words(name)},
    }


def _comment_above(lines: list[str], number: int) -> str:
    """Returns the comment above a calculation or above the numbers that it uses."""
    for line in reversed(lines[: number - 1]):
        if match := _COMMENT.fullmatch(line):
            return match["text"].strip()
        if not _GIVEN.fullmatch(line):
            break
    return ""


def _words(name: str) -> str:
    return name.replace("_", " ").strip() or name
