"""Formats the outcome of a program as the text that a tutor reads, and parses it."""

import ast
import re
from collections.abc import Sequence
from typing import Any

from soliloquy.runtime.values import shown
from soliloquy.v1.sandbox_pb2 import Complex, Entries, Entry, Execution, Items, NamedValue, Status, Value

_OK = ("", "ok", "unspecified")
_STATUSES = {name.removeprefix("STATUS_").lower(): name for name in Status.keys()}  # noqa: SIM118
_FAILURES = "|".join(name for name in _STATUSES if name not in _OK)
_FAILURE = re.compile(rf"({_FAILURES}): (?:line ([1-9][0-9]{{0,8}}): )?(.*)", re.DOTALL)
_VALUE = re.compile(r"([^\W\d]\w*) = (.*)")
_INTEGER = re.compile(r"-?[1-9][0-9]*|0")


def written(status: str, values: Sequence[str], stdout: str, error: str, error_line: int) -> str:
    """Returns a line for each value (`speed = 4.18`) and then the printed text; for a failure, its kind and error."""
    if status in _OK:
        return "\n".join([*values, stdout] if stdout else values)
    return f"{status}: line {error_line}: {error}" if error_line else f"{status}: {error}"


def execution(text: str) -> Execution:
    """Parses an output into an execution that `written` formats as the same text."""
    if failure := _FAILURE.fullmatch(text):
        status, line, error = failure.groups()
        return Execution(status=_STATUSES[status], error_line=int(line or 0), error=error)
    values = []
    lines = text.split("\n") if text else []
    for line in lines:
        if (named := _VALUE.fullmatch(line)) is None or (value := _read(named[2])) is None:
            break
        values.append(NamedValue(name=named[1], value=value))
    printed = "\n".join(lines[len(values) :])
    if len(values) < len(lines) and not printed:
        # Otherwise the empty line at the end would be lost.
        return Execution(status=Status.STATUS_OK, stdout=text)
    return Execution(status=Status.STATUS_OK, values=values, stdout=printed)


def _read(text: str) -> Value | None:
    """Parses a value as Python prints it; None if it is not one."""
    if _INTEGER.fullmatch(text):
        return Value(integer=text)
    try:
        value = _value(float(text))
    except ValueError:
        try:
            value = _value(ast.literal_eval(text))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return None
    return value if shown(value) == text else None


def _value(plain: Any) -> Value:
    match plain:
        case None:
            return Value(none=True)
        case bool():
            return Value(boolean=plain)
        case int():
            return Value(integer=str(plain))
        case float():
            return Value(real=plain)
        case complex():
            return Value(complex=Complex(real=plain.real, imaginary=plain.imag))
        case str():
            return Value(text=plain)
        case list():
            return Value(items=Items(items=[_value(item) for item in plain]))
        case dict():
            entries = [Entry(key=_value(key), value=_value(value)) for key, value in plain.items()]
            return Value(entries=Entries(entries=entries))
        case _:
            raise TypeError(type(plain))
