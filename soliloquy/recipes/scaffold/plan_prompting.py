"""Fills in the prompts of the planner, its verifier, and a student who solves a problem alone."""

from collections.abc import Mapping
from pathlib import Path

from soliloquy.recipes.prompts import beside
from soliloquy.recipes.scaffold.labels_pb2 import Plan
from soliloquy.recipes.scaffold.memory import plan_of
from soliloquy.recipes.scaffold.plan_rules import undecided
from soliloquy.recipes.step_text import steps_text
from soliloquy.recipes.templates import Templates
from soliloquy.recipes.words import words
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.conversation_pb2 import Problem

_LESSON = Path(__file__).with_name("plan_lesson.txt")
SLOTS = {
    "planning": {"question", "steps", "refused"},
    "planning_again": {"reason"},
    "verifying": {"question", "steps", "plan", "answers"},
    "solving": {"question", "talk"},
    "solving_after": {"conversation"},
}
_TEMPLATES = Templates(Path(__file__).with_name("prompts"), SLOTS)


def planning(problem: Problem, changed: Mapping[str, str], refused: str = "") -> Prompt:
    """Asks for a plan; `refused` is the reason for which the verifier rejected the last one."""
    texts = _TEMPLATES.of(changed)
    again = texts.fill("planning_again", reason=refused) if refused else ""
    return texts.prompt(
        "planning", question=problem.question, steps=steps_text(problem, with_results=True), refused=again
    )


def verifying(problem: Problem, plan: Plan, changed: Mapping[str, str]) -> Prompt:
    return _TEMPLATES.of(changed).prompt(
        "verifying",
        question=problem.question,
        steps=steps_text(problem, with_results=True),
        plan=shown(plan, problem.language),
        answers=", ".join(map(str, undecided(plan, problem))) or words(problem.language)["none"],
    )


def solving(problem: Problem, talk: str, changed: Mapping[str, str]) -> Prompt:
    """Asks a student for a solution, alone or after a dialogue about the problem."""
    texts = _TEMPLATES.of(changed)
    after = texts.fill("solving_after", conversation=talk) if talk else ""
    return texts.prompt("solving", question=problem.question, talk=after)


def plan_prompts(problem: Problem, changed: Mapping[str, str]) -> list[Prompt]:
    """Returns the prompts that led to a problem's plan, except for retries."""
    plan = plan_of(problem)
    return [planning(problem, changed), *([verifying(problem, plan, changed)] if plan.questions else [])]


def lesson(problem: Problem) -> Prompt:
    """Asks a model that has learned to plan for a plan, without showing it the solution."""
    return Prompt(
        name="scaffold/plan",
        said=[
            ("system", beside(_LESSON, problem.language).read_text("utf-8").strip()),
            ("user", f"<question>\n{problem.question}\n</question>"),
        ],
    )


def shown(plan: Plan, language: str = "") -> str:
    """Writes two lines per sub-question."""
    planned = words(language)["planned"]
    return "\n".join(
        planned.format(number=number, steps=", ".join(map(str, one.steps)), question=one.question, answer=one.answer)
        for number, one in enumerate(plan.questions, start=1)
    )
