"""The scripted planner's plans of two banks, looked at by other code than the planner's own rules."""

import math
import re
from collections import Counter
from itertools import product

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.scaffold import planner
from soliloquy.recipes.scaffold.labels_pb2 import EnrichmentLabels, Plan
from soliloquy.recipes.scaffold.plan_rules import faults
from soliloquy.runtime.ask import Ask
from soliloquy.truth.laws import expression
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy_services.model.engines.scripted import ScriptedEngine

LEAST = 70
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def numbers(text: str) -> list[float]:
    return [float(found) for found in _NUMBER.findall(text.replace(" × 10^", "e"))]


def is_sound(problem: Problem, plan: Plan) -> bool:
    """By the problem's own numbers, of which the scripted planner says four digits at least."""
    questions = plan.questions
    results = {step.number: step.result.value for step in problem.steps if step.HasField("result")}
    known = set(numbers(problem.question))
    for one in questions:
        wanted = results.get(one.steps[-1])
        way = expression(one.answer)
        in_numbers = way is not None and not way.symbols and wanted is not None and _is_same(way.value({}), wanted)
        by_formula = one.answer == problem.steps[one.steps[-1] - 1].formula
        if wanted is not None and not by_formula and not in_numbers and not _is_same(numbers(one.answer)[0], wanted):
            return False
        hidden = {wanted, problem.answer.value} - known
        if hidden.intersection(numbers(one.question)) or not one.question.strip():
            return False
        known.update(numbers(one.answer))
    covered = dict.fromkeys(step for one in questions for step in one.steps)
    in_order = list(covered) == [step.number for step in problem.steps]
    return in_order and _is_same(numbers(questions[-1].answer)[0], problem.answer.value)


def _is_same(said: float, value: float) -> bool:
    return math.isclose(said, value, rel_tol=0.001)


@pytest.mark.parametrize("name", ["algebra", "arithmetic"])
async def test_every_plan_that_is_kept_passes_every_filter(name: str) -> None:
    bank = load_bank(name)
    engine = ScriptedEngine()
    discarded, without = Counter[str](), []
    several = range(7, 7 + max(1, -(-LEAST // len(bank.names))))
    for family, number in product(bank.names, several):
        problem = bank.family(family).problem(number)
        enrichment = await planner.enrich(
            problem, {}, Ask(model=engine, role="planner", origin=(problem.id,), problem=problem)
        )
        plan = EnrichmentLabels.FromString(enrichment.labels).plan
        discarded.update({one.because: one.samples for one in plan.discarded})
        if not plan.questions:
            without.append(enrichment.plain_because)
            continue
        assert 2 <= len(plan.questions) <= 7, family
        assert is_sound(problem, plan), family
        assert list(faults(plan, problem)) == [], family
    assert set(without) <= {"no answer: the problem has no number for one"}
    assert not discarded
