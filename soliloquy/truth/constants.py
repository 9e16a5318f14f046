"""Numbers that a problem may use without being given them, each with the role that the problem's words give it."""

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from soliloquy.truth.unit_table import Unit, named
from soliloquy.truth.units import unit, unit_after
from soliloquy.truth.written_arithmetic import tokens_of

_NAME = re.compile(r"[a-z_]+", re.IGNORECASE)
# "per hour", "km into m", "each day"; a longer word is a unit by itself.
_UNIT_WORD = re.compile(r"\b(?:(?:per|in|into|to|of)\s|/)?(?=[^\W\d_]{3}|(?<=[\s/])[^\W\d_])|(?<=\\text\{)|(?<=rm\{)")
_TABLE = tomllib.loads(Path(__file__).with_name("constants.toml").read_text("utf-8"))["constants"]


class Constant(NamedTuple):
    role: str
    unit: Unit | None


@lru_cache(256)
def constants_of(text: str) -> dict[float, Constant]:
    """Returns the constants that have a role in a problem, by value; the first role of a value counts."""
    found = dict(_sizes(text))
    for role, values, near, own in _TABLE:
        if re.search(near, text, re.IGNORECASE | re.DOTALL):
            found = dict.fromkeys(map(float, values), Constant(role, unit(own) if own else None)) | found
    return found


def _sizes(text: str) -> Iterator[tuple[float, Constant]]:
    """Yields how many of one unit of a text are in another: 60 minutes in an hour, 3.6 km/h in 1 m/s."""
    for one, other in reversed([*permutations(units_in(text), 2)]):
        if one.kind == other.kind and one.factor != other.factor and one.kind != "dimensionless":
            role = f"{_plain(other)} in a {_plain(one)}"
            yield float(f"{one.factor / other.factor:.12g}"), Constant(role, other.times(one, -1))


def _plain(own: Unit) -> str:
    return own.measure.strip("()").replace("_", " ")


@lru_cache(256)
def units_in(text: str) -> list[Unit]:
    """Returns the units of a text, each once, and the parts of compound ones."""
    found: dict[str, Unit] = {}
    numbers = (token.unit for token in tokens_of(text) if token.unit)
    words = (unit_after(text, match.end())[0] for match in _UNIT_WORD.finditer(text))
    for own in (*numbers, *words):
        for one in (own, own and own.otherwise):
            if one and one.measure:
                found.setdefault(one.measure, one)
                parts = map(named, _NAME.findall(one.measure))
                found |= {part.measure: part for part in parts if part.measure not in found}
    return [one for one in found.values() if not one.offset]
