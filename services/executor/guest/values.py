"""Writes Python values as tagged JSON without running the job's code; numpy and sympy convert their own numbers."""

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Tagged = list[Any]
Converter = Callable[[Any], object]

# Read through the type's own descriptor: a metaclass can make `cls.__name__` run code.
_NAME = type.__dict__["__name__"].__get__
_DIGITS_PER_BIT = 0.30103
_NONE: Mapping[type, Converter] = MappingProxyType({})
# The numbers of numpy and sympy become Python's own, so that they can be read like any other result.
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


class TooBig(Exception):
    """The value needs more units than the job has left."""


class Tagger:
    """Tags values by their exact type; all values of a job share one tagger and its allowance."""

    def __init__(self, *, units: int, depth: int, converters: Mapping[type, Converter] = _NONE) -> None:
        self._units = units
        self._depth = depth
        self._converters = converters

    def tag(self, value: object) -> Tagged:
        left = self._units
        try:
            return self._tag(value, 0)
        except TooBig:
            self._units = left
            return _unserialisable(value)

    def _tag(self, value: object, depth: int) -> Tagged:
        kind = type(value)
        self._spend(1)
        if kind in self._converters:
            value = self._converters[kind](value)
            kind = type(value)
        if value is None:
            return ["none"]
        if kind is bool:
            return ["boolean", value]
        if kind is float:
            return ["real", repr(value)]
        if kind in (int, complex, str):
            return self._tag_scalar(value)
        if kind in (list, tuple, dict) and depth < self._depth:
            return self._tag_container(value, depth + 1)
        return _unserialisable(value)

    def _tag_scalar(self, value: Any) -> Tagged:
        if type(value) is int:
            self._spend(int(value.bit_length() * _DIGITS_PER_BIT))
            return ["integer", str(value)]
        if type(value) is complex:
            return ["complex", repr(value.real), repr(value.imag)]
        self._spend(len(value))
        return ["text", value]

    def _tag_container(self, value: Any, depth: int) -> Tagged:
        if type(value) is dict:
            return ["entries", [[self._tag(key, depth), self._tag(item, depth)] for key, item in value.items()]]
        return ["items", [self._tag(item, depth) for item in value]]

    def _spend(self, units: int) -> None:
        self._units -= units
        if self._units < 0:
            raise TooBig


def type_name(value: object) -> str:
    return str(_NAME(type(value)))


def _unserialisable(value: object) -> Tagged:
    return ["unserialisable", type_name(value)[:200]]


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
