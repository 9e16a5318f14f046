"""A quantity of a text is the same as a result in any unit of its kind, rounded as it may be."""

import pytest

from soliloquy.truth.quantities import calculations_in, is_same, quantities_in
from soliloquy.truth.units import unit as known_unit


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("33.6 m/s", 33.617, "m/s"),
        ("34 m/s", 33.617, "m/s"),
        ("3600 kg m s⁻²", 3600.0, "N"),
        ("1½ hours", 90.0, "min"),
        ("minus 5 degrees Celsius", -5.0, "°C"),
        ("an hour and a half", 1.5, "h"),
        ("2h30", 150.0, "min"),
        ("2h30min", 2.5, "h"),
        ("10⁶ Pa", 1000.0, "kPa"),
        ("$18/hour", 18.0, "$/h"),
        ("$18 an hour", 18.0, "dollars per hour"),
        ("$18 an hour", 18.0, "$"),
        ("3 km a day", 3.0, "km"),
        ("6 pounds of flour", 6.0, "lb"),
        ("6 lb", 6.0, "pounds"),
        ("£6", 6.0, "pounds"),
        ("121 km/h", 33.617, "m/s"),
        ("33.6", 33.617, "m/s"),
        ("3.36 × 10^1 m/s", 33.617, "m/s"),
        ("2.1 thousand joules", 2100.0, "J"),
        ("2.1 kJ", 2100.0, "J"),
        ("20 °C", 293.15, "K"),
        ("45 minutes", 0.75, "h"),
        ("3/4 h", 0.75, "h"),
        ("25 %", 0.25, ""),
        ("12 apples", 12.0, "apples"),
        ("12", 12.0, "apples"),
        ("32 pupils/class", 32.0, "pupils/class"),
        ("30 degrees", 30.0, "°"),
        ("**2.1 kJ**", 2100.0, "J"),
        ("__2.1__ kJ", 2100.0, "J"),
        (r"$2{,}100\,\text{J}$", 2100.0, "J"),
        (r"\(2.1\ \mathrm{kJ}\)", 2100.0, "J"),
        (r"$2.1 \times 10^{3}\;\text{ J}$", 2100.0, "J"),
        (r"33.6~\text{m}/\text{s}", 33.617, "m/s"),
        ("2.5 × 10^–3 m", 2.5, "mm"),
        ("0.91 kJ kg^–1", 910.0, "J/kg"),
    ],
)
def test_the_same_in_other_words_is_the_same(text: str, value: float, unit: str) -> None:
    [written] = quantities_in(text)
    assert is_same(written, value, unit, 0.005)


def test_what_stands_under_a_root_is_not_read_without_it() -> None:
    assert not list(calculations_in("It is √(1 - 0.89²)"))
    [found] = calculations_in("So it is (1 - 0.89²)")
    assert found.value == pytest.approx(0.2079)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("33 m/s", 33.617, "m/s"),
        ("33.6 s", 33.617, "m/s"),
        ("33.6 km/h", 33.617, "m/s"),
        ("2.1 J", 2100.0, "J"),
        ("12 pears", 12.0, "apples"),
        ("3 m/s", 3.2, "m/s"),
        ("$18 an hour", 18.0, "$/day"),
        ("3 km/day", 3.0, "km"),
        ("6 pounds", 6.0, "kg"),
        ("-33.6 m/s", 33.617, "m/s"),
        (r"$33.6\,\text{km/h}$", 33.617, "m/s"),
    ],
)
def test_another_value_kind_or_sign_is_another(text: str, value: float, unit: str) -> None:
    [written] = quantities_in(text)
    assert not is_same(written, value, unit, 0.005)


def test_a_sum_of_money_is_read_once() -> None:
    assert [one.value for one in quantities_in("$76-$12")] == [76, 12]


def test_what_a_text_states_is_told_from_what_it_works_with() -> None:
    written = quantities_in("I did 2 × 57.6 m / 9.81 and got 11.74 in step 3")
    assert [one.value for one in written if one.stated] == [11.74]
    assert [one.value for one in written if one.term] == [2, 57.6, 9.81]


@pytest.mark.parametrize("text", ["**36 N**", "It is 36 N – because I multiplied.", "It is 36 N - since I multiplied."])
def test_marks_and_dashes_make_no_term(text: str) -> None:
    [written] = quantities_in(text)
    assert not written.term


def test_a_price_between_two_prices_is_one_too() -> None:
    written = quantities_in("It is $4 for tea, $3 + $2 for cake, so $9 = $4 + $5.")
    assert {one.unit for one in written} == {known_unit("$")}
    assert [one.value for one in written if one.term] == [3, 2, 9, 4, 5]


def test_the_minus_before_a_price_is_its_sign() -> None:
    assert [(one.value, one.term) for one in quantities_in("It is $4 - $7, so -$3.")] == [
        (4, True),
        (7, True),
        (-3, False),
    ]


def test_a_pronoun_before_a_verb_counts_nothing() -> None:
    assert not quantities_in("This one was hard.")
    assert [one.value for one in quantities_in("There were two pens, and then zero pens.")] == [2, 0]


def test_prices_in_two_lines_are_two() -> None:
    assert [one.value for one in quantities_in("2 teas: $8\n1 cake: $3")] == [2, 8, 1, 3]


@pytest.mark.timeout(60)
def test_brackets_without_end_are_read_in_a_moment() -> None:
    assert not list(calculations_in("(" * 100_000 + "1 = 1"))
    [found] = calculations_in("((((2 + 1)) * 3))")
    assert found.value == 9


@pytest.mark.timeout(60)
def test_a_long_line_of_blanks_is_read_in_a_moment() -> None:
    assert [one.value for one in quantities_in(" " * 100_000 + "4 N")] == [4]
