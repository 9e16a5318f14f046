"""Which solutions no plan can follow: those without an answer, and those that are not so when they are calculated."""

import math

from soliloquy.truth.expressions import BadExpression, Unworkable, compiled
from soliloquy.truth.figures import told
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step

# Of results that are carried on rounded.
_ROUNDED = 0.01


def refused(problem: Problem) -> str:
    """Why no plan is asked for; empty where one is."""
    if not problem.HasField("answer"):
        return "no answer: the problem has no number for one"
    if not problem.steps:
        return "no steps: the solution has none that a plan could follow"
    for step in problem.steps:
        if step.HasField("result") and not _is_so(step):
            return f"contradiction: step {step.number} of the solution does not come to {told(step.result)}"
    if not any(step.HasField("result") and _same(problem.answer, step.result) for step in problem.steps):
        return f"contradiction: no step of the solution comes to its answer, {told(problem.answer)}"
    return ""


def _is_so(step: Step) -> bool:
    """Whether a step's expression, where it has one, comes to its result."""
    if not step.expression:
        return True
    try:
        value = compiled(step.expression).value({known.symbol: known.value for known in step.inputs})
    except (BadExpression, Unworkable):
        return False
    return math.isclose(value, step.result.value, rel_tol=_ROUNDED)


def _same(one: Quantity, other: Quantity) -> bool:
    return one.unit == other.unit and math.isclose(one.value, other.value, rel_tol=_ROUNDED)
