"""`python -m benchmarks claims`."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.recipes.agreement import agrees, contradictions
from soliloquy.recipes.codegen import has_run
from soliloquy.recipes.soliloquy.rules import POLICY
from soliloquy.v1.conversation_pb2 import Turn

_LABELS = Path(__file__).parent / "labels"
# Labelled numbers of replies, and labelled replies.
SETS = {"claims": _LABELS / "claims.jsonl", "verdicts": _LABELS / "verdicts.jsonl", "fresh": _LABELS / "fresh.jsonl"}
_OUTCOMES = ("claims", "contradict", "found", "missed", "false alarms", "unjudged")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--set", "chosen", type=click.Choice([*SETS]), default="claims", show_default=True, help="The labels.")
@LISTED
@AS_JSON
def claims(*, folder: Path, chosen: str, listed: bool, as_json: bool) -> None:
    """Compare the truth check with labelled claims of tutors, by what the program of the turn came to.

    The set `claims` labels 300 numbers of 134 replies, `verdicts` all 62 other replies that their program's printed
    verdict, or its lack of one, makes suspect, and `fresh` 60 of those that are left, which no reader has learnt from.

    FOLDER holds published conversations of Code Soliloquies. A contradiction is `found` if
    the check finds one in its turn. It is a `false alarm` for each claim of a turn in which no claim was labelled as
    one. In an `unjudged` turn the check compares nothing.
    """
    kinds: dict[str, Readings] = defaultdict(Readings)
    for (name, at), labelled in _by_turn(SETS[chosen]).items():
        path = next(folder.rglob(name), None)
        if path is None:
            raise click.UsageError(f"{folder} has no {name}: use a folder with the conversations that were labelled")
        _compare(name, json.loads(path.read_text("utf-8")), at, labelled, kinds)
    report({**dict(sorted(kinds.items())), "all": total(kinds.values())}, _OUTCOMES, listed=listed, as_json=as_json)


def _by_turn(labels: Path) -> Mapping[tuple[str, int], Sequence[str]]:
    """Returns the labels of each turn, by its file and the place of its reply."""
    turns: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in cases(labels):
        turns[row["file"], row["turn"]].append(row["label"])
    return turns


def _compare(name: str, row: dict[str, Any], at: int, labels: Sequence[str], kinds: Mapping[str, Readings]) -> None:
    conversation = conversation_of(dialogue_of(row, "soliloquies"), "", 0)
    number = sum(message["from"] == "student" for message in row["conversations"][:at])
    turn = conversation.turns[number - 1]
    found = [evidence for _, evidence in contradictions(conversation, [turn], POLICY["agreeing"])]
    is_judged = bool(found) or agrees(turn, POLICY["agreeing"]) is not None
    for label in labels:
        outcomes = ["claims", *([] if is_judged else ["unjudged"])]
        if label == "contradicts":
            outcomes += ["contradict", "found" if found else "missed"]
        elif found and "contradicts" not in labels:
            outcomes.append("false alarms")
        differs = {"missed", "false alarms"} & {*outcomes}
        kinds[_kind(turn)].add(outcomes, f"{name} turn {turn.number}: {label}: {found}" if differs else "")


def _kind(turn: Turn) -> str:
    """Returns what the program of a turn came to."""
    if not has_run(turn.calculation):
        return "no result"
    kinds = [named.value.WhichOneof("kind") for named in turn.calculation.attempts[-1].execution.values]
    verdicts = kinds.count("boolean")
    if verdicts:
        return "one comparison" if verdicts == 1 else "several comparisons"
    return "numbers alone" if {"real", "integer"} & {*kinds} else "words" if kinds else "printed"
