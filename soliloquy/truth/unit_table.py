"""Knows what units measure: their kind and their size in SI base units, from `units.toml`."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("units.toml").read_text("utf-8"))
_PREFIXES, _UNITS = _TABLES["prefixes"], _TABLES["units"]
_NO_DIMENSIONS = frozenset(["symbols", "prefixed", "words", "factor", "zero"])
_BY_SYMBOL = {symbol: name for name, known in _UNITS.items() for symbol in known.get("symbols", ())}
_BY_SYMBOL |= _TABLES["symbols"]
_BY_WORD = {word.lower(): name for name, known in _UNITS.items() for word in known.get("words", ())}
_PREFIXABLE = [symbol for symbol, name in _BY_SYMBOL.items() if _UNITS.get(name, {}).get("prefixed")]
_PREFIX_SYMBOLS = {symbol: name for name, prefix in _PREFIXES.items() for symbol in prefix["symbols"]}


def any_of(words: Iterable[str]) -> str:
    """Returns the pattern of the longest of these words that fits, letter by letter: trying each word takes longer."""
    rests = defaultdict[str, set[str]](set)
    for word in words:
        rests[word[:1]].add(word[1:])
    last = "?" if rests.pop("", None) else ""
    letters = "|".join(re.escape(letter) + any_of(rest) for letter, rest in sorted(rests.items()))
    return f"(?:{letters}){last}" if letters and (last or len(rests) > 1) else letters


# A prefix and a symbol, or a symbol that takes no prefix.
SYMBOL = (
    rf"(?:(?:{any_of(_PREFIX_SYMBOLS)})(?:{any_of(_PREFIXABLE)})"
    rf"|{any_of(_PREFIXABLE)}|{any_of({*_BY_SYMBOL} - {*_PREFIXABLE})})(?![A-Za-zÀ-ÖØ-öø-ÿµμΩ])"
)
WORD = rf"(?:{any_of(_PREFIXES)})?(?:{any_of(_BY_WORD)})(?:s|es)?(?![^\W\d_])"


@dataclass(frozen=True, slots=True)
class Unit:
    # Units of the same kind can be converted into each other.
    kind: str
    factor: float
    offset: float = 0.0
    # Its name, as in "kilometer/hour"; empty for counted things and plain numbers.
    measure: str = ""
    # The other meaning of the words: pounds are money or a weight, "$5 an hour" are five dollars.
    otherwise: "Unit | None" = None

    def in_base(self, value: float) -> float:
        return value * self.factor + self.offset

    def of(self, value: float, other: "Unit") -> float:
        """Converts a value of another unit of the same kind to this unit."""
        return (other.in_base(value) - self.offset) / self.factor

    def read_as(self, kind: str) -> "Unit":
        """Returns what the words say where a quantity of this kind is asked for."""
        return self.otherwise if self.otherwise is not None and self.otherwise.kind == kind else self

    def times(self, other: "Unit", power: int = 1) -> "Unit":
        """Returns the product with a power of another unit."""
        return _product(self, other, power)


NO_UNIT = Unit("", 1.0)


@lru_cache(1024)
def _product(one: Unit, other: Unit, power: int) -> Unit:
    powers = product_of(powers_of(one.kind), powers_of(other.kind), power)
    single = other.measure.isidentifier()
    written = f"{other.measure if single else f'({other.measure})'}{'' if power in (1, -1) else f'**{abs(power)}'}"
    measure = f"{one.measure or 1}{'*' if power > 0 else '/'}{written}" if one.measure or power < 0 else written
    return Unit(_kind(powers), one.factor * other.factor**power, 0.0, measure)


def product_of(powers: Mapping[str, float], others: Mapping[str, float], power: int) -> Mapping[str, float]:
    """Multiplies powers of base units with a power of others."""
    found = {name: powers.get(name, 0) + power * others.get(name, 0) for name in {**powers, **others}}
    return {name: own for name, own in found.items() if own}


def _kind(powers: Mapping[str, float]) -> str:
    return " ".join(f"{name}^{power:g}" for name, power in sorted(powers.items())) or "dimensionless"


@lru_cache(1024)
def powers_of(kind: str) -> Mapping[str, float]:
    """Returns the power of each base unit in a kind of measured quantities."""
    parts = (part.rpartition("^") for part in kind.split())
    return {name: float(power) for name, sign, power in parts if sign}


@lru_cache(1024)
def named(name: str) -> Unit:
    """Returns the unit of a name, which may begin with a prefix: "kilometer"."""
    prefix = "" if name in _UNITS else next(filter(name.startswith, _PREFIXES), "")
    told = _UNITS.get(name.removeprefix(prefix))
    if told is None or (prefix and "zero" in told):
        raise KeyError(name)
    factor = (_PREFIXES[prefix]["factor"] if prefix else 1.0) * told.get("factor", 1.0)
    kind = _kind({key: power for key, power in told.items() if key not in _NO_DIMENSIONS})
    return Unit(kind, factor, told.get("zero", 0.0), name)


@lru_cache(1024)
def symbol(text: str) -> Unit | None:
    """Returns the unit of a symbol with or without a metric prefix: "km"; None if there is none."""
    name = _BY_SYMBOL.get(text)
    if name is None and text[1:] in _PREFIXABLE and text[:1] in _PREFIX_SYMBOLS:
        name = _PREFIX_SYMBOLS[text[0]] + _BY_SYMBOL[text[1:]]
    return named(name) if name else None


@lru_cache(1024)
def word(text: str, *, divides: bool = False) -> Unit:
    """Returns the unit of a word in any number and case: "Kilometres"; behind "per" a pound is a weight."""
    text = " ".join(text.lower().split())
    for singular in (text, text.removesuffix("s"), text.removesuffix("es")):
        prefix = "" if singular in _BY_WORD else next(filter(singular.startswith, _PREFIXES), "")
        plain = singular.removeprefix(prefix)
        if plain in _BY_WORD:
            known = named(prefix + _BY_WORD[plain])
            weight = named(_TABLES["otherwise"][plain]) if plain in _TABLES["otherwise"] else None
            return weight if weight and divides else replace(known, otherwise=weight)
    raise KeyError(text)
