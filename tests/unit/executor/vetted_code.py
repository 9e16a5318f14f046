"""Runs code like the vetted worker and like plain Python, and reports what it changed in the process."""

import ast
import cmath
import contextlib
import io
import math
import os
import re
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from soliloquy_services.executor.guest import verdicts, vet, vocabulary

_SHARED = (math, cmath, sys, os, types, vet, vocabulary, verdicts, __import__("builtins"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """The results of a snippet, without addresses and modules."""

    variables: dict[str, str]
    stdout: str
    error: str


def refusal(code: str) -> str | None:
    return vet.vet(_parsed(code)).refused


def as_the_worker_does(code: str) -> Ran:
    written: list[str] = []
    return _run(code, {"__builtins__": vocabulary.builtins(written.append)}, lambda: "".join(written))


def as_python_does(code: str) -> Ran:
    stdout = io.StringIO()
    with contextlib.redirect_stdout(stdout):
        return _run(code, {}, stdout.getvalue)


def world() -> dict[str, object]:
    """Returns all visible state that jobs of one process share."""
    shared: dict[str, object] = {module.__name__: {n: id(v) for n, v in vars(module).items()} for module in _SHARED}
    return shared | {
        "modules": sorted(sys.modules),
        "environment": dict(os.environ),
        "limits": (sys.getrecursionlimit(), sys.get_int_max_str_digits()),
        "warnings": list(warnings.filters),
        "codecs": sorted(sys.modules["encodings"].__dict__["_cache"]),
        "given": {name: id(value) for name, value in vocabulary.builtins(print).items() if name != "print"},
    }


def _parsed(code: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def _run(code: str, namespace: dict[str, object], written: Callable[[], str]) -> Ran:
    namespace["__name__"] = "__main__"
    error = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(ast.parse(code), "<snippet>", "exec", dont_inherit=True), namespace)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    variables = {
        name: _plain(repr(value))
        for name, value in namespace.items()
        if not name.startswith("__") and not isinstance(value, types.ModuleType)
    }
    return Ran(variables=variables, stdout=_plain(written()), error=_plain(error))


def _plain(text: str) -> str:
    return re.sub("0x[0-9a-f]+", "0x", text)
