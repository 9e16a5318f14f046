"""Checks which number a reply gives as its answer, in the forms that people write."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soliloquy.truth.number_format import format_rounded, with_unit
from soliloquy.truth.stated_answer import answer_in, answer_quantity
from soliloquy.truth.units import unit as known_unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("F = m * a = 2 * 3 = 6 N", 6.0),
        ("I get 6 N, because 2 × 3.", 6.0),
        ("It is about -4.2 m/s^2, I think", -4.2),
        ("v2 = 1,200.5 m/s", 1200.5),
        ("So q is 1.6 × 10^-19 C", 1.6e-19),
        ("I got 3e8 m/s", 3e8),
        ("in kg m^2 s-1", None),
        ("24! I shared 72 among 3.", 24.0),
        ("Yes, 18 cards, because 6 piles of 3 are 18 and none is left over.", 18.0),
        ("so not 21 but 22", 22.0),
        ("It is 40 minutes. No wait, 45, I forgot the break of 5 before.", 45.0),
        ("8 km/h (I first had 80)", 8.0),
        ("Do I take 12 or 15 here?", None),
        ("Is it 15?", 15.0),
        ("Since she has 4 boxes of 6, she has 24 pens.", 24.0),
        ("I divided 90 by 6 to get 15.", 15.0),
        ("So the answer is 40 - 12 = 28 cups.", 28.0),
        ("The answer is 1 cow + 2 pigs + 4 hens = 7 animals.", 7.0),
        ("He must run 15 more miles to get to 60.", 15.0),
        ("The total for the 5 days is 5 x 7 = 35 pages.", 35.0),
        ("I made 30 groups of ten", 30.0),
        ("mean = sum / 3", None),
        ("no idea", None),
    ],
)
def test_the_answer_of_a_sentence_is_found(text: str, value: float | None) -> None:
    assert answer_in(text, "") == value


@pytest.mark.parametrize(
    "text",
    [
        "**36**",
        "The answer is **36**.",
        "**Final Answer:** 36",
        "So there are **36 stamps** left.",
        "So it costs __$36__.",
        "4 * 9 = **36 stamps**.",
        "- 4 × 6 = 24\n- 24 + 12 = **36**",
        "1. 4 × 6 = 24\n2. 24 + 12 = 36",
        r"So it is about $\boxed{36}$.",
        r"\[ 4 \times 9 = 36 \]",
        "**Not 35** but *36*.",
        "36. I shared 72 among 2.",
    ],
)
def test_the_markup_around_an_answer_is_no_part_of_it(text: str) -> None:
    assert answer_in(text, "") == 36


def test_a_number_in_the_unit_asked_for_is_preferred() -> None:
    assert answer_in("It is 12 apples for 5 children", "apples") == 12
    assert answer_in("So v is 5 m/s and t is 3 s", "m/s") == 5
    assert answer_in("So x is 5 m and v is 3 m/s", "m") == 5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("She can buy 7 pens with $21.", 7),
        ("The last tram leaves 9 minutes after the 15 before.", 9),
        # A result that is stated is the answer, even if the question has the same number.
        ("5 × 12 = 60, so each pays 60 / 15 = 4", 4),
        ("It is 21.", 21),
        ("She has 21 pens for 4 weeks", 4),
    ],
)
def test_a_number_of_the_question_is_the_answer_only_if_nothing_else_is(text: str, value: float) -> None:
    assert answer_in(text, "", given=frozenset((4, 15, 21, 360))) == value


@pytest.mark.parametrize(
    "text",
    [
        "So he has 36 stamps?",
        "so they need 36 more?",
        "So that leaves 36?",
        "I ended up with 36?",
        "She paid $36?",
        "hmmm, 36?",
        "Uhh yea, like 36?",
        "erm then 36?",
        "How about 36?",
        "Isn't it 36?",
        "Shouldn't it be about 36?",
        "Does that make 36?",
        "So I add 24 to 12 and get 36?",
        "That's 36, why?",
        "I did 4 × 9 and got 36, what's next?",
        "So it is 36, I took 4 from 40, did I get it?",
        "4 times 9 is 36?",
    ],
)
def test_a_tentative_answer_is_one(text: str) -> None:
    assert answer_in(text, "") == 36


@pytest.mark.parametrize(
    "text",
    [
        "so I multiply by 9?",
        "I have to add the 12?",
        "By dividing by 9?",
        "Okay so, should I subtract 9 from 12?",
        "So 9 stamps times 12 equals?",
        "And 9 times 12 =?",
        "Is he paid 9 an hour?",
        "Can you tell me where the 9 comes from?",
        "I don't know, the 9 or the 12?",
        "which one of them?",
    ],
)
def test_a_question_about_numbers_states_none(text: str) -> None:
    assert answer_in(text, "") is None


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [("It takes 150 s", 150, "s"), ("seven", 7, ""), ("6 km, I hope", 6, "km")],
)
def test_an_answer_is_read_with_its_unit(text: str, value: float, unit: str) -> None:
    read = answer_quantity(text, "")
    assert read is not None
    assert read.value == value
    assert read.unit == (known_unit(unit) if unit else None)


@given(st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30), st.sampled_from((3, 4)))
def test_a_rounded_number_reads_back_within_half_a_percent(value: float, digits: int) -> None:
    read = answer_in(f"So it is {with_unit(format_rounded(value, digits), 'kg*m^2')}.", "kg*m^2")
    assert read is not None
    assert abs(read - value) <= 0.00501 * abs(value)
    assert len(re.sub(r"[^\d]", "", format_rounded(value, digits).partition(" ×")[0]).lstrip("0")) <= 7


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12,50 €", 12.5),
        ("83.200.000", 83_200_000),
        ("1.250,00 €", 1250),
        ("1,25,000 rupees", 125_000),
        ("at 5:42 pm", 17.7),
        ("at 9:30 am", 9.5),
        ("1 h 52 min", 28 / 15),
        ("minus 3 degrees", -3),
        ("12k", 12_000),
        ("2.4k", 2400),
        ("a kilogram and a half", 1.5),
        ("an hour and a quarter", 1.25),
        ("$30 a day", 30),
        ("3 kilograms, or 3000 g", 3),
        ("8 euros 40", 8.4),
        (r"$7{,}250$", 7250),
        ("It is –5 °C.", -5),
    ],
)
def test_numbers_of_other_countries_and_in_other_forms_are_read(text: str, value: float) -> None:
    assert answer_in(text, "") == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "either 4 or -4",
        "at least 10",
        "no way it's 18",
        "Do I add the 0 too, or just the other 5?",
        "In the text it's a 60 W lamp.",
        "I looked at line 3",
        "5 was wrong, I see",
        "3 * 4",
        "My friend says 12.",
        r"\(v = \frac{x_{2} – x_{1}}{t_{2}}\)",
    ],
)
def test_bounds_choices_quotations_and_open_calculations_are_no_answer(text: str) -> None:
    assert answer_in(text, "") is None
