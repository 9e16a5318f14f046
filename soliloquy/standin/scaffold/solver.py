"""Plays a student whose success depends on the number of steps and on what a tutor has told it."""

from random import Random

from soliloquy.recipes.scene import Scene
from soliloquy.runtime.seeds import draw
from soliloquy.standin.scaffold.steps import book
from soliloquy.truth.number_format import format_number, format_value, with_unit
from soliloquy.truth.quantities import is_same, quantities_in
from soliloquy.v1.conversation_pb2 import Problem

_SAME = 0.001


def solve(scene: Scene, rng: Random) -> str:
    problem = scene.problem
    chance = _chance(problem)
    chance += (1 - chance) * _learned_share(problem, scene.slot("talk"))
    lines = [f"{step.explanation} {step.formula}".strip() for step in problem.steps]
    right = format_value(problem.answer.value, problem.answer.unit)
    answer = right if rng.random() < chance else _wrong_answer(problem, rng)
    return "\n".join([*lines, f"Answer: {answer}"])


def _chance(problem: Problem) -> float:
    """More steps lower the chance; problems of the same length differ."""
    rates = book().tables["solver"]
    by_steps = rates["solved_by_steps"]
    mean = by_steps[min(len(problem.steps), len(by_steps)) - 1]
    return float(min(max(mean + draw("solve rate", problem.id).uniform(-1, 1) * rates["spread"], 0.0), 1.0))


def _learned_share(problem: Problem, talk: str) -> float:
    """Returns the share of mistakes that a dialogue prevents by reaching the problem's results."""
    said = quantities_in(talk)
    results = [step for step in problem.steps if step.HasField("result")]
    came_up = [
        step for step in results if any(is_same(one, step.result.value, step.result.unit, _SAME) for one in said)
    ]
    learned: float = book().tables["solver"]["learned"]
    return learned * len(came_up) / max(len(results), 1)


def _wrong_answer(problem: Problem, rng: Random) -> str:
    """Returns the result of a typical mistake at the last step, or of stopping early."""
    values = [slip.value for slip in problem.steps[-1].slips] + [step.result.value for step in problem.steps[:-1]]
    others = [value for value in values if abs(value - problem.answer.value) > _SAME * abs(problem.answer.value)]
    return with_unit(format_number(rng.choice(others or [problem.answer.value * 10 + 1])), problem.answer.unit)
