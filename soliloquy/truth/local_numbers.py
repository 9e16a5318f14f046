"""Rewrites clocks, ratios, sums of money and mixed units of an answer as one number."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from soliloquy.truth.patterns import lazy_pattern

_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_MONEY, _CENTS = (
    f"(?P<{kind}>{'|'.join(_WORDS[words])})" for kind, words in (("money", "currencies"), ("ct", "cents"))
)
# Starts at the first digit only: no later one matches more, and trying each takes long.
_NUMBER = r"(?<!\d)(\d+(?:\.\d+)?)"
_DOTTED_CLOCK = lazy_pattern(
    r"(?<![\d:.])(?P<hours>[01]?\d|2[0-3])\.(?P<minutes>[0-5]\d) ?(?P<half>[ap]m)\b", re.IGNORECASE
)
# "9.09 pm" is a length where one in this unit is asked for.
_LENGTHS = ("am", "pm")


def _clock(found: re.Match[str]) -> str:
    hours, minutes = int(found["hours"]), int(found["minutes"])
    afternoon = (found["half"] or "").lower().startswith("p") and hours < 12
    return f"{hours + 12 * afternoon + minutes / 60:.10g}"


def _money(found: re.Match[str]) -> str:
    return f"{found['whole']}.{found['part']} {found['money']}"


def _mixed(scale: int, name: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"{float(found[1]) * scale + float(found[2]):.10g} {name}"


_FORMS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (lazy_pattern(r"(?<![\d:])(\d+):(\d\d) ?(?=h\b|hours?\b)"), r"\1 h \2 min "),
    (
        lazy_pattern(
            r"(?<![\d:.])(?P<hours>[01]?\d|2[0-3])[:h](?P<minutes>[0-5]\d)(?![\d:])"
            r"(?: ?(?P<half>[ap]\.?m)\b)?",
            re.IGNORECASE,
        ),
        _clock,
    ),
    (
        lazy_pattern(
            rf"(?<!\d)(?P<whole>\d+) ?{_MONEY} ?(?:and )?(?P<part>\d\d)\b(?: ?{_CENTS}\b)?(?! ?%)", re.IGNORECASE
        ),
        _money,
    ),
    (lazy_pattern(r"(?<![\d.])(\d+)m(\d\d)\b"), r"\1.\2 m"),
    *(
        (
            lazy_pattern(
                rf"{_NUMBER} ?(?:{'|'.join(unit['first'])}) ?(?:and )?{_NUMBER} ?(?:{'|'.join(unit['second'])})",
                re.IGNORECASE,
            ),
            _mixed(unit["times"], unit["name"]),
        )
        for unit in _WORDS["mixed"]
    ),
    # Ratios and odds
    (lazy_pattern(r"(?<![\d:.])(\d+) ?: ?(\d+)(?![\d:])"), r"\1/\2"),
    (lazy_pattern(r"^\W*(?:a )?(\d+) (?:in|out of) (\d+)\W*$"), r"\1/\2"),
    (lazy_pattern(r"(?<=\d)[oO]\b"), "0"),
]


def standard(text: str, unit: str) -> str:
    """Returns an answer in the given unit with numbers as English mathematics writes them."""
    if unit not in _LENGTHS:
        text = _DOTTED_CLOCK.sub(_clock, text)
    for pattern, form in _FORMS:
        text = pattern.sub(form, text)
    return text
