"""Measures of what is said, from its words alone: how varied it is, and how much of another text it takes up."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

_WORD = re.compile(r"\w+")
_FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def bigram_entropy(said: Sequence[str]) -> float:
    """In bits: how varied the pairs of neighbouring words of one message are."""
    pairs = list(pairwise(said))
    if not pairs:
        return 0.0
    every = math.log2(len(pairs))
    # A pair that occurs once adds nothing to the sum, and in most messages all do.
    if len(set(pairs)) == len(pairs):
        return every
    return every - sum(count * math.log2(count) for count in Counter(pairs).values() if count > 1) / len(pairs)


def uptake(message: Sequence[str], reply: Sequence[str]) -> float | None:
    """The share of a message's words that its reply says again, function words left out; None where it has no other.

    A stand-in for the measure of that name, which is a trained model's.
    """
    said = set(message) - _FUNCTION_WORDS
    return len(said.intersection(reply)) / len(said) if said else None


def overlap_f1(text: str, knowledge: str) -> float:
    """Knowledge F1: the words of a text against those of what it is grounded in, each as often as it occurs."""
    one, other = Counter(words(text)), Counter(words(knowledge))
    common = (one & other).total()
    return 2 * common / (one.total() + other.total()) if common else 0.0
