"""Formats values from the sandbox as Python prints them, and as JSON."""

from typing import Any

from soliloquy.v1.sandbox_pb2 import Execution, Lane, Status, Value

# Python refuses to convert longer integers.
_MOST_DIGITS = 4_300


def shown(value: Value) -> str:
    """Formats a value as `repr` does."""
    kind = value.WhichOneof("kind")
    match kind:
        case "boolean":
            return str(value.boolean)
        case "integer":
            return value.integer
        case "real":
            return repr(value.real)
        case "complex":
            return repr(complex(value.complex.real, value.complex.imaginary))
        case "text":
            return repr(value.text)
        case "items":
            return "[" + ", ".join(shown(item) for item in value.items.items) + "]"
        case "entries":
            return "{" + ", ".join(f"{shown(e.key)}: {shown(e.value)}" for e in value.entries.entries) + "}"
        case "unserialisable":
            return f"<{value.unserialisable}>"
        case _:
            return "None"


def plain(value: Value) -> Any:
    """Converts a value for a JSON record; values that JSON cannot hold are printed as in Python."""
    kind = value.WhichOneof("kind")
    match kind:
        case "boolean":
            return value.boolean
        case "integer":
            return int(value.integer) if len(value.integer.lstrip("-")) <= _MOST_DIGITS else value.integer
        case "real":
            return value.real if abs(value.real) < float("inf") else repr(value.real)
        case "text":
            return value.text
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


def verdict(execution: Execution) -> bool | None:
    """Returns the only boolean among the values: the code's judgement of the student's answer."""
    if execution.status != Status.STATUS_OK:
        return None
    found = [value.boolean for named in execution.values if (value := named.value).HasField("boolean")]
    return found[0] if len(found) == 1 else None
