"""Computes BLEU.

Tokenization, clipping, brevity penalty and smoothing are those of sacrebleu's defaults `13a` and `exp`, so the figures
can be compared with published ones.
"""

import functools
import math
import operator
import re
from collections import Counter
from collections.abc import Iterable, Sequence

_ORDERS = 4
# Keeps apostrophes, and full stops, commas and hyphens that no other rule splits.
_PARTED = re.compile(r"([!-&(-+/:-@\[-`{-~])")
_BEHIND = re.compile(r"([^0-9])([.,])")
_BEFORE = re.compile(r"([.,])([^0-9])")
_AFTER_DIGIT = re.compile(r"([0-9])(-)")
_ENTITIES = {"<skipped>": "", "-\n": "", "\n": " ", "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}


def bleu(texts: Sequence[str], references: Sequence[str]) -> float | None:
    """Returns a score of all texts from 0 to 100; None if there is no text."""
    pairs = [(tokens(text), [tokens(reference)]) for text, reference in zip(texts, references, strict=True)]
    return _score(pairs, _ORDERS) if pairs else None


def sentence_bleu(text: str, references: Sequence[str]) -> float:
    """Returns the score of one text against several references; a short text is scored by the runs that it has."""
    words = tokens(text)
    return _score([(words, [*map(tokens, references)])], min(_ORDERS, len(words)))


def _score(pairs: Iterable[tuple[list[str], list[list[str]]]], orders: int) -> float:
    matched, possible = [0] * _ORDERS, [0] * _ORDERS
    length = of_references = 0
    for words, references in pairs:
        length += len(words)
        # The nearest length; the shorter of two.
        of_references += min(map(len, references), key=lambda each: (abs(each - len(words)), each))
        for order in range(1, _ORDERS + 1):
            found = _runs(words, order)
            sought = functools.reduce(operator.or_, (_runs(wanted, order) for wanted in references))
            matched[order - 1] += (found & sought).total()
            possible[order - 1] += found.total()
    if not matched[0]:
        return 0.0
    logs = [math.log(precision) for precision in _precisions(matched, possible)]
    brevity = min(0.0, 1 - of_references / length)
    return 100 * math.exp(brevity + sum(logs) / orders) if len(logs) == orders else 0.0


def tokens(text: str) -> list[str]:
    for entity, plain in _ENTITIES.items():
        text = text.replace(entity, plain)
    parted = _PARTED.sub(r" \1 ", f" {text} ")
    return _AFTER_DIGIT.sub(r"\1 \2 ", _BEFORE.sub(r" \1 \2", _BEHIND.sub(r"\1 \2 ", parted))).split()


def _precisions(matched: Sequence[int], possible: Sequence[int]) -> Iterable[float]:
    """Yields the precision of each order; one without a match gets half of the order before it."""
    share = 1.0
    for found, of in zip(matched, possible, strict=True):
        if not of:
            return
        share /= 1 if found else 2
        yield (found or share) / of


def _runs(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))
