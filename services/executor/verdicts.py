"""Verdicts of `math.isclose`, computed again on the host from the numbers that the job returned."""

import math
import sys
from collections.abc import Sequence

from services.executor.guest.verdicts import Verdict
from soliloquy.runtime.code import identifier
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution, Value


def recomputed(done: Execution, verdicts: Sequence[Verdict], evidence: dict[str, float | None]) -> Execution:
    """The execution, which names the verdicts that hold; an error if one contradicts its own numbers."""
    values = {identifier(named.name): named.value for named in done.values}
    numbers = evidence | {name: number_of(value) for name, value in values.items()}
    for verdict in verdicts:
        told = values.get(verdict.name)
        left, right = (numbers.get(side) if isinstance(side, str) else side for side in (verdict.left, verdict.right))
        if told is None or told.WhichOneof("kind") != "boolean" or left is None or right is None:
            continue
        holds = math.isclose(left, right, rel_tol=verdict.rel_tol, abs_tol=verdict.abs_tol)
        if holds != told.boolean:
            error = (
                f"{verdict.name} is {told.boolean}, but math.isclose({left!r}, {right!r}, "
                f"rel_tol={verdict.rel_tol!r}, abs_tol={verdict.abs_tol!r}) is {holds}"
            )
            return Execution(status=STATUS_ERROR, error=error, stdout=done.stdout)
        done.recomputed.append(verdict.name)
    return done


def number_of(value: Value) -> float | None:
    """The value, if isclose can take it."""
    match value.WhichOneof("kind"):
        case "real":
            return value.real
        case "integer":
            # isclose makes floats of both sides, and these have no room for more.
            return int(value.integer) if len(value.integer) <= sys.float_info.max_10_exp else None
        case _:
            return None
