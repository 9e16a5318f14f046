"""`python -m benchmarks evidence`."""

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path

import click

from benchmarks.brought import received
from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.recipes.learner.evidence import POINTS, SAYS, strength
from soliloquy.recipes.mathdial.belief import believed
from soliloquy.v1.conversation_pb2 import Conversation

LABELS = Path(__file__).parent / "labels" / "evidence.jsonl"
_OUTCOMES = ("labelled", "as labelled", "false alarms", "misses", "too strong", "too weak", "no belief found")
_WORTH = {"nothing": 0, "points": POINTS, "says": SAYS}


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@LISTED
@AS_JSON
def evidence(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Compare how strongly tutors' words speak against a misconception with labelled messages of people.

    FOLDER holds MathDial's dialogues. The misconception is what the recipe finds in the solution that was handed in.
    """
    kinds: dict[str, Readings] = defaultdict(Readings)
    for row in cases(LABELS):
        place, wanted = f"{row['file']} row {row['row']} turn {row['turn']}", _WORTH[row["label"]]
        found = _strength(folder / row["file"], row["row"], row["turn"])
        outcome = _outcome(found, wanted)
        told = f"{place}: {row['label']}, judged {found}" if outcome != "as labelled" else ""
        kinds[f"sample {row['sample']}: {row['label']}"].add(["labelled", outcome], told)
    report({**kinds, "all": total(kinds.values())}, _OUTCOMES, listed=listed, as_json=as_json)


def _outcome(found: int | None, wanted: int) -> str:
    if found is None:
        return "no belief found"
    if found == wanted:
        return "as labelled"
    if not wanted or not found:
        return "misses" if wanted else "false alarms"
    return "too strong" if found > wanted else "too weak"


def _strength(path: Path, number: int, turn: int) -> int | None:
    conversation = _conversations(path)[number]
    found = believed(conversation.problem)
    return strength(conversation.turns[turn - 1].tutor.text, found.held, found.step) if found else None


@cache
def _conversations(path: Path) -> list[Conversation]:
    """Reads the dialogues with the steps of their right solutions."""
    if not path.exists():
        raise click.UsageError(f"{path} does not exist: use the folder with the dialogues that were labelled")
    made = []
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            conversation = conversation_of(dialogue_of(row, "mathdial"), "", number)
            problem, _ = received({"question": row["question"], "answer": row["ground_truth"]}, "gsm8k")
            if problem is not None:
                conversation.problem.steps.MergeFrom(problem.steps)
            made.append(conversation)
    return made
