"""The numbers that a solution may use, each with its source: its question, its results, and constants with a role."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

from soliloquy.truth.measured_values import combined, measured_number
from soliloquy.truth.constants import constants_of, units_in
from soliloquy.truth.measured_values import Measured, agree, stated_value
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.written_arithmetic import tokens_of
from soliloquy.truth.written_numbers import Written

# "form" is a number that belongs to the form of a calculation: a half, a square, how many numbers a mean is of.
Kind = Literal["question", "result", "constant", "form", "statement"]
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_LARGEST_PART = 12
_MOST_PARTS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What gives a number."""

    kind: Kind
    # As the source has it: 235.5 may be used as 236, and 25 % as 0.25.
    value: float
    unit: Unit | None = None
    # A constant's role; empty for any other source.
    role: str = ""
    # The calculation that comes to it, counted from 0.
    calculation: int | None = None


class _Entry(NamedTuple):
    value: Measured
    source: Source


class KnownNumbers:
    def __init__(self, question: str, solution: str = "") -> None:
        text = f"{question}\n{solution}"
        self._entries: dict[tuple[float, str], _Entry] = {}
        self._constants = constants_of(text)
        self._units = units_in(text)
        for token in tokens_of(question):
            if token.kind == "number":
                self.learn(token, Source(kind="question", value=token.value, unit=token.unit))
        for whole in mixed_quantities(tokens_of(question)):
            self.learn(whole, Source(kind="question", value=whole.value, unit=whole.unit))
        plain = [number.value for number in numbers_in(question)]
        plain += [float(digits.replace(",", "")) for digits in _DIGITS.findall(question)]
        told = {one.value.number for one in self._entries.values()}
        for number in plain:
            if number not in told:
                self._add(stated_value(number), Source(kind="question", value=number))

    def learn(self, token: Written, source: Source) -> None:
        value = measured_number(token)
        self._add(value, source)
        for number, own in _forms(token, value, self._units):
            self._add(stated_value(number, own), replace(source, unit=own))
        if token.unit and token.unit.otherwise:
            # "1.5 % a year"
            self.learn(token._replace(unit=token.unit.otherwise), source)

    def learn_number(self, number: float, source: Source) -> None:
        self._add(stated_value(number), source)

    def sources(self, value: Measured) -> list[Source]:
        """Returns what gives a number, the same number before one that it rounds."""
        # 235.5 may be used as 236, and not as 230 or 240.
        exact = replace(value, coarse=value.place)
        found = [one for one in self._entries.values() if abs(one.value.number) == abs(value.number)]
        found = found or [one for one in self._entries.values() if agree(one.value, exact, about=False)]
        return [one.source for one in found] or self.constants(value.number)

    def constants(self, number: float) -> list[Source]:
        constant = self._constants.get(abs(number))
        if constant is None:
            return []
        return [Source(kind="constant", value=number, unit=constant.unit, role=constant.role)]

    def derives(self, number: float) -> bool:
        """Whether one operation makes a number of known ones: a square, a step of one, a sum of two of the question."""
        if number > 0 and math.log10(number) % 1 == 0:
            return True
        known = {abs(one.source.value) for one in self._entries.values() if one.source.kind != "statement"}
        given = [abs(one.value) for one in self.given()][:_MOST_PARTS]
        results = [
            result
            for one in known
            for result in (
                one**2,
                one**3,
                math.sqrt(one),
                one + 1,
                one - 1,
                *(one * 10.0**power for power in range(-3, 4)),
            )
        ]
        results += [result for one, other in combinations(given, 2) for result in (one + other, abs(one - other))]
        return any(math.isclose(number, result, rel_tol=1e-6) for result in results)

    def unit_of(self, value: Measured) -> Unit | None:
        """Returns the unit of the text in which a quantity has its number."""
        return next(
            (
                own
                for own in self._units
                if value.si is not None
                and _kind(value.powers) == own.kind
                and math.isclose(own.in_base(value.number), value.si, rel_tol=1e-9)
            ),
            None,
        )

    def given(self) -> Iterator[Source]:
        """Yields each number of the question once."""
        yield from {
            one.source.value: one.source for one in self._entries.values() if one.source.kind == "question"
        }.values()

    def _add(self, value: Measured, source: Source) -> None:
        key = (value.number, value.measure)
        if key not in self._entries or source.kind == "result":
            self._entries[key] = _Entry(value, source)


def mixed_quantities(tokens: Sequence[Written]) -> Iterator[Written]:
    """Yields quantities of two parts, in the unit of the first: "2 h 30 min"."""
    numbers = [token for token in tokens if token.kind != "word" or token.text.lower() != "and"]
    for one, other in pairwise(numbers):
        if one.kind == "number" and one.unit and (both := combined(measured_number(one), other)) and both.si:
            yield one._replace(value=both.si / one.unit.factor, end=other.end)


def _kind(powers: Mapping[str, float]) -> str:
    return " ".join(f"{unit}^{power:g}" for unit, power in sorted(powers.items())) or "dimensionless"


def _forms(token: Written, value: Measured, units: list[Unit]) -> Iterator[tuple[float, Unit | None]]:
    """Yields a number as it is calculated with: in other units of the text, in SI, as a share of a whole."""
    plain = token.value * token.scale
    own = token.unit
    if own and value.si is not None and value.has_unit:
        yield from ((one.of(plain, own), one) for one in units if one.kind == own.kind)
        # "5 cm" may be calculated with as 0.05.
        yield value.si, Unit(own.kind, 1.0, measure=f"SI {own.kind}")
    yield from ((number, None) for number in _shares(token, value, plain))


def _shares(token: Written, value: Measured, plain: float) -> Iterator[float]:
    if token.scale != 1.0:
        yield plain
    share = value.si if value.percent and value.si is not None else plain
    if value.percent:
        yield from (share, 1 + share, 1 - share, 100 + value.number, 100 - value.number)
    elif 0 < plain < 1:
        yield from (1 + plain, 1 - plain)
    if 0 < share < 1:
        part = Fraction(share).limit_denominator(_LARGEST_PART)
        if math.isclose(part, share, rel_tol=1e-3):
            yield from (part.numerator, part.denominator, part.denominator - part.numerator)
