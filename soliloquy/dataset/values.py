"""Formats the values of programs as Python prints them, one kind of value at a time."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.runtime.values import shown
from soliloquy.v1.sandbox_pb2 import Value


def shown_values(values: pa.Array) -> list[str]:
    """Formats an array of the contract's Value messages; an unset value becomes "None"."""
    texts = ["None"] * len(values)
    for kind, text in _KINDS.items():
        column = pc.struct_field(values, kind)
        if column.null_count < len(column):
            for at, value in enumerate(column.to_pylist()):
                if value is not None:
                    texts[at] = text(value)
    return texts


def _items(value: dict[str, list[bytes]]) -> str:
    return f"[{', '.join(map(_shown, value['items']))}]"


def _entries(value: dict[str, list[dict[str, bytes]]]) -> str:
    return "{" + ", ".join(f"{_shown(entry['key'])}: {_shown(entry['value'])}" for entry in value["entries"]) + "}"


def _shown(serialised: bytes) -> str:
    return shown(Value.FromString(serialised))


_KINDS: dict[str, Callable[[Any], str]] = {
    "boolean": str,
    "integer": str,
    "real": repr,
    "complex": lambda value: repr(complex(value["real"], value["imaginary"])),
    "text": repr,
    "items": _items,
    "entries": _entries,
    "unserialisable": lambda name: f"<{name}>",
}
