"""`python -m benchmarks soliloquy-rules`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report
from benchmarks.soliloquies import conversations
from soliloquy.recipes.rules import Broken
from soliloquy.recipes.soliloquy.rules import RULES
from soliloquy.recipes.turn_faults import faults_in
from soliloquy.v1.conversation_pb2 import ENDING_UNSPECIFIED, Conversation

LABELS = Path(__file__).parent / "labels" / "rules.jsonl"
_OUTCOMES = ("sent back", "marked", "labelled", "right", "wrong", "missed")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@LISTED
@AS_JSON
def soliloquy_rules(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Compare what soliloquy's rules find in published conversations with labels.

    FOLDER holds published conversations of Code Soliloquies and their solutions. `right` and `wrong` say of labelled
    turns that were sent back whether a reader agrees, `missed` of the others whether a reader finds a fault. Rows of
    turns count a turn once: `seen` ones were read while the rules were written, `unseen` ones afterwards.
    """
    labels = {(row["file"], row["turn"]): row for row in cases(LABELS)}
    kinds: dict[str, Readings] = defaultdict(Readings)
    for name, conversation in conversations(folder):
        for mark in RULES.check_by(conversation, RULES.book).marks:
            kinds[mark.partition(":")[0].replace(" ", "_")].add(["marked"])
        for turn, faults in asked(conversation):
            _compare(f"{name} turn {turn}", faults, labels.get((name, turn)), kinds)
    turns = [kind for kind in kinds if kind.startswith("turns")]
    report(
        {kind: kinds[kind] for kind in [*sorted(kinds.keys() - {*turns}), *sorted(turns)]},
        _OUTCOMES,
        listed=listed,
        as_json=as_json,
    )


def asked(conversation: Conversation) -> Iterator[tuple[int, list[Broken]]]:
    """Yields each turn with what a run would send back of it: its message, its decision and its reply."""
    last = len(conversation.turns)
    for number in range(1, last + 1):
        replied = _until(conversation, number)
        replied.ending = conversation.ending if number == last else ENDING_UNSPECIFIED
        spoken = _until(conversation, number, "calculation", "tutor")
        decided = _until(conversation, number, "tutor")
        yield (
            number,
            [
                *faults_in(_until(conversation, number - 1), spoken, "student", RULES),
                *faults_in(spoken, decided, "tutor", RULES),
                *faults_in(decided, replied, "composer", RULES),
            ],
        )


def _until(conversation: Conversation, turns: int, *missing: Literal["calculation", "tutor"]) -> Conversation:
    """Returns the conversation as it was at a turn before its missing parts were given."""
    copy = Conversation()
    copy.CopyFrom(conversation)
    del copy.turns[turns:]
    copy.ending = ENDING_UNSPECIFIED
    for part in missing:
        copy.turns[-1].ClearField(part)
    return copy


def _compare(where: str, faults: list[Broken], label: Mapping[str, Any] | None, kinds: Mapping[str, Readings]) -> None:
    found = {fault.rule for fault in faults}
    for rule in found:
        kinds[rule].add(["sent back"])
    kinds["turns"].add(["sent back"] if found else [])
    if label is None:
        return
    wanted = {*label["faults"]}
    for rule in found | wanted:
        outcome = "missed" if rule not in found else "right" if rule in wanted else "wrong"
        evidence = next((fault.evidence for fault in faults if fault.rule == rule), "")
        kinds[rule].add(["labelled", outcome], "" if outcome == "right" else f"{where}: {rule}: {outcome} {evidence}")
    if found:
        outcomes = ["sent back", "labelled", "right" if found & wanted else "wrong"]
    else:
        outcomes = ["labelled", *(["missed"] if wanted else [])]
    kinds[f"turns {label['set']}"].add(outcomes)
