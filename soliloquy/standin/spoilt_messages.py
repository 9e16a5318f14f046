"""Spoils messages as models do: too long, repeated, with a second question, or with what the student is to find.

A student's message may also claim something else, or the same in another form; its claims go with it.
"""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random

from soliloquy.recipes.answers import StatedClaim
from soliloquy.recipes.claims import parsed
from soliloquy.recipes.scene import Scene
from soliloquy.standin.faults import Fields, Rates
from soliloquy.truth.ledger import ledger_of
from soliloquy.truth.number_format import format_number, format_value, tidy, written_value
from soliloquy.truth.units import unit
from soliloquy.v1.conversation_pb2 import Problem

# The rules of every recipe allow a reply fewer words.
_TOO_LONG = 160
# A message that only ignores the limit of its prompt is so many times as long, and within the rules.
_LONGER, _LONG = 3, 90
# Nobody writes other fractions by hand.
_LARGEST_DENOMINATOR = 20
# A value that is taken back is wrong by so much.
_TAKEN_BACK = (0.5, 2, 10)


def spoil_student(answer: str, scene: Scene, rates: Rates, rng: Random) -> str:
    fields: Fields = json.loads(answer)
    if claims := fields.get("Claims"):
        match rates.fault("claim", rng):
            case "other_quantity":
                _claim_another(fields, scene.problem, rates, rng)
            case "other_form":
                _claim_otherwise(fields, rates)
            case "corrected":
                wrong = _taken_back(claims[-1]["Value"], rng)
                fields["Message"] = rng.choice(rates.words["corrected"]).format(wrong=wrong, message=fields["Message"])
    said = spoilt(fields["Message"], "student", scene.messages(student=True), rates, rng)
    fields["Message"] = f"Student: {said}" if rates.fault("prefix", rng) else said
    return json.dumps(fields, ensure_ascii=False)


def _claim_another(fields: Fields, problem: Problem, rates: Rates, rng: Random) -> None:
    """Exchanges the message for one that gives a right value: of another quantity, which is no later result."""
    ledger = ledger_of(problem)
    claimed = ledger.entry(fields["Claims"][-1]["Quantity"])
    others = [one for one in ledger.entries if claimed and one.quantity.name and one.step < claimed.step]
    if others:
        own = rng.choice(others).quantity
        value = written_value(own.value, own.unit)
        fields["Message"] = rng.choice(rates.words["other_quantity"]).format(name=own.name, value=value)
        fields["Claims"] = [{"Quantity": own.symbol, "Value": value, "Unit": ""}]


def _claim_otherwise(fields: Fields, rates: Rates) -> None:
    """Writes the last value that is claimed in another unit, as a fraction or as a decimal number."""
    claim = fields["Claims"][-1]
    before, value, after = fields["Message"].rpartition(claim["Value"])
    # A calculation may claim a value that it does not say.
    other = _in_other_form(value, rates.words["other_units"]) if value else ""
    # Behind a calculation, a number in another unit would make it false.
    if other and not before.rstrip().endswith("="):
        fields["Message"], claim["Value"] = f"{before}{other}{after}", other


def _in_other_form(value: str, others: Mapping[str, str]) -> str:
    """Returns "1500 m" for "1.5 km", "0.75" for "75 %" and "3/4" for "0.75"; empty if there is no such form."""
    claim = parsed(StatedClaim(Value=value))
    if other := others.get(claim.unit):
        return format_value(tidy(unit(other).of(claim.value, unit(claim.unit))), other)
    if claim.unit == "%":
        return format_number(claim.value / 100)
    fraction = Fraction(claim.value).limit_denominator(_LARGEST_DENOMINATOR)
    is_exact = not claim.unit and fraction.denominator > 1 and float(fraction) == claim.value
    return str(fraction) if is_exact else ""


def _taken_back(value: str, rng: Random) -> str:
    claim = parsed(StatedClaim(Value=value))
    return format_value(tidy(claim.value * rng.choice(_TAKEN_BACK)), claim.unit)


def spoilt(text: str, table: str, before: Sequence[str], rates: Rates, rng: Random) -> str:
    """Returns a message with at most one fault of the table; `before` has those of the same speaker."""
    words = rates.words["messages"][table]
    match rates.fault(table, rng):
        case "too_long":
            return _padded(text, _TOO_LONG, words["padding"], rng)
        case "over_limit":
            return _padded(text, min(_LONGER * len(text.split()), _LONG), words["padding"], rng)
        case "repeated":
            return rng.choice(before) if before else text
        case "two_questions":
            return f"{text} {' '.join(rng.sample(words['questions'], 1 + ('?' not in text)))}"
        case _:
            return text


def given_away(text: str, result: str, rates: Rates, rng: Random) -> str:
    """Returns a reply that tells the result, before what it goes on to ask."""
    return f"{rng.choice(rates.words['giving']).format(result=result)} {text}"


def _padded(text: str, words: int, padding: Sequence[str], rng: Random) -> str:
    """Puts sentences before a message until it has so many words; they repeat when all were used."""
    front: list[str] = []
    while len(" ".join([*front, text]).split()) < words:
        front.append(rng.choice([one for one in padding if one not in front] or padding))
    return " ".join([*front, text])
