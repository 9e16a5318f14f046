"""Parses numbers with their units."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from soliloquy.truth.exactness import is_exact, is_right
from soliloquy.truth.expressions import BadExpression, Unworkable, parse_expression
from soliloquy.truth.markup import without_markup
from soliloquy.truth.numbers import EXACT, parsed_in
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantity_grammar import Quantity as Parsed
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.units import unit, unit_behind

CUES = tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf-8"))
_VERBS, _HEDGES = "|".join(CUES["states"]), "|".join(CUES["hedges"])
STATES = lazy_pattern(rf"(?:[=≈≅~→]|\\approx|\b(?:{_VERBS}))[\s:(]*(?:(?:{_HEDGES}) )*\W{{0,3}}$", re.IGNORECASE)
LABELS = lazy_pattern(rf"(?:\b(?:{'|'.join(CUES['labels'])})|#)\s*$", re.IGNORECASE)
# How many characters before a number are searched for cues.
BEFORE = 32
_WORD = lazy_pattern(r"[\s-]*([^\W\d_]+)")
_ORDINAL = lazy_pattern(r"(?:st|nd|rd|th)\b")
# With spaces around it and a word behind it, a dash subtracts nothing.
_GOES_ON = lazy_pattern(r"\s*(?:[×*/+^·⋅=π√²³]|(?!(?<=\s)-\s+(?:I\b|no\b|[^\W\d_]{3}))[-−]\s?[\w($€£])")
_OPERATOR_BEFORE = lazy_pattern(r"(?:[-−×*/^(√·⋅]|(?<!^)(?<!=\s)\+|[-−×*/+·⋅]\s*[$€£])\s*$")
# More brackets than anyone nests would each be tried as the start.
_OPERAND = r"\({0,9}\s?\d+(?:\.\d+)?(?:[eE]-?\d+)?(?:[²³]|\s?(?:\*\*|\^)\s?\d)?\)*"
_SIGN = r"(?:(?:^|(?<=[=:(])|(?<=[=:(]\s)|(?<=[^\W\d_]\s)(?=.[\d(]))[-−])?"
_CALCULATION = lazy_pattern(rf"(?<![\w.^√]){_SIGN}{_OPERAND}(?:\s?[-+−*×·⋅/]\s?[-−]?{_OPERAND})+(?![\w.(^²³]*[\w(^²³])")
_IN_PYTHON = str.maketrans({"^": "**", "−": "-", "²": "**2", "³": "**3", "×": "*", "·": "*", "⋅": "*"})
# The kinds of units that people combine.
_COMBINED_KINDS = {unit("s").kind, unit("$").kind, unit("m").kind}
# The unit of the second part in "2 minutes 25".
_SMALLER_UNITS = {
    unit("min").measure: unit("s"),
    unit("h").measure: unit("min"),
    unit("$").measure: unit("ct"),
    unit("ft").measure: unit("inch"),
}


class WrittenQuantity(NamedTuple):
    """A number with its unit, as a text states it."""

    value: float
    half: float
    digits: int
    unit: Unit | None
    # The word after a number without a unit: "apples".
    word: str
    # Whether the text presents it as a result: "= 6", "I got 6".
    stated: bool
    # Whether it is a term of a calculation or formula.
    term: bool
    start: int
    end: int
    # Whether the number is in words: "a thousand".
    spelled: bool = False


# A message is read by its writer, by several rules, and with each message after it.
@lru_cache(4096)
def quantities_in(text: str, *, pronouns: bool = False) -> Sequence[WrittenQuantity]:
    """Returns the quantities in order; "2 min 25 s" is a single one, and "one" mostly none."""
    text = without_markup(text)
    found: list[WrittenQuantity] = []
    for one in _quantities(text, pronouns=pronouns):
        if found and (whole := _combine(found[-1], one, text[found[-1].end : one.start])):
            found[-1] = whole
        else:
            found.append(one)
    return tuple(found)


def values_in(text: str) -> frozenset[float]:
    return frozenset(one.value for one in quantities_in(text))


@lru_cache(4096)
def calculations_in(text: str) -> Sequence[WrittenQuantity]:
    """Returns the results of the bare calculations in a text, such as "0.45·4.19·18 kJ"."""
    return tuple(_calculations(without_markup(text)))


def _calculations(text: str) -> Iterator[WrittenQuantity]:
    for found in _CALCULATION.finditer(text):
        try:
            value = parse_expression(found[0].translate(_IN_PYTHON)).value({})
        except (BadExpression, Unworkable):
            continue
        known, end = unit_behind(text, found.end())
        yield WrittenQuantity(value, 0.0, EXACT, known, "", stated=True, term=False, start=found.start(), end=end)


def _combine(before: WrittenQuantity, rest: WrittenQuantity, between: str) -> WrittenQuantity | None:
    """Combines two parts of one quantity, such as hours and minutes, or dollars and cents."""
    if before.unit is None or before.unit.kind not in _COMBINED_KINDS or between.strip(" ") not in ("", "and"):
        return None
    smaller = rest.unit or (_SMALLER_UNITS.get(before.unit.measure) if not rest.word.endswith("s") else None)
    if smaller is None or smaller.kind != before.unit.kind or smaller.factor >= before.unit.factor:
        return None
    scale = smaller.factor / before.unit.factor
    if rest.value < 0 or rest.value * scale >= 1:
        return None
    value = before.value + rest.value * scale
    return before._replace(value=value, half=min(rest.half, 0.5) * scale, digits=EXACT, end=rest.end)


def _quantities(text: str, *, pronouns: bool) -> Iterator[WrittenQuantity]:
    last_end = 0
    for parsed in parsed_in(text):
        number = parsed.number
        if number.open or LABELS.search(_before(text, number.start)) or _ORDINAL.match(text, number.end):
            continue
        one = _written(text, parsed)
        last, last_end = last_end, one.end
        # "one" and similar words are more often pronouns than numbers.
        goes_on = last and not text[last : number.start].strip()
        simple = number.spelled and not goes_on and text[number.start : number.end].isalpha()
        counts = number.value != 1 and one.word.endswith("s")
        if not pronouns and simple and one.unit is None and not one.stated and not counts:
            continue
        yield one


def _written(text: str, parsed: Parsed) -> WrittenQuantity:
    """Returns what the grammar read, and what the words around it say of it."""
    number = parsed.number
    before = _before(text, number.start)
    found = None if parsed.unit else _WORD.match(text, number.end)
    return WrittenQuantity(
        value=number.value,
        half=number.half,
        digits=number.digits,
        unit=parsed.unit,
        word=found[1].lower() if found else "",
        stated=STATES.search(before) is not None,
        term=_OPERATOR_BEFORE.search(before) is not None or _GOES_ON.match(text, parsed.end) is not None,
        start=number.start,
        end=parsed.end,
        spelled=number.spelled,
    )


def _before(text: str, start: int) -> str:
    return text[max(0, start - BEFORE) : start]


def is_same(
    written: WrittenQuantity,
    value: float,
    stated_unit: str,
    tolerance: float,
    *,
    least_digits: int = 2,
    roughly: bool = False,
) -> bool:
    """Whether a quantity equals this value, within the tolerance or by rounding, in any unit of its kind.

    Counts, money and exact numbers must be exact, as `exactness` has it; `roughly` compares them as if measured.
    """
    wanted, own = unit(stated_unit), written.unit
    if own is not None:
        wanted = wanted.read_as(own.kind)
        own = own.read_as(wanted.kind)
        # A bare ratio may be written as a percentage.
        if own.kind not in ("", wanted.kind) and (wanted.kind or own.kind != "dimensionless"):
            return False
    exact = not roughly and is_exact(value, stated_unit)
    if own is None or not own.kind:
        if wanted.kind.startswith("counted ") and _names_another_thing(written.word, stated_unit.lower()):
            return False
        # Two fifths are 40 %.
        share = wanted.kind == "dimensionless" and written.digits == EXACT and abs(written.value) <= 1
        told = written.value / wanted.factor if share else written.value
        if exact:
            return is_right(told, value, stated_unit, tolerance, half=written.half)
        return _near(written, value, told, tolerance, least_digits)
    if exact:
        scale = own.factor / wanted.factor
        return is_right(written.value * scale, value, stated_unit, tolerance, half=written.half * scale)
    if _near(written, own.of(value, wanted), written.value, tolerance, least_digits):
        return True
    # A difference of temperatures has no zero point.
    if own.offset != wanted.offset:
        return _near(written, value * wanted.factor / own.factor, written.value, 0.0, 3)
    return False


def _near(written: WrittenQuantity, wanted: float, value: float, tolerance: float, least_digits: int) -> bool:
    if abs(value - wanted) <= tolerance * abs(wanted):
        return True
    half = written.half
    return written.digits >= least_digits and abs(value - wanted) <= 1.0000001 * half and half <= 0.05 * abs(wanted)


def _names_another_thing(word: str, thing: str) -> bool:
    # "32 students" is said of 32 students/class, too.
    alike = thing.rstrip("s") in word or thing.startswith(word)
    # A word that ends otherwise may be a verb: "30 remain".
    are_things = len(word) > 3 and word.endswith("s") and re.search(r"s\b", thing)
    return bool(are_things) and word != "times" and not alike
