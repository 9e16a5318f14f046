"""Locates errors of a wrong solution from its numbers alone."""

import pytest

from soliloquy.recipes.mathdial.confusion import LocatedError, locate_error
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.v1.conversation_pb2 import Problem, Quantity, Step

# A baker fills 6 trays with 8 rolls and sells 30 of them.
TRAYS, ROLLS, SOLD = (Quantity(symbol=symbol, value=value) for symbol, value in (("t", 6), ("r", 8), ("s", 30)))


def problem() -> Problem:
    baked = Step(number=1, expression="t * r", inputs=[TRAYS, ROLLS], result=Quantity(symbol="b", value=48))
    left = Step(number=2, expression="b - s", inputs=[SOLD], result=Quantity(symbol="l", value=18))
    question = "In 2 hours a baker fills 6 trays with 8 rolls each and sells 30 rolls. How many are left?"
    return Problem(question=question, steps=[baked, left], answer=Quantity(value=18), tolerance=0.01)


@pytest.mark.parametrize(
    ("solution", "what"),
    [
        ("6 * 8 = 48 rolls.\n48 - 30 = 18 are left.\n18 / 2 = 9 an hour.", LocatedError("went_on", 3)),
        ("6 * 8 = 48 rolls.\n48 * 2 = 96 in all.\n96 - 30 = 66 are left.", LocatedError("quantity", 2)),
        ("6 * 8 = 48 rolls.\n48 + 30 = 78 are left.", None),
        ("There are 2 hours.\nSo 30 are left.", None),
    ],
)
def test_going_on_and_a_quantity_too_many_are_seen_from_the_numbers(solution: str, what: LocatedError | None) -> None:
    assert locate_error(Confusion(solution=solution), problem()) == what


def test_where_nobody_knows_what_the_right_solution_calculates_no_quantity_is_one_too_many() -> None:
    unknown = problem()
    for step in unknown.steps:
        step.expression = ""
    assert locate_error(Confusion(solution="6 * 8 = 48 rolls.\n48 * 2 = 96 in all."), unknown) is None
