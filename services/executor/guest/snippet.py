"""Runs one snippet in the child that was forked for it, and tells what became of it."""

import contextlib
import random
import sys
import types
from typing import Any, TextIO

from .values import Tagger, type_name

FILENAME = "<snippet>"
_MAX_ERROR = 1_000


def run(code: str, result_variables: list[str], *, value_units: int, value_depth: int) -> dict[str, Any]:
    # The random module reseeds itself from the kernel after a fork.
    random.seed(0)
    # A real module, because dataclasses and typing look their globals up by module name.
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    stdout = sys.stdout
    try:
        exec(compile(code, FILENAME, "exec", dont_inherit=True), module.__dict__)
        sys.set_int_max_str_digits(0)
        values = _values(module.__dict__, result_variables, Tagger(value_units, value_depth))
    except SystemExit as exit_:
        return {"status": "exited", "error": describe(exit_), "line": line_of(exit_)}
    except MemoryError as error:
        line = line_of(error)
        # What filled the memory goes first, or there is none left to answer with.
        error.__traceback__ = None
        module.__dict__.clear()
        return {"status": "memory", "error": "MemoryError", "line": line}
    except BaseException as error:
        return {"status": "error", "error": describe(error), "line": line_of(error)}
    finally:
        _flush(stdout)
    return {"status": "ok", "values": values}


def _values(namespace: dict[str, Any], names: list[str], tagger: Tagger) -> list[list[Any]]:
    # Built from exact strings, because looking a name up compares it with keys that the snippet may have planted.
    variables = {name: value for name, value in namespace.items() if type(name) is str}
    for name in names:
        if name not in variables:
            raise NameError(f"result variable {name!r} is not defined")
    return [[name, tagger.tag(variables[name])] for name in names]


def _flush(stdout: TextIO) -> None:
    # The snippet may have closed it; what it wrote before is out then.
    with contextlib.suppress(ValueError, OSError):
        stdout.flush()


def describe(error: BaseException) -> str:
    """The last line of the traceback, as Python would print it."""
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
    """The line of the snippet at which the error passed last; 0 if none."""
    line = 0
    if isinstance(error, SyntaxError) and error.filename == FILENAME:
        line = error.lineno or 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
