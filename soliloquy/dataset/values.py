"""What programs came to, as Python would print it: each kind of value is taken out of its column at once."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from soliloquy.runtime.values import shown
from soliloquy.v1.sandbox_pb2 import Value


def shown_values(values: pa.Array) -> list[str]:
    """Of an array of the contract's values; what is unset is None."""
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
