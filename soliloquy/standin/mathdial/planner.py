"""The scripted planner: pupils' solutions, most of the wrong ones with the typical mistake of the problem."""

import json
import math
from collections.abc import Iterator
from random import Random

from soliloquy.recipes.mathdial.confusion import InDispute, NoConfusion, choose_confusion
from soliloquy.recipes.mathdial.mutation import CATEGORIES, mutated
from soliloquy.recipes.mathdial.policy import POLICY
from soliloquy.recipes.mathdial.worked_solutions import Mistake, WorkedLine, mistakes, work_through
from soliloquy.recipes.scene import Scene
from soliloquy.runtime.seeds import draw
from soliloquy.standin.mathdial.pupil import book, pupil_solution
from soliloquy.truth.expressions import UNWORKABLE
from soliloquy.truth.number_format import format_number, format_quantity, format_value, tidy
from soliloquy.v1.conversation_pb2 import Problem, Slip

_SAMPLES: int = POLICY["confusion"]["samples"]


def solve(scene: Scene, rng: Random) -> str:
    return _solve(scene.problem, rng)


def without_confusion(problem: Problem) -> str:
    """Returns why the pupils' solutions of a problem hold no confusion, as the planner would say; empty if one does."""
    samples = [_solve(problem, draw(problem.id, "confusion", number)) for number in range(_SAMPLES)]
    try:
        choose_confusion(samples, problem)
    except InDispute as none:
        return str(none)
    except NoConfusion as none:
        return "" if mutated(problem, none.confusion) else str(none)
    return ""


def _solve(problem: Problem, rng: Random) -> str:
    rates, drawn = book().tables["planner"]["rates"], rng.random()
    lines = work_through(problem)
    if drawn >= rates["right"]:
        lines = _wrong(problem, rng, slipping=drawn < rates["right"] + rates["miscalculated"]) or lines
    if not lines:
        # A pupil who has nothing to calculate says the answer, which is no confusion.
        return f"#### {format_number(problem.answer.value)}"
    # The numbers of an imported solution may stand in its calculations alone.
    knowns = _knowns(problem)
    text = "\n".join(
        [
            *([book().one_of(rng, "planner", "solution", "knowns", knowns=knowns)] if knowns else []),
            *(_line(line, rng) for line in lines),
            book().one_of(rng, "planner", "solution", "end", name=lines[-1].name),
        ]
    )
    # Solutions that are too short are not used. Those of the bank list their knowns instead.
    if not knowns and len(text) < POLICY["confusion"]["shortest_characters"]:
        question = " ".join(problem.question.split())
        text = f"{book().one_of(rng, 'planner', 'solution', 'restated', question=question)}\n{text}"
    return text if rng.random() < rates["unmarked"] else f"{text}\n#### {format_number(lines[-1].value)}"


def describe(scene: Scene, rng: Random) -> str:
    found = pupil_solution(scene)
    wrong = found.equation.rpartition(" = ")[0].replace(" ", "")
    slip = next(
        (one.slip for one in mistakes(scene.problem) if one.slip.working.replace(" ", "").endswith(wrong)), None
    )
    category = CATEGORIES.get(slip.strategy, "question") if slip else "question"
    answer = {
        "First Wrong Line": found.line,
        "Error Category": category,
        "Confusion": book().one_of(
            rng, "planner", "confusion", category, name=found.step.result.name, numbers=found.equation
        ),
    }
    return json.dumps(answer, ensure_ascii=False)


def _wrong(problem: Problem, rng: Random, *, slipping: bool) -> list[WorkedLine]:
    """Works the problem through with one mistake; empty if no mistake fits."""
    fitting = list(_miscalculations(problem, rng)) if slipping else [one for one in mistakes(problem) if one.sound]
    weights = [book().tables["planner"]["rates"]["rarer"] ** place for place in range(len(fitting))]
    if not fitting:
        return []
    (mistake,) = rng.choices(fitting, weights)
    try:
        return work_through(problem, mistake)
    except UNWORKABLE:
        return []


def _miscalculations(problem: Problem, rng: Random) -> Iterator[Mistake]:
    for line in work_through(problem):
        if any(sign in line.numbers for sign in "+-*/"):
            # A carry that is lost in the first digit or in the second.
            carry = 10.0 ** (math.floor(math.log10(abs(line.value))) - rng.randrange(2)) if line.value else 1.0
            value = tidy(line.value + carry)
            mistake = Mistake(step=line.step, slip=Slip(working=f"x = {line.numbers}", value=value), sound=False)
            # On paper there are neither logarithms nor powers of ten.
            if mistake.numbers:
                yield mistake


def _line(line: WorkedLine, rng: Random) -> str:
    return book().one_of(
        rng,
        "planner",
        "solution",
        "step",
        name=line.name,
        numbers=line.numbers,
        plain=line.numbers.replace(" ", ""),
        value=format_number(line.value),
        result=format_value(line.value, line.step.result.unit),
    )


def _knowns(problem: Problem) -> str:
    derived = {step.result.symbol for step in problem.steps}
    given = {known.symbol: known for step in problem.steps for known in step.inputs if known.symbol not in derived}
    listed = [f"{known.name} {format_quantity(known)}" for known in given.values()]
    return " and ".join(filter(None, [", ".join(listed[:-1]), *listed[-1:]]))
