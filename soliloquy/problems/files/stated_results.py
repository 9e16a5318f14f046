"""Finds the result that a step of a person's solution states in words: "this calculates to 2.94 × 10^7 Pa"."""

import re
from typing import NamedTuple

from soliloquy.runtime.beside import table_beside
from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_format import is_workable
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.quantities import quantities_in

_CUES = table_beside(__file__, "stated_results.toml")


def _any(kind: str, form: str) -> re.Pattern[str]:
    return re.compile(form.format("|".join(_CUES[kind])), re.IGNORECASE)


_HEDGE = r"(?: (?:about|approximately|roughly|around|nearly|equal to|a value of|the value|of|as))*[\s:]*$"
_EQUALS = re.compile(rf"(?:[=≈≃≅]|\bequals?\b){_HEDGE}")
_COMES_TO = _any(
    "comes_to", r"\b(?:{})(?:,?\s(?:(?![=×*])\S)*[^\W\d](?:(?![=×*])\S)*){{0,8}}\s?(?:[^\W\d]\w* ?= ?)?[\s:,]*$"
)
_CONCLUDES = _any("concludes", r"\b(?:{})\b")
_IS = re.compile(rf"\b(?:is|are|be|was|becomes){_HEDGE}", re.IGNORECASE)
_GIVEN = _any("given", r"\b(?:{})\b")
_SENTENCE = re.compile(r"(?:[^.!?\n]|[.](?=\d|[a-z]\.|,))+[.!?\n]*")
# A number of a formula is followed by a symbol or a sign.
_ENDS = re.compile(r"\s*(?:[.,;:)\]!?\\]|$)|(?:\s[-–—])?\s+[^\W\d_]{2,}\b")
_DASH = re.compile(r"\s+[-–—]\s+[^\W\d_]{2,}\b")
_SMALLER = re.compile(r"(?<=\S)\s+(?=\d)")
# "2 x 25 m^2, or 50 m^2"
_RESTATES = re.compile(r"\d[^.;=]{0,12}, or\s*$")


class Stated(NamedTuple):
    value: float
    unit: str
    # The position in the text at which it begins.
    start: int


def stated_result(text: str) -> Stated | None:
    """Returns the last number that a step is said to come to; None if it only lists or explains."""
    text = without_markup(text)
    sentences = [*_SENTENCE.finditer(text)]
    lists = lists_values(text)
    # Numbers in words count and compare more often than they state.
    ends = {number.start: number.end for number in numbers_in(text) if not number.spelled}
    for sentence in reversed(sentences):
        found = [
            one
            for one in quantities_in(text)
            if sentence.start() <= one.start < sentence.end() and one.start in ends
            if is_workable(one.value) and (not one.term or _DASH.match(text, one.end))
            if _ENDS.match(text, one.end) and _is_result(sentence[0], one.start - sentence.start(), lists=lists)
        ]
        if found:
            last = found[-1]
            # The value of "1 h 25 min" is in hours.
            unit = _SMALLER.split(text[ends[last.start] : last.end])[0].strip()
            return Stated(last.value, unit, last.start)
    return None


def lists_values(text: str) -> bool:
    """Whether a step says at its start that it lists what is known."""
    first = _SENTENCE.match(text)
    return first is not None and _GIVEN.search(first[0]) is not None


def _is_result(sentence: str, at: int, *, lists: bool) -> bool:
    before = sentence[:at]
    if _COMES_TO.search(before) or _RESTATES.search(before):
        return True
    if lists or _GIVEN.search(sentence):
        return False
    return bool(_EQUALS.search(before) or (_IS.search(before) and _CONCLUDES.search(before)))
