"""A student's message that claims something else, or the same in another form, says so in its claims."""

import json
from random import Random

import pytest

from soliloquy.recipes.answers import StatedClaim, StudentMessage
from soliloquy.recipes.claims import claims_of, parsed, stated_with
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.files import table_beside
from soliloquy.standin.faults import Rates
from soliloquy.standin.spoilt_messages import spoil_student
from soliloquy.truth.judge import judge
from soliloquy.truth.ledger import ledger_of
from soliloquy.v1.conversation_pb2 import PLAN_SOURCE_BANK, Problem, Quantity, Step
from soliloquy_services.model.engines import noise
from tests.unit.scripted.driver import request
from tests.unit.scripted.problems import CART

WORDS = table_beside(noise.__file__, "noise.toml")["words"]
READING = Scene(prompt="soliloquy/student", record=request("student").record)
STEP = next(step for step in reversed(CART.steps) if step.HasField("result"))


def spoilt(fault: str, text: str, value: str, seed: int = 0) -> StudentMessage:
    """Returns a message that claims a value, with one fault."""
    claims = [{"Quantity": STEP.result.symbol, "Value": value, "Unit": ""}]
    rates = Rates({"claim": {fault: 1.0}, "words": WORDS})
    answer = StudentMessage.written(text=text, claims=claims)
    return StudentMessage.read(spoil_student(answer, READING, rates, Random(seed)))[0]


@pytest.mark.parametrize(
    ("stated", "result", "other"),
    [
        ("1.5 km", Quantity(value=1.5, unit="km"), "1500 m"),
        ("75 %", Quantity(value=75, unit="%"), "0.75"),
        ("0.75", Quantity(value=0.75), "3/4"),
        ("2.5 hours", Quantity(value=2.5, unit="hours"), "150 minutes"),
    ],
)
def test_a_right_value_in_another_form_is_claimed_in_that_form_and_still_right(
    stated: str, result: Quantity, other: str
) -> None:
    said = spoilt("other_form", f"I get {stated}.", stated)
    assert said.text == f"I get {other}."
    assert said.claims
    result.symbol = "x"
    own = Problem(plan=PLAN_SOURCE_BANK, steps=[Step(number=1, result=result)], answer=result)
    claim = parsed(StatedClaim(Quantity="x", Value=said.claims[0].value))
    assert judge([claim], ledger_of(own), 1).right is True


@pytest.mark.parametrize("text", ["I get 3.6 m/s^2.", "6 / 4 = 1.5 km"])
def test_a_value_without_another_form_or_behind_a_calculation_stands(text: str) -> None:
    value = text.rpartition("= ")[2].removeprefix("I get ").rstrip(".")
    assert spoilt("other_form", text, value).text == text


@pytest.mark.parametrize("seed", range(5))
def test_who_gives_another_quantity_claims_that_one_and_no_answer(seed: int) -> None:
    said = spoilt("other_quantity", "I get 3.6 m/s^2.", "3.6 m/s^2", seed)
    assert said.claims
    stated_with(CART)(said)
    assert said.claims[0].quantity != STEP.result.symbol
    assert judge(claims_of(said, CART), ledger_of(CART), STEP.number).right is None


@pytest.mark.parametrize("seed", range(5))
def test_who_corrects_itself_claims_what_it_ends_with(seed: int) -> None:
    said = spoilt("corrected", "I get 3.6 m/s^2.", "3.6 m/s^2", seed)
    assert said.text.endswith("I get 3.6 m/s^2.")
    assert len(said.text) > len("I get 3.6 m/s^2.")
    assert said.claims
    stated_with(CART)(said)
    assert [(one.quantity, parsed(one).value) for one in said.claims] == [(STEP.result.symbol, 3.6)]


def test_a_message_that_claims_nothing_stands() -> None:
    answer = json.dumps({"Message": "Why?", "Claims": []})
    rates = Rates({"claim": {"corrected": 1.0}, "words": WORDS})
    assert json.loads(spoil_student(answer, READING, rates, Random(0)))["Message"] == "Why?"
