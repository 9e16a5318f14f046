"""Finds what a message puts forward as its own: neither denied, taken back, quoted, asked nor calculated with."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_meanings import Value
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantities import BEFORE, CUES, WrittenQuantity, quantities_in
from soliloquy.truth.units import unit

SENTENCE = lazy_pattern(r"(?:[^.!?\n;]|[.](?=\d))+[.!?;\n]*")
_CUES = {name: lazy_pattern("|".join(cues), re.IGNORECASE) for name, cues in CUES["messages"].items()}
_DENIES = lazy_pattern("|".join(cue.removesuffix("$") for cue in CUES["messages"]["denied"]), re.IGNORECASE)
_FILLERS = "|".join(CUES["messages"]["fillers"])
_ALONE = lazy_pattern(rf"\W*(?:(?:{_FILLERS})\b\W*)*(?:[^\W\d]\w? ?= ?)?", re.IGNORECASE)
# Smaller numbers in words are more often pronouns than numbers.
_COUNTED = 12
# A text without end is read from these last ones.
_MOST = 50

ALONE, STATED, MENTIONED, REASON = 3, 2, 1, 0


class Statement(NamedTuple):
    quantity: WrittenQuantity
    # ALONE if nothing else stands there or it is called the answer, STATED as a result, MENTIONED, or in a REASON.
    force: int
    # The words around it.
    sentence: str


# A message is read for several rules, at its turn and at the end.
@lru_cache(1024)
def statements(message: str) -> Sequence[Statement] | None:
    """Returns what a message puts forward; None if it leaves the choice between two values open."""
    text = _told(message)
    reasons = [found.span() for found in _CUES["reason"].finditer(text)]
    sentences = [(found.start(), found[0]) for found in SENTENCE.finditer(text)]
    found = list[Statement]()
    for one in quantities_in(text, pronouns=True)[-_MOST:]:
        start, sentence = next((own for own in reversed(sentences) if own[0] <= one.start), (0, text))
        force = _force(text, one, start, first=not found)
        is_counted = one.spelled and one.value <= _COUNTED and one.unit is None
        if is_counted and (force < STATED or (one.word and (one.value == 1 or not _CUES["ends"].match(text, one.end)))):
            continue
        if not _is_beside(text, one):
            in_reason = force < ALONE and any(start <= one.start < end for start, end in reasons)
            found.append(Statement(one, REASON if in_reason else force, sentence))
    return None if _leaves_open(text, [one.quantity for one in found]) else found


@lru_cache(1024)
def answer_quantity(message: str, wanted: str, given: frozenset[float] = frozenset()) -> WrittenQuantity | None:
    """Returns what a message comes to, preferably in this unit, and none of the given values if there is another."""
    found = statements(message) or ()
    kind = unit(wanted).kind
    said = [one for one in found if wanted and one.quantity.unit and one.quantity.unit.kind == kind] or found
    stated = [one for one in said if one.force > MENTIONED]
    said = stated or [one for one in said if one.quantity.value not in given] or said
    return max(reversed(said), key=lambda one: one.force).quantity if said else None


def answer_in(message: str, wanted: str, given: frozenset[float] = frozenset()) -> float | None:
    """Returns the number of what a message comes to."""
    found = answer_quantity(message, wanted, given)
    return found.value if found else None


def denied_numbers(text: str) -> list[Value]:
    """Returns the numbers that a text denies: "not 5 seconds"."""
    text = without_markup(text)
    numbers = numbers_in_digits(text) if _DENIES.search(text) else ()
    return [one for one in numbers if _CUES["denied"].search(_before(text, one.start))]


def _told(message: str) -> str:
    """Blanks markup and what is taken back, quoted, repeated or asked."""
    text = _CUES["beside"].sub(_blank, without_markup(message).replace("->", " →"))
    for found in reversed([*_CUES["takes_back"].finditer(text)]):
        if re.search(r"\d", text[found.end() :]):
            text = " " * found.end() + text[found.end() :]
            break
    return SENTENCE.sub(_without_question, text)


def _without_question(sentence: re.Match[str]) -> str:
    said = sentence[0]
    asks = _CUES["asks"].search(said.rstrip(" ?!")) if said.rstrip().endswith("?") else None
    if asks is None:
        return said
    # "That's 36, why?"
    kept = said[: said.rfind(",", 0, asks.start()) + 1]
    return kept + " " * (len(said) - len(kept))


def _force(text: str, one: WrittenQuantity, sentence: int, *, first: bool) -> int:
    before = _before(text, one.start)
    if _CUES["named"].search(before):
        return ALONE
    start = 0 if first else sentence
    begins = one.start - start < 2 * BEFORE and _ALONE.fullmatch(text, start, one.start)
    if begins and (ends := _CUES["ends"].match(text, one.end)):
        # Reasons may follow the first number of a message, and nothing a later one.
        is_all = first or not ends[0].strip(" .!?\n") or ends[0][-1:] in ".!?\n"
        return ALONE if is_all else STATED
    is_stated = one.stated or _CUES["concludes"].search(before) or _CUES["concludes_behind"].match(text, one.end)
    return STATED if is_stated else MENTIONED


def _is_beside(text: str, one: WrittenQuantity) -> bool:
    """Whether a number is denied, names something, or is still to be calculated with."""
    before = _before(text, one.start)
    is_before = any(_CUES[cue].search(before) for cue in ("denied", "operand"))
    return one.term or is_before or any(_CUES[f"{cue}_behind"].match(text, one.end) for cue in ("denied", "operand"))


def _leaves_open(text: str, found: Sequence[WrittenQuantity]) -> bool:
    """Whether a message ends with a choice: "either 4 or -4", "13? 14?"."""
    if len(found) < 2:
        return False
    one, other = found[-2:]
    if one.unit and other.unit and math.isclose(one.unit.in_base(one.value), other.unit.in_base(other.value)):
        # "3 kilograms, or 3000 g"
        return False
    return _CUES["choice"].fullmatch(text, one.end, other.start) is not None


def _before(text: str, start: int) -> str:
    return text[max(0, start - 2 * BEFORE) : start]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
