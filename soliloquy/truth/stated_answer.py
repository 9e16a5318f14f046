"""Finds the answer that a student's message states, among the numbers on the way to it and beside it."""

import re
import tomllib
from pathlib import Path

from soliloquy.truth.numbers import Number, numbers_in_digits
from soliloquy.truth.quantities import BEFORE, STATES
from soliloquy.truth.units import unit_after

_CUES = tomllib.loads(Path(__file__).with_name("stated_answer.toml").read_text("utf-8"))


def _any(kind: str, form: str) -> re.Pattern[str]:
    return re.compile(form.format("|".join(_CUES[kind])), re.IGNORECASE)


_DENIED = _any("denied", r"(?:{})[\s:$€£\"'“(]*$")
_CORRECTION = _any("corrections", r"\b(?:{})\b")
_REASON = _any("reasons", r"\b(?:{})\b(?:(?!,\s|[.!?;]\s|\n|\bto get\b|\bwhich\b|\band got\b|=).)*")
_QUESTION = _any(
    "asking", r"(?:^|(?<=[.!?;\n]))\W*(?:(?:so|but|and|ok|okay|well|hmm?|oh|um)\b\W*)?(?:{})\b(?:[^.!?\n]|\.\d)*\?"
)
_ALONE = _any("alone", r"\W*(?:(?:{})\b\W*)*")
_GOES_ON = _any("goes_on", r"\b(?:{})\b")
# What others say, what is struck out, the bounds of an error, and remarks in brackets behind a number.
_BESIDE = re.compile(
    r"[\"“„][^\"”“]{20,}[\"”“]|~~[^~]*~~|(?:±|\+/-)\s*\d+(?:[.,]\d+)?"
    r"|(?<=[\w%°€$]) \([^()=]*(?:[^\W\d_]{2}|\d of \d)[^()=]*\)"
)
_ENDS = re.compile(
    r"\s*(?:[.!;,\n](?!\d)|$|[-–—(:]\s*(?=[^\W\d])|(?:because|since|cause|cuz|bc|as|for)\b)", re.IGNORECASE
)
_WORD = re.compile(r"\s*[^\W\d_]+")


def answer_in(message: str, unit: str) -> float | None:
    """Returns the number that a message comes to, preferably in the given unit, which is compared as text."""
    text = _QUESTION.sub(_blank, _BESIDE.sub(_blank, message))
    text = _without_corrected(text)
    numbers = [one for one in numbers_in_digits(text) if not _DENIED.search(_before(text, one))]
    if numbers and _stands_alone(text, numbers[0]):
        return numbers[0].value
    reasons = [found.span() for found in _REASON.finditer(text)]
    numbers = [one for one in numbers if not any(start <= one.start < end for start, end in reasons)] or numbers
    stated = [one for one in numbers if STATES.search(_before(text, one))] or numbers
    in_unit = [one for one in stated if unit and _is_in_unit(text[one.end :].lstrip(), unit)]
    chosen = in_unit or stated
    return chosen[-1].value if chosen else None


def denied_numbers(text: str) -> list[Number]:
    """Returns the numbers that a text denies: "not 5 seconds"."""
    return [one for one in numbers_in_digits(text) if _DENIED.search(_before(text, one))]


def _before(text: str, number: Number) -> str:
    return text[max(0, number.start - BEFORE) : number.start]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _without_corrected(text: str) -> str:
    """Blanks what is taken back."""
    numbers = [*numbers_in_digits(text)]
    for found in reversed([*_CORRECTION.finditer(text)]):
        if any(one.start >= found.end() for one in numbers):
            return " " * found.end() + text[found.end() :]
    return text


def _stands_alone(text: str, number: Number) -> bool:
    """Whether a message begins with this number, and reasons follow: "19! I divided 57 by 3."."""
    if not _ALONE.fullmatch(text, 0, number.start) or _GOES_ON.search(text, number.end):
        return False
    end = unit_after(text, number.end)[1]
    if _ENDS.match(text, end):
        return True
    word = _WORD.match(text, end)
    return word is not None and _ENDS.match(text, word.end()) is not None


def _is_in_unit(following: str, unit: str) -> bool:
    behind = following[len(unit) : len(unit) + 1]
    return following.startswith(unit) and not (behind.isalnum() or behind in tuple("/^·*"))
