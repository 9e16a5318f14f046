"""Promises of the ledger: which values are settled, and by what."""

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.truth.ledger import Ledger, doubt_about, ledger_of, make_ledger
from soliloquy.v1.conversation_pb2 import (
    EVIDENCE_KIND_BANK,
    EVIDENCE_KIND_CALCULATED,
    EVIDENCE_KIND_PROGRAMS,
    EVIDENCE_KIND_STATED,
    LEDGER_ROLE_ANSWER,
    LEDGER_ROLE_GIVEN,
    PLAN_SOURCE_UNSPECIFIED,
    Evidence,
    Problem,
)

QUESTION = "A baker fills 6 trays with 8 rolls each and sells 5 rolls. How many rolls are left?"


def prose(solution: str, **fields: object) -> Problem:
    row = ProblemRow.model_validate({"question": QUESTION, "solution": solution, **fields})
    return problem_from_row(row, "mine.jsonl:1")


def programs(value: float) -> Evidence:
    return Evidence(kind=EVIDENCE_KIND_PROGRAMS, value=value, agreeing=3, programs=3)


def settled(ledger: Ledger) -> list[float]:
    return [entry.quantity.value for entry in ledger.results if ledger.is_settled(entry)]


def test_every_value_of_a_bank_problem_is_settled_by_construction() -> None:
    problem = load_bank("physics").family(next(iter(load_bank("physics").files))).problem(3)
    ledger = ledger_of(problem)
    assert {evidence.kind for entry in ledger.entries for evidence in entry.evidence} == {EVIDENCE_KIND_BANK}
    assert all(map(ledger.is_settled, ledger.entries))
    assert ledger.answer is not None
    assert ledger.answer.quantity.value == problem.answer.value


def test_a_solution_that_states_and_calculates_its_results_settles_them() -> None:
    ledger = ledger_of(prose("Step 1) 6 * 8 = 48 rolls. Step 2) 48 - 5 = 43 rolls.", answer=43))
    assert settled(ledger) == [48, 43]
    assert ledger.answer is not None
    assert {one.kind for one in ledger.answer.evidence} == {EVIDENCE_KIND_STATED, EVIDENCE_KIND_CALCULATED}


def test_an_answer_that_is_only_stated_is_open_until_programs_come_to_it() -> None:
    problem = prose("Count them all.", answer=43)
    assert settled(ledger_of(problem)) == []
    assert settled(Ledger(make_ledger(problem, programs(43)))) == [43]


@pytest.mark.parametrize("solution", ["x = 43", "def solution():\n    return 43"])
def test_a_definition_is_no_calculation(solution: str) -> None:
    assert settled(ledger_of(prose(solution, answer=43))) == []


@pytest.mark.parametrize("expression", ["43", "a"])
def test_a_step_that_repeats_a_number_calculates_nothing(expression: str) -> None:
    inputs, result = [{"symbol": "a", "name": "number", "value": 43}], {"symbol": "x", "name": "number of rolls"}
    step = {"explanation": "Count them.", "expression": expression, "inputs": inputs, "result": result}
    assert settled(ledger_of(prose("Count them.", answer=43, steps=[step]))) == []


def test_an_answer_without_a_calculation_says_so_and_no_sentence_that_cannot_be_read() -> None:
    assert doubt_about(prose("The answer is 43.", answer=43)) == "no calculation of the solution gives the answer 43"
    assert "cannot read" in doubt_about(prose("Of 61 rolls 43 are left.", answer=43))


def test_lines_that_begin_with_a_name_are_no_program() -> None:
    assert settled(ledger_of(prose("Baked: 6 * 8 = 48\nLeft: 48 - 5 = 43", answer=43))) == [48, 43]


def test_programs_that_come_to_another_answer_leave_no_result_settled() -> None:
    problem = prose("Step 1) 6 * 8 = 48 rolls. Step 2) 48 - 5 = 43 rolls.", answer=43)
    ledger = Ledger(make_ledger(problem, programs(53)))
    assert ledger.is_disputed
    assert settled(ledger) == []


@pytest.mark.parametrize(("found", "is_disputed"), [(43.0, False), (43.2, False), (45.0, True), (-43.0, True)])
def test_programs_agree_as_exactly_as_the_answer_is_written(found: float, is_disputed: bool) -> None:
    problem = prose("Step 1) 6 * 8 = 48 rolls. Step 2) 48 - 5 = 43 rolls.", answer=43)
    assert Ledger(make_ledger(problem, programs(found))).is_disputed is is_disputed


def test_the_ledger_holds_what_is_given_and_one_answer_with_symbols_of_their_own() -> None:
    row = {"question": QUESTION, "solution": "x = 6 * 8 = 48. x = 48 - 5 = 43.", "answer": 43}
    ledger = ledger_of(problem_from_row(ProblemRow.model_validate(row), "mine.jsonl:1"))
    symbols = [entry.quantity.symbol for entry in ledger.entries]
    assert len(symbols) == len({*symbols})
    assert [entry.role for entry in ledger.results].count(LEDGER_ROLE_ANSWER) == 1


def test_a_recorded_ledger_is_used_as_it_is() -> None:
    problem = prose("Count them all.", answer=43)
    problem.ledger.CopyFrom(make_ledger(problem, programs(43)))
    assert settled(ledger_of(Problem.FromString(problem.SerializeToString()))) == [43]


def test_given_values_are_entries_of_no_step() -> None:
    problem = load_bank("physics").family(next(iter(load_bank("physics").files))).problem(5)
    given = [entry for entry in ledger_of(problem).entries if entry.role == LEDGER_ROLE_GIVEN]
    results = {step.result.symbol for step in problem.steps}
    assert {entry.step for entry in given} == {0}
    assert not {entry.quantity.symbol for entry in given} & results


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_damaged_value_leaves_the_others_as_they_are(value: float) -> None:
    made = prose("6 * 8 = 48 rolls, and 48 - 5 = 43 rolls are left.")
    whole = settled(Ledger(make_ledger(made)))
    made.plan = PLAN_SOURCE_UNSPECIFIED
    made.steps[0].inputs.add(symbol="q", value=value)
    assert [one for one in settled(Ledger(make_ledger(made))) if one not in whole] == []
