"""Finds the step that a sub-question covers, and writes it out."""

from functools import cache
from pathlib import Path

from soliloquy.recipes.scaffold.labels_pb2 import SubQuestion
from soliloquy.recipes.scaffold.learner import asked_step
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.scene import Scene
from soliloquy.standin.phrasebook import Phrasebook, book_of
from soliloquy.truth.expressions import parse_expression
from soliloquy.truth.number_format import written_number
from soliloquy.v1.conversation_pb2 import Problem, Step


@cache
def book() -> Phrasebook:
    return book_of(Path(__file__))


def known_problem(scene: Scene) -> Problem:
    """Returns the problem; of one without steps, the answer is the only step."""
    if scene.problem.steps:
        return scene.problem
    problem = Problem()
    problem.CopyFrom(scene.problem)
    problem.steps.add(number=1, ask=problem.question, result=problem.answer)
    return problem


def target_of(scene: Scene) -> SubQuestion:
    """Returns the sub-question at hand."""
    return plan_of(scene.problem).questions[int(scene.slot("number")) - 1]


def step_of(scene: Scene) -> Step:
    """Returns the last step that the sub-question covers."""
    return asked_step(known_problem(scene), target_of(scene))


def working(step: Step) -> str:
    """Writes the step out in numbers; empty if it calculates nothing."""
    if not step.expression:
        return ""
    symbols = {known.symbol: _in_working(known.value) for known in step.inputs}
    return parse_expression(step.expression).template.format(**symbols)


def _in_working(value: float) -> str:
    written = written_number(value)
    return f"({written})" if "^" in written else written
