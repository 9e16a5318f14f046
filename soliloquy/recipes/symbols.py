"""Tells the letters of a law from the names of a program."""

import tomllib
from collections.abc import Collection
from pathlib import Path

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_LONGEST: int = _TABLE["longest_symbol"]
SYMBOLS = frozenset(_TABLE["symbols"])
_FUNCTIONS = frozenset(_TABLE["functions"])


def is_word(name: str) -> bool:
    """Whether a name is a word, such as "riding" or "whole_cm", and not "F", "E_kin" or "mu"."""
    base = name.partition("_")[0].rstrip("0123456789²³⁴")
    return len(base) > _LONGEST and base.lower() not in SYMBOLS and name not in _FUNCTIONS


def is_conversion(names: Collection[str]) -> bool:
    """Whether the names of a formula are one quantity in two units, such as "d" and "d_mm"."""
    different = set(names)
    return len(different) == 2 and len({name.partition("_")[0] for name in different}) == 1
