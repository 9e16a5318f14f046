"""Promises of the quantity that a question asks for: it is read only where the question names it."""

import pytest

from soliloquy.problems.bank.bank import bank_names, load_bank
from soliloquy.truth.result_units import asked_kinds, is_another
from soliloquy.truth.units import unit
from tests.cases import each_case


@each_case
def test_a_unit_of_another_quantity_than_the_question_names_is_another(question: str, own: str, other: str) -> None:
    kinds = asked_kinds(question)
    assert not is_another(unit(own), kinds)
    assert is_another(unit(other), kinds)


@each_case
def test_a_question_that_names_no_quantity_or_several_asks_for_none(question: str) -> None:
    assert not asked_kinds(question)


@pytest.mark.parametrize("name", bank_names())
def test_no_answer_of_a_bank_measures_something_else_than_its_question_names(name: str) -> None:
    bank = load_bank(name)
    problems = [bank.family(family).problem(number) for family in bank.names for number in (3, 50)]
    asked = [(problem, asked_kinds(problem.question)) for problem in problems if problem.HasField("answer")]
    assert len(problems) > 20
    assert not [one.question for one, kinds in asked if is_another(unit(one.answer.unit), kinds)]
