"""Turns the sandbox's tagged values back into Python objects."""

from dataclasses import dataclass
from typing import Any

from soliloquy.v1.sandbox_pb2 import Value

# int() converts at most 4,300 digits at a time.
_DIGITS = 4_000


@dataclass(frozen=True, slots=True)
class Unserialisable:
    """Stands for a value that could not leave the sandbox."""

    type_name: str

    def __repr__(self) -> str:
        return f"<{self.type_name}>"


def python_value(value: Value) -> Any:
    """Returns a tuple as a list, unless it is a key of a dict."""
    kind = value.WhichOneof("kind")
    match kind:
        case "integer":
            return _integer(value.integer)
        case "complex":
            return complex(value.complex.real, value.complex.imaginary)
        case "items":
            return [python_value(item) for item in value.items.items]
        case "entries":
            return {_key(entry.key): python_value(entry.value) for entry in value.entries.entries}
        case "unserialisable":
            return Unserialisable(value.unserialisable)
        case None | "none":
            return None
        case _:
            return getattr(value, kind)


def _key(value: Value) -> Any:
    if value.WhichOneof("kind") == "items":
        return tuple(_key(item) for item in value.items.items)
    return python_value(value)


def _integer(digits: str) -> int:
    whole = 0
    for start in range(0, len(digits.lstrip("-")), _DIGITS):
        piece = digits.lstrip("-")[start : start + _DIGITS]
        whole = whole * 10 ** len(piece) + int(piece)
    return -whole if digits.startswith("-") else whole
