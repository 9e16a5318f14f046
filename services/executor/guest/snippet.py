"""Runs a snippet and returns its values, or the error that ended it."""

import sys
from collections.abc import Callable
from typing import Any

from .values import Tagger, type_name

FILENAME = "<snippet>"
_MAX_ERROR = 1_000


def outcome(
    run: Callable[[], object], namespace: dict[str, Any], names: list[str], evidence: list[str], tagger: Tagger
) -> dict[str, Any]:
    """Returns the named variables, and as evidence the numbers that verdicts were drawn from."""
    try:
        run()
        sys.set_int_max_str_digits(0)
        # Only exact strings: a lookup compares with keys, and the snippet may have planted hostile ones.
        variables = {name: value for name, value in namespace.items() if type(name) is str}
        for name in names:
            if name not in variables:
                raise NameError(f"result variable {name!r} is not defined")
        values = [[name, tagger.tag(variables[name])] for name in names]
        numbers = [
            [name, tagger.tag(variables[name])] for name in evidence if type(variables.get(name)) in (int, float)
        ]
    except SystemExit as exit_:
        return {"status": "exited", "error": describe(exit_), "line": line_of(exit_)}
    except MemoryError as error:
        line = line_of(error)
        # Free what filled the memory first, or none is left for the answer.
        error.__traceback__ = None
        namespace.clear()
        return {"status": "memory", "error": "MemoryError", "line": line}
    except BaseException as error:
        return {"status": "error", "error": describe(error), "line": line_of(error)}
    return {"status": "ok", "values": values, "evidence": numbers}


def describe(error: BaseException) -> str:
    """Returns the last line of the traceback, as Python would print it."""
    kind = type(error)
    name = type_name(error)
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    try:
        text = str(error.msg) if isinstance(error, SyntaxError) else str(error)
    except BaseException:
        text = "<exception str() failed>"
    return (f"{name}: {text}" if text else name)[:_MAX_ERROR]


def line_of(error: BaseException) -> int:
    """Returns the innermost line of the snippet in the traceback; 0 if there is none."""
    line = 0
    if isinstance(error, SyntaxError) and error.filename == FILENAME:
        line = error.lineno or 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
