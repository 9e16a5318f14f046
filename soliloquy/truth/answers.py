"""The number that a reply gives as its answer, read without knowing what its units are."""

from soliloquy.truth.cues import BEFORE, STATES
from soliloquy.truth.numbers import Number, numbers_in_digits


def answer_in(text: str, unit: str) -> float | None:
    """What a reply states last, if possible in the unit asked for."""
    numbers = list(numbers_in_digits(text))
    stated = [number for number in numbers if _is_stated(number, text)] or numbers
    in_unit = [number for number in stated if unit and _is_in_unit(text[number.end :].lstrip(), unit)]
    chosen = in_unit or stated
    return chosen[-1].value if chosen else None


def _is_stated(number: Number, text: str) -> bool:
    return STATES.search(text[max(0, number.start - BEFORE) : number.start]) is not None


def _is_in_unit(following: str, unit: str) -> bool:
    behind = following[len(unit) : len(unit) + 1]
    return following.startswith(unit) and not (behind.isalnum() or behind in tuple("/^·*"))
