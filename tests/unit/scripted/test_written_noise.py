"""Word problems as badly written as the paper counted."""

import asyncio
import json
from collections import Counter
from functools import cache

import pytest

from soliloquy.dataset.rows import rows
from soliloquy.v1.conversation_pb2 import Commission, Conversation
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, STATUS_OK, Execution, Job
from soliloquy_papers.mathwell.commissions import commissioned
from soliloquy_papers.mathwell.figures.authored import AuthoredProblems
from soliloquy_papers.mathwell.recipe import RECIPE
from soliloquy_services.model.engines.noise import noise_of
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.papers.mathwell.writing import BANK, commissions, made
from tests.unit.scripted.growing import Desk

COUNT = 300
NOISY = ScriptedEngine(BANK.draw, noise=noise_of("real"))


class Rough(Desk):
    """Takes what is no program, or prints, for a program that fails."""

    async def execute(self, job: Job) -> Execution:
        try:
            return await super().execute(job)
        except (SyntaxError, ArithmeticError, AssertionError) as error:
            return Execution(status=STATUS_ERROR, error=f"{type(error).__name__}: {error}")


@cache
def written() -> list[Conversation]:
    """Without examples, which a scripted writer does not need."""

    async def write() -> list[Conversation]:
        problems = [commissions().problem(3, ordinal) for ordinal in range(20)]
        for problem in problems:
            problem.labels = commissioned(Commission(topic=problem.topic))
        return [await made(problems[ordinal % 20], NOISY, Rough(), run=f"run-{ordinal}") for ordinal in range(COUNT)]

    return asyncio.run(write())


def test_as_many_functions_run_as_the_paper_counted() -> None:
    ran = sum(one.problem.HasField("answer") for one in written())
    assert ran / COUNT == pytest.approx(0.664, abs=0.08)


def test_a_function_that_does_not_run_is_never_kept_and_says_why() -> None:
    kinds = Counter(fault.partition(":")[0] for one in written() for fault in RECIPE.faults(one))
    assert {"not executable", "solvable", "appropriate"} <= set(kinds)
    for one in written():
        attempts = one.turns[0].calculation.attempts
        if not attempts or attempts[0].execution.status != STATUS_OK:
            assert RECIPE.faults(one)


def test_what_noise_makes_unsolvable_or_unfit_is_found() -> None:
    counted = AuthoredProblems()
    counted.add(rows([one.SerializeToString() for one in written()], "mathwell"))
    shares = counted.shares()
    assert counted.written == sum(len(one.turns[0].calculation.attempts) for one in written())
    assert shares["solvable"] == pytest.approx(89.2, abs=6)
    assert shares["named"] == pytest.approx(99.6, abs=1.5)
    assert shares["all"] is not None
    assert 60 <= shares["all"] <= 80


def test_whose_ran_is_told_from_who_meets_all() -> None:
    assert AuthoredProblems().as_json() == {
        "written": 0,
        **dict.fromkeys(["ran", "solvable", "accurate", "appropriate", "all", "named", "ran and all"]),
        **dict.fromkeys(["reading_grade", "dale_chall", "tokens", "self_similarity", "distinct_operations"]),
        "operations": {},
    }
    assert json.dumps(AuthoredProblems(written=3, ran=2, meets_all=1).shares()["ran and all"]) == "33.3"
