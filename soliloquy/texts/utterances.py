"""Measures utterances by their words: how varied they are, and how much of another text they take up."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

_WORD = re.compile(r"\w+")
FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def content_words(text: str) -> list[str]:
    """Returns the words in order without function words; a single letter may be a symbol."""
    found = (word if len(word) == 1 else word.casefold() for word in _WORD.findall(text))
    return [word for word in found if len(word) == 1 or word not in FUNCTION_WORDS]


def bigram_entropy(said: Sequence[str]) -> float:
    """Returns how varied the neighbouring word pairs of a message are, in bits."""
    pairs = list(pairwise(said))
    if not pairs:
        return 0.0
    every = math.log2(len(pairs))
    # Pairs that occur once add nothing to the sum; in most messages all do.
    if len(set(pairs)) == len(pairs):
        return every
    return every - sum(count * math.log2(count) for count in Counter(pairs).values() if count > 1) / len(pairs)


def uptake(message: Sequence[str], reply: Sequence[str]) -> float | None:
    """Returns the share of a message's content words that the reply repeats; None if it has none.

    Stands in for the measure of that name, which needs a trained model.
    """
    said = set(message) - FUNCTION_WORDS
    return len(said.intersection(reply)) / len(said) if said else None


def overlap_f1(text: str, knowledge: str) -> float:
    """Knowledge F1: compares the word counts of a text with those of its source."""
    one, other = Counter(words(text)), Counter(words(knowledge))
    common = (one & other).total()
    return 2 * common / (one.total() + other.total()) if common else 0.0
