"""The words of a question: sentences, singulars, counted things, and the numbers that words bring with them."""

import functools
import re
from collections.abc import Mapping, Sequence

from soliloquy.runtime.files import table_beside
from soliloquy.texts.plurals import IRREGULAR_PLURALS

_TABLE = table_beside(__file__, "words.toml")
_IRREGULAR: Mapping[str, str] = _TABLE["singular"]
_ALSO: Mapping[str, str] = _TABLE["also"]
_NO_PLURALS, _ENDS = (frozenset(_TABLE["lists"][name]) for name in ("no_plurals", "ends"))
IMPLIED: Mapping[str, list[float]] = _TABLE["implied"]
WORD = re.compile(r"[a-zé]+(?:['’][a-z]+)?", re.IGNORECASE)
_PIECE = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[^\s\w]")
# Not behind "Mr." and not inside a number.
_SENTENCE_ENDS = re.compile(r"(?<=[.?!])(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?:[\"'”])?\s+")
# The units of a conversion, the larger first, and the factor between them.
CONVERSIONS: Mapping[tuple[str, str], float] = {
    (row["units"][0], row["units"][1]): float(row["factor"]) for row in _TABLE["conversions"]
}
UNITS = frozenset(unit for pair in CONVERSIONS for unit in pair if unit)
# The words behind a number among which its thing is looked for.
_NEAR = 3


def sentences_of(text: str) -> Sequence[str]:
    return _SENTENCE_ENDS.split(text.strip())


@functools.lru_cache(8192)
def singular(word: str) -> str:
    word = word.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _NO_PLURALS or word.endswith("ss") or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes", "oes")):
        return word[:-2]
    return word[:-1]


# The rules look up the same sentences many times.
@functools.lru_cache(1024)
def stems(text: str) -> frozenset[str]:
    """Returns the words of a text in the singular."""
    found = frozenset(singular(word) for word in WORD.findall(text))
    return found | {_ALSO[word] for word in found if word in _ALSO}


def counted_thing(behind: str) -> str:
    """Returns the thing that the words behind a number name: the first plural, else the first word."""
    words: list[str] = []
    for word in map(str.lower, _PIECE.findall(behind.lstrip("-"))[:_NEAR]):
        if word in _ENDS or not word[0].isalpha():
            break
        if word in IRREGULAR_PLURALS or singular(word) != word:
            return singular(word)
        words.append(word)
    return words[0] if words else ""
