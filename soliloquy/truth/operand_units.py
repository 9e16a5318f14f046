"""Whether the unit of a result fits the units of its operands, which mostly stand where the operands come from."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product

from soliloquy.truth.arithmetic_parser import readings
from soliloquy.truth.arithmetic_policy import KNOWN
from soliloquy.truth.measured_values import MONEY, Measured, agree, measured, measured_number
from soliloquy.truth.unit_table import Unit
from soliloquy.truth.units import unit
from soliloquy.truth.written_numbers import Written

# The units that each operand may have, by where it begins; None where it may count something.
Options = Mapping[int, Sequence[Unit | None]]
_MOST_CHOICES = 64
# Forces, energies and currents are written with their units; hours and lengths are counted.
_PHYSICAL = frozenset(["kg", "A", "K", "mol", "cd"])
_LENGTH = frozenset(["m"])
_TIME = frozenset(["s"])
_HOW_MANY = re.compile(r"\bhow many\b(?=\s)", re.IGNORECASE)


def result_in_units(tokens: Sequence[Written], options: Options) -> Iterator[Measured]:
    """Yields what a calculation comes to, for each choice of the units of its operands."""
    choices = (options.get(token.start, [token.unit]) if token.kind == "number" else [None] for token in tokens)
    for chosen in islice(product(*choices), _MOST_CHOICES):
        own = [
            token._replace(unit=_difference(one)) if token.kind == "number" else token
            for token, one in zip(tokens, chosen, strict=True)
        ]
        found = next(readings(own), None)
        if found and found.at == len(own):
            yield found.term.value


def _difference(own: Unit | None) -> Unit | None:
    """Returns a unit in which differences are told: degrees of Celsius are calculated with as kelvin."""
    return unit("K") if own and own.offset else own


def contradicts(tokens: Sequence[Written], options: Options, stated: Written) -> bool:
    """Whether a stated unit is another than that of the result: "30 × 60 = 1800 litres", of minutes."""
    told = measured_number(stated)
    names = {name for one in _powers(tokens, options) for name in one}
    whole = [*result_in_units(tokens, options)]
    # Quantities of two kinds are added only where a unit was taken for another.
    if (
        any(one.si is None for one in whole)
        or not told.powers
        or told.si is None
        or not any(one.powers for one in whole)
    ):
        return False
    if MONEY in names:
        # Prices are told for one, for a kilogram or for an hour without saying so; "262 × 9 € = 2358 kg" is none.
        is_product = all(token.kind == "number" or token.text == "*" for token in tokens)
        return is_product and not names & set(told.powers)
    if any(_is_same(one, told) for one in whole):
        return False
    otherwise = stated.unit and stated.unit.otherwise
    if otherwise and not contradicts(tokens, options, stated._replace(unit=otherwise)):
        return False
    # A number of a few units may count something else.
    bare = {token.start for token in tokens if token.value in KNOWN.counts}
    is_complete = all(None not in own for at, own in options.items() if at not in bare)
    if is_complete and _is_strict(tokens, options, whole):
        return True
    # Whoever writes of forces writes their units out.
    written = {token.start for token in tokens if token.unit} if names & _PHYSICAL else set[int]()
    left_out = {at: own if at in written else [*own, None] for at, own in options.items()}
    parts = [one for one in result_in_units(tokens, left_out) if one.si is not None]
    if any(_is_same(one, told) for one in parts):
        return False
    # "135 minutes × 14 = 1890 hours", "1 / 1.6 s = 0.625 m"
    is_other = bool(names & _PHYSICAL) or not names & set(told.powers)
    return is_complete and (is_other or any(one.powers == told.powers for one in parts))


def _is_same(value: Measured, told: Measured) -> bool:
    return value.powers == told.powers and agree(replace(value, closed=True, has_unit=True), told, about=True)


def _powers(tokens: Sequence[Written], options: Options) -> list[Mapping[str, float]]:
    units = [own for token in tokens if token.kind == "number" for own in options.get(token.start, ()) if own]
    return [measured(1.0, own, 0.0, 0.0, rounded=False).powers for own in units]


def _is_strict(tokens: Sequence[Written], options: Options, whole: Sequence[Measured]) -> bool:
    """Whether no unit may be left out: lengths alone, and units that cancel in a product."""
    powers = _powers(tokens, {at: own[:1] for at, own in options.items()})
    names = {name for one in powers for name in one}
    if names == _LENGTH and len(powers) > 1:
        return True
    if any(token.kind == "operator" and token.text in "+-" for token in tokens):
        return False
    return any(sum(abs(one.get(name, 0)) for one in powers) > abs(whole[0].powers.get(name, 0)) for name in names)
