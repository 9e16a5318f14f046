"""Compares what our units measure with pint."""

import functools
import tomllib
from collections import defaultdict
from pathlib import Path

import pint
import pytest

import soliloquy.truth.unit_table
from soliloquy.truth.unit_table import Unit, named
from soliloquy.truth.units import unit

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
