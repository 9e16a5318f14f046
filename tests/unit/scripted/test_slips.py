import pytest

from soliloquy.recipes.scripted.slips import belief, kind_of_mistake, split_working
from soliloquy.v1.conversation_pb2 import Slip
from tests.unit.scripted.problems import CART

STEP = CART.steps[-1]


@pytest.mark.parametrize(
    ("working", "value", "kind"),
    [
        ("a = F / m = 6.12 / 0.45", 13.6, "misread"),
        ("a = F / m = 1.62 / 0.45", 4.6, "miscalculated"),
        ("a = m / F = 0.45 / 1.62", 0.2778, "shown"),
    ],
)
def test_a_mistake_is_told_by_what_is_wrong_with_it(working: str, value: float, kind: str) -> None:
    assert kind_of_mistake(Slip(working=working, value=value, unit="m/s^2"), STEP) == kind


@pytest.mark.parametrize(
    ("working", "value", "numbers"),
    [("w = w_cm / 100 = 914 / 100", 9.14, "914 / 100"), ("450 / 100 = 4.5 kg", 4.5, "450 / 100"), ("C = a = 6", 6, "")],
)
def test_the_numbers_of_a_working_are_found(working: str, value: float, numbers: str) -> None:
    assert split_working(Slip(working=working, value=value, unit="kg"))[1] == numbers


def test_nobody_believes_in_a_number_that_it_knows_to_be_miscopied() -> None:
    assert belief(Slip(because="I copied the net force as 6.12.")) == ""
    assert belief(Slip(because="I thought that squared means times two.")) != ""
