"""Writes the solution of a problem as a Python function."""

import re
from collections.abc import Iterable

from soliloquy.v1.conversation_pb2 import Quantity, Step

_FUNCTION = re.compile(r"\s*(?:import \w+\s+)*def solution\(")


def solution_program(solution: str, steps: Iterable[Step]) -> str:
    """Returns the solution if it is a function, else a function of its calculating steps; empty if there are none."""
    return solution if _FUNCTION.match(solution) else steps_program(steps)


def steps_program(steps: Iterable[Step]) -> str:
    lines: list[str] = []
    known: set[str] = set()
    for step in steps:
        if not step.expression or not step.HasField("result"):
            continue
        lines.append(f"# {' '.join(step.explanation.split())}")
        lines += [
            f"{quantity.symbol} = {_number(quantity.value)}{_comment(quantity)}"
            for quantity in step.inputs
            if quantity.symbol not in known
        ]
        result = step.result.symbol
        lines.append(f"{result} = {step.expression}")
        known |= {result, *(quantity.symbol for quantity in step.inputs)}
    if not lines:
        return ""
    if any("math." in line for line in lines):
        lines.insert(0, "import math")
    return "\n    ".join(["def solution():", *lines, f"return {result}"])


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _comment(quantity: Quantity) -> str:
    told = quantity.name + (f" in {quantity.unit}" if quantity.unit else "")
    return f"  # {' '.join(told.split())}" if told.strip() else ""
