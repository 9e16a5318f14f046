"""Plays the planner: pupils' solutions, most of the wrong ones with the typical mistake of the problem."""

import json
from random import Random

from soliloquy.recipes.mathdial.answers import PlausibleMistakes
from soliloquy.recipes.mathdial.claims import operands
from soliloquy.recipes.mathdial.confusion import choose_mistake
from soliloquy.recipes.mathdial.worked_solutions import (
    Mistake,
    WorkedLine,
    is_among,
    known_mistakes,
    mistakes,
    work_through,
    written_out,
)
from soliloquy.recipes.scene import Scene
from soliloquy.standin.phrasebook import BOOK
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.expressions import UNWORKABLE
from soliloquy.truth.number_format import format_number
from soliloquy.v1.conversation_pb2 import ErrorStrategy, Problem

# So many pupils are asked for.
_PUPILS = 3


def solve(scene: Scene, rng: Random) -> str:
    problem, rates = scene.problem, BOOK.tables["mathdial"]["rates"]
    fitting = [*mistakes(problem)] if rng.random() >= rates["right"] else []
    weights = [rates["rarer"] ** place for place in range(len(fitting))]
    lines = _wrong(problem, rng.choices(fitting, weights)[0]) if fitting else []
    # A pupil who has nothing to calculate says the answer, which is no confusion.
    lines, alone = lines or work_through(problem), f"#### {format_number(problem.answer.value)}"
    text = written_out(lines) if lines else alone
    return text.partition("\n####")[0] if rng.random() < rates["unmarked"] else text


def mistake(scene: Scene, rng: Random) -> str:
    pupils = [one.model_dump(by_alias=True) for one in known_mistakes(scene.problem)[:_PUPILS]]
    return PlausibleMistakes.written(mistakes=pupils)


def without_confusion(problem: Problem) -> str:
    """Returns why the stand-in has no confusion for a problem; empty if it has one."""
    return "" if choose_mistake(known_mistakes(problem), problem) else "no mistake is known that a pupil would hand in"


def describe(scene: Scene, rng: Random) -> str:
    """Describes the first calculation whose value is none of the right ones."""
    problem = scene.problem
    right = work_through(problem)
    results = [line.value for line in right]
    calculated = [
        (number, link)
        for number, line in enumerate(scene.slot("wrong").splitlines(), start=1)
        for link in calculations_of(line.partition(". ")[2])
    ]
    at = next(
        (at for at, (_, link) in enumerate(calculated) if not is_among(link.stated, results)), len(calculated) - 1
    )
    (number, link), line = calculated[at], right[min(at, len(right) - 1)]
    wrong = link.expression.replace(" ", "")
    slip = next((one.slip for one in mistakes(problem) if one.numbers.replace(" ", "") == wrong), None)
    has_its_numbers = sorted(operands(link.expression)) == sorted(operands(line.numbers))
    converts = slip is not None and slip.strategy == ErrorStrategy.ERROR_STRATEGY_CONVERSION
    category = "conversion" if converts else "other" if has_its_numbers else "question"
    slots = {"name": line.step.result.name, "numbers": link.expression.strip()}
    told = BOOK.one_of(rng, "mathdial", "confusion", category, **slots)
    belief = (slip.because if slip else "") or BOOK.one_of(rng, "mathdial", "confusion", "belief", **slots)
    answer = {"Confusion": told, "First Wrong Line": number, "Error Category": category, "Belief": belief}
    return json.dumps(answer, ensure_ascii=False)


def _wrong(problem: Problem, mistake: Mistake) -> list[WorkedLine]:
    """Works the problem through with a mistake; empty if that has no value."""
    try:
        return work_through(problem, mistake)
    except UNWORKABLE:
        return []
