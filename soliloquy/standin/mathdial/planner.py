"""Plays the planner: pupils' solutions, most of the wrong ones with the typical mistake of the problem."""

import json
from collections.abc import Sequence
from random import Random

from soliloquy.recipes.mathdial.answers import PlausibleMistakes
from soliloquy.recipes.mathdial.confusion import choose_mistake
from soliloquy.recipes.mathdial.labels_pb2 import Confusion
from soliloquy.recipes.mathdial.mutation import CATEGORIES
from soliloquy.recipes.mathdial.worked_solutions import Mistake, WorkedLine, is_among, mistakes, work_through
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.seeds import draw
from soliloquy.standin.phrasebook import BOOK
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.expressions import UNWORKABLE
from soliloquy.truth.number_format import format_number, format_value
from soliloquy.v1.conversation_pb2 import Problem

# So many pupils are asked for.
_PUPILS = 3


def solve(scene: Scene, rng: Random) -> str:
    problem, rates = scene.problem, BOOK.tables["mathdial"]["rates"]
    fitting = [*mistakes(problem)] if rng.random() >= rates["right"] else []
    weights = [rates["rarer"] ** place for place in range(len(fitting))]
    lines = _wrong(problem, rng.choices(fitting, weights)[0]) if fitting else []
    text = _written(lines or work_through(problem), problem, rng)
    return text.partition("\n####")[0] if rng.random() < rates["unmarked"] else text


def mistake(scene: Scene, rng: Random) -> str:
    return _mistakes(scene.problem, rng)


def without_confusion(problem: Problem) -> str:
    """Returns why the stand-in has no confusion for a problem; empty if it has one."""
    asked, _ = PlausibleMistakes.read(_mistakes(problem, draw(problem.id, "pupils")))
    found = choose_mistake(asked.mistakes, problem, Confusion())
    return "" if found else "no mistake is known that a pupil would hand in"


def describe(scene: Scene, rng: Random) -> str:
    """Describes the first calculation whose value is none of the right ones."""
    problem = scene.problem
    right = [line.value for line in work_through(problem)]
    steps = [step for step in problem.steps if step.expression]
    calculated = [
        (number, link)
        for number, line in enumerate(scene.slot("wrong").splitlines(), start=1)
        for link in calculations_of(line.partition(". ")[2])
    ]
    at = next((at for at, (_, link) in enumerate(calculated) if not is_among(link.stated, right)), len(calculated) - 1)
    number, link = calculated[at]
    wrong = link.expression.replace(" ", "")
    slip = next((one.slip for one in mistakes(problem) if one.numbers.replace(" ", "") == wrong), None)
    category = CATEGORIES.get(slip.strategy, "question") if slip else "question"
    slots = {"name": steps[min(at, len(steps) - 1)].result.name, "numbers": link.expression.strip()}
    told = BOOK.one_of(rng, "mathdial", "confusion", category, **slots)
    belief = (slip.because if slip else "") or _said(rng, "belief", **slots)
    answer = {"Confusion": told, "First Wrong Line": number, "Error Category": category, "Belief": belief}
    return json.dumps(answer, ensure_ascii=False)


def _mistakes(problem: Problem, rng: Random) -> str:
    worked = [(one, lines) for one in mistakes(problem)[:_PUPILS] if (lines := _wrong(problem, one))]
    pupils = [
        {
            "Belief": one.slip.because or _said(rng, "belief", name=lines[-1].name, numbers=one.numbers),
            "Solution": _written(lines, problem, rng),
        }
        for one, lines in worked
    ]
    return PlausibleMistakes.written(mistakes=pupils)


def _wrong(problem: Problem, mistake: Mistake) -> list[WorkedLine]:
    """Works the problem through with a mistake; empty if that has no value."""
    try:
        return work_through(problem, mistake)
    except UNWORKABLE:
        return []


def _written(lines: Sequence[WorkedLine], problem: Problem, rng: Random) -> str:
    """A pupil who has nothing to calculate says the answer, which is no confusion."""
    written = [_line(line, rng) for line in lines]
    return "\n".join([*written, f"#### {format_number(lines[-1].value if lines else problem.answer.value)}"])


def _line(line: WorkedLine, rng: Random) -> str:
    result = format_value(line.value, line.step.result.unit)
    return _said(rng, "step", name=line.name, numbers=line.numbers, result=result)


def _said(rng: Random, part: str, **slots: str) -> str:
    return BOOK.one_of(rng, "mathdial", "solution", part, **slots)
