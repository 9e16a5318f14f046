"""Compares what our units measure with pint."""

import functools
import tomllib
from collections import defaultdict
from pathlib import Path

import pint
import pytest

import soliloquy.truth.units
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.units import measure

_TABLES = tomllib.loads(Path(soliloquy.truth.units.__file__).with_name("measures.toml").read_text("utf-8"))
_NAMES = list(_TABLES["measures"])
_TOGETHER = [
    *("(kilometer)/(hour)", "(meter)/(second)**2", "(joule)/((kilogram)*(kelvin))", "1/(second)", "(kilowatt_hour)"),
    *("(newton)*(meter)**2/(coulomb)**2", "(centimeter)**3", "(mile / hour)", "(revolution / minute)", "(gram)**-1"),
    *("(degree_Celsius)/(second)", "(watt)/(meter)**-2", "(milliampere_hour)", "(megaelectron_volt)", "(liter)/(day)"),
]


@functools.cache
def _registry() -> "pint.UnitRegistry[float]":
    registry: pint.UnitRegistry[float] = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
    registry.define("dollar = [money]")
    registry.define("cent = 0.01 dollar")
    return registry


def _of_pint(expression: str) -> tuple[float, float, str]:
    registry = _registry()
    one, zero = (registry.Quantity(value, registry.Unit(expression)).to_base_units() for value in (1.0, 0.0))
    kind = " ".join(sorted(f"{dimension}^{power:g}" for dimension, power in one.dimensionality.items()))
    return float((one - zero).magnitude), float(zero.magnitude), kind


def _measured(expression: str) -> Unit:
    found = measure(expression)
    assert found is not None
    return found


@pytest.mark.parametrize("expression", [*_NAMES, *_TOGETHER, *(f"{prefix}meter" for prefix in _TABLES["prefixes"])])
def test_a_unit_is_as_much_of_the_base_units_as_pint_says(expression: str) -> None:
    factor, zero, _ = _of_pint(expression)
    found = _measured(expression)
    assert [found.factor, found.offset] == pytest.approx([factor, zero], rel=1e-12)


def test_units_are_of_one_kind_where_pint_converts_them() -> None:
    kinds = defaultdict(set)
    for expression in (*_NAMES, *_TOGETHER):
        kinds[_measured(expression).kind].add(_of_pint(expression)[2])
    assert [found for found in kinds.values() if len(found) > 1] == []
    assert len(kinds) == len(set().union(*kinds.values()))


@pytest.mark.parametrize(
    "letters",
    [
        "kilo",
        "furlong",
        "millidegree_Celsius",
        "(meter",
        "2*(meter)",
        "(meter)(second)",
        "*".join(["(meter)"] * 20_000),
    ],
    ids=lambda letters: letters[:20],
)
def test_what_is_no_unit_has_no_measure(letters: str) -> None:
    assert measure(letters) is None
