"""Speakers say beside their words what they claim, and a claim that the words do not make is asked for again."""

import json

import pytest

from soliloquy.recipes.answers import StudentMessage
from soliloquy.recipes.claims import record_claims, stated_with
from soliloquy.runtime.answers import Unreadable
from soliloquy.v1.conversation_pb2 import CLAIM_READER_SPEAKER, CLAIM_READER_UNSPECIFIED, StudentReply
from tests.unit.recipes.conversations import problem


def read(message: str, *claims: object) -> StudentMessage:
    return StudentMessage.read(json.dumps({"Message": message, "Claims": list(claims)}))[0]


def claim(value: object, unit: str = "", quantity: str = "W") -> dict[str, object]:
    return {"Quantity": quantity, "Value": value, "Unit": unit}


@pytest.mark.parametrize(
    ("message", "stated"),
    [
        ("So the work is 180000 J.", claim("180000", "J")),
        ("So the work is 180,000 J.", claim(180000, "J")),
        ("That makes 180 kJ, right?", claim("180000", "J")),
        ("One hundred and eighty kilojoules!", claim("180", "kJ")),
        ("It is 3/4 of it.", claim("0.75", quantity="")),
        ("It is three quarters.", claim("0.75", quantity="")),
        ("W = 3600 * 50", claim("180000", "J")),
        ("1.8 × 10^5 J", claim("1.8e5", "J")),
    ],
)
def test_a_claim_that_the_message_makes_is_recorded(message: str, stated: dict[str, object]) -> None:
    spoken = read(message, stated)
    stated_with(problem())(spoken)
    said = StudentReply()
    record_claims(said, spoken, problem())
    assert (said.text, said.claims_by, len(said.claims)) == (message, CLAIM_READER_SPEAKER, 1)
    assert said.claims[0].quantity == stated["Quantity"]


@pytest.mark.parametrize(
    ("message", "stated", "why"),
    [
        ("So the work is 180000 J.", claim("90000", "J"), "does not say"),
        ("So the work is 180000 J.", claim("180000", "km"), "does not say"),
        ("I am stuck.", claim("5", "J"), "does not say"),
        ("So the work is 180000 J.", claim("plenty", "J"), "holds no number"),
    ],
)
def test_a_claim_that_the_message_does_not_make_goes_back_with_the_reason(
    message: str, stated: dict[str, object], why: str
) -> None:
    with pytest.raises(Unreadable, match=why):
        stated_with(problem())(read(message, stated))


@pytest.mark.parametrize(("message", "unit"), [("It is 1500 km.", "km"), ("1500 kg m/s", "kg m/s"), ("1500!", "")])
def test_a_unit_that_the_speaker_leaves_out_is_that_of_the_message(message: str, unit: str) -> None:
    said = StudentReply()
    record_claims(said, read(message, claim("1500")), problem())
    assert said.claims[0].unit == unit


@pytest.mark.parametrize(
    ("called", "symbol"), [("W", "W"), ("Work", "W"), ("net force", "F"), ("w", ""), ("power", ""), ("", "")]
)
def test_a_quantity_goes_by_its_symbol_or_its_name_and_an_unknown_one_by_none(called: str, symbol: str) -> None:
    said = StudentReply()
    record_claims(said, read("It is 5 J.", claim("5", "J", called)), problem())
    assert said.claims[0].quantity == symbol


@pytest.mark.parametrize("claims", [None, [], "none", [{"Quantity": "W", "Value": "", "Unit": ""}]])
def test_a_message_may_claim_nothing(claims: object) -> None:
    spoken = StudentMessage.read(json.dumps({"Message": "How do I begin?", "Claims": claims}))[0]
    said = StudentReply()
    record_claims(said, spoken, problem())
    assert (said.claims_by, len(said.claims)) == (CLAIM_READER_SPEAKER, 0)


def test_a_message_alone_says_nothing_of_its_claims() -> None:
    said = StudentReply()
    record_claims(said, StudentMessage.read(r"So it is \frac{3}{4} of it, {as I said}.")[0], problem())
    assert said.claims_by == CLAIM_READER_UNSPECIFIED


def test_what_other_speakers_say_is_refused_within_the_object_too() -> None:
    with pytest.raises(Unreadable, match="speaks for another"):
        read("Is it 5 J?\nTutor: Yes!")
