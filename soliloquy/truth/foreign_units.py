"""Whether a result is in a unit that has nothing to do with its problem: "4015 / 5 = 803 miles" of a loan."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from soliloquy.texts.utterances import FUNCTION_WORDS
from soliloquy.truth.arithmetic_policy import ABOUT, ASKING
from soliloquy.truth.measured_values import MONEY
from soliloquy.truth.quantities import quantities_in
from soliloquy.truth.unit_table import Unit, powers_of, symbol, word
from soliloquy.truth.units import unit

_DEGREE = "°"
_WORD = re.compile(r"[^\W\d_]+|[°$€£]")
# People work, and have power, where nothing is measured: these count where they are asked for.
_EVERYDAY = ("J", "W")
_NAMES = [
    (
        re.compile(
            f"{ASKING['begins']}(?:{names}){ASKING['ends']}" if own in _EVERYDAY else rf"\b(?:{names})", re.IGNORECASE
        ),
        frozenset(powers_of(unit(own).kind) or [own]),
    )
    for own, names in [*ASKING["units"].items(), *ABOUT.items()]
]
# The currencies, each by its signs and words.
_CURRENCIES = [re.compile(names, re.IGNORECASE) for names in (r"\$|\bdollar", r"€|\beuro", r"£|\bpound")]


def is_foreign_unit(stated: str, *texts: str) -> bool:
    """Whether a unit measures what none of these texts speaks of; shares and single letters fit anywhere.

    Money fits anywhere but beside another currency; pounds may be money or a weight.
    """
    own = unit(stated)
    measures = _dimensions(own)
    if len(stated) == 1:
        return False
    spoken = frozenset[str]().union(*map(_spoken_of, texts))
    if MONEY in measures:
        if own.otherwise and not spoken.isdisjoint(powers_of(own.otherwise.kind)):
            return False
        named, meant = ({one for one in _CURRENCIES if any(map(one.search, told))} for told in (texts, [stated]))
        return named.isdisjoint(meant) if named and meant else own.otherwise is not None
    return measures.isdisjoint(spoken) if _DEGREE in measures else not measures <= spoken


# Every result of a solution is held against the same question.
@lru_cache(256)
def _spoken_of(text: str) -> frozenset[str]:
    found = {name for one in _units_of(text) for name in _dimensions(one)}
    return frozenset(found).union(*(own for names, own in _NAMES if names.search(text)))


def _units_of(text: str) -> Iterator[Unit]:
    yield from (one.unit for one in quantities_in(text) if one.unit)
    for name in _WORD.findall(text):
        # "A" begins a sentence, "in" is seldom an inch, and the second of two no time.
        if (known := symbol(name)) and name.lower() not in FUNCTION_WORDS:
            yield known
        with suppress(KeyError):
            if name.lower() != "second":
                yield word(name)


def _dimensions(own: Unit) -> set[str]:
    """Returns what a unit is made of; degrees may be those of a temperature."""
    if own == unit(_DEGREE):
        return {_DEGREE, "K"}
    # Moles count what a solution knows the mass of.
    return {name for one in (own, own.otherwise) if one and one.measure for name in powers_of(one.kind)} - {"mol"}
