"""Finds phrases and formulas in a text, whatever their spacing and multiplication signs."""

import functools
import re
from difflib import SequenceMatcher

# Texts up to this many characters are compared by letters too: a single word changes much of them.
SHORT = 50
_WORD = re.compile(r"\w+")
_BETWEEN = " \t\n*×·"
_WITHOUT_BETWEEN = str.maketrans("", "", _BETWEEN)
# A formula with a term before or after it is a different one: 1 / R = .., F = m * a / 2.
_BEGUN = re.compile(r"(?<!\w)(?<![-+−/^*×·])(?<![-+−/^*×·] )")
_ENDED = re.compile(r"(?!\w|\s*[-+−/^*×·]\s*(?:\d|\w\b|\w_|\())")


def says(text: str, phrase: str) -> bool:
    """Whether a text contains a phrase or formula."""
    return _place(text.replace("**", "^"), phrase) is not None


def says_exactly(text: str, formula: str) -> bool:
    """Like `says`, but case-sensitive: t and T may be two quantities."""
    text = text.replace("**", "^")
    place = _place(text, formula)
    said = text[place[0] : place[1]] if place else ""
    return bool(said) and said.translate(_WITHOUT_BETWEEN) == _plain(formula).translate(_WITHOUT_BETWEEN)


def without(text: str, phrase: str) -> str:
    text = text.replace("**", "^")
    place = _place(text, phrase)
    return f"{text[: place[0]]} {text[place[1] :]}" if place else text


def shared_words(one: str, other: str) -> float:
    """Returns the share of all words of two texts that both contain."""
    words, others = words_of(one), words_of(other)
    return len(words & others) / max(len(words | others), 1)


def is_much_like(one: str, other: str, share: float) -> bool:
    """Whether two texts share this much of their words or, if they are short, of their letters."""
    fewer, more = sorted((len(words_of(one)), len(words_of(other))))
    if fewer < more * share / 2:
        # The shorter text cannot share enough words.
        return False
    shared = shared_words(one, other)
    few = max(len(one), len(other)) <= SHORT and shared >= share / 2
    return shared >= share or (few and SequenceMatcher(None, one, other).ratio() >= share)


@functools.lru_cache(1024)
def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _place(text: str, phrase: str) -> tuple[int, int] | None:
    """Returns where a text contains a phrase, ignoring spaces and multiplication signs in both."""
    tight, wanted = _tight(text), _tight(_plain(phrase))
    at = tight.find(wanted) if wanted else -1
    kept = [position for position, mark in enumerate(text) if mark not in _BETWEEN] if at >= 0 else []
    while at >= 0:
        start, end = kept[at], kept[at + len(wanted) - 1] + 1
        if _BEGUN.match(text, start) and _ENDED.match(text, end):
            return start, end
        at = tight.find(wanted, at + 1)
    return None


def _plain(phrase: str) -> str:
    return phrase.replace("**", "^").rstrip(".")


def _tight(text: str) -> str:
    """Removes spaces and multiplication signs; every other character remains one character."""
    tight = text.translate(_WITHOUT_BETWEEN)
    return tight.lower() if tight.isascii() else "".join(mark.lower()[:1] for mark in tight)
