"""Calculates with units: checks that an expression yields the stated unit."""

import ast
import math
import operator
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from soliloquy.truth.expressions import BASIC_OPERATORS, FUNCTIONS, Arithmetic, Expression, Unworkable, calculation
from soliloquy.truth.measured_values import Measured, agree, measured, stated_value
from soliloquy.truth.unit_table import NO_UNIT, Unit
from soliloquy.truth.units import unit


class UnitsDisagree(ValueError):
    """A unit is unknown, or does not allow what is done with its quantity."""


def convert(value: float, own: str, to: str) -> float:
    known, wanted = _known(own), _known(to)
    plain = (NO_UNIT.kind, unit("%").kind)
    if known.kind != wanted.kind and not (known.kind in plain and wanted.kind in plain):
        raise UnitsDisagree(f"{value:.6g} {own} cannot be expressed in {to or 'a plain number'}")
    return wanted.of(value, known)


def calculate(expression: Expression, quantities: Mapping[str, tuple[float, str]], own: str) -> float:
    """Returns the value of an expression in the unit `own`, calculated with units."""
    values = {symbol: _quantity(value, stated) for symbol, (value, stated) in quantities.items()}
    wanted = _quantity(1.0, own)
    try:
        found = calculation(expression.tree, UNITS)(values)
    except Unworkable as error:
        raise UnitsDisagree(f"{expression.text}: {error}") from error
    if found.si is None or wanted.si is None or found.powers != wanted.powers:
        raise UnitsDisagree(f"{expression.text}: {found.number:.6g} cannot be expressed in {own or 'a plain number'}")
    return found.si / wanted.si


def contradicts(expression: Expression, quantities: Mapping[str, tuple[float, str]], result: float, own: str) -> bool:
    """Whether the units show that a result is false; a number without a unit may measure anything."""
    values = {symbol: stated_value(value, unit(stated)) for symbol, (value, stated) in quantities.items()}
    if any(value.percent for value in values.values()):
        # Expressions divide percentages by a hundred, or do not.
        return False
    try:
        found = calculation(expression.tree, _FACTORS)(values)
    except Unworkable:
        return False
    stated = stated_value(result, unit(own))
    return found.si is not None and (not agree(found, stated, about=True) or _is_rate(found, stated))


def _factor(number: float) -> Measured:
    """A half, a two or π belongs to the formula; another number may have a unit that nobody wrote down."""
    return _plain(number) if number in (0.5, 2.0, math.pi, math.e) else stated_value(number)


def _is_rate(found: Measured, stated: Measured) -> bool:
    """Whether "per second" is missing from a stated unit."""
    if not (found.closed and stated.closed) or "s" in stated.powers:
        return False
    rest = {name: power for name, power in found.powers.items() if name != "s"}
    return found.powers.get("s", 0) < 0 and rest == dict(stated.powers)


def _quantity(value: float, stated: str) -> Measured:
    # Outside of conversions, only temperature differences in °C are calculated with: a degree is a kelvin.
    known = _known("K" if stated == "°C" else stated)
    return measured(value, known) if known.measure else _plain(value)


def _known(text: str) -> Unit:
    found = unit(text)
    if not found.measure and found != NO_UNIT:
        raise UnitsDisagree(f"{text!r} is not a unit of measurement")
    return found


def _plain(number: float) -> Measured:
    return Measured(number, number, {}, has_unit=True, closed=True)


def _applied(name: str, given: Measured) -> Measured:
    if name == "sqrt":
        return given ** _plain(0.5)
    if given.si is None or given.powers:
        raise Unworkable(f"{name} is applied to what has a unit")
    if name == "degrees":
        return replace(given, number=math.degrees(given.number), has_unit=True)
    if name == "radians" and given.has_unit:
        # An angle keeps its unit.
        return given
    try:
        result = FUNCTIONS[name](given.si)
    except (ValueError, OverflowError) as error:
        raise Unworkable(f"{name} has no value for {given.si:g}") from error
    return Measured(result, result, {}, has_unit=given.has_unit, closed=given.closed)


# A number of a formula measures nothing by itself.
UNITS: Arithmetic[Measured] = Arithmetic(
    # `@` applies the unit behind a bracket.
    operators={**BASIC_OPERATORS, ast.Pow: operator.pow, ast.MatMult: operator.matmul},
    negative=operator.neg,
    function=lambda name: partial(_applied, name),
    number=_plain,
)
_FACTORS = replace(UNITS, number=_factor)
