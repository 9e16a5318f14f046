import pytest

from soliloquy.recipes.scripted.slips import belief, kind_of_mistake
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


def test_nobody_believes_in_a_number_that_it_knows_to_be_miscopied() -> None:
    assert belief(Slip(because="I copied the net force as 6.12.")) == ""
    assert belief(Slip(because="I thought that squared means times two.")) != ""
