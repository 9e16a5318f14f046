"""The numbers that a solution may use, each with its source: its question, its results, and constants with a role."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Literal, NamedTuple

from soliloquy.truth.measured_values import Measured, agree, combined, measured_number, stated_value
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.unit_table import Unit, named
from soliloquy.truth.units import unit, unit_after
from soliloquy.truth.written_arithmetic import Written, tokens_of

_NAME = re.compile(r"[a-z_]+", re.IGNORECASE)
# "per hour", "km into m", "each day"; a longer word is a unit by itself.
_UNIT_WORD = re.compile(r"\b(?:(?:per|in|into|to|of)\s|/)?(?=[^\W\d_]{3}|(?<=[\s/])[^\W\d_])|(?<=\\text\{)|(?<=rm\{)")
_TABLE = tomllib.loads(Path(__file__).with_name("constants.toml").read_text("utf-8"))["constants"]
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_LARGEST_PART = 12
_MOST_PARTS = 30


class Source(NamedTuple):
    """The origin of a number; nothing gives a statement."""

    kind: Literal["question", "result", "constant", "statement"]
    # As the source has it: 235.5 may be used as 236, and 25 % as 0.25.
    value: float
    unit: Unit | None = None


class KnownNumbers:
    def __init__(self, question: str, solution: str = "") -> None:
        self._entries: dict[tuple[float, str], tuple[Measured, Source]] = {}
        self._constants = _constants_of(question, solution)
        self._units = _units_in(question, solution)
        tokens = tokens_of(question)
        for token in (*(one for one in tokens if one.kind == "number"), *mixed_quantities(tokens)):
            self.learn(token, "question")
        told = {value.number for value, _ in self._entries.values()}
        plain = [number.value for number in numbers_in(question)]
        # Names and labels have numbers, too.
        plain += [float(digits.replace(",", "")) for digits in _DIGITS.findall(question)]
        for number in plain:
            if number not in told:
                self.learn_number(number, "question")

    def learn(self, token: Written, kind: Literal["question", "result", "statement"]) -> None:
        value = measured_number(token)
        self._add(value, Source(kind, token.value, token.unit))
        for number, own in _forms(token, value, self._units):
            self._add(stated_value(number, own), Source(kind, token.value, own))
        if token.unit and token.unit.otherwise:
            # "1.5 % a year"
            self.learn(token._replace(unit=token.unit.otherwise), kind)

    def learn_number(self, number: float, kind: Literal["question", "result", "statement"]) -> None:
        self._add(stated_value(number), Source(kind, number))

    def sources(self, value: Measured) -> list[Source]:
        """Returns what gives a number, the same number before one that it rounds."""
        entries = self._entries.values()
        found = [source for own, source in entries if abs(own.number) == abs(value.number)]
        # 235.5 may be used as 236, and not as 230 or 240.
        exact = replace(value, may_be_rough=False)
        found = found or [source for own, source in entries if agree(own, exact, about=False)]
        return found or self._constant(value.number)

    def units_of(self, token: Written) -> list[Unit | None]:
        """Returns the units that an operand may have: its own, or those of its sources; None where it may have none."""
        if token.unit:
            return [token.unit, token.unit.otherwise] if token.unit.otherwise else [token.unit]
        sources = self.sources(measured_number(token))
        stated = [one for one in sources if one.kind != "constant"]
        found = [unit for one in stated if one.unit for unit in (one.unit, one.unit.otherwise) if unit]
        # The "°" of "25 ^\\circ C" may be cut off.
        is_bare = any(one.unit is None or one.unit.kind == "dimensionless" or one.kind == "statement" for one in stated)
        found += [one.unit for one in self._constant(token.value) if one.unit]
        return [*([None] if is_bare or not found else []), *dict.fromkeys(found)]

    def derives(self, number: float) -> bool:
        """Whether one operation makes a number of known ones: a square, a step of one, a sum of two of the question."""
        if number > 0 and math.log10(number) % 1 == 0:
            return True
        known = {abs(source.value) for _, source in self._entries.values() if source.kind != "statement"}
        results = [result for one in known for result in (one**2, one**3, math.sqrt(one), one + 1, one - 1)]
        results += [one * 10.0**power for one in known for power in range(-3, 4)]
        given = [*map(abs, self.given())][:_MOST_PARTS]
        results += [result for one, other in combinations(given, 2) for result in (one + other, abs(one - other))]
        return any(math.isclose(number, result, rel_tol=1e-6) for result in results)

    def given(self) -> Mapping[float, None]:
        """Returns each number of the question once."""
        return {source.value: None for _, source in self._entries.values() if source.kind == "question"}

    def _constant(self, number: float) -> list[Source]:
        return [Source("constant", number, own) for own in self._constants.get(abs(number), ())]

    def _add(self, value: Measured, source: Source) -> None:
        key = (value.number, value.measure)
        if key not in self._entries or source.kind == "result":
            self._entries[key] = (value, source)


def mixed_quantities(tokens: Sequence[Written]) -> Iterator[Written]:
    """Yields quantities of two parts, in the unit of the first: "2 h 30 min"."""
    numbers = [token for token in tokens if token.kind != "word" or token.text.lower() not in ("", "and")]
    for one, other in pairwise(numbers):
        if one.kind == "number" and one.unit and (both := combined(measured_number(one), other)) and both.si:
            yield one._replace(value=both.si / one.unit.factor, end=other.end)


def _forms(token: Written, value: Measured, units: list[Unit]) -> Iterator[tuple[float, Unit | None]]:
    """Yields a number as it is calculated with: in other units of the text, in SI, as a share of a whole."""
    plain = token.value * token.scale
    own = token.unit
    if own and value.si is not None and value.has_unit:
        yield from ((one.of(plain, own), one) for one in units if one.kind == own.kind)
        # "5 cm" may be calculated with as 0.05.
        yield value.si, Unit(own.kind, 1.0, measure=f"SI {own.kind}")
    if token.scale != 1.0:
        yield plain, None
    share = value.si if value.percent and value.si is not None else plain
    if value.percent:
        yield from ((number, None) for number in (share, 1 + share, 1 - share))
    if 0 < share < 1:
        part = Fraction(share).limit_denominator(_LARGEST_PART)
        if math.isclose(part, share, rel_tol=1e-3):
            parts = (part.numerator, part.denominator, part.denominator - part.numerator)
            yield from ((float(number), None) for number in parts)


@lru_cache(256)
def _constants_of(question: str, solution: str) -> dict[float, Sequence[Unit | None]]:
    """Returns the constants that have a role in a problem with their units; the first role of a value counts."""
    found: dict[float, Sequence[Unit | None]] = {}
    for one, other in permutations(_units_in(question, solution), 2):
        if one.kind == other.kind and one.factor != other.factor and one.kind != "dimensionless":
            # How many of one unit are in another: 60 minutes in an hour, or an hour itself, 3.6 km/h in 1 m/s.
            found.setdefault(float(f"{one.factor / other.factor:.12g}"), [other.times(one, -1), other])
    text = f"{question}\n{solution}"
    for _, values, near, own in _TABLE:
        if re.search(near, text, re.IGNORECASE | re.DOTALL):
            found = {**{float(value): [unit(own) if own else None] for value in values}, **found}
    return found


@lru_cache(256)
def _units_in(question: str, solution: str) -> list[Unit]:
    """Returns the units of both texts, each once, and the parts of compound ones."""
    found: dict[str, Unit] = {}
    numbers = (token.unit for text in (question, solution) for token in tokens_of(text) if token.unit)
    words = (unit_after(text, match.end())[0] for text in (question, solution) for match in _UNIT_WORD.finditer(text))
    for own in (*numbers, *words):
        for one in (own, own and own.otherwise):
            if one and one.measure:
                for part in (one, *map(named, _NAME.findall(one.measure))):
                    found.setdefault(part.measure, part)
    return [one for one in found.values() if not one.offset]
