"""Plays the planner, which builds plans with occasional mistakes, and those who judge plans and sessions."""

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
from soliloquy.standin.scaffold.steps import book, known_problem, working
from soliloquy.truth.number_format import format_quantity, written_value
from soliloquy.v1.conversation_pb2 import Problem, Step

_Rows = list[dict[str, Any]]


def plan(scene: Scene, rng: Random) -> str:
    problem = scene.problem
    mistake = _mistake(rng)
    rows = _add_approaches(_by_parts(problem), problem, rng)
    if mistake:
        _MISTAKES[mistake](rows, problem, rng)
    return json.dumps({"Analysis": _analysis(problem, rng), "Sub-Questions": rows}, ensure_ascii=False)


def plan_alone(scene: Scene, rng: Random) -> str:
    """Writes the layout of a model that has learned to plan; without mistakes, since nobody verifies this plan."""
    problem = known_problem(scene)
    questions = [SubQuestion(question=row["Question"], answer=row["Expected Answer"]) for row in _by_parts(problem)]
    return "\n".join(plan_lines(Plan(analysis=_analysis(problem, rng), questions=questions)))


def verify(scene: Scene, rng: Random) -> str:
    """Rejects a plan with a sub-question that says nothing about the problem."""
    vague = next((place for text in _wordings("vague") if (place := scene.slot("plan").find(text)) >= 0), None)
    if vague is None:
        return json.dumps({"Reason": book().one_of(rng, "planner", "accepted"), "Decision": "accept"})
    number = str(scene.slot("plan").count("Sub-question", 0, vague))
    return json.dumps({"Reason": book().one_of(rng, "planner", "refused", number=number), "Decision": "reject"})


def judge(scene: Scene, rng: Random) -> str:
    """Drops a session in which the tutor says the same twice."""
    said = scene.messages(student=False)
    repeated = next((number for number, text in enumerate(said, start=1) if text in said[: number - 1]), None)
    if repeated is None:
        return json.dumps({"Reason": book().one_of(rng, "planner", "kept"), "Decision": "keep"})
    reason = book().one_of(rng, "planner", "dropped", number=str(repeated))
    return json.dumps({"Reason": reason, "Decision": "drop"})


def _by_parts(problem: Problem) -> _Rows:
    """Ends each sub-question at a step that comes to something; puts several together if there are too many."""
    parts = _parts(problem.steps)
    count = min(len(parts), POLICY["plans"]["most_questions"])
    cuts = [round(at * len(parts) / count) for at in range(count + 1)]
    return [_row([step for part in parts[start:end] for step in part]) for start, end in pairwise(cuts)]


def _parts(steps: Sequence[Step]) -> list[list[Step]]:
    """Adds the comments behind the last result to its part."""
    end = _telling(steps).number
    parts, part = list[list[Step]](), list[Step]()
    for step in steps[:end]:
        part.append(step)
        if step.HasField("result") or step.formula:
            parts.append(part)
            part = []
    parts[-1] += steps[end:]
    return parts


def _row(steps: Sequence[Step]) -> dict[str, Any]:
    step = _telling(steps)
    return {"Question": step.ask, "Expected Answer": _answer(step), "Steps": [each.number for each in steps]}


def _telling(steps: Sequence[Step]) -> Step:
    """Returns the last step with a result, else the last one."""
    return next((step for step in reversed(steps) if step.HasField("result")), steps[-1])


def _add_approaches(rows: _Rows, problem: Problem, rng: Random) -> _Rows:
    """Adds a sub-question for the approach before a step, as far as there is room; one per quantity name."""
    parted, room, asked = list[dict[str, Any]](), POLICY["plans"]["most_questions"] - len(rows), set[str]()
    for row in rows:
        step = _telling([problem.steps[number - 1] for number in row["Steps"]])
        is_long = row["Steps"].index(step.number) >= _half(problem)
        is_parted = step.expression and step.formula and rng.random() < book().tables["planner"]["approaches"]
        if room and (is_long or is_parted) and step.result.name not in asked:
            parted.append(_approach(row, step, problem, rng))
            asked.add(step.result.name)
            room -= 1
        parted.append(row)
    return parted if len(parted) > 1 else [_approach(rows[0], _telling(problem.steps), problem, rng), *parted]


def _half(problem: Problem) -> int:
    """Returns the most steps that a sub-question may cover."""
    return math.ceil(_telling(problem.steps).number / 2)


def _approach(row: dict[str, Any], step: Step, problem: Problem, rng: Random) -> dict[str, Any]:
    """Takes the steps that lead to a result out of its row."""
    covered = row["Steps"]
    at = covered.index(step.number)
    own = covered[: min(at + 1, _half(problem))]
    row["Steps"] = covered[min(at, len(own)) :]
    question = book().one_of(rng, "planner", "approach", name=result_name(step, problem))
    return {"Question": question, "Expected Answer": _way(step, problem, own[-1]), "Steps": own}


def _way(step: Step, problem: Problem, last: int) -> str:
    """Returns the law by which a step comes to its result, or the calculation in numbers if its names are code."""
    is_code = is_conversion([one.symbol for one in (step.result, *step.inputs)])
    if step.formula and not is_code and not undefined_names(step.formula, problem):
        return step.formula
    return (working(step) if last == step.number else "") or problem.steps[last - 1].explanation


def _answer(step: Step) -> str:
    if step.HasField("result"):
        return written_value(step.result.value, step.result.unit)
    return step.formula or step.explanation


def _analysis(problem: Problem, rng: Random) -> str:
    derived = {step.result.symbol for step in problem.steps}
    given = {known.symbol: known for step in problem.steps for known in step.inputs if known.symbol not in derived}
    knowns = ", ".join(f"{known.name} {format_quantity(known)}" for known in given.values())
    way = [step.result.name for step in problem.steps[:-1] if step.HasField("result")]
    return book().one_of(
        rng, "planner", "analysis", knowns=knowns, way=", then ".join(way), wanted=problem.answer.name or "answer"
    )


def _mistake(rng: Random) -> str | None:
    drawn, reached = rng.random(), 0.0
    for mistake, rate in book().tables["planner"]["rates"].items():
        reached += rate
        if drawn < reached:
            return str(mistake)
    return None


def _falsify_answer(rows: _Rows, problem: Problem, rng: Random) -> None:
    """Takes the last answer from one of the problem's typical mistakes."""
    slips = [slip for slip in problem.steps[-1].slips if slip.value != problem.answer.value]
    if slips:
        slip = rng.choice(slips)
        rows[-1]["Expected Answer"] = written_value(slip.value, slip.unit)


def _reveal_answer(rows: _Rows, problem: Problem, rng: Random) -> None:
    rows[0]["Question"] = f"{format_quantity(problem.answer)} is the answer. {rows[0]['Question']}"


def _skip_question(rows: _Rows, problem: Problem, rng: Random) -> None:
    del rows[rng.randrange(len(rows) - 1)]


def _blur_question(rows: _Rows, problem: Problem, rng: Random) -> None:
    rng.choice(rows)["Question"] = rng.choice(_wordings("vague"))


def _wordings(situation: str) -> Sequence[str]:
    return list(book().wordings("planner", situation))


_MISTAKES = {"wrong": _falsify_answer, "told": _reveal_answer, "skipped": _skip_question, "vague": _blur_question}
