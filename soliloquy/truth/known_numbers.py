"""The numbers that a solution may use: those of its question, and those that it has worked out."""

import re
from collections.abc import Iterable
from dataclasses import replace

from soliloquy.truth.arithmetic_policy import KNOWN
from soliloquy.truth.arithmetic_terms import measured_number
from soliloquy.truth.measured_values import Measured, agree, stated_value
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.written_arithmetic import tokens_of
from soliloquy.truth.written_numbers import Written

_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")


class KnownNumbers:
    """The numbers that a solution may use."""

    def __init__(self, question: str) -> None:
        self.values: dict[tuple[float, str], Measured] = {}
        for token in tokens_of(question):
            if token.kind == "number":
                self.learn(token)
        self.learn_all(number.value for number in numbers_in(question))
        self.learn_all(float(digits.replace(",", "")) for digits in _DIGITS.findall(question))

    def learn(self, token: Written) -> None:
        value = measured_number(token)
        self._add(value)
        self.learn_all([token.value * token.scale])
        if value.si is not None and value.has_unit:
            # "5 cm" may be calculated with as 0.05.
            self.learn_all([value.si])
        if value.percent and value.si is not None:
            share = value.si
            self.learn_all([share, 1 + share, 1 - share, 100 + value.number, 100 - value.number])

    def learn_all(self, numbers: Iterable[float]) -> None:
        for number in numbers:
            self._add(stated_value(number))

    def _add(self, value: Measured) -> None:
        self.values[value.number, value.measure] = value

    def has(self, value: Measured) -> bool:
        # 235.5 may be used as 236, and not as 230 or 240.
        value = replace(value, coarse=value.place)
        known = self.values.values()
        return any(agree(one, value, about=False) or abs(one.number) == abs(value.number) for one in known)

    def may_use(self, value: Measured) -> bool:
        return abs(value.number) in KNOWN.counts | KNOWN.sizes or self.has(value)
