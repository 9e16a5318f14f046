"""Plays the planner: pupils' solutions, most of the wrong ones with the typical mistake of the problem."""

import json
from random import Random

from soliloquy.recipes.mathdial.confusion import InDispute, NoConfusion, choose_confusion
from soliloquy.recipes.mathdial.mutation import CATEGORIES, mutated
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.mathdial.worked_solutions import WorkedLine, is_among, mistakes, work_through
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.seeds import draw
from soliloquy.standin.phrasebook import BOOK
from soliloquy.standin.steps import givens
from soliloquy.truth.calculations import calculations_of
from soliloquy.truth.expressions import UNWORKABLE
from soliloquy.truth.number_format import format_number, format_quantity, format_value
from soliloquy.v1.conversation_pb2 import Problem


def solve(scene: Scene, rng: Random) -> str:
    return _solution(scene.problem, rng)


def without_confusion(problem: Problem) -> str:
    """Returns why the pupils' solutions of a problem hold no confusion, as the planner would say; empty if one does."""
    samples = range(POLICY["confusion"]["samples"])
    try:
        choose_confusion([_solution(problem, draw(problem.id, "confusion", number)) for number in samples], problem)
    except InDispute as none:
        return str(none)
    except NoConfusion as none:
        return "" if mutated(problem, none.confusion) else str(none)
    return ""


def describe(scene: Scene, rng: Random) -> str:
    """Describes the first calculation whose value is none of the right ones."""
    right = [line.value for line in work_through(scene.problem)]
    steps = [step for step in scene.problem.steps if step.expression]
    calculated = [
        (number, link)
        for number, line in enumerate(scene.slot("wrong").splitlines(), start=1)
        for link in calculations_of(line.partition(". ")[2])
    ]
    at = next((at for at, (_, link) in enumerate(calculated) if not is_among(link.stated, right)), len(calculated) - 1)
    number, link = calculated[at]
    wrong = link.expression.replace(" ", "")
    known = (one.slip for one in mistakes(scene.problem) if one.numbers.replace(" ", "") == wrong)
    category = next((CATEGORIES.get(slip.strategy) for slip in known), None) or "question"
    slots = {"name": steps[min(at, len(steps) - 1)].result.name, "numbers": link.expression.strip()}
    told = BOOK.one_of(rng, "mathdial", "confusion", category, **slots)
    answer = {"First Wrong Line": number, "Error Category": category, "Confusion": told}
    return json.dumps(answer, ensure_ascii=False)


def _solution(problem: Problem, rng: Random) -> str:
    rates = BOOK.tables["mathdial"]["rates"]
    lines = _wrong(problem, rng) if rng.random() >= rates["right"] else []
    lines = lines or work_through(problem)
    if not lines:
        # A pupil who has nothing to calculate says the answer, which is no confusion.
        return f"#### {format_number(problem.answer.value)}"
    # The numbers of an imported solution may stand in its calculations alone.
    knowns = ", ".join(f"{one.name} {format_quantity(one)}" for one in givens(problem))
    text = "\n".join([*(_line(line, rng) for line in lines), _said(rng, "end")])
    if knowns:
        text = f"{_said(rng, 'knowns', knowns=knowns)}\n{text}"
    elif len(text) < POLICY["confusion"]["shortest_characters"]:
        text = f"{_said(rng, 'restated', question=' '.join(problem.question.split()))}\n{text}"
    return text if rng.random() < rates["unmarked"] else f"{text}\n#### {format_number(lines[-1].value)}"


def _wrong(problem: Problem, rng: Random) -> list[WorkedLine]:
    """Works the problem through with one mistake; empty if no mistake fits."""
    fitting = [one for one in mistakes(problem) if one.sound]
    if not fitting:
        return []
    rarer = BOOK.tables["mathdial"]["rates"]["rarer"]
    (mistake,) = rng.choices(fitting, [rarer**place for place in range(len(fitting))])
    try:
        return work_through(problem, mistake)
    except UNWORKABLE:
        return []


def _line(line: WorkedLine, rng: Random) -> str:
    return _said(
        rng,
        "step",
        name=line.name,
        numbers=line.numbers,
        plain=line.numbers.replace(" ", ""),
        value=format_number(line.value),
        result=format_value(line.value, line.step.result.unit),
    )


def _said(rng: Random, part: str, **slots: str) -> str:
    return BOOK.one_of(rng, "mathdial", "solution", part, **slots)
