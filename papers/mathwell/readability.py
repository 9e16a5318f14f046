"""Readability of a text, as textstat 0.7.3 and earlier compute it: the published figures are by that definition.

Later versions ask a pronunciation dictionary, which they download, for syllables, and round nothing on the way. Both
make other numbers of the same text.
"""

import re
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from math import copysign, floor
from pathlib import Path

from pyphen import Pyphen

_SENTENCE = re.compile(r"\b[^.!?]+[.!?]*")
_PUNCTUATION = re.compile(r"[^\w\s]")
_LISTED_WORD = re.compile(r"[\w='‘’]+")
_TOKEN = re.compile(r"\d[\d.,]*\d|\w+(?:['’]\w+)?|[^\w\s]")
# A piece of text with fewer words is no sentence.
_FEWEST_WORDS = 3


def tokens(text: str) -> int:
    """Counts words, numbers and punctuation marks."""
    return len(_TOKEN.findall(text))


def _words(text: str) -> list[str]:
    return _PUNCTUATION.sub("", text).split()


def _words_per_sentence(text: str) -> float:
    sentences = sum(len(_words(piece)) >= _FEWEST_WORDS for piece in _SENTENCE.findall(text))
    return _rounded(len(_words(text)) / max(sentences, 1), 1)


@cache
def _hyphenation() -> Pyphen:
    return Pyphen(lang="en_US")


@lru_cache(8192)
def syllables(word: str) -> int:
    """Counts the parts into which a word can be hyphenated."""
    return len(_hyphenation().positions(word)) + 1


@lru_cache(256)
def flesch_kincaid(text: str) -> float:
    """Returns the American school year that can read the text; negative for very easy texts."""
    found = _words(text.lower())
    if not found:
        return 0.0
    long = _rounded(sum(map(syllables, found)) / len(found), 1)
    return _rounded(0.39 * _words_per_sentence(text) + 11.8 * long - 15.59, 1)


def dale_chall(text: str) -> float | None:
    """Returns the New Dale-Chall score, by the share of unfamiliar words; None without the list of familiar words.

    A word that is not on the list, such as a name, an inflection or a number in digits, counts once, however often it
    is said.
    """
    familiar, words = _familiar(), len(_words(text))
    if familiar is None:
        return None
    if not words:
        return 0.0
    share = 100 * len(set(_LISTED_WORD.findall(text.lower())) - familiar) / words
    score = 0.1579 * share + 0.0496 * _words_per_sentence(text)
    return _rounded(score + (3.6365 if share > 5 else 0), 2)


def _rounded(value: float, digits: int) -> float:
    """Rounds like the published figures: a half away from zero, but any fraction of a negative number down."""
    scale = 10.0**digits
    return floor(value * scale + copysign(0.5, value)) / scale


@cache
def _familiar() -> frozenset[str] | None:
    """Reads only the word list of textstat, whose functions would download a pronunciation dictionary."""
    try:
        path = distribution("textstat").locate_file("textstat/resources/en/easy_words.txt")
    except PackageNotFoundError:
        return None
    return frozenset(Path(str(path)).read_text("utf-8").split())
