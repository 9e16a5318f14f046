"""`python -m benchmarks plans`."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks import planted
from benchmarks.brought import received
from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.problems.solving.step_graph import steps_from_program
from soliloquy.recipes.scaffold.labels_pb2 import Plan, SubQuestion
from soliloquy.recipes.scaffold.plan_rules import faults
from soliloquy.v1.conversation_pb2 import Problem

_LABELS = Path(__file__).parent / "labels"
SETS = {
    "first": _LABELS / "plans.jsonl",
    "unseen": _LABELS / "plans_unseen.jsonl",
    "varied": _LABELS / "plans_varied.jsonl",
}
_OUTCOMES = ("plans", "accepted", "wrong sub-answers", "wrong ones accepted")
_PROGRAMS = ("programs", "as many steps as operations")


@click.command()
@click.option("--set", "chosen", type=click.Choice([*SETS]), default="first", show_default=True, help="The labels.")
@click.option(
    "--programs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Count the steps of this CSV file's programs instead.",
)
@click.option("--rules", "by_rule", is_flag=True, help="Count by rule, with a planted fault for each.")
@LISTED
@AS_JSON
def plans(*, chosen: str, programs: Path | None, by_rule: bool, listed: bool, as_json: bool) -> None:
    """Count which labelled plans the rules accept, and which planted wrong sub-answers.

    Each problem has a plan that a careful teacher would take, and up to three wrong sub-answers, each of which makes it
    a plan that has to be refused. With --programs, count the programs of a file with the column `solution` that become
    as many steps as they have operations.
    """
    if programs is not None:
        report(count_steps(programs), _PROGRAMS, listed=listed, as_json=as_json)
        return
    if by_rule:
        report(planted.judge(SETS[chosen]), planted.OUTCOMES, listed=listed, as_json=as_json)
        return
    kinds = judge(SETS[chosen])
    report({**kinds, "all": total(kinds.values())}, _OUTCOMES, listed=listed, as_json=as_json)


def judge(labels: Path) -> Mapping[str, Readings]:
    """Returns what the rules make of the plans, by the form of the solution."""
    kinds: dict[str, Readings] = defaultdict(Readings)
    for labelled in cases(labels):
        readings = kinds[labelled["format"]]
        problem, refused = received(labelled["row"], labelled["format"])
        found = [refused] if problem is None else _faults(problem, labelled["plan"])
        why = f"{labelled['id']}: {found[0]}" if found else ""
        readings.add(["plans", *([] if found else ["accepted"])], why)
        for number, answer in _wrong(labelled):
            is_accepted = problem is not None and not _faults(problem, _with_answer(labelled["plan"], number, answer))
            told = f"{labelled['id']}: takes {answer!r} for {labelled['plan'][number - 1]['answer']!r}"
            readings.add(
                ["wrong sub-answers", *(["wrong ones accepted"] if is_accepted else [])], told if is_accepted else ""
            )
    return kinds


def count_steps(programs: Path) -> dict[str, Readings]:
    import csv

    readings = Readings()
    with programs.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=1):
            operations = sum(map(_is_operation, ast.walk(ast.parse(row["solution"]))))
            steps = sum("result" in step for step in steps_from_program(row["solution"]))
            is_same = steps == operations
            told = f"row {number}: {operations} operations, {steps} steps"
            readings.add(["programs", *(["as many steps as operations"] if is_same else [])], "" if is_same else told)
    return {programs.name: readings}


def _is_operation(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp | ast.AugAssign)


def _wrong(labelled: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    for one in labelled["wrong"]:
        yield one["question"], one["answer"]


def _with_answer(plan: list[dict[str, Any]], number: int, answer: str) -> list[dict[str, Any]]:
    return [one | {"answer": answer} if at == number else one for at, one in enumerate(plan, start=1)]


def _faults(problem: Problem, plan: list[dict[str, Any]]) -> list[str]:
    made = Plan(analysis="..", questions=[SubQuestion(**one) for one in plan])
    return [f"{rule}: {why}" for rule, why in faults(made, problem)]
