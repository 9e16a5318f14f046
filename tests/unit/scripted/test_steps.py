"""A formula is said as it stands in a textbook, and not in the names of a program."""

import pytest

from soliloquy.recipes.soliloquy.scripted.steps import spoken_formula


@pytest.mark.parametrize(
    ("formula", "is_said"),
    [
        ("F = m × a", True),
        ("E_kin = m × v1² / 2", True),
        ("mu = sqrt(lambda / t10)", True),
        ("whole_cm = whole × 100", False),
        ("beats = rate × sleep_min", False),
        ("", True),
    ],
)
def test_nobody_says_the_names_of_a_program(formula: str, is_said: bool) -> None:
    assert spoken_formula(formula) == (formula if is_said else "")
