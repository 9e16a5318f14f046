"""Reads the names of variables: what a quantity is called in words, and the unit that its name says."""

from soliloquy.truth.numbers import has_number_word
from soliloquy.truth.units import unit

# Words after which a unit says of what, or how often, a quantity is: "eggs_per_day", "minutes_in_an_hour".
_RELATING = frozenset(
    [
        *("a", "an", "after", "before", "between", "by", "each", "every", "for", "from"),
        *("in", "of", "on", "over", "per", "than", "to", "with", "within"),
    ]
)
_SHORTEST = 2


def words_of_name(name: str) -> str:
    return name.replace("_", " ").strip() or name


def unit_of_name(name: str) -> str:
    """Returns the unit of "height_in_cm" and "total_minutes"; empty for a name that says none, or several."""
    *before, last = words_of_name(name).split() or [""]
    if not _is_unit(last) or any(_is_unit(word) for word in before):
        return ""
    if before[-1:] == ["in"]:
        return last if not _RELATING.intersection(before[:-1]) else ""
    plain = not _RELATING.intersection(before) and not has_number_word(" ".join(before))
    return last if plain and last.endswith("s") else ""


def _is_unit(word: str) -> bool:
    return len(word) >= _SHORTEST and bool(unit(word).measure)
