"""The words that code itself writes into prompts, in each language."""

import re
from collections.abc import Mapping

from soliloquy.runtime.files import table_beside
from soliloquy.truth.locales import locale

_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_ENGLISH: Mapping[str, str] = table_beside(__file__, "words.toml")


def words(language: str) -> Mapping[str, str]:
    """Raises UnknownLanguage."""
    table: Mapping[str, str] = locale(language).table["prompts"] if language else _ENGLISH
    return table


def written(text: str, language: str) -> str:
    """Returns a text whose decimal points are as the language writes them."""
    return _POINT.sub(locale(language).table["decimal"], text) if language else text


def called(unit: str, language: str) -> str:
    """Returns what a unit is called that readers keep in English words: days are "Tage"."""
    return str(locale(language).table["units"].get(unit, unit)) if language else unit
