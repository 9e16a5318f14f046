"""Makes verbs agree with the name of a quantity that is put into a wording: "the tickets are right"."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from soliloquy.runtime.files import table_beside
from soliloquy.texts.plurals import IRREGULAR_PLURALS

_TABLE: Mapping[str, Any] = table_beside(__file__, "agreement.toml")
_PLURAL: Mapping[str, str] = _TABLE["verbs"]
_VERBS = "|".join(map(re.escape, _PLURAL))
_BEFORE = re.compile(r"\b(?:of|with|for|about|to|at|from|in|on) (?:the|my|your|our) $", re.IGNORECASE)
_AFTER = frozenset(_TABLE["nouns"]["after"])
_SINGULAR = frozenset(_TABLE["nouns"]["singular"])


def agreeing(text: str, name: str) -> str:
    """Returns the text with its verbs in the plural where the name is their subject and means several things."""
    return _verbs_of(name).sub(_in_plural, text) if is_plural(name) else text


@lru_cache(4096)
def is_plural(name: str) -> bool:
    """Judges by the last noun before what describes it: "people" of "people in vehicles"; Ines is one person."""
    words = name.split()
    if not words or words[0] == "what":
        return False
    noun = next((word for word, after in zip(words, [*words[1:], "of"], strict=True) if after in _AFTER), "")
    return noun in IRREGULAR_PLURALS or (
        noun.endswith("s") and not noun.istitle() and not noun.endswith(("ss", "us", "is")) and noun not in _SINGULAR
    )


@lru_cache(1024)
def _verbs_of(name: str) -> re.Pattern[str]:
    """Matches verbs behind the name, and those before it in a question: "does the .. follow"."""
    named = re.escape(name)
    return re.compile(
        rf"(?P<behind>\b{named} )(?P<verb>{_VERBS})\b|\b(?P<ahead>{_VERBS})(?P<article> (?:the|my|your|our) {named}\b)",
        re.IGNORECASE,
    )


def _in_plural(found: re.Match[str]) -> str:
    if found["behind"]:
        if _BEFORE.search(found.string, 0, found.start()):
            # "The line with the tickets is": the line is.
            return found[0]
        return found["behind"] + _PLURAL[found["verb"].lower()]
    verb = _PLURAL[found["ahead"].lower()]
    return (verb.capitalize() if found["ahead"][0].isupper() else verb) + found["article"]
