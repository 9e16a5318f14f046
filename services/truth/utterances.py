"""Measures of what is said, from its words alone: how varied it is, and how much of another text it takes up."""

import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

_WORD = re.compile(r"\w+")
_FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def bigram_entropy(text: str) -> float:
    """In bits: how varied the pairs of neighbouring words of one message are."""
    pairs = Counter(pairwise(words(text)))
    if not (total := pairs.total()):
        return 0.0
    # A pair that occurs once adds nothing to the sum, and nearly all do.
    return math.log2(total) - sum(count * math.log2(count) for count in pairs.values() if count > 1) / total


def uptake(message: str, reply: str) -> float | None:
    """The share of a message's words that its reply says again, function words left out; None where it has no other.

    A stand-in for the measure of that name, which is a trained model's.
    """
    said = set(words(message)) - _FUNCTION_WORDS
    return len(said.intersection(words(reply))) / len(said) if said else None


def overlap_f1(text: str, knowledge: str) -> float:
    """Knowledge F1: the words of a text against those of what it is grounded in, each as often as it occurs."""
    one, other = Counter(words(text)), Counter(words(knowledge))
    common = (one & other).total()
    return 2 * common / (one.total() + other.total()) if common else 0.0
