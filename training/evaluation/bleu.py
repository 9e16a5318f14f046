"""Computes corpus BLEU.

Tokenization, clipping, brevity penalty and smoothing are those of sacrebleu's defaults `13a` and `exp` with one
reference, so the figures can be compared with published ones.
"""

import math
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
    """Returns a score from 0 to 100; None if there is no text."""
    matched, possible = [0] * _ORDERS, [0] * _ORDERS
    length = of_references = 0
    for text, reference in zip(texts, references, strict=True):
        words, wanted = tokens(text), tokens(reference)
        length += len(words)
        of_references += len(wanted)
        for order in range(1, _ORDERS + 1):
            found, sought = _runs(words, order), _runs(wanted, order)
            matched[order - 1] += (found & sought).total()
            possible[order - 1] += found.total()
    if not texts:
        return None
    if not matched[0]:
        return 0.0
    logs = [math.log(precision) for precision in _precisions(matched, possible)]
    brevity = min(0.0, 1 - of_references / length)
    return 100 * math.exp(brevity + sum(logs) / _ORDERS) if len(logs) == _ORDERS else 0.0


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
