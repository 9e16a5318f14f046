"""A result may only be in a unit of what its problem speaks of."""

import pytest

from soliloquy.truth.foreign_units import is_foreign_unit

LOAN = "Ada borrows $600 at 5 % a year and pays it back in 6 months. How much does she pay each month?"
TANK = "A tank of 2 m by 1.5 m is filled 0.8 m deep. How many litres are in it, and what is their mass?"
LIFT = "A crane lifts 40 kg by 3 m. How much energy does that take?"
RIVER = "A boat needs 20 minutes for 4 km. How fast is it?"


@pytest.mark.parametrize(
    ("unit", "question"),
    [
        ("miles", LOAN),
        ("litres", LOAN),
        ("degrees", LOAN),
        ("degrees", TANK),
        ("hours", TANK),
        ("amperes", LIFT),
        ("kg", RIVER),
        ("pounds", RIVER),
        ("pounds", LOAN),
        ("euros", LOAN),
        ("seconds", "The second of two brothers has 3 times as many stamps. How many?"),
        ("kg", "She works in a shop. How many shirts does she fold?"),
    ],
)
def test_a_unit_of_nothing_that_is_spoken_of_is_foreign(unit: str, question: str) -> None:
    assert is_foreign_unit(unit, question)


@pytest.mark.parametrize(
    ("unit", "question"),
    [
        ("months", LOAN),
        ("$", LOAN),
        ("cents", LOAN),
        ("pounds", "A bag weighs 40 kg. How much are 3 of them?"),
        ("pounds", "A ticket is £4. How much are 3 of them?"),
        ("%", LOAN),
        ("payments", LOAN),
        ("m³", TANK),
        ("kg", TANK),
        ("kJ", LIFT),
        ("km/h", RIVER),
        ("°C", "By how many degrees does it cool down?"),
        ("degrees", "How hot is it at noon?"),
        ("degrees", "A triangle has two equal angles. How large are they?"),
        ("mol", "How much salt is in 100 mL?"),
        ("hours", "She works on Mondays and Fridays. How much is that in all?"),
        ("m/s", "How fast does it hit the ground?"),
        ("m", "Light needs 500 s. What does that tell?"),
    ],
)
def test_units_that_a_problem_speaks_of_by_name_or_by_number_are_not(unit: str, question: str) -> None:
    assert not is_foreign_unit(unit, question)
