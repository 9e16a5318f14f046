"""Whether a text says a phrase or a formula, however it spaces it and writes its products."""

import functools
import re
from difflib import SequenceMatcher

# Characters up to which one word more or less is much.
SHORT = 50
_WORD = re.compile(r"\w+")
_BETWEEN = " \t\n*×·"
_WITHOUT_BETWEEN = str.maketrans("", "", _BETWEEN)
# With more before it or behind it a formula is another one: 1 / R = .., F = m * a / 2.
_BEGUN = re.compile(r"(?<!\w)(?<![-+−/^*×·])(?<![-+−/^*×·] )")
_ENDED = re.compile(r"(?!\w|\s*[-+−/^*×·]\s*(?:\d|\w\b|\w_|\())")


def says(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase or formula, however it spaces it and writes its products."""
    return _place(text.replace("**", "^"), phrase) is not None


def says_exactly(text: str, formula: str) -> bool:
    """The same, with capitals as they are: t and T may be two quantities."""
    text = text.replace("**", "^")
    place = _place(text, formula)
    said = text[place[0] : place[1]] if place else ""
    return bool(said) and said.translate(_WITHOUT_BETWEEN) == _plain(formula).translate(_WITHOUT_BETWEEN)


def without(text: str, phrase: str) -> str:
    text = text.replace("**", "^")
    place = _place(text, phrase)
    return f"{text[: place[0]]} {text[place[1] :]}" if place else text


def shared_words(one: str, other: str) -> float:
    """Of all the words of two texts, the share that both have."""
    words, others = words_of(one), words_of(other)
    return len(words & others) / max(len(words | others), 1)


def is_much_like(one: str, other: str, share: float) -> bool:
    """Whether two texts share so much: of their words or, where there are few, of their letters."""
    fewer, more = sorted((len(words_of(one)), len(words_of(other))))
    if fewer < more * share / 2:
        # However many of them are shared, it is not enough.
        return False
    shared = shared_words(one, other)
    few = max(len(one), len(other)) <= SHORT and shared >= share / 2
    return shared >= share or (few and SequenceMatcher(None, one, other).ratio() >= share)


@functools.lru_cache(1024)
def words_of(text: str) -> frozenset[str]:
    """Its different words, in whatever case."""
    return frozenset(_WORD.findall(text.casefold()))


def _place(text: str, phrase: str) -> tuple[int, int] | None:
    """Where a text holds a phrase, leaving aside spaces and signs of multiplication in both."""
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
    """The text without spaces and signs of multiplication, one character for each that is kept."""
    tight = text.translate(_WITHOUT_BETWEEN)
    return tight.lower() if tight.isascii() else "".join(mark.lower()[:1] for mark in tight)
