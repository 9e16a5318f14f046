"""What a product of units measures, in SI's base units.

pint knows it too, and more; but it takes most of a second to load, which every process would pay that meets a unit.
"""

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("measures.toml").read_text("utf-8"))
_FACTORS: dict[str, float] = _TABLES["prefixes"]
_MEASURES: dict[str, dict[str, float]] = _TABLES["measures"]


@dataclass(frozen=True, slots=True)
class Measure:
    factor: float
    # Where its scale begins on that of the base unit.
    zero: float
    # Of each base unit, in the order of their names.
    powers: tuple[tuple[str, float], ...]

    @property
    def kind(self) -> str:
        return " ".join(f"{unit}^{power:g}" for unit, power in self.powers) or "dimensionless"


_NOTHING = Measure(1.0, 0.0, ())


class NoMeasure(ValueError):
    """Letters that look like a unit and are none."""


def measure(expression: str) -> Measure:
    """Of names, products, quotients and whole powers: "(kilometer)/(hour)**2"."""
    try:
        return _worked(ast.parse(expression, mode="eval").body)
    except (SyntaxError, RecursionError, ArithmeticError) as error:
        raise NoMeasure(expression) from error


def _worked(node: ast.expr) -> Measure:
    match node:
        case ast.Constant(value=1):
            return _NOTHING
        case ast.Name(id=name):
            return _named(name)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(_worked(left), _worked(right), 1)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _product(_worked(left), _worked(right), -1)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))):
            return _product(_NOTHING, _worked(left), power)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.UnaryOp(ast.USub(), ast.Constant(value=int(power)))):
            return _product(_NOTHING, _worked(left), -power)
    raise NoMeasure(ast.unparse(node))


def _named(name: str) -> Measure:
    prefix = "" if name in _MEASURES else next(filter(name.startswith, _FACTORS), "")
    told = _MEASURES.get(name.removeprefix(prefix))
    if told is None or (prefix and "zero" in told):
        raise NoMeasure(name)
    factor = _FACTORS[prefix] if prefix else 1.0
    powers = sorted((unit, power) for unit, power in told.items() if unit not in ("factor", "zero"))
    return Measure(factor * told.get("factor", 1.0), told.get("zero", 0.0), tuple(powers))


def _product(left: Measure, right: Measure, power: int) -> Measure:
    powers = dict(left.powers)
    for unit, own in right.powers:
        powers[unit] = powers.get(unit, 0) + own * power
    return Measure(
        left.factor * right.factor**power, 0.0, tuple(sorted((unit, power) for unit, power in powers.items() if power))
    )
