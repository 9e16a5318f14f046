"""Units are read in symbols and in words, measure as pint says, and fit the problem and the calculation or not."""

import functools
import tomllib
from collections import defaultdict
from pathlib import Path

import pint
import pytest

import soliloquy.truth.unit_table
from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.result_units import asked_kinds, is_another, is_foreign_unit
from soliloquy.truth.unit_algebra import UnitsDisagree, calculate, convert
from soliloquy.truth.unit_table import NO_UNIT, Unit, named
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


@each_case
def test_a_unit_of_another_quantity_than_the_question_names_is_another(question: str, own: str, other: str) -> None:
    kinds = asked_kinds(question)
    assert not is_another(unit(own), kinds)
    assert is_another(unit(other), kinds)


@each_case
def test_a_question_that_names_no_quantity_or_several_asks_for_none(question: str) -> None:
    assert not asked_kinds(question)


@pytest.mark.parametrize("name", bank_names())
def test_no_answer_of_a_bank_measures_something_else_than_its_question_names(name: str) -> None:
    bank = load_bank(name)
    problems = [bank.family(family).problem(number) for family in bank.names for number in (3, 50)]
    asked = [(problem, asked_kinds(problem.question)) for problem in problems if problem.HasField("answer")]
    assert len(problems) > 20
    assert not [one.question for one, kinds in asked if is_another(unit(one.answer.unit), kinds)]


@each_case
def test_units_are_carried_through_a_calculation(
    expression: str, quantities: dict[str, tuple[float, str]], unit: str, value: float
) -> None:
    assert calculate(parse_expression(expression), quantities, unit) == pytest.approx(value, rel=1e-4)


@each_case
def test_units_that_do_not_fit_are_told(
    expression: str, quantities: dict[str, tuple[float, str]], unit: str, reason: str
) -> None:
    with pytest.raises(UnitsDisagree, match=reason):
        calculate(parse_expression(expression), quantities, unit)


def test_a_conversion_knows_where_a_scale_begins() -> None:
    assert convert(20, "°C", "K") == pytest.approx(293.15)
    with pytest.raises(UnitsDisagree, match="cannot be expressed in s"):
        convert(20, "m", "s")


def test_what_is_counted_is_no_unit_of_measurement() -> None:
    with pytest.raises(UnitsDisagree, match="'apples' is not a unit of measurement"):
        calculate(parse_expression("a * 2"), {"a": (3, "apples")}, "apples")


_TABLES = tomllib.loads(Path(soliloquy.truth.unit_table.__file__).with_name("units.toml").read_text("utf-8"))
_NAMES = [*_TABLES["units"], *(f"{prefix}meter" for prefix in _TABLES["prefixes"])]
_TOGETHER = [
    *("km/h", "m/s^2", "J/(kg K)", "1/s", "kWh", "N m^2/C^2", "cm^3", "mph", "rpm", "g^-1", "W/m^-2", "mAh"),
    *("MeV", "L/day", "kg m^2 s^-2", "J/(kg·K)", "kg·m²/s²", "µg/m³", "mol/L"),
]


@functools.cache
def _registry() -> "pint.UnitRegistry[float]":
    registry: pint.UnitRegistry[float] = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
    registry.define("dollar = [money]")
    registry.define("cent = 0.01 dollar = ¢")
    registry.define("diopter = 1 / meter")
    return registry


def _of_pint(expression: str) -> tuple[float, float, str]:
    registry = _registry()
    one, zero = (registry.Quantity(value, registry.Unit(expression)).to_base_units() for value in (1.0, 0.0))
    kind = " ".join(sorted(f"{dimension}^{power:g}" for dimension, power in one.dimensionality.items()))
    return float((one - zero).magnitude), float(zero.magnitude), kind


def _in_pint(text: str) -> str:
    """Writes a unit with the signs that pint reads."""
    for ours, theirs in (("·", "*"), ("²", "**2"), ("³", "**3"), ("^", "**"), (" ", "*")):
        text = text.replace(ours, theirs)
    return text


def _known(text: str) -> Unit:
    return named(text) if text in _NAMES else unit(text)


@pytest.mark.parametrize("text", [*_NAMES, *_TOGETHER])
def test_a_unit_is_as_much_of_the_base_units_as_pint_says(text: str) -> None:
    factor, zero, _ = _of_pint(_in_pint(text))
    assert [_known(text).factor, _known(text).offset] == pytest.approx([factor, zero], rel=1e-12)


def test_units_are_of_one_kind_where_pint_converts_them() -> None:
    kinds = defaultdict(set)
    for text in (*_NAMES, *_TOGETHER):
        kinds[_known(text).kind].add(_of_pint(_in_pint(text))[2])
    assert [found for found in kinds.values() if len(found) > 1] == []
    assert len(kinds) == len(set().union(*kinds.values()))


@pytest.mark.parametrize("name", ["kilo", "furlong", "millidegree_Celsius"])
def test_what_is_no_unit_has_no_measure(name: str) -> None:
    with pytest.raises(KeyError):
        named(name)
