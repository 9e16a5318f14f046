"""A unit is read in symbols and in words, and what it measures is known."""

import pytest

from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.unit_table import NO_UNIT
from soliloquy.truth.units import unit, unit_after
from tests.cases import each_case


@each_case
def test_one_unit_is_the_same_however_it_is_written(text: str, like: str) -> None:
    found, _ = unit_after(f"5{text}", 1)
    wanted = unit(like)
    assert found is not None
    assert (found.kind, found.offset) == (wanted.kind, wanted.offset)
    assert found.factor == pytest.approx(wanted.factor)


@pytest.mark.parametrize("text", [" apples", " times", " in total", " a day", "", ".", " more seconds"])
def test_a_word_behind_a_number_is_no_unit(text: str) -> None:
    assert unit_after(f"5{text}", 1) == (None, 1)


@each_case
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
