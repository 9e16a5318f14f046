"""Calculates with units (pint): checks that an expression yields the stated unit."""

import ast
import functools
from collections.abc import Mapping
from typing import Any

import pint

from soliloquy.truth.expressions import CONSTANTS, FUNCTIONS, OPERATORS, Expression
from soliloquy.truth.units import NO_UNIT, unit

# pint's own types depend on the registry.
Quantity = Any


class UnknownUnit(ValueError):
    """The unit counts things, or is misspelt."""


class UnitsDisagree(ValueError):
    """Quantities are added, converted or passed to a function in a way that their units do not allow."""


@functools.cache
def unit_registry() -> "pint.UnitRegistry[float]":
    registry: pint.UnitRegistry[float] = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
    registry.define("dollar = [money]")
    registry.define("cent = 0.01 dollar")
    return registry


def convert(value: float, own: str, to: str) -> float:
    return _in_unit(unit_registry().Quantity(value, _measure(own)), to)


def calculate(expression: Expression, quantities: Mapping[str, tuple[float, str]], own: str) -> float:
    """Returns the value of an expression in the unit `own`, calculated with units."""
    values = {
        symbol: unit_registry().Quantity(value, _measure(_difference_unit(stated)))
        for symbol, (value, stated) in quantities.items()
    }
    try:
        return _in_unit(_evaluate(expression.tree, values), _difference_unit(own))
    except pint.PintError as error:
        raise UnitsDisagree(f"{expression.text}: {error}") from error


def _difference_unit(own: str) -> str:
    """Outside of conversions, only temperature differences in °C are calculated with: a degree is a kelvin."""
    return "K" if own == "°C" else own


@functools.cache
def _measure(text: str) -> Any:
    known = unit(text)
    if not known.measure and known != NO_UNIT:
        raise UnknownUnit(f"{text!r} is not a unit of measurement")
    return unit_registry().Unit(known.measure)


def _in_unit(found: Quantity, own: str) -> float:
    try:
        return float(unit_registry().Quantity(found).to(_measure(own)).magnitude)
    except pint.DimensionalityError as error:
        raise UnitsDisagree(f"{found:.6g} cannot be expressed in {own or 'a plain number'}") from error


def _evaluate(node: ast.expr, values: Mapping[str, Quantity]) -> Quantity:
    match node:
        case ast.Constant(value=number):
            return unit_registry().Quantity(number)
        case ast.Attribute(attr=name):
            return unit_registry().Quantity(CONSTANTS[name])
        case ast.Name(id=symbol):
            return values[symbol]
        case ast.UnaryOp(operand=operand):
            return -_evaluate(operand, values)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _evaluate(left, values) ** _in_unit(_evaluate(right, values), "")
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[argument]):
            return _evaluate(argument, values) ** 0.5
        case ast.Call(func=ast.Attribute(attr="radians" | "degrees"), args=[argument]):
            # An angle keeps its unit.
            return _evaluate(argument, values)
        case ast.Call(func=ast.Attribute(attr=name), args=[argument]):
            # pint treats radians as plain numbers.
            return unit_registry().Quantity(FUNCTIONS[name](_in_unit(_evaluate(argument, values), "")))
    raise AssertionError(f"{ast.dump(node)} passed the whitelist but cannot be calculated with units")
