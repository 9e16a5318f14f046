"""Plays the planner, who asks for one result after the other, those who judge plans, and a student who solves alone."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

from soliloquy.recipes.quantity_names import result_name
from soliloquy.recipes.scaffold.answers import plan_lines
from soliloquy.recipes.scaffold.labels_pb2 import Plan, SubQuestion
from soliloquy.recipes.scaffold.plan_rules import POLICY
from soliloquy.recipes.scaffold.told_names import undefined_names
from soliloquy.recipes.scene import Scene
from soliloquy.recipes.symbols import is_conversion
from soliloquy.runtime.seeds import draw
from soliloquy.standin.phrasebook import BOOK
from soliloquy.standin.scaffold.questions import known_problem
from soliloquy.standin.steps import givens, is_numeric, working
from soliloquy.truth.number_format import format_number, format_quantity, format_value, with_unit, written_value
from soliloquy.truth.quantities import is_same, quantities_in
from soliloquy.v1.conversation_pb2 import Problem, Step

_Rows = list[dict[str, Any]]
_SAME = 0.001


def plan(scene: Scene, rng: Random) -> str:
    rows = _rows(scene.problem, rng)
    return json.dumps({"Analysis": _analysis(scene.problem, rng), "Sub-Questions": rows}, ensure_ascii=False)


def plan_alone(scene: Scene, rng: Random) -> str:
    """Writes the layout of a model that has learned to plan."""
    problem = known_problem(scene)
    questions = [SubQuestion(question=row["Question"], answer=row["Expected Answer"]) for row in _rows(problem, None)]
    return "\n".join(plan_lines(Plan(analysis=_analysis(problem, rng), questions=questions)))


def verify(scene: Scene, rng: Random) -> str:
    return json.dumps({"Worked": [], "Reason": _said(rng, "accepted"), "Decision": "accept"})


def judge(scene: Scene, rng: Random) -> str:
    return json.dumps({"Reason": _said(rng, "kept"), "Decision": "keep"})


def solve(scene: Scene, rng: Random) -> str:
    """Solves a problem by a chance that depends on its steps and on what a tutor has told."""
    problem, rates = scene.problem, BOOK.tables["scaffold"]["solving"]
    alone = rates["alone"][min(len(problem.steps), len(rates["alone"])) - 1]
    alone += draw("solve rate", problem.id).uniform(-1, 1) * rates["spread"]
    chance = min(max(alone, 0.0), 1.0)
    said, results = quantities_in(scene.slot("talk")), [step.result for step in problem.steps if is_numeric(step)]
    told = sum(any(is_same(one, result.value, result.unit, _SAME) for one in said) for result in results)
    chance += (1 - chance) * rates["learned"] * told / max(len(results), 1)
    right = format_value(problem.answer.value, problem.answer.unit)
    answer = right if rng.random() < chance else _wrong_answer(problem, rng)
    return "\n".join([*(f"{step.explanation} {step.formula}".strip() for step in problem.steps), f"Answer: {answer}"])


def _wrong_answer(problem: Problem, rng: Random) -> str:
    """Returns the result of a typical mistake at the last step, or of stopping early."""
    values = [slip.value for slip in problem.steps[-1].slips] + [step.result.value for step in problem.steps[:-1]]
    others = [value for value in values if abs(value - problem.answer.value) > _SAME * abs(problem.answer.value)]
    return with_unit(format_number(rng.choice(others or [problem.answer.value * 10 + 1])), problem.answer.unit)


def _rows(problem: Problem, rng: Random | None) -> _Rows:
    """Asks for each result or law; with draws, for the way first now and then, and where a question covers too much."""
    parts, most = _parts(problem.steps), POLICY["plans"]["most_questions"]
    count = min(len(parts), most)
    cuts = [round(at * len(parts) / count) for at in range(count + 1)]
    groups = [[step for part in parts[start:end] for step in part] for start, end in pairwise(cuts)]
    half, room = math.ceil(_last_result(problem.steps).number / 2), most - count
    rows: _Rows = []
    for steps in groups:
        result, own = _last_result(steps), [step.number for step in steps]
        asked = BOOK.wordings("scaffold", "planner", "approach", name=result_name(result, problem))[0]
        at, is_new = own.index(result.number), asked not in [row["Question"] for row in rows]
        if rng and room and is_new and (count == 1 or at >= half or _is_parted(result, rng)):
            own, before = own[min(at, half) :], own[: min(at + 1, half)]
            rows.append({"Question": asked, "Expected Answer": _way(result, problem, before[-1]), "Steps": before})
            room -= 1
        rows.append({"Question": result.ask, "Expected Answer": _answer(result), "Steps": own})
    return rows


def _is_parted(step: Step, rng: Random) -> bool:
    return bool(step.expression and step.formula) and rng.random() < BOOK.tables["scaffold"]["planner"]["approaches"]


def _parts(steps: Sequence[Step]) -> list[list[Step]]:
    """Ends each part at a step that comes to something; adds the comments behind the last result to its part."""
    end = _last_result(steps).number
    parts = [list[Step]()]
    for step in steps[:end]:
        parts[-1].append(step)
        if is_numeric(step) or step.formula:
            parts.append([])
    parts = [part for part in parts if part]
    parts[-1] += steps[end:]
    return parts


def _last_result(steps: Sequence[Step]) -> Step:
    return next((step for step in reversed(steps) if is_numeric(step)), steps[-1])


def _way(step: Step, problem: Problem, last: int) -> str:
    """Returns the law by which a step comes to its result, or the calculation in numbers if its names are code."""
    is_code = is_conversion([one.symbol for one in (step.result, *step.inputs)])
    if step.formula and not is_code and not undefined_names(step.formula, problem):
        return step.formula
    return (working(step) if last == step.number else "") or problem.steps[last - 1].explanation


def _answer(step: Step) -> str:
    if is_numeric(step):
        return written_value(step.result.value, step.result.unit)
    return step.formula or step.explanation


def _analysis(problem: Problem, rng: Random) -> str:
    knowns = ", ".join(f"{known.name} {format_quantity(known)}" for known in givens(problem))
    return _said(rng, "analysis", knowns=knowns, wanted=problem.answer.name or "answer")


def _said(rng: Random, part: str, **slots: str) -> str:
    return BOOK.one_of(rng, "scaffold", "planner", part, **slots)
