"""A unit is read in symbols and in words, and what it measures is known."""

import pytest

from soliloquy.truth.units import NO_UNIT, unit, unit_after


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


@pytest.mark.parametrize(("text", "rest"), [("3 m in 2 s", " in 2 s"), ("2 s and", " and"), ("4 A so", " so")])
def test_a_unit_ends_where_the_sentence_goes_on(text: str, rest: str) -> None:
    found, end = unit_after(text, 1)
    assert found is not None
    assert text[end:] == rest


def test_what_is_counted_is_its_own_kind() -> None:
    assert unit("apples") == unit("Apple") != unit("pears")
    assert unit("") == NO_UNIT
