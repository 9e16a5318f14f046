"""Plants a fault for each rule into labelled plans, and counts by rule what is refused and accepted in error."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from benchmarks.brought import received
from benchmarks.labelled import Readings, cases
from soliloquy.recipes.scaffold.labels_pb2 import Plan, SubQuestion
from soliloquy.recipes.scaffold.plan_rules import POLICY, faults
from soliloquy.v1.conversation_pb2 import Problem

OUTCOMES = ("right plans", "false rejections", "planted", "found", "false acceptances")
_Row = dict[str, Any]


def judge(labels: Path) -> Mapping[str, Readings]:
    """Returns by rule how many right plans it refuses, and how many of those with its fault it lets pass."""
    kinds = {rule: Readings() for rule in POLICY["rules"]}
    for labelled in cases(labels):
        problem, _ = received(labelled["row"], labelled["format"])
        if problem is None:
            continue
        found = _broken(problem, labelled["plan"])
        for rule, readings in kinds.items():
            told = f"{labelled['id']}: {rule}: refuses a right plan" if rule in found else ""
            readings.add(["right plans", *(["false rejections"] if told else [])], told)
        for rule, plant in _FAULTS.items():
            if (plan := plant(deepcopy(labelled["plan"]))) is not None:
                is_found = rule in _broken(problem, plan)
                told = "" if is_found else f"{labelled['id']}: {rule}: accepts {plan}"
                kinds[rule].add(["planted", "found" if is_found else "false acceptances"], told)
        for wrong in labelled["wrong"]:
            plan = deepcopy(labelled["plan"])
            plan[wrong["question"] - 1]["answer"] = wrong["answer"]
            rule = "last" if wrong["question"] == len(plan) else "contradiction"
            is_found = rule in _broken(problem, plan)
            told = "" if is_found else f"{labelled['id']}: {rule}: accepts {wrong['answer']!r}"
            kinds[rule].add(["planted", "found" if is_found else "false acceptances"], told)
    return kinds


def _broken(problem: Problem, plan: list[_Row]) -> set[str]:
    made = Plan(analysis="..", questions=[SubQuestion(**one) for one in plan])
    return {rule for rule, _ in faults(made, problem)}


def _only_the_last(plan: list[_Row]) -> list[_Row]:
    return plan[-1:]


def _last_step_first(plan: list[_Row]) -> list[_Row] | None:
    plan[0]["steps"], plan[-1]["steps"] = plan[-1]["steps"], plan[0]["steps"]
    return plan if plan[0]["steps"] != plan[-1]["steps"] else None


def _without_a_step(plan: list[_Row]) -> list[_Row] | None:
    elsewhere = {step for one in plan[1:] for step in one["steps"]}
    return None if elsewhere.issuperset(plan[0]["steps"]) else plan[1:]


def _all_at_once(plan: list[_Row]) -> list[_Row] | None:
    steps = sorted({step for one in plan for step in one["steps"]})
    plan[-1]["steps"] = steps
    return plan if len(steps) > 1 else None


def _with_the_answer(plan: list[_Row]) -> list[_Row]:
    plan[0]["question"] = f"How do you find out that the answer is {plan[-1]['answer'].rstrip('.')}?"
    return plan


def _in_code(plan: list[_Row]) -> list[_Row] | None:
    """Only an answer before a result may be an equation."""
    goes_on = any(step in one["steps"] for one in plan[1:] for step in plan[0]["steps"])
    plan[0]["answer"] = "sofar = warm + main"
    return plan if goes_on else None


def _as_a_statement(plan: list[_Row]) -> list[_Row]:
    plan[0]["question"] = "This comes first, and then the others follow."
    return plan


_FAULTS: Mapping[str, Callable[[list[_Row]], list[_Row] | None]] = {
    "count": _only_the_last,
    "order": _last_step_first,
    "uncovered": _without_a_step,
    "coarse": _all_at_once,
    "given_away": _with_the_answer,
    "code": _in_code,
    "unclear": _as_a_statement,
}
