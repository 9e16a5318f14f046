"""The solution of a pupil, and where it goes wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from soliloquy.recipes.mathdial.worked_solutions import is_among, work_through
from soliloquy.recipes.scene import Scene
from soliloquy.standin.phrasebook import Phrasebook, book_of
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.number_format import format_number
from soliloquy.v1.conversation_pb2 import Problem, Step


@cache
def book() -> Phrasebook:
    return book_of(Path(__file__))


@dataclass(frozen=True, kw_only=True, slots=True)
class PupilSolution:
    """A pupil's solution: its equations, and the first that is wrong."""

    equations: Sequence[str]
    # The first wrong line, and its step.
    line: int
    step: Step
    equation: str
    answer: str


def pupil_solution(scene: Scene) -> PupilSolution:
    return _pupil(scene.slot("wrong"), scene.problem.SerializeToString(deterministic=True))


# All prompts of the conversations about a problem have the same solution.
@lru_cache(1024)
def _pupil(numbered: str, serialised: bytes) -> PupilSolution:
    problem = Problem.FromString(serialised)
    right = [line.value for line in work_through(problem)]
    steps = [step for step in problem.steps if step.expression]
    found = [
        (number, link.expression.strip(), link.stated)
        for number, line in enumerate(numbered.splitlines(), start=1)
        for link in calculations_of(line.partition(". ")[2])
    ]
    wrong = next((at for at, (_, _, value) in enumerate(found) if not is_among(value, right)), len(found) - 1)
    equations = [f"{expression} = {format_number(value)}" for _, expression, value in found]
    return PupilSolution(
        equations=equations,
        line=found[wrong][0],
        step=steps[min(wrong, len(steps) - 1)],
        equation=equations[wrong],
        answer=format_number(found[-1][2]),
    )
