"""Tells whether a wrong value is one that a person would hand in."""

from soliloquy.truth.units import unit

# A value that is larger or smaller than the right one by more than this factor would startle whoever reads it.
FURTHEST = 60.0


def is_plausible(wrong: float, right: float, stated_unit: str, *, converts: bool = False) -> bool:
    """Whether a wrong value has the sign, the size and, if things are counted, the wholeness of the right one.

    Whoever converts a unit the wrong way round is off by any factor.
    """
    if (wrong < 0) != (right < 0) or (wrong == 0 and right != 0):
        return False
    if is_counted(stated_unit, right) and wrong != round(wrong):
        return False
    return converts or right == 0 or 1 / FURTHEST <= abs(wrong / right) <= FURTHEST


def is_counted(stated_unit: str, right: float) -> bool:
    """Whether a quantity counts things: it is whole, and measured in no unit but that of the things themselves."""
    kind = unit(stated_unit).kind
    return right == round(right) and (not stated_unit or kind.startswith("counted "))
