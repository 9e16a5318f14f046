"""Finds the quantities of a text: the places where one can begin, and what the grammar reads from there."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from soliloquy.texts.phrases import words_of
from soliloquy.truth.number_meanings import EXACT, FRACTIONS, MAGNITUDES, ONES, PARTS, TENS, WORDS_BEFORE_MINUS, Value
from soliloquy.truth.patterns import lazy_pattern
from soliloquy.truth.quantity_grammar import Quantity as Parsed
from soliloquy.truth.quantity_grammar import parse
from soliloquy.truth.unit_table import any_of

__all__ = ["EXACT", "has_number_word", "numbers_in", "numbers_in_digits", "parsed_in"]

_WORDS = {*ONES, *TENS, *PARTS, *MAGNITUDES}
_LARGE, _PART = any_of(MAGNITUDES), any_of(PARTS)
_NUMBER_WORD = lazy_pattern(rf"(?i:\b(?:{any_of(ONES)}|{any_of(TENS)}|{_PART}|an?\s(?:{_LARGE}))\b)")
# A minus subtracts behind a number, a bracket or a name, and the word before digits behind anything but these.
_STATED = "|".join(rf"(?<=\b{word}\s)" for word in WORDS_BEFORE_MINUS)
_MINUS = rf"(?i:(?:{_STATED}|(?<=[:(=]\s)|(?<=[=(:])|\A)minus\s|negative\s)"
_SIGN = rf"(?<![\d)}}\w])(?:[-−]|(?<![\d)}}\w]\s)[-−]\s|{_MINUS})"
_SIGN_IN_WORDS = r"(?i:(?<![\d)}]\s)(?:minus|negative)\s)"
_DIGIT = rf"[\d{''.join(FRACTIONS)}√π]|\.\d|\\(?:[dt]?frac\{{\d*\s?(?:\d|\\(?:pi|sqrt))|sqrt|pi\b)|sqrt\b|pi\b"
_AFTER_ARTICLE = rf"(?:{_LARGE})\b|(?:{_PART})\s(?:of|an?)\b|[a-z]+\sand\sa"
_FIRST_WORD = rf"(?i:(?:{any_of(ONES)}|{any_of(TENS)})\b|half\san?\s|an?\s(?:{_AFTER_ARTICLE}))"
# Excludes the digits of names (v2), exponents and longer numbers.
_NO_NAME = r"(?<![\w^.\u2070-\u207b])(?<![^\W\d_]-)(?<!\^[-−{(])"
_PRICE = r"[$£€]\s?(?=[-−]?[\d.])"
# A factor of a formula is no quantity: "(3/2)kT", "π r²", "2π√(l/g)".
_BRACKET_AND_SYMBOL = lazy_pattern(r"\)(?:[^\W\d_]|\s(?:[b-zB-HJ-Z]|[a-z][A-Z])(?![^\W\d_]))")
_SYMBOL_OR_BRACKET = lazy_pattern(r"\s?[×*·⋅]?\s?(?:[√(]|(?!(?<=\s)[aI]\b)[^\W\d_](?![^\W\d_²³⁴]))")
# Most texts contain none of these words: their letters need no look.
_SIGN_WORDS = {"minus", "negative", "sqrt", "pi"}
_FIRST_SIGN = rf"-−.\d\\{''.join(FRACTIONS)}√π$£€"
_IN_DIGITS = rf"{_PRICE}|{_NO_NAME}(?:{_SIGN}(?={_PRICE}|{_DIGIT})|(?={_DIGIT}))"
_SIGN_BEGINS = lazy_pattern(rf"(?=[{_FIRST_SIGN}])(?:{_IN_DIGITS})")
_SIGN_OR_WORD_BEGINS = lazy_pattern(rf"(?=[{_FIRST_SIGN}spmnSPMN])(?:{_IN_DIGITS})")
_BEGINS = lazy_pattern(rf"{_IN_DIGITS}|{_NO_NAME}\b(?:{_SIGN_IN_WORDS})?(?={_FIRST_WORD})")


def has_number_word(text: str) -> bool:
    """Whether a text contains a number word, or part of one."""
    # The regular expression is slow, and most texts contain none of the words.
    return not _WORDS.isdisjoint(words_of(text)) and _NUMBER_WORD.search(text) is not None


# Several rules parse the same text.
@lru_cache(256)
def parsed_in(text: str) -> Sequence[Parsed]:
    """Returns every quantity of a text, in order, as the grammar reads it."""
    return tuple(_parsed(text))


def _parsed(text: str) -> Iterator[Parsed]:
    without_words = _SIGN_BEGINS if _SIGN_WORDS.isdisjoint(words_of(text)) else _SIGN_OR_WORD_BEGINS
    pattern = _BEGINS if has_number_word(text) else without_words
    at = 0
    while beginning := pattern.search(text, at):
        found = parse("quantity", text, beginning.start())
        if found is None:
            at = beginning.start() + 1
            continue
        at = found.end
        if math.isfinite(found.number.value) and not _is_coefficient(text, found):
            yield found


def _is_coefficient(text: str, parsed: Parsed) -> bool:
    number = parsed.number
    if text[max(0, number.start - 1) : number.start] == "(" and _BRACKET_AND_SYMBOL.match(text, number.end):
        return True
    return number.factor != 1 and parsed.unit is None and _SYMBOL_OR_BRACKET.match(text, parsed.end) is not None


@lru_cache(256)
def numbers_in(text: str) -> Sequence[Value]:
    """Returns every number of a text, in order, including powers of ten, fractions and numbers in words."""
    return tuple(one.number for one in parsed_in(text) if not one.number.open)


def numbers_in_digits(text: str) -> Sequence[Value]:
    """Ignores numbers in words, which are more often pronouns than numbers."""
    return [one for one in numbers_in(text) if not one.spelled]
