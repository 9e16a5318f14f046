"""The wrong solution that a student believes in, as both speakers refer to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from soliloquy.recipes.mathdial.belief import believed
from soliloquy.recipes.mathdial.confusion import confusion_of, lines
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.number_format import format_number, with_unit
from soliloquy.v1.conversation_pb2 import Problem, Step


@dataclass(frozen=True, kw_only=True, slots=True)
class WrongSolution:
    equations: Sequence[str]
    # The first wrong line, its step, and the idea behind it.
    equation: str
    step: Step
    belief: str
    answer: str


def wrong_solution(problem: Problem) -> WrongSolution:
    confusion, found = confusion_of(problem.enrichment), believed(problem)
    calculated = [
        (number, f"{link.expression.strip()} = {format_number(link.stated)}")
        for number, line in enumerate(lines(confusion), start=1)
        for link in calculations_of(line)
    ]
    wrong = (equation for number, equation in calculated if number == confusion.first_wrong_step)
    return WrongSolution(
        equations=[equation for _, equation in calculated],
        equation=next(wrong, calculated[-1][1]),
        step=found.step if found else problem.steps[-1],
        belief=confusion.belief,
        answer=with_unit(format_number(confusion.answer), problem.answer.unit),
    )
