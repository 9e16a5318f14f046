"""The numbers of numpy and sympy as Python's own, for a result to be read like any other."""

import sys
from collections.abc import Callable
from typing import Any

Plain = Callable[[Any], object]

_NUMPY: dict[str, Plain] = {
    "bool": bool,
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), int),
    **dict.fromkeys(("float16", "float32", "float64"), float),
    **dict.fromkeys(("complex64", "complex128"), complex),
}
_SYMPY: dict[str, Plain] = {
    **dict.fromkeys(("core.numbers.Integer", "core.numbers.Zero", "core.numbers.One", "core.numbers.NegativeOne"), int),
    **dict.fromkeys(("core.numbers.Float", "core.numbers.Rational", "core.numbers.Half"), float),
    **dict.fromkeys(("logic.boolalg.BooleanTrue", "logic.boolalg.BooleanFalse"), bool),
}


def plain_types() -> dict[type, Plain]:
    """By exact type, for the packages that are loaded: called before a job is there to change them."""
    found: dict[type, Plain] = {}
    if numpy := sys.modules.get("numpy"):
        found |= {getattr(numpy, name): plain for name, plain in _NUMPY.items()}
        found[numpy.ndarray] = numpy.ndarray.tolist
    if "sympy" in sys.modules:
        for path, plain in _SYMPY.items():
            module, _, name = path.rpartition(".")
            found[getattr(sys.modules[f"sympy.{module}"], name)] = plain
    return found
