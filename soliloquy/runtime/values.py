"""What comes from the sandbox, shown as Python would print it and turned into JSON."""

from typing import Any

from soliloquy.v1.sandbox_pb2 import Execution, Lane, Status, Value

# Python reads and writes no longer integer.
_MOST_DIGITS = 4_300


def shown(value: Value) -> str:
    """The value as `repr` would write it."""
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
    """The value for a JSON record: what JSON cannot hold is written as Python would print it."""
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
    """What the code found of the student's answer: the one boolean among its values, if there is one."""
    if execution.status != Status.STATUS_OK:
        return None
    found = [value.boolean for named in execution.values if (value := named.value).HasField("boolean")]
    return found[0] if len(found) == 1 else None
