"""Promises of the bank's problems, held over many draws of every family."""

import math
import re

import pytest
from soliloquy.v1 import conversation_pb2 as pb

from services.curriculum.bank.bank import load_bank
from services.curriculum.bank.family import Family
from services.curriculum.working.expressions import compiled
from services.curriculum.working.figures import with_unit

BANK = load_bank("physics")
DRAWS = 200
STRATEGIES = [1, 2, 3, 4]


def drawn(family: Family) -> list[pb.Problem]:
    numbers = [BANK_STEP * index for index in range(1, DRAWS + 1)]
    return [family.problem(family.choice(number), source=f"test#{number}") for number in numbers]


# A prime beyond any family's number of combinations, so that draws differ in every slot.
BANK_STEP = 1_000_000_007

each_family = pytest.mark.parametrize("family", BANK.families, ids=lambda family: family.name)


def numeric(problem: pb.Problem) -> list[pb.Step]:
    return [step for step in problem.steps if step.HasField("result")]


@each_family
def test_an_expression_gives_its_stated_value(family: Family) -> None:
    for problem in drawn(family):
        for step in numeric(problem):
            value = compiled(step.expression).value({i.symbol: i.value for i in step.inputs})
            assert math.isclose(value, step.result.value, rel_tol=1e-4), step


@each_family
def test_the_answer_is_the_result_of_the_last_step(family: Family) -> None:
    for problem in drawn(family):
        assert problem.answer == problem.steps[-1].result
        assert [step.number for step in problem.steps] == list(range(1, len(problem.steps) + 1))


@each_family
def test_every_numeric_step_has_one_clearly_wrong_slip_a_strategy(family: Family) -> None:
    for problem in drawn(family):
        for step in numeric(problem):
            assert [slip.strategy for slip in step.slips] == STRATEGIES
            for slip in step.slips:
                assert math.isfinite(slip.value)
                assert slip.value != 0
                assert abs(slip.value - step.result.value) > 0.03 * abs(step.result.value), step
                assert slip.working.startswith(f"{step.result.symbol} = ")
                assert slip.unit == step.result.unit


@each_family
def test_only_the_first_step_may_yield_no_number_and_then_has_wrong_equations(family: Family) -> None:
    for problem in drawn(family):
        assert len(numeric(problem)) >= len(problem.steps) - 1
        for step in problem.steps:
            if not step.HasField("result"):
                assert step.number == 1
                assert [slip.strategy for slip in step.slips] == [1, 2]
                assert all(slip.working and slip.working != step.formula for slip in step.slips)


@each_family
def test_texts_are_complete_and_clean(family: Family) -> None:
    for problem in drawn(family):
        texts = [problem.question, problem.solution]
        for step in problem.steps:
            texts += [step.ask, step.explanation, step.formula, *(slip.working for slip in step.slips)]
        for text in texts:
            assert text
            assert not re.search(r"[{}]|\bnan\b|\binf\b|\d\.\d{9,}|\ba [aeiou]|  ", text, re.IGNORECASE), text


@each_family
def test_numbers_are_positive_and_of_a_plausible_size(family: Family) -> None:
    for problem in drawn(family):
        for step in numeric(problem):
            assert 1e-20 < step.result.value < 1e12, step


@each_family
def test_the_question_states_every_given_quantity_with_its_unit(family: Family) -> None:
    for number in range(DRAWS):
        choice = family.choice(BANK_STEP * number)
        question = family.problem(choice, source="test").question
        for amount in choice.amounts.values():
            assert with_unit(amount.quantity.value, amount.quantity.unit) in question


@each_family
def test_an_ask_never_gives_the_result_away(family: Family) -> None:
    for problem in drawn(family):
        for step in numeric(problem):
            assert with_unit(step.result.value, step.result.unit) not in step.ask


@each_family
def test_every_inputs_value_is_given_constant_or_worked_out_before(family: Family) -> None:
    for problem in drawn(family):
        results: dict[str, float] = {}
        for step in numeric(problem):
            for quantity in step.inputs:
                assert results.get(quantity.symbol, quantity.value) == quantity.value
            results[step.result.symbol] = step.result.value


def test_a_question_leads_back_to_its_problem() -> None:
    for number in range(3000):
        problem = BANK.draw(number)
        again = BANK.book.recognise(problem.question.replace(" ", "\n", 1))
        assert again is not None, problem.question
        again = pb.Problem.FromString(again.SerializeToString())
        again.id, again.source = problem.id, problem.source
        assert again == problem


@pytest.mark.parametrize("question", ["", "What is love?", "A sledge of mass 7.77 kg is pulled."])
def test_a_foreign_question_is_not_recognised(question: str) -> None:
    assert BANK.book.recognise(question) is None


def test_a_value_off_the_grid_is_not_recognised() -> None:
    question = next(p.question for p in map(BANK.draw, range(1000)) if "echo_sounder" in p.source)
    assert BANK.book.recognise(re.sub(r"\d+ ms", "31.7 ms", question)) is None


def test_thousands_of_seeds_give_different_questions() -> None:
    assert len({BANK.draw(number).question for number in range(5000)}) >= 4500


@pytest.mark.parametrize("number", [0, -1, 2**64, 10**30])
def test_any_seed_has_a_problem_and_always_the_same_one(number: int) -> None:
    assert BANK.draw(number) == BANK.draw(number)
    assert BANK.draw(number).source.endswith(f"#{number}")


def test_the_bank_is_broad() -> None:
    kinds = [{step.kind for step in family.steps} for family in BANK.families]
    assert len(BANK.families) >= 16
    assert sum(pb.STEP_KIND_REARRANGE in kind for kind in kinds) >= len(kinds) / 3
    assert sum(pb.STEP_KIND_CONVERT in kind for kind in kinds) >= len(kinds) / 3
    assert {"mechanics", "thermodynamics", "fluids", "electromagnetism"} <= {family.topic for family in BANK.families}
    assert {family.difficulty for family in BANK.families} == {1, 2, 3}
