"""Parses an answer that is written as text: a number, or a number with its unit."""

import re

from soliloquy.truth.units import unit

_NUMBER = re.compile(
    r"\s*(?P<sign>[-−+]?)\s*\$?\s*(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?P<power>[eE][-+]?\d+)?"
    r"(?:\s*/\s*(?P<below>\d+))?\s*(?P<percent>%?)\s*\.?\s*"
)
# Placeholders for missing numbers in tables, and overflows.
_NOT_FINITE = re.compile(r"\s*[-+]?(?:nan|inf|infinity)\s*", re.IGNORECASE)


def stated_answer(text: str) -> tuple[float, str] | None:
    """Parses "72", "1/2" or "9.8 m/s^2" into a number and its unit; None for any other text."""
    if number := stated_number(text):
        return number
    digits, _, own = text.strip().partition(" ")
    stated = stated_number(digits)
    return (stated[0], own) if stated and unit(own.rstrip(".")).measure else None


def stated_number(text: str) -> tuple[float, str] | None:
    """Parses "72", "1,200", "$5", "40%" or "1/2" into a number and its unit; None for any other text.

    "nan" and "inf" are parsed as such.
    """
    if _NOT_FINITE.fullmatch(text):
        return float(text), ""
    match = _NUMBER.fullmatch(text)
    if match is None or (match["below"] and not int(match["below"])):
        return None
    value = float(match["digits"].replace(",", "") + (match["power"] or "")) / int(match["below"] or 1)
    return -value if match["sign"] in ("-", "−") else value, match["percent"]
