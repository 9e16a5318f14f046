"""The parsed solution of a pupil."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from soliloquy.recipes.mathdial.worked_solutions import is_among, work_through
from soliloquy.recipes.scripted.parsed_prompt import ParsedPrompt
from soliloquy.truth.quantities import values_in
from soliloquy.truth.stated_answer import answer_in
from soliloquy.v1.conversation_pb2 import Problem, Step

_LINE = re.compile(r"^\s*\d+\.\s+", re.MULTILINE)
# "= $8" has the number 8.
_CURRENCY = re.compile(r"[$€£](?=\d)")
_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_FUNCTION = r"math\.\w+\("
_OPERAND = rf"-?(?:{_FUNCTION}|\(){{0,4}}{_NUMBER}\){{0,4}}"
_EQUATION = re.compile(rf"((?:{_OPERAND}\s*(?:\*\*|[-+*/])\s*)+{_OPERAND}|{_FUNCTION}{_NUMBER}\)) = ({_NUMBER})")


@dataclass(frozen=True, kw_only=True, slots=True)
class PupilSolution:
    """A pupil's solution: its equations line by line, and its first error."""

    equations: Sequence[str]
    # The first wrong line, and its step.
    line: int
    step: Step
    equation: str
    answer: str


def pupil_solution(reading: ParsedPrompt) -> PupilSolution:
    return _pupil(reading.section("pupil"), reading.problem.SerializeToString(deterministic=True))


def claimed_answer(text: str, problem: Problem) -> float | None:
    """Returns what a message comes to, preferably in the unit of the problem's answer."""
    return answer_in(text, problem.answer.unit, values_in(problem.question))


# All prompts of the conversations about a problem quote the same solution.
@lru_cache(1024)
def _pupil(quoted: str, serialised: bytes) -> PupilSolution:
    problem = Problem.FromString(serialised)
    lines = _CURRENCY.sub("", _LINE.sub("", quoted)).splitlines()
    right = [line.value for line in work_through(problem)]
    steps = [step for step in problem.steps if step.expression]
    found = [(number, match[0], match[2]) for number, line in enumerate(lines, 1) for match in _EQUATION.finditer(line)]
    wrong = next((at for at, row in enumerate(found) if not is_among(float(row[2]), right)), len(found) - 1)
    line, equation, _ = found[wrong]
    return PupilSolution(
        equations=[row[1] for row in found],
        line=line,
        step=steps[min(wrong, len(steps) - 1)],
        equation=equation,
        answer=found[-1][2],
    )
