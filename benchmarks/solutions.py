"""`python -m benchmarks solutions`."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import click
from rich.console import Console

from benchmarks.brought import names, received
from benchmarks.command import AS_JSON
from benchmarks.planted_errors import KINDS, planted
from benchmarks.published import entries
from soliloquy.cli.tables import table
from soliloquy.truth.ledger import doubt_about

_QUESTIONS = ("question", "problem")
_SOLUTIONS = ("solution", "ground_truth", "original solution", "detailed solution", "answer")
_OUTCOMES = ("supported", "unverified", "refused")
# A shorter text is the answer alone.
_LEAST_WORDS = 4


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--list", "listed", is_flag=True, help="List what is refused, and why other answers are unverified.")
@AS_JSON
def solutions(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Count how the problems with solutions in FOLDER are received: supported, unverified or refused.

    FOLDER holds published data: CSV, JSON and JSONL files. A problem is any object with a question and a solution;
    several columns with a solution are counted apart. Into what is not refused one error of each kind is planted: it is
    told if the problem is then refused, or if the false number is named. Nothing is written down.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: list[str] = []
    drawn = Random(1)
    for source, question, solution in _problems(folder):
        kind = _kind(solution)
        row = {"question": question, "answer" if kind == "gsm8k" else "solution": solution}
        problem, refused = received(row, kind)
        doubt = doubt_about(problem) if problem and problem.HasField("answer") else "it has no number for an answer"
        outcome = "refused" if problem is None else "unverified" if doubt else "supported"
        found[source][outcome] += 1
        if outcome != "supported":
            reasons.append(f"{source}: {outcome}: {refused or doubt}")
        for error, spoilt, number in planted(question, solution, drawn) if problem and kind == "prose" else ():
            other, _ = received({**row, "solution": spoilt}, kind)
            is_told = other is None or names(doubt_about(other), number)
            found[source].update([f"{error} planted", *([f"{error} told"] if is_told else [])])
            reasons += [] if is_told else [f"{source}: {error} not told: {' '.join(spoilt.split())}"]
    if as_json:
        click.echo(json.dumps(found))
        return
    made = table("solutions of", "problems", *_OUTCOMES, *(f"{kind} told" for kind in KINDS))
    for source, counts in sorted(found.items()):
        total = sum(counts[outcome] for outcome in _OUTCOMES)
        shares = (f"{counts[one]:,} ({counts[one] / total:.1%})" for one in _OUTCOMES)
        told = (f"{counts[f'{kind} told']:,} of {counts[f'{kind} planted']:,}" for kind in KINDS)
        made.add_row(source, f"{total:,}", *shares, *told)
    Console().print(made)
    if listed:
        click.echo("\n".join(reasons))


def _problems(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yields the source, the question and the solution of each problem once."""
    seen: set[tuple[str, str]] = set()
    for name, value in entries(folder):
        for row in _objects(value):
            texts = {key.strip().casefold(): text for key, text in row.items() if isinstance(text, str)}
            question = next((texts[key] for key in _QUESTIONS if texts.get(key)), "")
            for column in _SOLUTIONS:
                solution = texts.get(column, "")
                if question and len(solution.split()) >= _LEAST_WORDS and (question, solution) not in seen:
                    seen.add((question, solution))
                    yield f"{name} {column}", question, solution


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield {str(key): inner for key, inner in value.items()}
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _kind(solution: str) -> str:
    """Returns the form of a solution, as `brought` names it."""
    if "####" in solution:
        return "gsm8k"
    return "program" if "def " in solution and "return" in solution else "prose"
