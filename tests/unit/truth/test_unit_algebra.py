"""An expression is worked out with the units of its quantities, and those that do not fit are told."""

import pytest

from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.unit_algebra import UnitsDisagree, calculate, convert


@pytest.mark.parametrize(
    ("expression", "quantities", "unit", "value"),
    [
        ("m * a", {"m": (500, "g"), "a": (2, "m/s²")}, "N", 1),
        ("math.sqrt(2 * h / g)", {"h": (1, "km"), "g": (9.81, "m/s²")}, "s", 14.278),
        ("math.sin(math.radians(x))", {"x": (30, "°")}, "", 0.5),
        ("math.degrees(math.atan(x))", {"x": (1, "")}, "°", 45),
        ("c * (T2 - T1)", {"c": (4190, "J/(kg·K)"), "T2": (60, "°C"), "T1": (20, "°C")}, "kJ/kg", 167.6),
        ("p * t / 100", {"p": (3, "$"), "t": (50, "ct")}, "$²", 0.015),
    ],
)
def test_units_are_carried_through_a_calculation(
    expression: str, quantities: dict[str, tuple[float, str]], unit: str, value: float
) -> None:
    assert calculate(parse_expression(expression), quantities, unit) == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize(
    ("expression", "quantities", "unit", "reason"),
    [
        ("m + a", {"m": (5, "kg"), "a": (2, "m/s²")}, "kg", "m \\+ a: "),
        ("m * a", {"m": (5, "kg"), "a": (2, "m/s²")}, "J", "cannot be expressed in J"),
        ("math.exp(t)", {"t": (5, "s")}, "", "exp is applied to what has a unit"),
    ],
)
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
