"""Finds the result that a step of a person's solution states in words: "this calculates to 2.94 × 10^7 Pa"."""

import re
from contextlib import suppress
from typing import NamedTuple

from soliloquy.runtime.files import table_beside
from soliloquy.texts.plurals import is_plural
from soliloquy.truth.markup import without_markup
from soliloquy.truth.measured_values import combined, measured_number
from soliloquy.truth.number_format import is_workable
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.units import unit
from soliloquy.truth.written_arithmetic import Written, tokens_of

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


_SIGNS = ("", "%", "$", "€", "£")


def stated_answer(text: str) -> tuple[float, str] | None:
    """Returns the number and the unit of "72", "€5", "1 1/2 m", "2 h 30 min" or "22 apples"; None for any other text.

    "nan" and "inf" are read as such: tables have them where a number is missing.
    """
    with suppress(ValueError):
        return float(text), ""
    sign, tokens = _signed([*tokens_of(text.strip().rstrip("."))])
    things = ""
    if len(tokens) > 1 and tokens[-1].kind == "word":
        *tokens, last = tokens
        things = last.text
    match tokens:
        case [Written(kind="number") as number]:
            value = number.value * number.scale
        case [
            Written(kind="number", unit=None) as top,
            Written(kind="operator", text="/"),
            Written(kind="number") as number,
        ] if number.value:
            value = top.value / number.value
        case [Written(kind="number") as larger, Written(kind="number") as number] if both := combined(
            measured_number(larger), number
        ):
            value = both.number
        case _:
            return None
    own = _unit(number, things)
    return None if own is None else (sign * value, own)


def stated_number(text: str) -> tuple[float, str] | None:
    """Returns the number of a text that has no unit in words, and its sign: "72", "1,200", "$5", "40%" or "1/2"."""
    stated = stated_answer(text)
    return stated if stated and stated[1] in _SIGNS else None


def _signed(tokens: list[Written]) -> tuple[float, list[Written]]:
    first = tokens[0].text if tokens and tokens[0].kind == "operator" else ""
    return (-1.0 if first == "-" else 1.0), tokens[1:] if first in ("-", "+") else tokens


def _unit(number: Written, things: str) -> str | None:
    """Returns the unit of a number, or what it counts; None if the words behind it are neither."""
    if things:
        is_counted = is_plural(things) or unit(things).measure
        return things if is_counted and number.unit is None else None
    # The minutes of a clock are written without a unit.
    return number.unit_text if bool(unit(number.unit_text).measure) == bool(number.unit) else None
