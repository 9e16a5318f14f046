"""`python -m benchmarks mathdial-rules`."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.recipes.mathdial.claims import slips
from soliloquy.recipes.mathdial.rules import checked
from soliloquy.v1.conversation_pb2 import Conversation

LABELS = Path(__file__).parent / "labels" / "objections.jsonl"
SUMS = Path(__file__).parent / "labels" / "sums.jsonl"
_OUTCOMES = ("labelled", "faults", "condemned", "condemned in error", "marked", "marked in error", "not raised")
_FORM = "mathdial"

# Row, turn and rule.
Objection = tuple[int, int, str]
Files = Mapping[str, list[Conversation]]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@LISTED
@AS_JSON
def mathdial_rules(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Compare what MathDial's rules find in dialogues of people with labels.

    FOLDER holds MathDial's dialogues. The table has what each rule does today about the 240 objections that the rules
    once had to them. `sums` are teachers' messages, read as `arithmetic` reads those of students; `dialogues` are all.
    """
    objections = {(row["row"], row["turn"], row["rule"]): row for row in cases(LABELS)}
    names = {row["file"] for row in (*objections.values(), *cases(SUMS))}
    files = {name: _conversations(folder / name) for name in sorted(names)}
    found = {name: dict(_found(conversations)) for name, conversations in files.items()}
    rules: dict[str, Readings] = defaultdict(Readings)
    for objection, row in objections.items():
        does = found[row["file"]].pop(objection, "not raised")
        _add(rules[row["rule"]], does, row, f"{row['rule']} {does}")
    for name, others in found.items():
        for (at, turn, rule), does in others.items():
            rules["unlabelled"].add([does], f"{name} row {at} turn {turn}: {rule} {does}: unlabelled")
    kinds = {**dict(sorted(rules.items())), "all": total(rules.values()), "sums": _sums(files)}
    report({**kinds, "dialogues": _dialogues(files)}, _OUTCOMES, listed=listed, as_json=as_json)


def _sums(files: Files) -> Readings:
    read = Readings()
    for row in cases(SUMS):
        false = ", ".join(slips(files[row["file"]][row["row"]].turns[row["turn"] - 1].tutor.text))
        _add(read, "condemned" if false else "not raised", row, f"finds {false or 'nothing'}")
    return read


def _dialogues(files: Files) -> Readings:
    whole = Readings()
    for conversation in (one for conversations in files.values() for one in conversations):
        whole.add(["condemned" if checked(conversation).faults else "not raised"])
    return whole


def _add(read: Readings, does: str, row: Mapping[str, str], told: str) -> None:
    is_fault = row["label"] == "fault"
    outcomes = ["labelled", does, *(["faults"] if is_fault else [])]
    if not is_fault and does != "not raised":
        outcomes.append(f"{does} in error")
    where = f"{row['file']} row {row['row']} turn {row['turn']}: {told}: {row['label']}"
    read.add(outcomes, where if is_fault == (does == "not raised") else "")


def _found(conversations: list[Conversation]) -> Iterator[tuple[Objection, str]]:
    for number, conversation in enumerate(conversations):
        whole = checked(conversation)
        for does, faults in (("marked", whole.marks), ("condemned", whole.faults)):
            for fault in faults:
                rule, turn, _ = fault.split(": ", 2)
                yield (number, int(turn.removeprefix("turn ")), rule.replace(" ", "_")), does


def _conversations(path: Path) -> list[Conversation]:
    if not path.exists():
        raise click.UsageError(f"{path} does not exist: use the folder with the dialogues that were labelled")
    with path.open(newline="", encoding="utf-8") as file:
        return [conversation_of(dialogue_of(row, _FORM), "", number) for number, row in enumerate(csv.DictReader(file))]
