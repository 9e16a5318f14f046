"""The words by which rules recognise the question's goal, and gains and losses in the text."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

_TABLE: Mapping[str, Mapping[str, list[str]]] = tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf-8"))


def _any(patterns: list[str]) -> re.Pattern[str]:
    """Compiles a pattern for texts in lower case, which takes a tenth of the time of ignoring case."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b")


ASKED = {name: _any(patterns) for name, patterns in _TABLE["asked"].items()}
_TAKES_AWAY = _any(_TABLE["takes_away"]["words"])
_HAPPENS = {name: _any(patterns) for name, patterns in _TABLE["happens"].items()}


def asks_for(asked: str, name: str) -> bool:
    return ASKED[name].search(asked) is not None


def may_take_away(text: str) -> bool:
    text = text.lower()
    return _TAKES_AWAY.search(text) is not None or _HAPPENS["loss"].search(text) is not None


def happens(clause: str) -> int:
    """Returns -1 for a loss, +1 for a gain, and 0 for neither or both."""
    clause = clause.lower()
    return bool(_HAPPENS["gain"].search(clause)) - bool(_HAPPENS["loss"].search(clause))
