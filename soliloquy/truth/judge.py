"""Judges claims by the ledger: the only place that says whether a stated value is right."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from soliloquy.texts.utterances import content_words
from soliloquy.truth.exactness import is_exact
from soliloquy.truth.ledger import Ledger
from soliloquy.truth.measured_values import is_rounded, place_of
from soliloquy.truth.numbers import EXACT
from soliloquy.truth.quantities import WrittenQuantity, is_same, values_in
from soliloquy.truth.stated_answer import ALONE, SENTENCE, STATED, Statement, statements
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import LEDGER_ROLE_GIVEN, Claim, LedgerEntry


class Judgement(NamedTuple):
    """Whether claims are right; None if that is open."""

    right: bool | None = None
    # The two that were compared.
    claim: Claim | None = None
    entry: LedgerEntry | None = None


OPEN = Judgement()
# A value that is written with two digits more than the known one rounds it to be compared.
_MUCH_MORE = 200
# A message of so few words holds nothing but its answer.
_SHORT = 6
# A longer one may tell a step on the way.
_LONG = 10
# So many letters tell whether two words are forms of one: "spend" and "spent".
_STEM = 4
# A sentence about what is asked has this share of the words of the question.
_SHARED = 0.25
_DEGREE, _TEMPERATURE = unit("°"), unit("°C").kind


def judge(claims: Sequence[Claim], ledger: Ledger, step: int) -> Judgement:
    """Judges what a message claims while a step is at hand: wrong if anything is, else right if anything is."""
    found = [_judged(claim, ledger, step) for claim in claims]
    for right in (False, True):
        if fitting := [one for one in found if one.right is right]:
            return fitting[-1]
    return found[-1] if found else OPEN


def _judged(claim: Claim, ledger: Ledger, step: int, *, only_settled: bool = True) -> Judgement:
    entry = ledger.entry(claim.quantity) if claim.quantity else None
    if entry is None:
        entry = next((one for one in ledger.results if one.step >= step and is_value_of(claim, one)), None)
        return Judgement(True, claim, entry) if entry and ledger.is_settled(entry) else Judgement(None, claim, entry)
    if only_settled and not ledger.is_settled(entry):
        return Judgement(None, claim, entry)
    right = compare(as_written(claim), entry)
    # The right value of an earlier step does not answer this one.
    return Judgement(None if right and entry.step < step else right, claim, entry)


def fits_stated(claims: Sequence[Claim], ledger: Ledger, step: int = 0) -> bool | None:
    """Whether claims give the values of the quantities that they name, settled or not; None if that is unknown."""
    named = (claim for claim in claims if ledger.entry(claim.quantity) is not None)
    found = [_judged(claim, ledger, step, only_settled=False).right for claim in named]
    return False if False in found else None if not found or None in found else True


def is_value_of(claim: Claim, entry: LedgerEntry) -> bool:
    return compare(as_written(claim), entry) is True


def compare(written: WrittenQuantity, entry: LedgerEntry) -> bool | None:
    """Whether a quantity is the value of an entry, in any unit of its kind and as exactly as it is written.

    None for a number that may only have been rounded on the way.
    """
    own = entry.quantity
    forms = _forms(written, own.unit)
    if any(is_same(form, own.value, own.unit, entry.tolerance) for form in forms):
        return True
    place = place_of(own.value)
    is_finer = place < 1 and written.half <= place / _MUCH_MORE and written.unit in (None, unit(own.unit))
    if is_finer and is_rounded(own.value, written.value):
        # 54 / 7 is the 7.71 of a solution.
        return True
    if own.unit == "%" and written.unit is None and is_same(written, own.value / 100, "", entry.tolerance):
        return True
    is_named = bool(own.unit) and not unit(own.unit).measure
    if is_named and written.unit is not None and is_same(written._replace(unit=None), own.value, "", entry.tolerance):
        # Nothing is known of a unit that is in no table: "5 dpt" may be "5 1/m".
        return None
    is_decimal = not own.unit and not own.value.is_integer()
    if is_decimal and abs(written.value - own.value) <= entry.tolerance * abs(own.value):
        return None
    # The quotient of two rounded results is off by as much as its last digit, and by the tolerance.
    rough = entry.tolerance + written.half / abs(written.value or 1)
    is_few = written.digits > 1 and not is_exact(own.value, own.unit)
    return None if is_few and any(is_same(form, own.value, own.unit, rough) for form in forms) else False


def _forms(written: WrittenQuantity, stated_unit: str) -> list[WrittenQuantity]:
    """Returns what a quantity may mean: an answer without a unit contradicts none, "5 degrees" may be a temperature."""
    is_temperature = written.unit == _DEGREE and unit(stated_unit).kind == _TEMPERATURE
    is_free = written.unit is not None and (is_temperature or not stated_unit)
    return [written, written._replace(unit=None)] if is_free else [written]


def judge_text(text: str, entry: LedgerEntry, ledger: Ledger, asked: str = "") -> bool | None:
    """Judges a message whose speaker does not say what it claims, by a search for the values of the ledger.

    It is right if it puts the value forward and states no other behind it, and wrong if it comes to a value of its kind
    that the problem does not know, to the right number in a wrong unit, or calls another quantity its answer. A longer
    message may give a step on the way: it is wrong only where it speaks of what is `asked`.
    """
    found = statements(text)
    if not found:
        return None
    ruled = [(one, compare(one.quantity, entry)) for one in found]
    given = [own for own in ledger.entries if own != entry and own.role == LEDGER_ROLE_GIVEN]
    others = [one for one, right in ruled if right is False and _answers(one.quantity, entry)]
    said = values_in(asked) if others else ()
    unknown = [one for one in others if one.quantity.value not in said and not _is_any(one.quantity, ledger.entries)]
    if right := [one for one, ruling in ruled if ruling]:
        told = max(right, key=lambda one: (one.force, one.quantity.start))
        return None if _is_doubtful(told, right[-1].quantity.start, others, unknown, given) else True
    if any(ruling is None for _, ruling in ruled):
        return None
    # A bare number in a question is more often a step on the way.
    is_free = "?" in text and bool(unit(entry.quantity.unit).measure)
    stated = [one for one in others if one.force >= (ALONE if is_free and one.quantity.unit is None else STATED)]
    stated = [one for one in stated if not _is_any(one.quantity, given)]
    is_short = len(unknown) == 1 and len(text.split()) <= _SHORT
    is_other = "?" not in text and any(one.force == ALONE for one in others)
    if not (stated and stated[-1] in unknown) and not is_short and not is_other:
        return None
    return None if asked and _is_on_the_way(text, (stated or others)[-1], asked) else False


def _is_on_the_way(text: str, told: Statement, asked: str) -> bool:
    """Whether a value may be of something else than what is asked for."""
    if told.force == ALONE or len(text.split()) <= _LONG:
        return False
    *_, task = [said for said in SENTENCE.findall(asked) if "?" in said] or [asked]
    wanted = _stems(task)
    shared = wanted & _stems(told.sentence)
    return len(shared) < max(1, _SHARED * len(wanted))


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in content_words(text) if word.isalpha() and len(word) > 1}


def _is_doubtful(
    told: Statement,
    last: int,
    others: Sequence[Statement],
    unknown: Sequence[Statement],
    given: Sequence[LedgerEntry],
) -> bool:
    """Whether a message that has the right value may mean another one: stated behind it, or beside it as much."""
    if told.force < STATED and _is_any(told.quantity, given):
        return True
    rivals = [one for one in others if one.quantity.start > last and one.force >= STATED]
    rivals += unknown if told.force < STATED else []
    return any(one.force >= told.force for one in rivals)


def _answers(written: WrittenQuantity, entry: LedgerEntry) -> bool:
    """Whether a quantity may be meant as the value of an entry: of its kind, or with its number in a wrong unit."""
    wanted, own = unit(entry.quantity.unit), _forms(written, entry.quantity.unit)[-1].unit
    is_of_kind = not wanted.measure or own is None or own.read_as(wanted.kind).kind == wanted.kind
    return is_of_kind or is_same(written._replace(unit=None), entry.quantity.value, "", entry.tolerance)


def _is_any(written: WrittenQuantity, entries: Sequence[LedgerEntry]) -> bool:
    return any(compare(written, entry) for entry in entries)


def in_unit(claim: Claim, stated_unit: str) -> float:
    """Returns the value of a claim in a unit of the same kind; as it was written if it has no such unit."""
    own, wanted = unit(claim.unit), unit(stated_unit)
    return wanted.of(claim.value, own) if claim.unit and own.kind == wanted.kind else claim.value


def as_written(claim: Claim) -> WrittenQuantity:
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
