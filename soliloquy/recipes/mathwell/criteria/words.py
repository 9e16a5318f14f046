"""The words of a question: singulars, and the tables of `words.toml`."""

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_IRREGULAR: Mapping[str, str] = _TABLE["singular"]
_ALSO: Mapping[str, str] = _TABLE["also"]
_NO_PLURALS = frozenset(_TABLE["lists"]["no_plurals"])
_PLURALS = frozenset(_TABLE["lists"]["plurals"])
ENDS = frozenset(_TABLE["lists"]["ends"])
BETWEEN = frozenset(_TABLE["lists"]["between"])
SAYS_LITTLE = frozenset(_TABLE["lists"]["says_little"])
VAGUE = re.compile(rf"\b(?:{'|'.join(_TABLE['lists']['vague'])})\b", re.IGNORECASE)
FACTORS: Mapping[str, float] = _TABLE["factors"]
IMPLIED: Mapping[str, list[float]] = _TABLE["implied"]
WORD = re.compile(r"[a-zé]+(?:['’][a-z]+)?", re.IGNORECASE)
# Pairs of convertible units, the larger first, and the factor between them.
CONVERSIONS: Mapping[tuple[str, str], float] = {
    (row["units"][0], row["units"][1]): float(row["factor"]) for row in _TABLE["conversions"]
}
UNITS = frozenset(unit for pair in CONVERSIONS for unit in pair if unit)


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
    return word in _PLURALS or word in _IRREGULAR or singular(word) != word


# The rules look up the same sentences and clauses many times.
@functools.lru_cache(1024)
def stems(text: str) -> frozenset[str]:
    """Returns the words of a text in the singular."""
    found = frozenset(singular(word) for word in WORD.findall(text))
    return found | {_ALSO[word] for word in found if word in _ALSO}


def convertible(one: str, other: str) -> float | None:
    """Returns the factor between two units; None if they measure different things."""
    return CONVERSIONS.get((one, other)) or CONVERSIONS.get((other, one))
