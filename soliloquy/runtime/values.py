"""Converts the sandbox's tagged values: to text as Python prints them, to JSON and to Python objects."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from soliloquy.v1.sandbox_pb2 import Execution, Lane, Status, Value

# Python refuses to convert longer integers.
_MOST_DIGITS = 4_300


@dataclass(frozen=True, slots=True)
class Unserialisable:
    """Stands for a value that could not leave the sandbox."""

    type_name: str

    def __repr__(self) -> str:
        return f"<{self.type_name}>"


def shown(value: Value) -> str:
    """Formats a value as `repr` does."""
    kind = value.WhichOneof("kind")
    match kind:
        case "integer":
            return value.integer
        case "items":
            return "[" + ", ".join(shown(item) for item in value.items.items) + "]"
        case "entries":
            return "{" + ", ".join(f"{shown(e.key)}: {shown(e.value)}" for e in value.entries.entries) + "}"
        case _:
            return repr(python_value(value))


def plain(value: Value) -> Any:
    """Converts a value for a JSON record; values that JSON cannot hold are printed as in Python."""
    kind = value.WhichOneof("kind")
    match kind:
        case "boolean" | "text":
            return getattr(value, kind)
        case "integer":
            return int(value.integer) if len(value.integer.lstrip("-")) <= _MOST_DIGITS else value.integer
        case "real":
            return value.real if abs(value.real) < float("inf") else repr(value.real)
        case "items":
            return [plain(item) for item in value.items.items]
        case "entries":
            return {shown(e.key): plain(e.value) for e in value.entries.entries}
        case None | "none":
            return None
        case _:
            return shown(value)


def status_name(execution: Execution) -> str:
    return Status.Name(execution.status).removeprefix("STATUS_").lower()


def lane_name(execution: Execution) -> str:
    return Lane.Name(execution.lane).removeprefix("LANE_").lower()


def python_value(value: Value) -> Any:
    """Returns a tuple as a list, unless it is a key of a dict."""
    kind = value.WhichOneof("kind")
    match kind:
        case "integer":
            # Python refuses to read so many digits as an int, but not as a decimal.
            return int(Decimal(value.integer))
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
