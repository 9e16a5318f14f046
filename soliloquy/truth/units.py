"""Parses units as texts write them.

pint knows all of this too, but takes most of a second to load, which every process that meets a unit would pay.
"""

from functools import lru_cache

from soliloquy.truth.markup import end_of_gap
from soliloquy.truth.quantity_grammar import parse
from soliloquy.truth.unit_table import NO_UNIT, Unit, symbol


def unit_after(text: str, at: int) -> tuple[Unit | None, int]:
    """Returns the unit right after a number and where it ends; None if there is none."""
    found = parse("unit", text, at)
    return (found.unit, found.end) if found else (None, at)


def unit_behind(text: str, at: int) -> tuple[Unit | None, int]:
    """Returns the unit behind a number and where it ends, in a text whose markup is blanked out."""
    return unit_after(text, end_of_gap(text, at))


@lru_cache(4096)
def unit(text: str) -> Unit:
    """Parses a problem's unit; an unknown one counts its own things: "apples"."""
    if not text:
        return NO_UNIT
    # Without the grammar, which takes some milliseconds to load.
    if known := symbol(text):
        return known
    found, end = unit_after(text, 0)
    return found if found is not None and end == len(text) else Unit(f"counted {text.lower().rstrip('s')}", 1.0)


def measured(text: str) -> str:
    """Returns a unit in which something is measured; empty for one that only names the things counted: "points"."""
    return text if unit(text).measure else ""
