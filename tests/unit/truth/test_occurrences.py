"""A known quantity is found wherever a text states it, and a wrong unit, count or sum of money is no place of it."""

import pytest

from soliloquy.truth.occurrences import find_quantity


@pytest.mark.parametrize(
    ("text", "value", "unit", "stated"),
    [
        ("So it travels 1.5 km.", 1500, "m", "1.5 km"),
        ("I think it is 33.6 m/s", 33.617, "m/s", "33.6 m/s"),
        ("It goes 6 then", 6, "m/s", "6"),
        ("three quarters of them", 0.75, "", "three quarters"),
        ("That is 75 % of it", 0.75, "", "75 %"),
        ("That is 0.75 of it", 75, "%", "0.75"),
        ("She gave away 3/4", 75, "%", "3/4"),
        ("Bea needs five.", 5, "", "five"),
        ("so **five** apples", 5, "apples", "five"),
        ("It takes 2h30", 150, "min", "2h30"),
        ("after 1 hour 20 minutes", 80, "min", "1 hour 20 minutes"),
        ("half an hour", 30, "min", "half an hour"),
        ("It costs 350 cents", 3.5, "$", "350 cents"),
        ("3 dollars and 50 cents left", 3.5, "$", "3 dollars and 50 cents"),
        ("twenty-four eggs", 24, "eggs", "twenty-four"),
        ("The taxi was five fifty", 5.5, "$", "five fifty"),
        ("The rim is 10π cm", 31.416, "cm", "10π cm"),
        ("so √2", 1.4142, "m", "√2"),
        ("It fell to 7 below zero", -7, "°C", "7 below zero"),
        ("It has 3.91 x 10^-10 N", 3.9123e-10, "N", "3.91 x 10^-10 N"),
        ("at 2:30 h", 150, "min", "2:30 h"),
        ("0,75 of it", 75, "%", "0,75"),
    ],
)
def test_a_quantity_is_found_in_any_form(text: str, value: float, unit: str, stated: str) -> None:
    [place] = find_quantity(text, value, unit, 0.005)
    assert text[place.start : place.end].strip("* ") == stated


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("So it travels 1500 km.", 1500, "m"),
        ("It is 14 m wide.", 14, "cm"),
        ("It takes 30 hours.", 30, "min"),
        ("33 m/s", 33.617, "m/s"),
        ("five pears", 5, "apples"),
        ("It costs $3.49", 3.5, "$"),
        ("99 apples", 100, "apples"),
        ("only 0.75 %", 75, "%"),
        ("No one knows.", 1, ""),
        ("I got -5 m.", 5, "m"),
        ("Step 5 is next.", 5, ""),
        ("On the 5th day", 5, "days"),
        ("Of page five fifty", 5.5, "m"),
        ("(3/2)kT on average", 1.5, "J"),
    ],
)
def test_what_only_looks_like_the_quantity_is_no_place(text: str, value: float, unit: str) -> None:
    assert not find_quantity(text, value, unit, 0.005)


def test_every_place_is_found_in_order() -> None:
    places = find_quantity("12 in 5 boxes, and five more: 5!", 5, "", 0.0)
    assert [place.start for place in places] == [6, 19, 30]
