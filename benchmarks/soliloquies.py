"""Published conversations of Code Soliloquies, each with the plan that is read from its published solution."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click

from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.problems.files.prose_solution import steps_from_prose
from soliloquy.v1.conversation_pb2 import INTENT_OPENING, PLAN_SOURCE_PROSE, Conversation, Problem

_NAME = re.compile(r"conversation_(\d+)_\w+\.json")
_TOLERANCE = 0.01
# A run's limits bind its conversations alone.
_MAX_TURNS = 20


def conversations(folder: Path) -> Iterator[tuple[str, Conversation]]:
    """Yields the conversations by the names of their files, as a run would record them."""
    solutions = {path.name.split("_")[1]: path for path in folder.rglob("solution_*.json")}
    found = sorted((path.name, path) for path in folder.rglob("conversation_*.json"))
    named = [(match[1], name, path) for name, path in found if (match := _NAME.fullmatch(name))]
    if not named or not solutions:
        raise click.UsageError(f"{folder} has no conversations with solutions: use a folder of Code Soliloquies")
    for number, name, path in named:
        dialogue = dialogue_of(json.loads(path.read_text("utf-8")), "soliloquies")
        conversation = conversation_of(dialogue, "published", 0)
        conversation.problem.CopyFrom(_problem(name, json.loads(solutions[number].read_text("utf-8"))))
        conversation.run.max_turns = _MAX_TURNS
        conversation.turns[0].student.intent = INTENT_OPENING
        yield name, conversation


def _problem(name: str, row: dict[str, str]) -> Problem:
    steps = steps_from_prose(row["Detailed Solution"])
    results = [step.result for step in steps if step.HasField("result")]
    problem = Problem(
        id=name,
        question=row["Question"],
        solution=row["Original Solution"],
        steps=steps,
        answer=results[-1] if results else None,
        tolerance=_TOLERANCE,
        plan=PLAN_SOURCE_PROSE,
    )
    problem.enrichment.detailed_solution = row["Detailed Solution"]
    problem.enrichment.outline = row["Solution Outline"]
    return problem
