"""Reads the claims that a speaker states beside its words, and holds them against the words and the ledger."""

from collections.abc import Callable, Sequence
from typing import Protocol

from soliloquy.recipes.answers import StatedClaim
from soliloquy.recipes.templates import Texts
from soliloquy.recipes.words import called, words
from soliloquy.runtime.answers import Answer, PartlyUsable, Unreadable
from soliloquy.truth.judge import judge
from soliloquy.truth.ledger import Ledger, ledger_of
from soliloquy.truth.locales import gloss
from soliloquy.truth.number_format import format_number, format_value
from soliloquy.truth.numbers import numbers_in
from soliloquy.truth.quantities import WrittenQuantity, calculations_in, is_same, quantities_in
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_MODEL,
    CLAIM_READER_PATTERNS,
    CLAIM_READER_SPEAKER,
    LEDGER_ROLE_ANSWER,
    LEDGER_ROLE_GIVEN,
    PLAN_SOURCE_PROSE,
    Claim,
    LedgerEntry,
    Problem,
    StudentReply,
    TutorReply,
)

_CURRENCIES = tuple("$£€")
# How far the number of a message may be from a claim that rounds it, relative to it.
_ROUNDED = 0.005
_RULINGS = {True: "right", False: "wrong", None: "open"}
_READERS = {CLAIM_READER_MODEL: ", as a model reads it", CLAIM_READER_PATTERNS: ", as patterns read it"}


# The slots of the shared texts that ask a student for its claims, a tutor for what it tells, and a reader for both.
SLOTS = {
    "claims": {"quantities"},
    "told": {"quantities"},
    "reader": {"question", "quantities", "conversation", "speaker", "message"},
}


def asked_claims(problem: Problem, texts: Texts, text: str = "claims") -> str:
    """Returns how a speaker says what it claims."""
    return texts.fill(text, quantities=quantities_asked(problem))


def quantities_asked(problem: Problem) -> str:
    """Lists the quantities that a message may claim, without their values."""
    # The result of a step that was read in prose has no name of its own.
    is_named = problem.plan != PLAN_SOURCE_PROSE
    entries, language = ledger_of(problem).entries, problem.language
    lines = (_line(entry, is_named or entry.role == LEDGER_ROLE_GIVEN, language) for entry in entries)
    return "\n".join(filter(None, lines))


def _line(entry: LedgerEntry, is_named: bool, language: str) -> str:
    """Describes a quantity; empty for one that nothing tells from the others."""
    own, said = entry.quantity, words(language)
    told = [own.name if is_named else "", said["answer"] if entry.role == LEDGER_ROLE_ANSWER else ""]
    unit_told = said["unit"].format(unit=called(own.unit, language)) if own.unit else ""
    return f"{own.symbol}: {', '.join(filter(None, [*told, unit_told]))}" if any(told) else ""


class Spoken(Protocol):
    """A message and what its speaker says that it claims."""

    @property
    def text(self) -> str: ...

    @property
    def claims(self) -> Sequence[StatedClaim] | None: ...

    def model_copy(self, *, update: dict[str, None]) -> Answer: ...


def stated_with(problem: Problem) -> Callable[[Spoken], None]:
    """Returns a check that refuses claims which the message does not make; the message alone can still be used."""

    def check(spoken: Spoken) -> None:
        try:
            _check_claims(spoken, problem)
        except Unreadable as unreadable:
            raise PartlyUsable(str(unreadable), spoken.model_copy(update={"claims": None})) from unreadable

    return check


def _check_claims(spoken: Spoken, problem: Problem) -> None:
    for claim in claims_of(spoken, problem):
        if not is_in(gloss(spoken.text, problem.language), claim):
            shown = format_value(claim.value, claim.unit)
            raise Unreadable(f"it claims {shown}, which the message does not say: claim only what it says")


def record_claims(reply: StudentReply | TutorReply, spoken: Spoken, problem: Problem) -> None:
    """Writes a message and what its speaker says that it claims."""
    reply.text = spoken.text
    reply.ClearField("claims")
    reply.ClearField("claims_by")
    if spoken.claims is not None:
        reply.claims.extend(claims_of(spoken, problem))
        reply.claims_by = CLAIM_READER_SPEAKER


def claims_of(spoken: Spoken, problem: Problem) -> list[Claim]:
    """Returns what a speaker claims; raises Unreadable for a value that holds no number.

    A quantity may go by its symbol or its name; what the ledger does not know has none.
    """
    entries = ledger_of(problem).entries if spoken.claims else ()
    # Q and q are two quantities.
    known = {one.quantity.name.casefold(): one.quantity.symbol for one in entries if one.quantity.name}
    known |= {one.quantity.symbol: one.quantity.symbol for one in entries}
    called = (stated.quantity.strip() for stated in spoken.claims or ())
    symbols = [known.get(name) or known.get(name.casefold(), "") for name in called]
    text = gloss(spoken.text, problem.language)
    claims = [
        _parsed_beside(text, stated, symbol, problem.language)
        for stated, symbol in zip(spoken.claims or (), symbols, strict=True)
    ]
    for claim in claims:
        claim.unit = claim.unit or unit_in(text, claim.value)
    return claims


def _parsed_beside(text: str, stated: StatedClaim, symbol: str, language: str) -> Claim:
    """Parses a claim as its language writes numbers, or as JSON does where its message says otherwise."""
    claim = parsed(stated, symbol, language)
    if not language or is_in(text, claim):
        return claim
    return parsed(stated.model_copy(update={"unit": gloss(stated.unit, language)}), symbol)


def unit_in(text: str, value: float) -> str:
    """Returns the unit that a text gives a value: a speaker may leave out what its words say."""
    for one in quantities_in(text):
        if one.value == value and one.unit is not None:
            said = text[one.start : one.end]
            number = next(iter(numbers_in(said)), None)
            return said[number.end :].strip() if number is not None else ""
    return ""


def parsed(stated: StatedClaim, symbol: str = "", language: str = "") -> Claim:
    value = gloss(stated.value, language)
    number = next(iter(numbers_in(value)), None)
    if number is None:
        raise Unreadable(f'the "Value" {stated.value!r} holds no number: write it in digits')
    sign = value.strip()[:1]
    beside = sign if sign in _CURRENCIES else value[number.end :].strip()
    return Claim(quantity=symbol, value=number.value, unit=gloss(stated.unit, language) or beside, half=number.half)


def written_claims(reply: StudentReply | TutorReply) -> list[StatedClaim] | None:
    """Returns what a message claims as its speaker is to write it; None if nobody says so."""
    if not reply.claims_by:
        return None
    return [StatedClaim(Quantity=one.quantity, Value=format_number(one.value), Unit=one.unit) for one in reply.claims]


def judged_claims(said: StudentReply | TutorReply, ledger: Ledger) -> str:
    """Tells what a message claims, what the ledger says of each claim, and who else read it: "W = 9 J is wrong"."""
    told = []
    for claim in said.claims:
        right, _, entry = judge([claim], ledger, 0)
        value = format_value(claim.value, claim.unit)
        named = f"{claim.quantity} = {value}" if claim.quantity else value
        instead = f" ({format_value(entry.quantity.value, entry.quantity.unit)})" if entry and right is False else ""
        told.append(f"{named} is {_RULINGS[right]}{instead}")
    return ", ".join(told) + _READERS.get(said.claims_by, "") if told else ""


def is_in(text: str, claim: Claim) -> bool:
    """Whether a text states a claimed value: in digits, in words, in another unit, or as a calculation."""
    return any(
        (one.value == claim.value and _may_be(one, claim))
        or is_same(one, claim.value, claim.unit, _ROUNDED, roughly=True)
        for read in (quantities_in, calculations_in)
        for one in read(text)
    )


def _may_be(written: WrittenQuantity, claim: Claim) -> bool:
    """Whether the units of a number and of a claim do not exclude each other."""
    stated = unit(claim.unit)
    # "6 litres each minute" are 6 L/min.
    kinds = (stated.kind, unit(stated.measure.partition("/")[0]).kind)
    return written.unit is None or not stated.measure or written.unit.kind in kinds
