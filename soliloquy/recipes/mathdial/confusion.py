"""Selects the wrong solution that a student believes in, one of the most frequent samples, and locates its error."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from soliloquy.recipes.mathdial.claims import equations, false_equations, final_answer, is_right, without_marks
from soliloquy.recipes.mathdial.labels_pb2 import Confusion, EnrichmentLabels
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.plausibility import is_plausible
from soliloquy.truth.numbers import numbers_in_digits
from soliloquy.v1.conversation_pb2 import Discarded, Enrichment, Problem

_SAME = 1e-6
# The equations of each line: their operands and results.
_Lines = list[list[tuple[list[float], float]]]


class NoConfusion(Exception):
    """No sample is a usable confusion; the message says why, and `confusion` counts the discarded samples."""

    def __init__(self, why: str, confusion: Confusion) -> None:
        super().__init__(why)
        self.confusion = confusion


class InDispute(NoConfusion):
    """The samples agree on another answer than the problem's."""


def sampling_refusal(problem: Problem) -> str:
    """Returns the reason not to sample solutions of a problem; empty if there is none."""
    steps, most = len(problem.steps), POLICY["confusion"]["most_steps"]
    if not problem.HasField("answer"):
        return "no answer: the problem has no number for one"
    return f"too many steps: {steps}; problems of {most} at most are sampled" if steps > most else ""


def choose_confusion(solutions: Sequence[str], problem: Problem) -> Confusion:
    """Returns the first of the most frequent wrong solutions; raises NoConfusion."""
    limits = POLICY["confusion"]
    answers = [final_answer(solution) for solution in solutions]
    wrong = Counter(answer for answer in answers if answer is not None and not _is(answer, problem.answer.value))
    because = Counter(_unusable(solution, answer, problem) for solution, answer in zip(solutions, answers, strict=True))
    left: dict[float, list[str]] = {}
    for solution, answer in zip(solutions, answers, strict=True):
        if answer is not None and not _unusable(solution, answer, problem):
            left.setdefault(answer, []).append(solution)
    discarded = [Discarded(because=reason, samples=n) for reason, n in sorted(because.items()) if reason]
    told = ", ".join(f"{one.samples} {one.because}" for one in discarded)
    none = Confusion(samples=len(solutions), discarded=discarded)
    answer, most = max(
        left.items(), key=lambda group: (_stands_out(group[0], problem), len(group[1])), default=(0.0, [])
    )
    if not wrong:
        raise NoConfusion(f"no sample is wrong: {told}", none)
    common, agreeing = wrong.most_common(1)[0]
    if agreeing > len(solutions) - limits["disagreeing_at_least"]:
        raise InDispute(f"samples agree on a wrong answer: {agreeing} of {len(solutions)} on {common:g}", none)
    if not most:
        raise NoConfusion(f"no wrong sample will do: {told}", none)
    return Confusion(
        solution=without_marks(most[0]),
        answer=answer,
        samples=len(solutions),
        agreeing=wrong[answer],
        discarded=discarded,
    )


def _stands_out(answer: float, problem: Problem) -> bool:
    """Whether a person could hand the answer in, if that counts."""
    return POLICY["confusion"]["plausible_first"] and is_plausible(answer, problem.answer.value, problem.answer.unit)


def confusion_of(enrichment: Enrichment) -> Confusion:
    return EnrichmentLabels.FromString(enrichment.labels).confusion


def labelled(confusion: Confusion) -> bytes:
    """Returns the labels of an enrichment with this confusion."""
    return EnrichmentLabels(confusion=confusion).SerializeToString()


def lines(confusion: Confusion) -> list[str]:
    return confusion.solution.splitlines()


def numbered(confusion: Confusion) -> Iterator[str]:
    return (f"{number}. {line}" for number, line in enumerate(lines(confusion), start=1))


def _unusable(solution: str, answer: float | None, problem: Problem) -> str:
    """Returns the reason to discard a sample; empty if it is usable."""
    limits = POLICY["confusion"]
    right = problem.answer.value
    if answer is None:
        return "without a final answer"
    if _is(answer, right):
        return "right"
    # The limit itself counts as near, despite rounding of the difference.
    if abs(answer - right) <= limits["nearest"] + 1e-9:
        return "nearly right"
    if false_equations(solution):
        return "miscalculated"
    if len(solution) < limits["shortest_characters"]:
        return "too short"
    return "too long" if len(solution) > limits["longest_characters"] else ""


def _is(answer: float, right: float) -> bool:
    return math.isclose(answer, right, rel_tol=_SAME)


class LocatedError(NamedTuple):
    """The error of a solution by its numbers, which take precedence over the model's description."""

    category: str
    # The first wrong line, from 1.
    line: int


def locate_error(confusion: Confusion, problem: Problem) -> LocatedError | None:
    """Returns None if the numbers do not determine the error."""
    found = [list(equations(line)) for line in lines(confusion)]
    return _went_on(found, problem) or _quantity(found, problem)


def _went_on(lines: _Lines, problem: Problem) -> LocatedError | None:
    """The solution reaches the right answer and continues to another one."""
    results = [(number, result) for number, line in enumerate(lines, start=1) for _, result in line]
    for at, (_, result) in enumerate(results[:-1]):
        if is_right(result, problem):
            return LocatedError("went_on", results[at + 1][0])
    return None


def _quantity(lines: _Lines, problem: Problem) -> LocatedError | None:
    """The solution uses a number of the question that the right solution does not need."""
    calculated = [step for step in problem.steps if step.HasField("result")]
    if not all(step.expression for step in calculated):
        return None
    given = {number.value for number in numbers_in_digits(problem.question)}
    needed = {known.value for step in calculated for known in step.inputs}
    needed |= {number.value for step in calculated for number in numbers_in_digits(step.expression)}
    for number, line in enumerate(lines, start=1):
        if any(given.intersection(put_in) - needed for put_in, _ in line):
            return LocatedError("quantity", number)
    return None
