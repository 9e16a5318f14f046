"""A unit is read in symbols and in words, and what it measures is known."""

import pytest

from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.unit_table import NO_UNIT
from soliloquy.truth.units import unit, unit_after


@pytest.mark.parametrize(
    ("text", "like"),
    [
        (" m/s²", "m/s²"),
        (" m/s^2 and", "m/s²"),
        (" m s^-2", "m/s²"),
        (" metres per second squared", "m/s²"),
        ("kN", "kN"),
        (" kilonewtons", "kN"),
        (" J/(kg K)", "J/(kg·K)"),
        (" kg m/s", "kg·m/s"),
        (" kg.m/s", "kg·m/s"),
        (" km per hour", "km/h"),
        (" mph", "mph"),
        (" degrees Celsius", "°C"),
        ("°", "°"),
        (" cm^2", "cm²"),
        (" square centimetres", "cm²"),
        (" microcoulombs", "µC"),
        ("uC", "µC"),
        (" per cent", "%"),
        (" kilowatt-hours", "kWh"),
        ("-minute", "min"),
        (" years", "yr"),
        (" m s⁻²", "m/s²"),
        (" kg m s⁻²", "N"),
        (" N C⁻¹", "N/C"),
        (" J s⁻¹", "W"),
        (" km h⁻¹", "km/h"),
        (" C s⁻¹", "A"),
        (" km/hour", "km/h"),
        (" m/second", "m/s"),
        (" L/minute", "L/min"),
        (" miles/h", "mph"),
        (" meters/s", "m/s"),
        (" grams/cm^3", "g/cm³"),
        (" miles an hour", "mph"),
        (" km an hour", "km/h"),
        (" m a second", "m/s"),
        (" dollars an hour", "$/h"),
        (" dollars a pound", "$/lb"),
        (" cm squared", "cm²"),
        (" m/s squared", "m/s²"),
        (" m cubed", "m³"),
        (" m/s2", "m/s²"),
        (" kg m/s2", "N"),
        (" meters/s2", "m/s²"),
        (" degrees Fahrenheit", "°F"),
        (" degrees C", "°C"),
        (" degrees F", "°F"),
        (" ° C", "°C"),
    ],
)
def test_one_unit_is_the_same_however_it_is_written(text: str, like: str) -> None:
    found, _ = unit_after(f"5{text}", 1)
    wanted = unit(like)
    assert found is not None
    assert (found.kind, found.offset) == (wanted.kind, wanted.offset)
    assert found.factor == pytest.approx(wanted.factor)


@pytest.mark.parametrize("text", [" apples", " times", " in total", " a day", "", ".", " more seconds"])
def test_a_word_behind_a_number_is_no_unit(text: str) -> None:
    assert unit_after(f"5{text}", 1) == (None, 1)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("3 m in 2 s", " in 2 s"),
        ("2 s and", " and"),
        ("4 A so", " so"),
        ("9 g a T-shirt", " a T-shirt"),
        ("5 miles an hour ago", " an hour ago"),
        ("8 meters / t", " / t"),
        ("5 N2", "2"),
        ("6 m/s25", "25"),
    ],
)
def test_a_unit_ends_where_the_sentence_goes_on(text: str, rest: str) -> None:
    found, end = unit_after(text, 1)
    assert found is not None
    assert text[end:] == rest


@pytest.mark.parametrize(
    ("text", "like"),
    [("5/hour", "$/h"), ("5 per hour", "$/h"), ("5 a week", "$/week"), ("5/lb", "$/lb"), ("5 per pound", "$/lb")],
)
def test_money_is_divided_like_any_unit(text: str, like: str) -> None:
    [found] = quantities_in(f"${text}")
    assert found.unit is not None
    assert (found.unit.kind, found.end) == (unit(like).kind, len(text) + 1)
    assert found.unit.factor == pytest.approx(unit(like).factor)


def test_money_for_a_thing_is_money() -> None:
    assert [one.unit for one in quantities_in("$5 a ticket")] == [unit("$")]


def test_what_is_counted_is_its_own_kind() -> None:
    assert unit("apples") == unit("Apple") != unit("pears")
    assert unit("") == NO_UNIT
