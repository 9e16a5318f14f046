"""Calculations with units, by pint: whether an expression of quantities yields the unit its step says."""

import ast
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pint

from services.truth.expressions import CONSTANTS, FUNCTIONS, OPERATORS, Expression

_TABLES = tomllib.loads(Path(__file__).with_name("units.toml").read_text("utf-8"))
NAMES: dict[str, str] = _TABLES["names"]
EXPONENTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
WORD = re.compile(r"[^\W\d_]+|°C?|%")
REGISTRY: Any = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
for _name, _meaning in _TABLES["definitions"].items():
    REGISTRY.define(f"{_name} = {_meaning}")

# pint's own types depend on the registry.
Quantity = Any


class UnknownUnit(ValueError):
    """Not a unit of measurement: it counts things, or is misspelt."""


class UnitsDisagree(ValueError):
    """Quantities are added, converted or put into a function as their units do not allow."""


@cache
def _unit(text: str) -> Any:
    plain = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda power: "**" + power[0].translate(EXPONENTS), text.replace("·", "*"))
    try:
        return REGISTRY.Unit(WORD.sub(lambda name: NAMES.get(name[0], name[0]), plain))
    except pint.PintError as error:
        raise UnknownUnit(f"{text!r} is no unit of measurement") from error


def is_known(unit: str) -> bool:
    try:
        _unit(unit)
    except UnknownUnit:
        return False
    return True


def in_base_units(value: float, unit: str) -> float:
    return float(REGISTRY.Quantity(value, _unit(unit)).to_base_units().magnitude)


def converted(value: float, unit: str, to: str) -> float:
    return _in_unit(REGISTRY.Quantity(value, _unit(unit)), to)


def calculated(expression: Expression, quantities: Mapping[str, tuple[float, str]], unit: str) -> float:
    """The value of an expression in a unit, worked out with the units of its quantities."""
    values = {symbol: REGISTRY.Quantity(value, _unit(_step_of(own))) for symbol, (value, own) in quantities.items()}
    try:
        return _in_unit(_worked(expression.tree, values), _step_of(unit))
    except pint.PintError as error:
        raise UnitsDisagree(f"{expression.text}: {error}") from error


def _step_of(unit: str) -> str:
    """Outside a conversion only differences of temperatures in °C are calculated with: a degree is a kelvin."""
    return "K" if unit == "°C" else unit


def _in_unit(found: Quantity, unit: str) -> float:
    try:
        return float(REGISTRY.Quantity(found).to(_unit(unit)).magnitude)
    except pint.DimensionalityError as error:
        raise UnitsDisagree(f"{found:.6g} cannot be expressed in {unit or 'a plain number'}") from error


def _worked(node: ast.expr, values: Mapping[str, Quantity]) -> Quantity:
    match node:
        case ast.Constant(value=number):
            return REGISTRY.Quantity(number)
        case ast.Attribute(attr=name):
            return REGISTRY.Quantity(CONSTANTS[name])
        case ast.Name(id=symbol):
            return values[symbol]
        case ast.UnaryOp(operand=operand):
            return -_worked(operand, values)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _worked(left, values) ** _in_unit(_worked(right, values), "")
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_worked(left, values), _worked(right, values))
        case ast.Call(func=ast.Attribute(attr=name), args=[argument]):
            return _function(name, _worked(argument, values))
    raise AssertionError(f"{ast.dump(node)} passed the whitelist but cannot be calculated with units")


def _function(name: str, argument: Quantity) -> Quantity:
    match name:
        case "sqrt":
            return argument**0.5
        case "radians":
            return argument.to("radian")
        case "degrees":
            return argument.to("degree")
        case "asin" | "acos" | "atan":
            return REGISTRY.Quantity(FUNCTIONS[name](_in_unit(argument, "")), "radian")
    # Radians are plain numbers to pint.
    return REGISTRY.Quantity(FUNCTIONS[name](_in_unit(argument, "")))
