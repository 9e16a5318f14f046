"""Finds the answer that a student's message states, among the numbers on the way to it and beside it."""

import math
import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from soliloquy.truth.local_numbers import standard
from soliloquy.truth.markup import without_markup
from soliloquy.truth.number_meanings import ONES
from soliloquy.truth.numbers import Number, numbers_in, numbers_in_digits
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantities import BEFORE, STATES, WrittenQuantity, quantities_in, written_quantity
from soliloquy.truth.tentative_answers import FILLERS, is_tentative
from soliloquy.truth.units import unit_behind

_CUES = tomllib.loads(Path(__file__).with_name("stated_answer.toml").read_text("utf-8"))


def _any(kind: str, form: str) -> re.Pattern[str]:
    return lazy_pattern(form.format("|".join(_CUES[kind])), re.IGNORECASE)


_DENIED = _any("denied", r"(?:{})[\s:$€£\"'“(]*$")
_DENIED_BEHIND = _any("denied_behind", r"\W*(?:{})")
_LABELLED = _any("labels", r"\b(?:{})\s*#?$")
_ORDINAL = lazy_pattern(r"(?:st|nd|rd|th)\b")
_CORRECTION = _any("corrections", r"\b(?:{})\b")
_REASON = _any(
    "reasons",
    r"\b(?:{})\b(?:\((?:[^()]|\([^()]*\))*\)|(?!,\s|[.!?;]\s|\n|\bto get\b|\bwhich\b|\band got\b|=).)*",
)
# What is repeated goes on to the end of the sentence, or to a conclusion.
_RECALLED = _any(
    "recalled", r"\b(?:{})(?:(?!\b(?:so|therefore|thus|hence|but I|(?:we|I) (?:get|got))\b)(?:[^.!?\n]|[.](?=\d)))*"
)
_ALONE = _any("alone", rf"\W*(?:(?:{FILLERS}|{{}})\b\W*)*(?:[^\W\d]\w? ?= ?)?")
_CONCLUDES = _any("concludes", r"\b(?:{})\b[^\d.!?;]*$")
_CONCLUDES_BEHIND = _any("concludes_behind", r"[^,;.\d]{{0,25}}\b(?:{})\b")
_NAMED = _any("named", r"\b(?:{})\W*$")
_GOES_ON = _any("goes_on", r"\b(?:{})\b[\s\S]*\d")
# One of several known values: "a = 3, b = 4".
_ASSIGNS = lazy_pattern(r"[^,;=]{0,12}[,;]\s*(?:and )?[^\W\d]\w? ?=")
# What others say, what is struck out, the bounds of an error, what is restated, and remarks in brackets.
_BESIDE = lazy_pattern(
    r"[\"“„][^\"”“]{20,}[\"”“]|~~[^~]*~~|(?:±|\+/-)\s*\d+(?:[.,]\d+)?|\s\(\s?=[^()]*\)|^\s*>[^\n]*\n"
    r"|(?<=[\w%°€$]) \([^()=]*(?:[^\W\d_]{2}|\d of \d)[^()=]*\)",
    re.MULTILINE,
)
_SENTENCE = lazy_pattern(r"(?:[^.!?\n;]|[.](?=\d))+[.!?;\n]*")
# A rounded number is no other choice.
_CHOICE = lazy_pattern(r"\W*(?:[^\W\d]+\W+)?or(?: (?!about|approx|around|nearly|roughly|rounded)[^\W\d]+)?\W*")
# What is still to be worked out: terms of a calculation, of a formula in letters, and what has a power.
_OPERAND_BEHIND = lazy_pattern(
    r"(?:\s*(?:[×*·x+÷]|\btimes\b|\bplus\b)\s*|\s[-−/]\s)[-−]?[(\d√]|\s?(?:\*\*|[\^²³√])|\s?[×*·÷]\s?[^\W\d_]|\s/\s[^\W\d_]"
    r"|\s[-−+]\s(?!I\b)[^\W\d_](?:\w*[_\d]\w*)?(?!\w)",
    re.IGNORECASE,
)
_OPERAND_BEFORE = lazy_pattern(
    r"(?:[\d)]\s*(?:[×*·x+÷]|\btimes\b|\bplus\b)|[\d)]\s[-−/]|[^\W\d_]\s?[×*·÷/+]|\)\s?/|[\^√]|_\{|\*\*)\s*\(?\s*$",
    re.IGNORECASE,
)
# The size of a group: "20 groups of 10", "27 of the 135 apples".
_GROUP_BEFORE = _any(
    "groups",
    r"(?:\d\s+[^\W\d_]+|\b(?:{}))\s+of\s+$|(?<![\d.,/%])\d+\s+of\s+(?:(?:the|these|those|all)\s+)?$"
    rf"|\b(?:{'|'.join(ONES)})\s+of\s+(?:the|these|those|all)\s+$",
)
_INSTRUCTS = lazy_pattern(
    r"\W*(?:you |to |I['’]d |I would |we )?(?:add|subtract|divide|multiply|take|use|write)\b", re.IGNORECASE
)
# A calculation goes on, and its last equals sign.
_WORKED_OUT = lazy_pattern(r"[ \w]{0,25}[-+−×*·÷/](?:[^.!?;,\n=]|[.,](?=\d))*(?:=(?:[^.!?;,\n=]|[.,](?=\d))*)*=\W{0,3}")
_DIVISION = lazy_pattern(r"(?<![\d,.])(\d(?:[\d,.]*\d)?)\s*(?:/|÷|divided by)\s*\d(?:[\d,.]*\d)?\s*=\W{0,3}")
_MULTIPLIED = lazy_pattern(r"(?:[×*x·⋅]|\btimes)\s*\W?[\d.,]+[^=\d]{0,16}=\W{0,3}$", re.IGNORECASE)
_ENDS = lazy_pattern(
    r"\s*(?:[.!?;,\n](?!\d)|$|→|[-–—(:]\s*(?=[^\W\d])|(?:because|since|cause|cuz|bc|as|for (?:there|it))\b)",
    re.IGNORECASE,
)
_OF_THEM = lazy_pattern(r"\s+of (?:the|them|these|those)\b")
_WORD = lazy_pattern(r"\s*[^\W\d_]+")
# Smaller numbers in words are answers only where nothing else may be.
_COUNTED = 12


# A message is read for several rules, at its turn and at the end.
@lru_cache(1024)
def answer_in(message: str, unit: str, given: frozenset[float] = frozenset()) -> float | None:
    """Returns the number that a message comes to, preferably in this unit, which is compared as text.

    Where nothing else tells them apart, it is none of the values that the question gives.
    """
    chosen = _chosen(_told(message, unit), unit, given)
    return chosen.value if chosen else None


def answer_quantity(message: str, unit: str) -> WrittenQuantity | None:
    """Returns what a message comes to as a quantity with its unit, preferably in the given unit."""
    text = _told(message, unit)
    chosen = _chosen(text, unit, frozenset())
    if chosen is None:
        return None
    # "2 min 25 s" is one quantity.
    whole = next((one for one in quantities_in(text) if one.start <= chosen.start < one.end), None)
    return whole or written_quantity(text, chosen)


def _told(message: str, unit: str) -> str:
    """Blanks markup and what is taken back, quoted, recalled or asked; numbers get the form of English mathematics."""
    text = _without_corrected(_RECALLED.sub(_blank, _BESIDE.sub(_blank, standard(without_markup(message), unit))))
    return _SENTENCE.sub(lambda found: found[0] if _may_state(found[0]) else _blank(found), text)


def _chosen(text: str, unit: str, given: frozenset[float]) -> Number | None:
    numbers = [one for one in _numbers(text) if not _is_beside(text, one)]
    # An exact form is stated again in digits: "25π cm², so 78.5 cm²".
    numbers = [one for place, one in enumerate(numbers) if one.factor == 1 or place == len(numbers) - 1]
    if len(numbers) > 1 and _leaves_open(text, numbers):
        return None
    if numbers and _stands_alone(text, numbers[0]):
        return numbers[0]
    if numbers and _is_all_of_last_sentence(text, numbers[-1]):
        return numbers[-1]
    if worked_out := _named_result(text, numbers):
        return worked_out
    reasons = [found.span() for found in _REASON.finditer(text)]
    numbers = [one for one in numbers if not any(start <= one.start < end for start, end in reasons)] or numbers
    stated = _stated(text, numbers, _NAMED) or _stated(text, numbers, STATES)
    chosen = stated or numbers
    chosen = [one for one in chosen if unit and _is_in_unit(text[one.end :].lstrip(), unit)] or chosen
    if not stated:
        # "She saves 40 dollars in 4 weeks."
        chosen = [one for one in chosen if one.value not in given] or chosen
    return (_checked_quotient(text, chosen[-1]) or chosen[-1]) if chosen else None


def _checked_quotient(text: str, product: Number) -> Number | None:
    """Returns the quotient that a product only checks: "60 / 5 = 12 of each kind, which is 12 x 5 = 60"."""
    if not _MULTIPLIED.search(_before(text, product)):
        return None
    for division in _DIVISION.finditer(text, 0, product.start):
        dividend = numbers_in_digits(division[1])
        quotient = next((one for one in numbers_in_digits(text) if one.start >= division.end()), product)
        if dividend and dividend[0].value == product.value and quotient.start < product.start:
            return quotient
    return None


def _named_result(text: str, numbers: Sequence[Number]) -> Number | None:
    """Returns the result of the last calculation that a text names as its answer: "the answer is 17 - 6 = 11 cups"."""
    named = _stated(text, numbers, _NAMED)
    worked_out = named and _WORKED_OUT.match(text, named[-1].end)
    return next((one for one in numbers if worked_out and one.start >= worked_out.end()), None)


def denied_numbers(text: str) -> list[Number]:
    """Returns the numbers that a text denies: "not 5 seconds"."""
    text = without_markup(text)
    return [one for one in numbers_in_digits(text) if _DENIED.search(_before(text, one))]


def _numbers(text: str) -> list[Number]:
    """Returns the numbers in digits, and those in words that a message may come to."""
    return [one for one in numbers_in(text) if not one.spelled or _is_spelled_out(text, one)]


def _is_spelled_out(text: str, number: Number) -> bool:
    if number.value > _COUNTED or number.value != int(number.value):
        return True
    before = re.split(r"[.!?;,\n]", text[: number.start])[-1]
    behind = text[number.end :]
    begins = _ALONE.fullmatch(before) is not None or STATES.search(before) or _CONCLUDES.search(before)
    ends = _ENDS.match(behind) or _OF_THEM.match(behind) or unit_behind(text, number.end)[0] is not None
    word = _WORD.match(behind)
    return bool(begins and (ends or (number.value > 1 and word and _ENDS.match(behind, word.end()))))


def _may_state(sentence: str) -> bool:
    """Whether a sentence may state an answer: it asks for nothing else, and is no instruction."""
    if not sentence.rstrip().endswith("?"):
        return not _INSTRUCTS.match(sentence) or "=" in sentence
    numbers = _numbers(sentence)
    return not numbers or is_tentative(sentence, numbers)


def _is_beside(text: str, number: Number) -> bool:
    """Whether a number is denied, names something, or is still to be calculated with."""
    before = _before(text, number)
    if _DENIED.search(before) or _LABELLED.search(before) or _ORDINAL.match(text, number.end):
        return True
    if _DENIED_BEHIND.match(text, number.end):
        return True
    if _OPERAND_BEHIND.match(text, number.end) or _OPERAND_BEFORE.search(before):
        return True
    return _GROUP_BEFORE.search(before) is not None


def _leaves_open(text: str, numbers: Sequence[Number]) -> bool:
    """Whether a message ends with a choice: "either 4 or -4", "13? 14?"."""
    one, other = numbers[-2:]
    if _is_said_again(written_quantity(text, one), written_quantity(text, other)):
        return False
    between = text[one.end : other.start]
    asked = between.strip() == "?" and text[other.end :].lstrip()[:1] == "?"
    is_range = re.search(r"\bbetween\W+$", text[: one.start], re.IGNORECASE) and re.fullmatch(
        r"\W*\w{0,3}\W*and\W*", between
    )
    return asked or bool(is_range) or _CHOICE.fullmatch(between) is not None


def _is_said_again(one: WrittenQuantity, other: WrittenQuantity) -> bool:
    """Whether a quantity is stated in two units: "3 kilograms, or 3000 g"."""
    if one.unit is None or other.unit is None or one.unit.kind != other.unit.kind:
        return False
    return math.isclose(one.unit.in_base(one.value), other.unit.in_base(other.value))


def _stated(text: str, numbers: Sequence[Number], choice: re.Pattern[str]) -> list[Number]:
    return [one for one in numbers if _is_stated(text, one, choice)]


def _is_stated(text: str, number: Number, choice: re.Pattern[str]) -> bool:
    before = _before(text, number)
    if choice.search(before):
        return True
    concludes = _CONCLUDES.search(before) or _CONCLUDES_BEHIND.match(text, number.end)
    return choice is STATES and concludes is not None


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
    begins = _ALONE.fullmatch(text, 0, number.start) is not None
    if not begins or _GOES_ON.search(text, number.end) or _ASSIGNS.match(text, number.end):
        return False
    end = unit_behind(text, number.end)[1]
    if _ENDS.match(text, end):
        return True
    word = _WORD.match(text, end)
    return word is not None and _ENDS.match(text, word.end()) is not None


def _is_all_of_last_sentence(text: str, number: Number) -> bool:
    """Whether nothing but this number stands at the end: "20 % of 60 is 12. 48!"."""
    last = [found for found in _SENTENCE.finditer(text) if found[0].strip()][-1]
    if number.start < last.start() or not _ALONE.fullmatch(text, last.start(), number.start):
        return False
    return not re.search(r"\w", text[unit_behind(text, number.end)[1] : last.end()])


def _is_in_unit(following: str, unit: str) -> bool:
    behind = following[len(unit) : len(unit) + 1]
    return following.startswith(unit) and not (behind.isalnum() or behind in tuple("/^·*"))
