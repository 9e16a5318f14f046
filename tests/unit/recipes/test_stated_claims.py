"""Speakers say beside their words what they claim, and a claim that the words do not make is asked for again."""

import json

import jsonschema
import pytest

from soliloquy.recipes.answers import StudentMessage, TutorMessage
from soliloquy.recipes.claims import record_claims, stated_with, written_claims
from soliloquy.recipes.recipe import find
from soliloquy.recipes.rules import settled_rules
from soliloquy.recipes.scaffold.answers import Tutored
from soliloquy.runtime.answers import PartlyUsable, Unreadable
from soliloquy.v1.conversation_pb2 import CLAIM_READER_SPEAKER, CLAIM_READER_UNSPECIFIED, StudentReply, TutorReply
from tests.cases import each_case
from tests.unit.recipes.conversations import conversation, problem, sound_turns


def read(message: str, *claims: object) -> StudentMessage:
    return StudentMessage.read(json.dumps({"Message": message, "Claims": list(claims)}))[0]


def claim(value: object, unit: str = "", quantity: str = "W") -> dict[str, object]:
    return {"Quantity": quantity, "Value": value, "Unit": unit}


def test_a_claim_that_repeats_the_form_is_none() -> None:
    assert read("It is 3 N.", claim("<number>", "<unit>", "<symbol>")).claims == []
    [stated] = read("It is 3 N.", claim("3", "<unit")).claims or []
    assert (stated.value, stated.unit) == ("3", "")


def test_a_grammar_leaves_no_room_to_talk_on_in_a_claim_and_a_long_one_is_read_all_the_same() -> None:
    talk = "the force that the load has on each of its four springs, in the unit of the problem"
    stated = claim("3", "N", talk)
    with pytest.raises(jsonschema.ValidationError, match="too long"):
        jsonschema.validate({"Message": "It is 3 N.", "Claims": [stated]}, json.loads(StudentMessage.json_schema()))
    claims = read("It is 3 N.", stated).claims
    assert claims is not None
    assert [one.quantity for one in claims] == [talk]


@each_case
def test_a_claim_that_the_message_makes_is_recorded(message: str, stated: dict[str, object]) -> None:
    spoken = read(message, stated)
    stated_with(problem())(spoken)
    said = StudentReply()
    record_claims(said, spoken, problem())
    assert (said.text, said.claims_by, len(said.claims)) == (message, CLAIM_READER_SPEAKER, 1)
    assert said.claims[0].quantity == stated["Quantity"]


@each_case
def test_a_claim_that_the_message_does_not_make_goes_back_with_the_reason(
    message: str, stated: dict[str, object], why: str
) -> None:
    with pytest.raises(PartlyUsable, match=why) as refused:
        stated_with(problem())(read(message, stated))
    # The message alone can be used, and nobody says what it claims.
    said = StudentReply()
    rest = refused.value.rest
    assert isinstance(rest, StudentMessage)
    record_claims(said, rest, problem())
    assert said == StudentReply(text=message)


def test_of_a_list_without_end_the_first_claims_are_read_and_the_schema_has_its_bound() -> None:
    said = read("It is 5 J.", *[claim("5", "J")] * 50)
    bound = json.loads(StudentMessage.json_schema())["properties"]["Claims"]["anyOf"][0]["maxItems"]
    assert len(said.claims or ()) == bound


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


def test_a_record_holds_what_was_claimed_and_the_ledger_that_it_is_held_against() -> None:
    made = conversation(*sound_turns())
    record_claims(made.turns[0].student, read("It is 5 J.", claim("5", "J")), made.problem)
    told = find("soliloquy").record(made)
    assert told["turns"][0]["student"]["claims"] == [{"quantity": "W", "value": 5.0, "unit": "J"}]
    assert told["turns"][0]["student"]["claims_by"] == "speaker"
    [work] = [entry for entry in told["problem"]["ledger"] if entry["quantity"]["symbol"] == "W"]
    assert (work["role"], work["settled"], work["evidence"][0]["kind"]) == ("answer", True, "bank")


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ('[{"Quantity": "W", "Value": "180", "Unit": "kJ"}]', [("W", "180", "kJ")]),
        ('```json\n[{"quantity": "W", "value": 180, "unit": "kJ"},]\n```', [("W", "180", "kJ")]),
        ("[]", []),
        ("none", []),
    ],
)
def test_a_tutor_that_writes_headings_lists_what_it_tells_under_one(listed: str, told: list[object]) -> None:
    reply = "[Analysis and Decision] Right.\n[Learner State] Correct\n[Reply] Yes, 180 kJ. And now?"
    raw = f"{reply}\n[Results Told] {listed}"
    tutored, _ = Tutored.read(raw)
    assert tutored.text == "Yes, 180 kJ. And now?"
    assert [(one.quantity, one.value, one.unit) for one in tutored.claims or ()] == told
    assert tutored.claims is not None
    shown = {Tutored.reply_so_far(raw[:end]).strip() for end in range(len(raw) + 1)}
    assert all("Yes, 180 kJ. And now?".startswith(one) for one in shown)


def test_results_that_are_no_list_are_asked_for_again() -> None:
    with pytest.raises(Unreadable, match="Results Told"):
        Tutored.read("[Analysis and Decision] a\n[Learner State] Correct\n[Reply] 5 J. And now?\n[Results Told] 5 J")


def test_a_tutor_that_writes_an_object_tells_results_beside_its_message() -> None:
    told = {"Quantity": "W", "Value": "180", "Unit": "kJ"}
    message, strict = TutorMessage.read(json.dumps({"Message": "Yes, 180 kJ.", "Results Told": [told]}))
    said = TutorReply()
    stated_with(problem())(message)
    record_claims(said, message, problem())
    assert (strict, said.text, said.claims[0].quantity, said.claims[0].value) == (True, "Yes, 180 kJ.", "W", 180)
    assert TutorMessage.read(TutorMessage.written(text=said.text, claims=written_claims(said)))[0] == message


@pytest.mark.parametrize("recipe", ["soliloquy", "mathdial", "scaffold"])
def test_no_false_result_told_leaves_whatever_the_recipe(recipe: str) -> None:
    rules = find(recipe).rules
    assert rules is not None
    made = conversation(*sound_turns())
    made.run.recipe = recipe
    made.turns[-1].tutor.text = "Well, the work is 90 kJ."
    made.turns[-1].tutor.claims.add(quantity="W", value=90, unit="kJ")
    told = [str(one) for one in settled_rules(lambda *_: None)["verdict"](made, made.turns)]
    assert "90 kJ" in told[0]
    assert "verdict" in rules.book.rules
