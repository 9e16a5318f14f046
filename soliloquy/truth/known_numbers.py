"""The numbers that a solution may use, each with its source: its question, its results, and constants with a role."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

from soliloquy.truth.arithmetic_terms import measured_number
from soliloquy.truth.constants import constants_of, units_in
from soliloquy.truth.measured_values import Measured, agree, stated_value
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.units import Unit, unit
from soliloquy.truth.written_arithmetic import tokens_of
from soliloquy.truth.written_numbers import Written

# "form" is a number that belongs to the form of a calculation: a half, a square, how many numbers a mean is of.
Kind = Literal["question", "result", "constant", "form", "statement"]
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_LARGEST_PART = 12


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
        plain = [number.value for number in numbers_in(question)]
        plain += [float(digits.replace(",", "")) for digits in _DIGITS.findall(question)]
        for number in plain:
            self._add(stated_value(number), Source(kind="question", value=number))

    def learn(self, token: Written, source: Source) -> None:
        value = measured_number(token)
        self._add(value, source)
        for number in _forms(token, value, self._units):
            self._add(stated_value(number), source)

    def learn_number(self, number: float, source: Source) -> None:
        self._add(stated_value(number), source)

    def sources(self, value: Measured) -> list[Source]:
        """Returns what gives a number, the same number before one that it rounds."""
        # 235.5 may be used as 236, and not as 230 or 240.
        exact = replace(value, coarse=value.place)
        found = [one for one in self._entries.values() if abs(one.value.number) == abs(value.number)]
        found = found or [one for one in self._entries.values() if agree(one.value, exact, about=False)]
        if found:
            return [one.source for one in found]
        constant = self._constants.get(abs(value.number))
        if constant is None:
            return []
        own = unit(constant.unit) if constant.unit else None
        return [Source(kind="constant", value=value.number, unit=own, role=constant.role)]

    def given(self) -> Iterator[Source]:
        """Yields each number of the question once."""
        yield from {one.source.value: one.source for one in self._entries.values() if one.source.kind == "question"}.values()

    def _add(self, value: Measured, source: Source) -> None:
        key = (value.number, value.measure)
        if key not in self._entries or source.kind == "result":
            self._entries[key] = _Entry(value, source)


def _forms(token: Written, value: Measured, units: list[Unit]) -> Iterator[float]:
    """Yields a number as it is calculated with: without its unit, in other units of the text, as a share of a whole."""
    plain = token.value * token.scale
    yield plain
    own = token.unit
    if own and value.si is not None and value.has_unit:
        # "5 cm" may be calculated with as 0.05.
        yield value.si
        yield from (one.of(plain, own) for one in units if one.kind == own.kind)
    share = value.si if value.percent and value.si is not None else plain
    if value.percent:
        yield from (share, 1 + share, 1 - share, 100 + value.number, 100 - value.number)
    elif 0 < plain < 1:
        yield from (1 + plain, 1 - plain)
    if 0 < share < 1:
        part = Fraction(share).limit_denominator(_LARGEST_PART)
        if math.isclose(part, share, rel_tol=1e-3):
            yield from (part.numerator, part.denominator, part.denominator - part.numerator)
