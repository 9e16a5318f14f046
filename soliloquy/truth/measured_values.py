"""Numbers with what they measure, and what their rounding may hide."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from soliloquy.truth.arithmetic_policy import CUT, EXACT, ROUNDED
from soliloquy.truth.expressions import Unworkable
from soliloquy.truth.unit_table import Unit, powers_of, product_of
from soliloquy.truth.written_arithmetic import PERCENT, Written

# Lengths and times are counted in everyday problems; whoever writes of forces writes their units out.
_LENGTH = frozenset(["m"])
_EVERYDAY = frozenset(["m", "s"])
# "12 kg a day", without the day.
_LEFT_OUT = frozenset(["s"])
MONEY = "money"
_LARGEST_SHARE = 10


@dataclass(frozen=True, slots=True)
class Measured:
    # As written, without regard to units.
    number: float
    # In SI base units; None if a number without a unit was added to one with a unit.
    si: float | None
    powers: Mapping[str, float]
    # Whether any number carries a unit, and whether all do.
    has_unit: bool = False
    closed: bool = False
    # The unit of a number that is no result; empty without one.
    measure: str = ""
    # Whether the number itself is a percentage.
    percent: bool = False
    # The place value of the last digit; 0 if there is none.
    place: float = 0.0
    # Whether trailing zeros may stand for other digits.
    may_be_rough: bool = True
    # How far rounding of the operands may have moved the number.
    slack: float = 0.0

    def __neg__(self) -> "Measured":
        return replace(self, number=-self.number, si=None if self.si is None else -self.si)

    def __add__(self, other: "Measured") -> "Measured":
        if other.percent and not self.percent:
            # "50 + 20%" is 60 in a shop.
            other = replace(self * other, has_unit=self.has_unit, closed=self.closed)
        are_alike = self.has_unit == other.has_unit and self.powers == other.powers
        return Measured(
            self.number + other.number,
            self.si + other.si if are_alike and self.si is not None and other.si is not None else None,
            self.powers,
            has_unit=self.has_unit or other.has_unit,
            closed=self.closed and other.closed,
            percent=self.percent and other.percent,
        )

    def __sub__(self, other: "Measured") -> "Measured":
        return self + -other

    def __mul__(self, other: "Measured") -> "Measured":
        return _product(self, other, 1)

    def __truediv__(self, other: "Measured") -> "Measured":
        return _product(self, other, -1)

    def __matmul__(self, own: "Measured") -> "Measured":
        """Applies a unit to a number: the "m" of "(3 + 4) m"."""
        if self.has_unit:
            raise Unworkable
        return replace(self * own, closed=own.closed)

    def __pow__(self, other: "Measured") -> "Measured":
        exponent = other.number
        if other.powers:
            raise Unworkable
        try:
            number = math.pow(self.number, exponent)
            si = None if self.si is None else math.pow(self.si, exponent)
        except (OverflowError, ValueError, ZeroDivisionError) as error:
            raise Unworkable from error
        powers = {name: power * exponent for name, power in self.powers.items()}
        slack = abs(number * exponent) * _relative(self)
        return Measured(number, si, powers, has_unit=self.has_unit, closed=self.closed, slack=slack)


def _product(one: Measured, other: Measured, power: int) -> Measured:
    one, other = (
        replace(part, number=part.si, percent=False, slack=part.slack / 100) if part.percent and part.si else part
        for part in (one, other)
    )
    try:
        number = one.number * other.number**power
        si = None if one.si is None or other.si is None else one.si * other.si**power
        slack = abs(number) * (_relative(one) + _relative(other))
    except (OverflowError, ZeroDivisionError) as error:
        raise Unworkable from error
    if not math.isfinite(number):
        raise Unworkable
    return Measured(
        number,
        si,
        product_of(one.powers, other.powers, power),
        has_unit=one.has_unit or other.has_unit,
        closed=one.closed and other.closed,
        slack=slack,
    )


def _relative(value: Measured) -> float:
    return value.slack / abs(value.number) if value.number else 0.0


def measured(number: float, unit: Unit | None, place: float = 0.0, *, rounded: bool = False) -> Measured:
    known = unit if unit and unit.measure else None
    return Measured(
        number,
        # Differences of temperatures are not converted as temperatures are.
        None if known and known.offset else known.in_base(number) if known else number,
        powers_of(known.kind) if known else {},
        has_unit=known is not None,
        closed=known is not None,
        measure=known.measure if known else "",
        percent=known is not None and known.measure == PERCENT.measure,
        place=place,
        slack=place / 2 if rounded else 0.0,
    )


def measured_number(token: Written) -> Measured:
    return measured(token.value, token.unit, token.place, rounded=token.rounded)


def combined(value: Measured, rest: Written) -> Measured | None:
    """Returns the sum of the two parts of one quantity; None if they are not such parts: "1 h 24 min"."""
    if rest.kind != "number" or rest.unit is None or not value.closed:
        return None
    smaller = measured_number(rest)
    both = value + smaller
    if both.si is None or not value.si or not smaller.si or not 0 < smaller.si < abs(value.si / value.number):
        return None
    # In the unit of the smaller part.
    return replace(smaller, number=both.si / smaller.si * smaller.number, si=both.si, measure="")


def place_of(number: float) -> float:
    """Returns the place value of the last digit of a number, as Python writes it."""
    written = repr(number)
    return 10.0 ** int(Decimal(written).as_tuple().exponent) if number % 1 or "e" in written else 1.0


def has_three_digits(number: float) -> bool:
    """Whether a decimal is precise enough to be a rounded result: 3.33, but not 3.5."""
    return number % 1 != 0 and len(repr(abs(number)).replace(".", "").lstrip("0")) >= 3


def stated_value(number: float, unit: Unit | None = None) -> Measured:
    """Returns a number that stands for itself in a table or a file."""
    return measured(number, unit, place_of(number))


def is_rounded(stated: float, calculated: float) -> bool:
    """Whether a stated number is the calculated one, or what rounding to its last digit makes of it."""
    return _near(calculated, stated_value(stated), 0.0, about=False)


def in_unit_of(calculated: Measured, stated: Measured) -> float:
    """Returns the calculated number, converted to the unit of the stated one if both are known."""
    convertible = calculated.powers == stated.powers and calculated.closed and stated.closed
    if not convertible or calculated.si is None or not stated.si:
        return calculated.number
    return calculated.si * stated.number / stated.si


def converts(one: Measured, other: Measured) -> bool:
    """Whether a quantity is stated again, as in "2.5 km = 2,500 m": in another unit, or with the same value."""
    if not (one.closed and other.closed and one.si and one.powers == other.powers):
        return False
    return one.measure != other.measure or one.si == other.si


def restates_share(one: Measured, other: Measured) -> bool:
    """Whether a decimal is stated again as a percentage, as in "0.85 = 85 %"."""
    return other.percent and not one.has_unit and 0 < one.place < 1 and abs(one.number) < _LARGEST_SHARE


def agree(calculated: Measured, stated: Measured, *, about: bool) -> bool:
    """Whether a stated number is the calculated one, in any unit of its kind and rounded to its last digit."""
    same_kind = calculated.powers == stated.powers
    convertible = same_kind and calculated.si is not None and stated.si is not None
    # A number without a unit leaves open what it measures.
    if convertible and calculated.closed and stated.closed:
        return _near_in_si(calculated, stated, about=about)
    slack = calculated.slack + stated.slack
    if _near(calculated.number, stated, slack, about=about):
        return not is_another_quantity(calculated, stated)
    if stated.percent and _near(calculated.number * 100, stated, slack * 100, about=about):
        return True
    in_si = stated.has_unit and not calculated.has_unit and stated.si is not None
    return (convertible or in_si) and _near_in_si(calculated, stated, about=about)


def is_another_quantity(calculated: Measured, stated: Measured) -> bool:
    """Whether the units differ for sure: people write "5 hours × $10 = $50" and "40 m² / 8 m² = 5 L"."""
    if not (calculated.closed and stated.closed and calculated.powers and stated.powers):
        return False
    names = {*calculated.powers, *stated.powers}
    if names <= _LENGTH:
        # A length is no area. A volume may come from any two, as with rain.
        return {calculated.powers["m"], stated.powers["m"]} == {1, 2}
    differing = {name for name in names if calculated.powers.get(name) != stated.powers.get(name)}
    return not names <= _EVERYDAY and MONEY not in names and not differing <= _LEFT_OUT


def _near_in_si(calculated: Measured, stated: Measured, *, about: bool) -> bool:
    assert calculated.si is not None
    if not stated.number or not stated.si:
        return _near(calculated.si, stated, calculated.slack, about=about)
    # The calculated value in the stated unit.
    value = calculated.si * (stated.number / stated.si)
    return _near(value, stated, abs(value) * _relative(calculated) + stated.slack, about=about)


def _near(value: float, stated: Measured, slack: float, *, about: bool) -> bool:
    if not value:
        return not stated.number
    difference = abs(value - stated.number)
    if math.isclose(value, stated.number, rel_tol=EXACT, abs_tol=0 if stated.number else 1e-12):
        return True
    place = stated.place
    if place == 1 and stated.may_be_rough:
        # Zeros behind two digits may stand for others, but not for those of a whole number of four digits.
        plain = f"{abs(stated.number):.0f}"
        place *= 10.0 ** max(0, min(len(plain) - 2, len(plain) - len(plain.rstrip("0"))))
        if not about and value == round(value):
            place = max(1.0, min(place, 10.0 ** (math.floor(math.log10(abs(value))) - 3)))
    if place and not about and math.isclose(value, round(value / place) * place, rel_tol=EXACT):
        return False
    nearest = difference <= min(max(place / 2, slack), ROUNDED * abs(value))
    return nearest or difference <= min(place, CUT * abs(value))
