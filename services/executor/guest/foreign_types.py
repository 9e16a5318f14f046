"""Converts the numbers of numpy and sympy to Python's own, so that they can be read like any other result."""

import sys
from collections.abc import Callable
from typing import Any

Converter = Callable[[Any], object]

_NUMPY: dict[str, Converter] = {
    "bool": bool,
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), int),
    **dict.fromkeys(("float16", "float32", "float64"), float),
    **dict.fromkeys(("complex64", "complex128"), complex),
}
_SYMPY: dict[str, Converter] = {
    **dict.fromkeys(("core.numbers.Integer", "core.numbers.Zero", "core.numbers.One", "core.numbers.NegativeOne"), int),
    **dict.fromkeys(("core.numbers.Float", "core.numbers.Rational", "core.numbers.Half"), float),
    **dict.fromkeys(("logic.boolalg.BooleanTrue", "logic.boolalg.BooleanFalse"), bool),
}


def converters() -> dict[type, Converter]:
    """Returns the converters of the loaded packages by exact type; called before a job can tamper with them."""
    found: dict[type, Converter] = {}
    if numpy := sys.modules.get("numpy"):
        found |= {getattr(numpy, name): convert for name, convert in _NUMPY.items()}
        found[numpy.ndarray] = numpy.ndarray.tolist
    if "sympy" in sys.modules:
        for path, convert in _SYMPY.items():
            module, _, name = path.rpartition(".")
            found[getattr(sys.modules[f"sympy.{module}"], name)] = convert
    return found
