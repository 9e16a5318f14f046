"""Judges claims by the ledger: the only place that says whether a stated value is right."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from soliloquy.truth.ledger import Ledger
from soliloquy.truth.numbers import EXACT
from soliloquy.truth.quantities import WrittenQuantity, is_same, quantities_in
from soliloquy.truth.stated_answer import answer_quantity
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Claim, LedgerEntry


class Judgement(NamedTuple):
    """Whether claims are right; None if that is open."""

    right: bool | None = None
    # What was compared.
    claim: Claim | None = None
    entry: LedgerEntry | None = None


OPEN = Judgement()
# A message of so few words holds nothing but its answer.
_SHORT = 6


def judge(claims: Sequence[Claim], ledger: Ledger, step: int) -> Judgement:
    """Judges what a message claims while a step is at hand: wrong if anything is, else right if anything is."""
    found = [_judged(claim, ledger, step) for claim in claims]
    for right in (False, True):
        if fitting := [one for one in found if one.right is right]:
            return fitting[-1]
    return found[-1] if found else OPEN


def _judged(claim: Claim, ledger: Ledger, step: int) -> Judgement:
    entry = ledger.entry(claim.quantity) if claim.quantity else None
    if entry is None:
        entry = next((one for one in ledger.results if one.step >= step and is_value_of(claim, one)), None)
        return Judgement(True, claim, entry) if entry and ledger.is_settled(entry) else Judgement(None, claim, entry)
    if not ledger.is_settled(entry):
        return Judgement(None, claim, entry)
    right = compare(_written(claim), entry)
    # The right value of an earlier step does not answer this one.
    return Judgement(None if right and entry.step < step else right, claim, entry)


def fits_stated(claims: Sequence[Claim], ledger: Ledger) -> bool | None:
    """Whether claims give the values of the quantities that they name, settled or not; None if that is unknown."""
    named = ((claim, ledger.entry(claim.quantity)) for claim in claims if claim.quantity)
    found = [compare(_written(claim), entry) for claim, entry in named if entry is not None]
    return None if not found or None in found else all(found)


def is_value_of(claim: Claim, entry: LedgerEntry) -> bool:
    return compare(_written(claim), entry) is True


def compare(written: WrittenQuantity, entry: LedgerEntry) -> bool | None:
    """Whether a quantity is the value of an entry, in any unit of its kind and as exactly as it is written.

    None for a decimal number that may only have been rounded on the way.
    """
    own = entry.quantity
    # An answer without a unit contradicts none.
    forms = [written] if own.unit or written.unit is None else [written, replace(written, unit=None)]
    if any(is_same(form, own.value, own.unit, entry.tolerance) for form in forms):
        return True
    if own.unit == "%" and written.unit is None and is_same(written, own.value / 100, "", entry.tolerance):
        return True
    is_decimal = not own.unit and not own.value.is_integer()
    return None if is_decimal and abs(written.value - own.value) <= entry.tolerance * abs(own.value) else False


def judge_text(text: str, entry: LedgerEntry, ledger: Ledger) -> bool | None:
    """Judges a message whose speaker does not say what it claims, by a search for the settled value.

    It is right if it comes to the value, and wrong only if it states another one as its result, in a unit of the kind,
    that the problem does not know while the right one stands nowhere in it. Anything else is open.
    """
    chosen = answer_quantity(text, entry.quantity.unit)
    if chosen is None:
        return None
    right = compare(chosen, entry)
    if right is not False:
        return right
    found, wanted = quantities_in(text), unit(entry.quantity.unit)
    is_of_kind = not wanted.measure or chosen.unit is None or chosen.unit.kind == wanted.kind
    others = [one for one in found if one.start != chosen.start and not one.term and not _is_known(one, ledger)]
    is_result = chosen.stated or (not others and len(text.split()) <= _SHORT)
    if not is_of_kind or not is_result:
        return None
    return None if _is_known(chosen, ledger) or any(compare(one, entry) for one in found) else False


def _is_known(written: WrittenQuantity, ledger: Ledger) -> bool:
    return any(compare(written, entry) for entry in ledger.entries)


def in_unit(claim: Claim, stated_unit: str) -> float:
    """Returns the value of a claim in a unit of the same kind; as it was written if it has no such unit."""
    own, wanted = unit(claim.unit), unit(stated_unit)
    return wanted.of(claim.value, own) if claim.unit and own.kind == wanted.kind else claim.value


def _written(claim: Claim) -> WrittenQuantity:
    stated = unit(claim.unit) if claim.unit else None
    return WrittenQuantity(
        value=claim.value,
        half=claim.half,
        digits=_digits(claim.value, claim.half),
        unit=stated if stated is not None and stated.measure else None,
        word=claim.unit,
        stated=True,
        term=False,
        start=0,
        end=0,
    )


def _digits(value: float, half: float) -> int:
    """Returns how many digits were written of a number whose last one stands for twice `half`."""
    if not half:
        return EXACT
    return max(1, math.floor(math.log10(abs(value) / (2 * half))) + 1) if value else 1
