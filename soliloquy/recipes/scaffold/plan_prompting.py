"""The prompts of the planner, its verifier and a student who solves alone, filled in from a problem and its plan.

The tags (<question>, <steps>, ..) are what the scripted engine reads.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from soliloquy.recipes.scaffold.plan_rules import POLICY, undecided
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.ask import Prompt
from soliloquy.truth.number_format import format_quantity
from soliloquy.v1.conversation_pb2 import Plan, Problem, Step

_LESSON = Path(__file__).with_name("plan_lesson.txt")
SLOTS = {
    "planning": {"question", "steps", "refused"},
    "planning_again": {"reason"},
    "verifying": {"question", "steps", "plan", "answers"},
    "solving": {"question", "talk"},
    "solving_after": {"conversation"},
}
_TEMPLATES = Templates(Path(__file__).with_name("prompts"), SLOTS)


def planning(problem: Problem, refused: str = "") -> Prompt:
    """What a plan is asked for with; `refused` is why the verifier did not take the last one."""
    again = _TEMPLATES.fill("planning_again", reason=refused) if refused else ""
    prompt = _TEMPLATES.prompt("planning", question=problem.question, steps=_steps(problem), refused=again)
    return replace(prompt, temperature=POLICY["plans"]["temperature"])


def verifying(problem: Problem, plan: Plan) -> Prompt:
    return _TEMPLATES.prompt(
        "verifying",
        question=problem.question,
        steps=_steps(problem),
        plan=shown(plan),
        answers=_listed(undecided(plan, problem)),
    )


def solving(problem: Problem, talk: str) -> Prompt:
    """What a student is asked alone, or after it has talked about the problem."""
    after = _TEMPLATES.fill("solving_after", conversation=talk) if talk else ""
    return _TEMPLATES.prompt("solving", question=problem.question, talk=after)


def plan_prompts(problem: Problem) -> list[Prompt]:
    """What led to a problem's plan, as far as it was not refused."""
    plan = problem.enrichment.plan
    return [planning(problem), *([verifying(problem, plan)] if plan.questions else [])]


def lesson(problem: Problem) -> Prompt:
    """What a model that has learned to plan is asked: the problem alone, without its solution."""
    return Prompt(
        name="scaffold/plan",
        said=[("system", _lesson()), ("user", f"<question>\n{problem.question}\n</question>")],
    )


@cache
def _lesson() -> str:
    return _LESSON.read_text("utf-8").strip()


def shown(plan: Plan) -> str:
    """Two lines a sub-question."""
    return "\n".join(
        f"Sub-question {number} (steps {', '.join(map(str, one.steps))}): {one.question}\nExpected answer: {one.answer}"
        for number, one in enumerate(plan.questions, start=1)
    )


def _steps(problem: Problem) -> str:
    return "\n".join(f"Step {step.number}) {_worked(step)}" for step in problem.steps)


def _worked(step: Step) -> str:
    if not step.formula or "=" in step.explanation:
        # A solution in prose calculates in its own words.
        return step.explanation
    return f"{step.explanation} {step.formula}" + (
        f" = {format_quantity(step.result)}" if step.HasField("result") else ""
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
