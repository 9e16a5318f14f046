"""`python -m benchmarks objections`."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from benchmarks.command import AS_JSON
from benchmarks.labelled import LISTED, Readings, cases, report, total
from soliloquy.dataset.exports.dialogue import conversation_of
from soliloquy.dataset.exports.importing import dialogue_of
from soliloquy.recipes.mathdial.rules import checked

LABELS = Path(__file__).parent / "labels" / "objections.jsonl"
_OUTCOMES = ("labelled", "faults", "condemned", "condemned in error", "marked", "marked in error", "not raised")
_FORM = "mathdial"

# Row, turn and rule.
Objection = tuple[int, int, str]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@LISTED
@AS_JSON
def objections(*, folder: Path, listed: bool, as_json: bool) -> None:
    """Compare the rules of MathDial with all 240 labelled objections that they once had to the dialogues of people.

    FOLDER holds MathDial's dialogues. The table has what each rule does about the objections today.
    """
    rules = _compare(folder)
    report({**rules, "all": total(rules.values())}, _OUTCOMES, listed=listed, as_json=as_json)


def _compare(folder: Path) -> Mapping[str, Readings]:
    """Returns by rule what becomes of each labelled objection, and what is objected to without a label."""
    labels = {(row["row"], row["turn"], row["rule"]): row for row in cases(LABELS)}
    found = {name: dict(_found(folder / name)) for name in {row["file"] for row in labels.values()}}
    kinds: dict[str, Readings] = defaultdict(Readings)
    for objection, row in labels.items():
        does = found[row["file"]].pop(objection, "not raised")
        is_fault = row["label"] == "fault"
        outcomes = ["labelled", does, *(["faults"] if is_fault else [])]
        if not is_fault and does != "not raised":
            outcomes.append(f"{does} in error")
        told = f"{row['file']} row {row['row']} turn {row['turn']}: {row['rule']} {does}: {row['label']}"
        kinds[row["rule"]].add(outcomes, told if is_fault == (does == "not raised") else "")
    for name, others in found.items():
        for (at, turn, rule), does in others.items():
            kinds["unlabelled"].add([does], f"{name} row {at} turn {turn}: {rule} {does}: unlabelled")
    return dict(sorted(kinds.items()))


def _found(path: Path) -> Iterator[tuple[Objection, str]]:
    if not path.exists():
        raise click.UsageError(f"{path} does not exist: use the folder with the dialogues that were labelled")
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            whole = checked(conversation_of(dialogue_of(row, _FORM), "", number))
            for does, faults in (("marked", whole.marks), ("condemned", whole.faults)):
                for fault in faults:
                    rule, turn, _ = fault.split(": ", 2)
                    yield (number, int(turn.removeprefix("turn ")), rule.replace(" ", "_")), does
