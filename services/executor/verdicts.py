"""Recomputes verdicts of `math.isclose` on the host, from the numbers that the job returned."""

import math
import sys
from collections.abc import Sequence

from services.executor.guest.verdicts import Verdict
from soliloquy.runtime.code import identifier
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution, Value


def recompute(done: Execution, verdicts: Sequence[Verdict], evidence: dict[str, float | None]) -> Execution:
    """Adds the verdicts that hold to the execution, or returns an error if one contradicts its own numbers."""
    values = {identifier(named.name): named.value for named in done.values}
    numbers = evidence | {name: number_of(value) for name, value in values.items()}
    for verdict in verdicts:
        reported = values.get(verdict.name)
        left, right = (numbers.get(side) if isinstance(side, str) else side for side in (verdict.left, verdict.right))
        if reported is None or reported.WhichOneof("kind") != "boolean" or left is None or right is None:
            continue
        holds = math.isclose(left, right, rel_tol=verdict.rel_tol, abs_tol=verdict.abs_tol)
        if holds != reported.boolean:
            error = (
                f"{verdict.name} is {reported.boolean}, but math.isclose({left!r}, {right!r}, "
                f"rel_tol={verdict.rel_tol!r}, abs_tol={verdict.abs_tol!r}) is {holds}"
            )
            return Execution(status=STATUS_ERROR, error=error, stdout=done.stdout)
        done.recomputed.append(verdict.name)
    return done


def number_of(value: Value) -> float | None:
    """Returns the value if isclose accepts it."""
    match value.WhichOneof("kind"):
        case "real":
            return value.real
        case "integer":
            # isclose converts both sides to floats, which hold nothing larger.
            return int(value.integer) if len(value.integer) <= sys.float_info.max_10_exp else None
        case _:
            return None
