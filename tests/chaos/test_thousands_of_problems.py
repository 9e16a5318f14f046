"""Writes ten thousand word problems: each runs, equals its steps' result, and hardly any two are alike."""

import asyncio
import math
from collections import Counter

import pytest

from soliloquy.problems.files.problem_from_row import problem_from_row
from soliloquy.problems.files.problem_row import ProblemRow
from soliloquy.problems.sifting.near_duplicates import repeats
from soliloquy.problems.solving.step_graph import steps_from_program
from soliloquy.v1.conversation_pb2 import Problem
from soliloquy.v1.sandbox_pb2 import STATUS_OK
from soliloquy_papers.mathwell.recipe import RECIPE
from tests.unit.papers.mathwell.writing import commissions, made

COUNT = 10_000


def by_its_steps(problem: Problem) -> float:
    """Calculates the function's steps with our own expressions instead of Python."""
    row = ProblemRow(question=problem.question, solution=problem.solution)
    stated = row.model_dump() | {"steps": steps_from_program(problem.solution), "id": None}
    return problem_from_row(ProblemRow.model_validate(stated), "here").answer.value


@pytest.mark.timeout(3600)
def test_ten_thousand_problems_run_and_are_right() -> None:
    async def write() -> list[tuple[Problem, list[str]]]:
        written = []
        for ordinal in range(COUNT):
            one = await made(commissions().problem(11, ordinal))
            (attempt,) = one.turns[0].calculation.attempts
            assert attempt.execution.status == STATUS_OK
            written.append((one.problem, RECIPE.faults(one)))
        return written

    written = asyncio.run(write())
    for problem, _ in written:
        assert math.isclose(by_its_steps(problem), problem.answer.value, rel_tol=1e-4)
        assert problem.topic in problem.question
    kept = [problem for problem, reasons in written if not reasons]
    reasons = Counter(reason.partition(":")[0] for _, reasons in written for reason in reasons)
    assert len(kept) >= 0.85 * COUNT, reasons
    alike = sum(repeats(problem.question for problem in kept)) / len(kept)
    assert alike <= 0.01, alike
    print(f"{COUNT} written, {len(kept)} kept, {100 * alike:.2f} % near-duplicates, {dict(reasons)}")
