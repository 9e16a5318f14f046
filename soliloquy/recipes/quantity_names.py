"""Names the quantities of a problem so that each can be asked for: "compression in m", where one in cm is given."""

from collections.abc import Iterable, Sequence

from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step


def distinct_name(quantity: Quantity, others: Iterable[Quantity]) -> str:
    """Returns what a quantity is called, with its unit where another one has its name and another unit."""
    name, unit = quantity.name, quantity.unit
    alike = name and unit and any(other.name == name and other.unit != unit for other in others)
    return f"{name} in {unit}" if alike else name


def result_name(step: Step, problem: Problem) -> str:
    return distinct_name(step.result, quantities(problem.steps))


def quantities(steps: Iterable[Step]) -> Sequence[Quantity]:
    """Returns what goes into the steps and what comes out of them."""
    return [quantity for step in steps for quantity in (*step.inputs, step.result)]
