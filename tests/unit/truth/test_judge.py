"""Promises of the judge: a claim is right, wrong or open by the ledger alone, in whatever form it is written."""

from benchmarks.labelled import total
from benchmarks.messages import JUDGED, by_ledger
from soliloquy.truth.judge import judge, judge_text
from soliloquy.truth.ledger import Ledger
from soliloquy.v1.conversation_pb2 import (
    EVIDENCE_KIND_BANK,
    EVIDENCE_KIND_STATED,
    LEDGER_ROLE_ANSWER,
    LEDGER_ROLE_RESULT,
    Claim,
    Evidence,
    LedgerEntry,
    LedgerRole,
    Quantity,
)
from soliloquy.v1.conversation_pb2 import Ledger as LedgerRecord
from tests.cases import each_case


def entry(symbol: str, value: float, unit: str, step: int, role: LedgerRole, *, settled: bool = True) -> LedgerEntry:
    kind = EVIDENCE_KIND_BANK if settled else EVIDENCE_KIND_STATED
    quantity = Quantity(symbol=symbol, name=symbol, value=value, unit=unit)
    evidence = [Evidence(kind=kind, value=value)]
    return LedgerEntry(quantity=quantity, role=role, step=step, tolerance=0.01, evidence=evidence)


def ledger_with(value: float, unit: str, *, settled: bool = True) -> Ledger:
    first = entry("v1", 1.5, "m/s", 1, LEDGER_ROLE_RESULT)
    return Ledger(LedgerRecord(entries=[first, entry("q", value, unit, 2, LEDGER_ROLE_ANSWER, settled=settled)]))


def verdict(claim: Claim, ledger: Ledger, step: int = 2) -> bool | None:
    return judge([claim], ledger, step).right


@each_case
def test_a_claim_is_judged_in_any_unit_and_as_exactly_as_it_is_written(
    value: float, unit: str, claimed: float, half: float, claimed_unit: str, right: bool
) -> None:
    claim = Claim(quantity="q", value=claimed, unit=claimed_unit, half=half)
    assert verdict(claim, ledger_with(value, unit)) is right


def test_a_number_that_was_rounded_on_the_way_is_neither_right_nor_wrong() -> None:
    quotient = ledger_with(0.005457, "m/s")
    assert verdict(Claim(quantity="q", value=0.0054, half=0.00005, unit="m/s"), quotient) is None
    assert verdict(Claim(quantity="q", value=5.4, half=0.05, unit="mm/s"), quotient) is None
    assert verdict(Claim(quantity="q", value=0.0053, half=0.00005, unit="m/s"), quotient) is False
    assert verdict(Claim(quantity="q", value=0.005, half=0.0005, unit="m/s"), quotient) is False
    assert verdict(Claim(quantity="q", value=142.9, half=0.05), ledger_with(143.24, "")) is None
    assert verdict(Claim(quantity="q", value=150, half=0.5), ledger_with(143.24, "")) is False
    assert verdict(Claim(quantity="q", value=313, half=0.5), ledger_with(312, "")) is False


def test_nothing_is_judged_by_a_value_that_is_not_settled() -> None:
    unsettled = ledger_with(6, "m/s", settled=False)
    assert verdict(Claim(quantity="q", value=3, unit="m/s"), unsettled) is None
    assert verdict(Claim(quantity="q", value=6, unit="m/s"), unsettled) is None


def test_a_claim_of_no_named_quantity_is_right_where_it_is_a_value_that_is_asked_for_and_else_open() -> None:
    ledger = ledger_with(6, "m/s")
    assert verdict(Claim(value=6, unit="m/s"), ledger) is True
    assert verdict(Claim(value=3, unit="m/s"), ledger) is None
    assert verdict(Claim(value=1.5, unit="m/s"), ledger) is None


def test_the_right_value_of_an_earlier_step_answers_nothing_and_a_wrong_one_is_wrong() -> None:
    ledger = ledger_with(6, "m/s")
    assert verdict(Claim(quantity="v1", value=1.5, unit="m/s"), ledger) is None
    assert verdict(Claim(quantity="v1", value=2.5, unit="m/s"), ledger) is False
    assert verdict(Claim(quantity="v1", value=1.5, unit="m/s"), ledger, step=1) is True


def test_a_message_is_wrong_if_any_of_its_claims_is() -> None:
    ledger = ledger_with(6, "m/s")
    right, wrong = Claim(quantity="q", value=6, unit="m/s"), Claim(quantity="v1", value=9, unit="m/s")
    assert judge([right, wrong], ledger, 1).right is False
    assert judge([wrong, right], ledger, 1).claim == wrong
    assert judge([], ledger, 1).right is None


@each_case
def test_a_message_without_claims_is_judged_by_the_values_of_the_ledger(message: str, right: bool | None) -> None:
    ledger = ledger_with(6, "m/s")
    assert ledger.answer is not None
    assert judge_text(message, ledger.answer, ledger) is right


@each_case
def test_a_long_message_is_wrong_only_if_it_speaks_of_what_is_asked(message: str, right: bool | None) -> None:
    question = "Three friends bring 12 euros each and go to the fair. How many euros do the friends spend?"
    ledger = ledger_with(36, "€")
    assert ledger.answer is not None
    assert judge_text(message, ledger.answer, ledger, question) is right


def test_labelled_messages_are_decided_and_seldom_wrongly() -> None:
    found = total(by_ledger(sorted(JUDGED.glob("*.jsonl")), known=True)).counts
    assert found["decided"] >= 0.9 * found["answers"]
    assert found["wrongly"] + found["decided without one"] <= 0.03 * found["decided"]
