"""The words of a question: singulars, units, and the cues for its goal and for gains and losses in the text."""

import functools
import re
from collections.abc import Mapping

from soliloquy.runtime.beside import table_beside
from soliloquy.texts.plurals import IRREGULAR_PLURALS

_TABLE, _CUES = (table_beside(__file__, name) for name in ("words.toml", "cues.toml"))
_IRREGULAR: Mapping[str, str] = _TABLE["singular"]
_ALSO: Mapping[str, str] = _TABLE["also"]
_NO_PLURALS = frozenset(_TABLE["lists"]["no_plurals"])
ENDS = frozenset(_TABLE["lists"]["ends"])
BETWEEN = frozenset(_TABLE["lists"]["between"])
SAYS_LITTLE = frozenset(_TABLE["lists"]["says_little"])
FACTORS: Mapping[str, float] = _TABLE["factors"]
IMPLIED: Mapping[str, list[float]] = _TABLE["implied"]
WORD = re.compile(r"[a-zé]+(?:['’][a-z]+)?", re.IGNORECASE)
# Pairs of convertible units, the larger first, and the factor between them.
CONVERSIONS: Mapping[tuple[str, str], float] = {
    (row["units"][0], row["units"][1]): float(row["factor"]) for row in _TABLE["conversions"]
}
UNITS = frozenset(unit for pair in CONVERSIONS for unit in pair if unit)


def _any(patterns: list[str]) -> re.Pattern[str]:
    """Compiles a pattern for texts in lower case, which takes a tenth of the time of ignoring case."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b")


ASKED = {name: _any(patterns) for name, patterns in _CUES["asked"].items()}
_TAKES_AWAY = _any(_CUES["takes_away"]["words"])
_HAPPENS = {name: _any(patterns) for name, patterns in _CUES["happens"].items()}


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


def is_plural(word: str) -> bool:
    word = word.lower()
    return word in IRREGULAR_PLURALS or word in _IRREGULAR or singular(word) != word


# The rules look up the same sentences and clauses many times.
@functools.lru_cache(1024)
def stems(text: str) -> frozenset[str]:
    """Returns the words of a text in the singular."""
    found = frozenset(singular(word) for word in WORD.findall(text))
    return found | {_ALSO[word] for word in found if word in _ALSO}


def asks_for(asked: str, name: str) -> bool:
    return ASKED[name].search(asked) is not None


def may_take_away(text: str) -> bool:
    text = text.lower()
    return _TAKES_AWAY.search(text) is not None or _HAPPENS["loss"].search(text) is not None


def happens(clause: str) -> int:
    """Returns -1 for a loss, +1 for a gain, and 0 for neither or both."""
    clause = clause.lower()
    return bool(_HAPPENS["gain"].search(clause)) - bool(_HAPPENS["loss"].search(clause))
